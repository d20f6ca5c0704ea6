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
        Self {
            held: AtomicU64::new(0),
            most,
        }
    }
}

/// A share of what may be in flight, given back when dropped.
pub(super) struct Share {
    of: Arc<InFlight>,
    bytes: u64,
}

impl Share {
    pub(super) fn new(of: &Arc<InFlight>) -> Self {
        Self {
            of: Arc::clone(of),
            bytes: 0,
        }
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
pub(super) async fn collect(
    mut body: Incoming,
    limit: u64,
    share: &mut Share,
) -> Result<Vec<u8>, BodyError> {
    let announced = body.size_hint().lower();
    if announced > limit {
        return Err(BodyError::TooLarge);
    }
    // Announced is not sent: room is taken as the bytes come, and reserved for a little of them.
    let mut bytes = Vec::with_capacity(announced.min(1 << 20) as usize);
    let reading = async {
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| BodyError::Lost)?.into_data() else {
                continue;
            };
            if (bytes.len() + data.len()) as u64 > limit {
                return Err(BodyError::TooLarge);
            }
            share.grow(data.len() as u64)?;
            bytes.extend_from_slice(&data);
        }
        Ok(())
    };
    tokio::time::timeout(BODY_TIME, reading)
        .await
        .map_err(|_| BodyError::Lost)??;
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
