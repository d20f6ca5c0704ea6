//! A request's body, read and decompressed within its bounds.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

/// How long one body may take to come.
const BODY_TIME: Duration = Duration::from_secs(30);

/// How much of a refused body is read and thrown away.
const DRAIN: u64 = 64 << 20;

/// Why a body is not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// Larger than the limit, as sent or as decompressed.
    TooLarge,
    /// No room for it now.
    Overloaded,
    /// Compressed data that is none.
    NoGzip,
    /// The client hung up, or took longer than it may.
    Lost,
}

/// Bytes of bodies held at one time, over all connections.
pub(super) struct InFlight {
    held: AtomicU64,
    most: u64,
}

impl InFlight {
    pub(super) fn new(most: u64) -> Self {
        Self { held: AtomicU64::new(0), most }
    }
}

/// A share of what may be in flight, given back when dropped.
pub(super) struct Share {
    of: Arc<InFlight>,
    bytes: u64,
}

impl Share {
    pub(super) fn new(of: &Arc<InFlight>) -> Self {
        Self { of: Arc::clone(of), bytes: 0 }
    }

    fn grow(&mut self, bytes: u64) -> Result<(), BodyError> {
        let held = self.of.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.bytes += bytes;
        if held > self.of.most {
            return Err(BodyError::Overloaded);
        }
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// All of a body, `limit` bytes at most.
///
/// A body that is refused is still read to its end, within [`DRAIN`], and thrown away: an exporter whose connection
/// breaks while it writes never sees why, and sends it all again.
pub(super) async fn collect(mut body: Incoming, limit: u64, share: &mut Share) -> Result<Vec<u8>, BodyError> {
    // Announced is not sent: room is taken as the bytes come, and reserved for a little of them.
    let announced = body.size_hint().lower().min(limit);
    let mut bytes = Vec::with_capacity(announced.min(1 << 20) as usize);
    let mut refused = None;
    let mut read = 0;
    let reading = async {
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| BodyError::Lost)?.into_data() else {
                continue;
            };
            read += data.len() as u64;
            if refused.is_none() {
                refused = match share.grow(data.len() as u64) {
                    _ if read > limit => Some(BodyError::TooLarge),
                    grown => grown.err(),
                };
            }
            match refused {
                None => bytes.extend_from_slice(&data),
                Some(why) if read > limit.saturating_add(DRAIN) => return Err(why),
                Some(_) => bytes = Vec::new(),
            }
        }
        refused.map_or(Ok(()), Err)
    };
    tokio::time::timeout(BODY_TIME, reading).await.map_err(|_| BodyError::Lost)??;
    Ok(bytes)
}

/// Decompresses, `limit` bytes at most: a bomb is refused before it is unpacked.
pub(super) fn gunzip(packed: &[u8], limit: u64, share: &mut Share) -> Result<Vec<u8>, BodyError> {
    const STEP: usize = 64 << 10;
    let mut decoder = MultiGzDecoder::new(packed);
    let mut plain = Vec::with_capacity(packed.len().saturating_mul(4).min(1 << 20));
    loop {
        let before = plain.len();
        share.grow(STEP as u64)?;
        let room = (&mut decoder).take(STEP as u64);
        read_all(room, &mut plain).map_err(|_| BodyError::NoGzip)?;
        if plain.len() as u64 > limit {
            return Err(BodyError::TooLarge);
        }
        if plain.len() - before < STEP {
            return Ok(plain);
        }
    }
}

fn read_all(mut from: impl Read, into: &mut Vec<u8>) -> io::Result<()> {
    from.read_to_end(into).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_flight_is_bounded_and_given_back() {
        let all = Arc::new(InFlight::new(100));
        let (mut one, mut other) = (Share::new(&all), Share::new(&all));
        assert_eq!(one.grow(60), Ok(()));
        assert_eq!(other.grow(60), Err(BodyError::Overloaded));
        drop(other);
        let mut third = Share::new(&all);
        assert_eq!(third.grow(40), Ok(()));
        drop((one, third));
        assert_eq!(all.held.load(Ordering::Relaxed), 0);
    }
}
