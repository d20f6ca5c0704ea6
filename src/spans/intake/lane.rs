//! One open token, as the receiver's connections see it.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::SpanLimits;
use crate::name::Token;
use crate::spans::protobuf::{delimited, to_protobuf};
use crate::spans::{Batch, Span, SpanId, TraceId, weight};

/// Reasons kept apart; further ones are counted together, so that hostile bodies cannot fill the memory.
const REASONS: usize = 64;

/// What a token stands for.
pub(in crate::spans) struct Lane {
    pub(in crate::spans) token: Token,
    pub(in crate::spans) limits: SpanLimits,
    kept: Mutex<Kept>,
    pub(super) activity: watch::Sender<Activity>,
}

#[derive(Default)]
pub(super) struct Kept {
    pub(super) spans: Vec<Span>,
    seen: HashSet<(TraceId, SpanId)>,
    weight: u64,
    pub(super) dropped: u64,
    pub(super) duplicates: u64,
    pub(super) rejected: BTreeMap<String, u64>,
    pub(super) closed: bool,
    /// Where bodies are written on, instead of being kept.
    sink: Option<Sink>,
}

/// Takes one record of a length-delimited protobuf file.
pub(in crate::spans) type Sink = Box<dyn FnMut(&[u8]) -> io::Result<()> + Send>;

#[derive(Clone, Copy, Default)]
pub(super) struct Activity {
    pub(super) in_progress: u64,
    pub(super) exports: u64,
}

/// Why a batch was not taken.
pub(in crate::spans) enum NotTaken {
    /// The lane was closed meanwhile: the batch is foreign.
    Closed,
    /// It could not be written on.
    Unwritten,
}

/// What the exporter is told of its batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::spans) struct Taken {
    /// Spans not kept, duplicates aside: those are kept already.
    pub(in crate::spans) rejected: u64,
    /// Why, for people.
    pub(in crate::spans) message: String,
}

impl Lane {
    pub(in crate::spans) fn new(token: Token, limits: SpanLimits) -> Self {
        Self { token, limits, kept: Mutex::default(), activity: watch::Sender::new(Activity::default()) }
    }

    /// A lane that keeps nothing and writes every body on.
    pub(in crate::spans) fn written_on(token: Token, limits: SpanLimits, sink: Sink) -> Self {
        let lane = Self::new(token, limits);
        lane.kept().sink = Some(sink);
        lane
    }

    pub(super) fn kept(&self) -> MutexGuard<'_, Kept> {
        // Nothing in here panics halfway through a change.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks an export as in progress until the answer is dropped.
    pub(in crate::spans) fn begin(self: Arc<Self>) -> InProgress {
        self.activity.send_modify(|now| now.in_progress += 1);
        InProgress(self)
    }

    /// Keeps what may be kept, or writes it on. `protobuf`: the body that `batch` was read from, if it was such a one.
    pub(in crate::spans) fn keep(&self, batch: Batch, protobuf: Option<&[u8]>) -> Result<Taken, NotTaken> {
        let mut kept = self.kept();
        if kept.closed {
            return Err(NotTaken::Closed);
        }
        if let Some(sink) = &mut kept.sink {
            let written = match protobuf {
                Some(body) => sink(&delimited(body)),
                None => sink(&delimited(&to_protobuf(&batch.spans))),
            };
            written.map_err(|_| NotTaken::Unwritten)?;
        }
        let mut taken = Taken { rejected: batch.rejected.total(), message: String::new() };
        for (reason, count) in batch.rejected.iter() {
            kept.reject(reason.to_string(), count);
            if taken.message.is_empty() {
                taken.message = reason.to_string();
            }
        }
        let spans = match kept.sink {
            Some(_) => Vec::new(),
            None => batch.spans,
        };
        for span in spans {
            if kept.seen.contains(&(span.trace_id, span.span_id)) {
                kept.duplicates += 1;
                continue;
            }
            let weight = weight(&span);
            if kept.seen.len() as u64 >= self.limits.spans || kept.weight + weight > self.limits.span_bytes {
                kept.dropped += 1;
                taken.rejected += 1;
                "the trial's span limit is reached".clone_into(&mut taken.message);
                continue;
            }
            kept.seen.insert((span.trace_id, span.span_id));
            kept.weight += weight;
            kept.spans.push(span);
        }
        Ok(taken)
    }

    /// Notes a body that was refused as a whole.
    pub(in crate::spans) fn refuse(&self, reason: String) {
        self.kept().reject(reason, 1);
    }
}

impl Kept {
    fn reject(&mut self, reason: String, count: u64) {
        let known = self.rejected.contains_key(&reason);
        let reason = if known || self.rejected.len() < REASONS { reason } else { "other reasons".to_owned() };
        *self.rejected.entry(reason).or_default() += count;
    }
}

/// An export in progress: ends when dropped, also when its client hung up.
pub(in crate::spans) struct InProgress(Arc<Lane>);

impl InProgress {
    pub(in crate::spans) fn lane(&self) -> &Lane {
        &self.0
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.activity.send_modify(|now| {
            now.in_progress -= 1;
            now.exports += 1;
        });
    }
}
