//! What the app prints: read for its whole life, of which the tail is kept.
//!
//! An app whose pipe is not read stops at 64 kB; one whose output is all kept takes our memory. Secrets are not
//! known here: each stream goes through a [`Filter`] of the caller's before anything is kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio_util::task::AbortOnDropHandle;

/// Takes one stream's bytes as they come and gives back what may be kept of them. It may hold bytes back, so that a
/// secret split over two writes is caught; an empty slice says that the stream has ended and nothing more comes.
pub type Filter = Box<dyn FnMut(&[u8]) -> Vec<u8> + Send>;

/// Makes a filter for a stream of its own.
pub type Filters = Arc<dyn Fn() -> Filter + Send + Sync>;

/// The tail of one of the app's streams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// `stdout` or `stderr`.
    pub stream: &'static str,
    /// Filtered; bytes that are no UTF-8 are replaced.
    pub text: String,
    /// Whether earlier output was let go.
    pub cut: bool,
}

/// Output under an error's first line, each stream that said anything.
pub(super) fn shown(output: &[Output]) -> String {
    let said = output.iter().filter(|one| !one.text.trim().is_empty());
    said.map(|one| format!("\n{}:\n{}", one.stream, one.text.trim_end())).collect()
}

/// Sees a stream's bytes before the filter does.
pub(super) type Tap = Box<dyn FnMut(&[u8]) + Send>;

/// A stream being read.
#[derive(Debug)]
pub(super) struct Drain {
    stream: &'static str,
    tail: Arc<Mutex<Tail>>,
    task: AbortOnDropHandle<()>,
}

impl Drain {
    /// Reads `from` until it ends, keeping the last `limit` bytes.
    pub(super) fn start(
        stream: &'static str,
        from: impl AsyncRead + Send + Unpin + 'static,
        limit: u64,
        filter: Filter,
        tap: Option<Tap>,
    ) -> Self {
        let tail = Arc::new(Mutex::new(Tail::new(limit)));
        let task = AbortOnDropHandle::new(tokio::spawn(read(from, Arc::clone(&tail), filter, tap)));
        Self { stream, tail, task }
    }

    /// Resolves when every process that held the stream has let it go.
    pub(super) async fn ended(&mut self) {
        let _ = (&mut self.task).await;
    }

    /// The tail so far, which is then forgotten.
    pub(super) fn take(&self) -> Output {
        let mut tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let output = Output { stream: self.stream, text: tail.text(), cut: tail.cut };
        tail.bytes.clear();
        tail.cut = false;
        output
    }

    /// The tail so far.
    pub(super) fn output(&self) -> Output {
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        Output { stream: self.stream, text: tail.text(), cut: tail.cut }
    }
}

async fn read(
    mut from: impl AsyncRead + Unpin,
    tail: Arc<Mutex<Tail>>,
    mut filter: Filter,
    mut tap: Option<Tap>,
) {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let count = from.read(&mut buffer).await.unwrap_or(0);
        if let Some(tap) = tap.as_mut() {
            tap(&buffer[..count]);
        }
        let kept = filter(&buffer[..count]);
        tail.lock().unwrap_or_else(PoisonError::into_inner).push(&kept);
        if count == 0 {
            return;
        }
    }
}

#[derive(Debug)]
struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
    cut: bool,
}

impl Tail {
    fn new(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { bytes: VecDeque::new(), limit, cut: false }
    }

    fn push(&mut self, bytes: &[u8]) {
        let fresh = &bytes[bytes.len().saturating_sub(self.limit)..];
        let over = (self.bytes.len() + fresh.len()).saturating_sub(self.limit);
        self.cut |= over > 0 || fresh.len() < bytes.len();
        self.bytes.drain(..over);
        self.bytes.extend(fresh);
    }

    /// Begins at a whole character where the cut fell inside one.
    fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let inside = |byte: &&u8| self.cut && **byte & 0xC0 == 0x80;
        let skip = bytes.iter().take(3).take_while(inside).count();
        String::from_utf8_lossy(&bytes[skip..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_tail_is_the_end_of_what_was_written(
            parts in prop::collection::vec("[a-zé]{0,12}", 0..8), limit in 0u64..20,
        ) {
            let mut tail = Tail::new(limit);
            parts.iter().for_each(|part| tail.push(part.as_bytes()));
            let all = parts.concat();
            prop_assert!(all.ends_with(&tail.text()));
            prop_assert!(tail.text().len() as u64 <= limit);
            prop_assert!(tail.text().len() as u64 + 1 >= limit.min(all.len() as u64));
            prop_assert_eq!(tail.cut, all.len() as u64 > limit);
        }
    }
}
