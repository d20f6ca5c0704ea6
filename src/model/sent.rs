//! The body of an answer on its way to the app: at once or in pieces, with a pause before each, whole or broken off.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body::{Body, Frame, SizeHint};
use hyper::body::Bytes;
use tokio::time::{Sleep, sleep};

/// The script breaks the answer off.
#[derive(Debug, thiserror::Error)]
#[error("the script breaks the answer off here")]
pub struct BrokenOff;

/// Pieces, in order.
pub struct Sent {
    pieces: VecDeque<Bytes>,
    pace: Duration,
    pause: Option<Pin<Box<Sleep>>>,
    cut: bool,
    flushed: bool,
    length: Option<u64>,
}

impl Sent {
    /// The whole body. `cut`: only its first half comes, under the length of all.
    pub fn whole(bytes: Vec<u8>, cut: bool) -> Self {
        let bytes = Bytes::from(bytes);
        let length = Some(bytes.len() as u64);
        let kept = if cut { bytes.slice(..bytes.len() / 2) } else { bytes };
        Self { length, ..Self::pieces(vec![kept], Duration::ZERO, cut) }
    }

    /// A stream, with a pause before each piece; `cut`: it breaks off where it should end.
    pub fn pieces(pieces: Vec<Bytes>, pace: Duration, cut: bool) -> Self {
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        Self { pieces, pace, pause: None, cut, flushed: false, length: None }
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        if self.pieces.is_empty() {
            if !self.cut {
                return Poll::Ready(None);
            }
            // The server flushes what it has when a body waits, and throws it away when a body fails.
            if !std::mem::replace(&mut self.flushed, true) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            return Poll::Ready(Some(Err(BrokenOff)));
        }
        if !self.pace.is_zero() {
            let pace = self.pace;
            let pause = self.pause.get_or_insert_with(|| Box::pin(sleep(pace)));
            ready!(pause.as_mut().poll(cx));
            self.pause = None;
        }
        Poll::Ready(self.pieces.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty() && !self.cut
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
