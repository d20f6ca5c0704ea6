//! The body of an answer: one of ours, or an upstream's passing through, unbuffered, with a bounded copy for the
//! record and the outcome row written before its last byte leaves.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::{Body, Frame, SizeHint};
use hyper::body::{Bytes, Incoming};
use serde_json::Value;
use tokio::sync::mpsc;

use super::arguments::{opaque, weight};
use super::gate::{Call, Outcome};
use super::json;
use crate::journal::OutcomeKind;

/// An answer is kept whole in the record up to this many bytes.
pub const KEPT_WHOLE: usize = 16 << 10;
/// Of a longer one so many are kept: hashing and escaping more would cost as much as the call itself.
pub const KEPT_OF_LONGER: usize = 4 << 10;

/// Why a body ended early: by a fault, or because the upstream's did.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// A fault cut it.
    #[error("the answer was cut by a fault")]
    Cut,
    /// The upstream's connection broke.
    #[error("the upstream's answer broke off: {0}")]
    Upstream(#[from] hyper::Error),
}

/// The body of a channel's answer.
#[derive(Debug)]
pub enum ChannelBody {
    /// Ours, or kept whole.
    Whole(Option<Bytes>),
    /// Ours, cut by a fault.
    Cut(Cut),
    /// An upstream's.
    Passing(Passing),
    /// Ours, in pieces as they come.
    Streamed(Streamed),
}

impl ChannelBody {
    /// All of it at once.
    pub fn whole(bytes: Bytes) -> Self {
        Self::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }

    /// The first `after` bytes, under the length of all, and then the end of the connection.
    pub fn cut(bytes: &Bytes, after: u64) -> Self {
        let after = usize::try_from(after).unwrap_or(usize::MAX).min(bytes.len());
        Self::Cut(Cut { length: bytes.len() as u64, rest: Some(bytes.slice(..after)), flushed: false })
    }
}

/// Pieces from somebody who makes them as the app reads.
#[derive(Debug)]
pub struct Streamed(mpsc::Receiver<Result<Bytes, BodyError>>);

impl Streamed {
    /// Ends with the sender, or with an error.
    pub fn new(pieces: mpsc::Receiver<Result<Bytes, BodyError>>) -> Self {
        Self(pieces)
    }
}

/// Bytes, and then an error.
#[derive(Debug)]
pub struct Cut {
    length: u64,
    rest: Option<Bytes>,
    flushed: bool,
}

impl Cut {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.rest.take().filter(|bytes| !bytes.is_empty()) {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            // The server flushes what it has when a body waits, and throws it away when a body fails.
            None if !std::mem::replace(&mut self.flushed, true) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            None => Poll::Ready(Some(Err(BodyError::Cut))),
        }
    }
}

type Item = Option<Result<Frame<Bytes>, BodyError>>;

/// An upstream's body on its way to the app.
#[derive(Debug)]
pub struct Passing(Option<Box<Stream>>);

#[derive(Debug)]
struct Stream {
    inner: Incoming,
    /// Read ahead, to know whether the frame before it was the last.
    ahead: Option<Item>,
    copy: Copy,
    owed: Option<Owed>,
    cut_after: Option<u64>,
    cutting: Option<Cut>,
}

/// The outcome that is owed when the body ends.
#[derive(Debug)]
struct Owed {
    call: Call,
    status: u16,
}

impl Passing {
    /// `cut_after`: a fault lets only so many bytes through.
    pub fn new(inner: Incoming, call: Call, status: u16, cut_after: Option<u64>) -> Self {
        Self(Some(Box::new(Stream {
            inner,
            ahead: None,
            copy: Copy::default(),
            owed: Some(Owed { call, status }),
            cut_after,
            cutting: None,
        })))
    }
}

/// How far an upstream's body came.
#[derive(Clone, Copy, PartialEq)]
enum Came {
    Whole,
    Broken,
    /// Nobody waits for the rest any more.
    Unread,
}

