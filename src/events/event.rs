//! What the reader reports: one act of one agent, and the rule that says so.
//!
//! An event claims no more than its `basis` can show; absent evidence is `unknown`, or an absent field, never a guess.

use std::sync::Arc;

use serde_json::Value;

use crate::journal::EventRow;
use crate::spans::{SpanId, TraceId};
use crate::verdict::Relationship;

/// The kinds of act (design, Events).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Work was handed to a worker that answers to whoever handed it over.
    Delegated,
    /// Control was passed on for good.
    Transferred,
    /// A tool was called.
    ToolCall,
}

impl Kind {
    /// As it stands in rows and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Delegated => "delegated",
            Kind::Transferred => "transferred",
            Kind::ToolCall => "tool_call",
        }
    }
}

/// How a span said it ended. An unset status says neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedWith {
    /// Status Ok.
    Ok,
    /// Status Error.
    Error,
}

/// One act, read from spans.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened.
    pub kind: Kind,
    /// Who acted: the caller of a tool, the one who handed over. None without evidence.
    pub agent: Option<Arc<str>>,
    /// To whom work or control went; none for a tool call, and where it is not recorded.
    pub to: Option<Arc<str>>,
    /// The tool as the framework records it.
    pub tool: Option<Arc<str>>,
    /// An object; a text where the framework recorded a bare value; null where it recorded none.
    pub arguments: Value,
    /// Whether the spans show that this agent did this, in this hand-off.
    pub relationship: Relationship,
    /// The rule that made the event; see [`super::basis`].
    pub basis: &'static str,
    /// Trace of the span it rests on.
    pub trace_id: TraceId,
    /// The span it rests on: of a tool call its own, of a hand-off the call that carried it, else the worker's run.
    pub span_id: SpanId,
    /// Trace and span of the hand-off it ran in; none at the top, and where unknown.
    pub parent: Option<(TraceId, SpanId)>,
    /// Unix nanoseconds, by the app's clock.
    pub started_at: u64,
    /// Unix nanoseconds. Of a hand-off: the worker's own end, none where that is not on record.
    pub ended_at: Option<u64>,
    /// How it ended, where the span says so.
    pub ended_with: Option<EndedWith>,
}

impl Event {
    /// Who handed over: the acting agent of a hand-off, none for a tool call.
    pub fn from(&self) -> Option<&Arc<str>> {
        self.agent.as_ref().filter(|_| self.kind != Kind::ToolCall)
    }
}

impl From<Event> for EventRow {
    fn from(event: Event) -> Self {
        let text = |name: &Arc<str>| name.to_string();
        Self {
            kind: event.kind.as_str().to_owned(),
            agent: event.agent.as_ref().map(text),
            from: event.from().map(text),
            to: event.to.as_ref().map(text),
            tool: event.tool.as_ref().map(text),
            arguments: event.arguments,
            relationship: event.relationship,
            basis: event.basis.to_owned(),
            trace_id: event.trace_id.to_string(),
            span_id: event.span_id.to_string(),
            parent_span_id: event.parent.map(|(_, span)| span.to_string()),
            started_at: event.started_at.to_string(),
            ended_at: event.ended_at.map(|at| at.to_string()),
            ended_with: event.ended_with.map(|end| match end {
                EndedWith::Ok => "ok".to_owned(),
                EndedWith::Error => "error".to_owned(),
            }),
        }
    }
}
