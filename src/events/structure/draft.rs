//! An event in the making: complete but for its parent, which is known when every run's cause is.

use std::sync::Arc;

use serde_json::Value;

use crate::events::event::{EndedWith, Event, Kind};
use crate::events::forest::Id;
use crate::events::role::Call;
use crate::spans::{Span, Status};
use crate::verdict::Relationship;

pub(super) struct Draft {
    pub event: Event,
    /// The run it happened in, whose cause is the event's parent.
    pub within: Option<Id>,
}

impl Draft {
    /// An event that rests on `span`, by the rule `basis`.
    pub fn new(span: &Span, kind: Kind, (basis, relationship): (&'static str, Relationship)) -> Self {
        let event = Event {
            kind,
            agent: None,
            to: None,
            tool: None,
            arguments: Value::Null,
            relationship,
            basis,
            trace_id: span.trace_id,
            span_id: span.span_id,
            parent: None,
            started_at: span.start,
            ended_at: None,
            ended_with: None,
        };
        Self { event, within: None }
    }

    /// Who acted, and in which run.
    pub fn by(mut self, agent: Option<Arc<str>>, within: Option<Id>) -> Self {
        self.event.agent = agent;
        self.within = within;
        self
    }

    /// Who receives.
    pub fn to(mut self, to: Option<Arc<str>>) -> Self {
        self.event.to = to;
        self
    }

    /// The call that is the act, or carried it.
    pub fn carried(mut self, call: &Call<'_>) -> Self {
        self.event.tool.clone_from(&call.tool);
        self.event.arguments = call.arguments.value();
        self
    }

    /// The end that `span` records. An unset status says neither that it went well nor that it did not.
    pub fn ended(mut self, span: &Span, end: u64) -> Self {
        if end > 0 {
            self.event.ended_at = Some(end);
            self.event.ended_with = match span.status {
                Status::Unset => None,
                Status::Ok => Some(EndedWith::Ok),
                Status::Error => Some(EndedWith::Error),
            };
        }
        self
    }
}