impl Stream {
    fn end(&mut self, came: Came) {
        if let Some(Owed { call, status }) = self.owed.take() {
            let (kind, code) = match came {
                Came::Broken => (OutcomeKind::Crashed, Some("upstream_cut".to_owned())),
                Came::Whole | Came::Unread => verdict_of(status),
            };
            let (result, cut) = std::mem::take(&mut self.copy).value();
            call.end(Outcome {
                kind,
                code,
                status: Some(status),
                result,
                result_cut: cut || came != Came::Whole,
            });
        }
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Item> {
        match self.ahead.take() {
            Some(item) => Poll::Ready(item),
            None => Pin::new(&mut self.inner).poll_frame(cx).map_err(BodyError::Upstream),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Item> {
        if let Some(cutting) = &mut self.cutting {
            return cutting.poll(cx);
        }
        let item = ready!(self.next(cx));
        match &item {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    self.copy.add(data);
                    if let Some(left) = self.cut_after {
                        let Some(rest) = left.checked_sub(data.len() as u64) else {
                            let last = data.slice(..usize::try_from(left).unwrap_or(data.len()));
                            return self.start_cut(last, cx);
                        };
                        self.cut_after = Some(rest);
                    }
                }
                if self.inner.is_end_stream() {
                    self.end(Came::Whole);
                } else if let Poll::Ready(next) = self.next(cx) {
                    if next.is_none() {
                        self.end(Came::Whole);
                    }
                    self.ahead = Some(next);
                }
            }
            Some(Err(_)) => self.end(Came::Broken),
            None => self.end(Came::Whole),
        }
        Poll::Ready(item)
    }

    fn start_cut(&mut self, last: Bytes, cx: &mut Context<'_>) -> Poll<Item> {
        self.end(Came::Unread);
        let mut cutting = Cut { length: 0, rest: Some(last), flushed: false };
        let first = cutting.poll(cx);
        self.cutting = Some(cutting);
        first
    }

    /// Reads on for an app that has left: its leaving does not stop the call. Ends with the body or with the trial.
    async fn drain(mut self: Box<Self>) {
        let Some(owed) = &self.owed else { return };
        let sealed = owed.call.trial().sealed.clone();
        let rest = async {
            loop {
                match poll_fn(|cx| self.next(cx)).await {
                    Some(Ok(frame)) => {
                        if let Some(data) = frame.data_ref() {
                            self.copy.add(data);
                        }
                    }
                    Some(Err(_)) => return Came::Broken,
                    None => return Came::Whole,
                }
            }
        };
        let came = tokio::select! {
            came = rest => came,
            () = sealed.cancelled() => Came::Unread,
        };
        self.end(came);
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        if let Some(stream) = self.0.take().filter(|stream| stream.owed.is_some())
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(stream.drain());
        }
    }
}

/// A service's status as an outcome: 4xx is the world saying no, 5xx somebody's defect.
pub fn verdict_of(status: u16) -> (OutcomeKind, Option<String>) {
    let code = || Some(format!("http_{status}"));
    match status {
        400..=499 => (OutcomeKind::WorldRefused, code()),
        500.. => (OutcomeKind::Crashed, code()),
        _ => (OutcomeKind::Done, None),
    }
}

/// What is kept of a body for the record.
#[derive(Debug, Default)]
struct Copy {
    kept: Vec<u8>,
    more: bool,
}

impl Copy {
    fn add(&mut self, data: &[u8]) {
        let room = KEPT_WHOLE - self.kept.len();
        self.more |= data.len() > room;
        self.kept.extend_from_slice(&data[..data.len().min(room)]);
    }

    fn value(mut self) -> (Value, bool) {
        if self.more {
            self.kept.truncate(KEPT_OF_LONGER);
            return (opaque_prefix(&self.kept), true);
        }
        (recorded(&self.kept), false)
    }
}

/// A whole body as a record holds it: JSON where it is JSON, else text; null where there is none.
pub fn recorded(body: &[u8]) -> Value {
    match body {
        [] => Value::Null,
        [b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b' ' | b'\n', ..] => {
            json::parse(body).unwrap_or_else(|_| opaque(body))
        }
        _ => opaque(body),
    }
}

/// A result as a record holds it, and whether it holds less.
pub fn bounded(result: Value) -> (Value, bool) {
    if weight(&result) <= KEPT_WHOLE {
        return (result, false);
    }
    let text = result.to_string();
    (opaque_prefix(head(text.as_bytes())), true)
}

/// What is kept of a text that is too long, or is no message.
pub fn head(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(KEPT_OF_LONGER)]
}

/// The start of a body: text up to its last whole character.
pub fn opaque_prefix(start: &[u8]) -> Value {
    match std::str::from_utf8(start) {
        Err(error) if error.error_len().is_none() => opaque(&start[..error.valid_up_to()]),
        _ => opaque(start),
    }
}

impl Body for ChannelBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Item> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Cut(cut) => cut.poll(cx),
            Self::Passing(Passing(Some(stream))) => stream.poll(cx),
            Self::Passing(Passing(None)) => Poll::Ready(None),
            Self::Streamed(Streamed(pieces)) => pieces.poll_recv(cx).map_ok(Frame::data),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Cut(_) | Self::Streamed(_) => false,
            Self::Passing(Passing(stream)) => stream.as_ref().is_none_or(|stream| {
                stream.owed.is_none()
                    && stream.inner.is_end_stream()
                    && stream.ahead.is_none()
                    && stream.cutting.is_none()
            }),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Cut(cut) => SizeHint::with_exact(cut.length),
            Self::Streamed(_) => SizeHint::new(),
            Self::Passing(Passing(stream)) => {
                stream.as_ref().map_or_else(SizeHint::new, |stream| stream.inner.size_hint())
            }
        }
    }
}
