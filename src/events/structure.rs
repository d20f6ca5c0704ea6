//! The structure rules: what follows from where runs, calls and passes of control stand to each other.
//!
//! Written once for all dialects. A run's cause is what started it, a call's place is its agent's cause. No rule looks
//! at what an agent or tool is called, except to find again a name that a framework's own record gives.

mod calls;
mod causes;
mod draft;
mod passes;

use std::sync::Arc;

use super::event::Event;
use super::forest::{Forest, Id, Node, Up};
use super::role::{Call, Class, Role, Run};
use crate::spans::TraceId;
use draft::Draft;

/// Why an agent ran.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cause {
    /// Nobody handed it anything: it is the first of its trace or workflow.
    First,
    /// A workflow or team runs it beside others.
    Beside,
    /// The hand-off of this draft.
    HandOff(usize),
    /// Nothing on record says.
    None,
}

/// Where agents run one after the other: in a group, under a call, at the top of a trace.
type Place = (TraceId, Up);

struct Reading<'f, 'a> {
    forest: &'f Forest<'a>,
    drafts: Vec<Draft>,
    /// By node: why a run ran.
    causes: Vec<Option<Cause>>,
    /// By node: whether a call became a hand-off.
    spent: Vec<bool>,
}

/// The events of a forest whose roles are settled, in order of start.
pub(super) fn events(forest: &Forest<'_>) -> Vec<Event> {
    let nodes = forest.nodes.len();
    let mut reading =
        Reading { forest, drafts: Vec::new(), causes: vec![None; nodes], spent: vec![false; nodes] };
    // Passes first: they explain runs that would else be without a cause.
    reading.passes();
    reading.runs();
    reading.calls();
    reading.finish()
}

impl<'f, 'a> Reading<'f, 'a> {
    fn ids(&self) -> std::ops::Range<Id> {
        0..self.forest.nodes.len() as Id
    }

    fn node(&self, id: Id) -> &'f Node<'a> {
        self.forest.node(id)
    }

    fn run(&self, id: Id) -> Option<&'f Run<'a>> {
        match &self.node(id).role {
            Role::Run(run) => Some(run),
            _ => None,
        }
    }

    fn place(&self, id: Id) -> Place {
        (self.node(id).span.trace_id, self.node(id).place)
    }

    /// The agent of a run: as it says itself, else as the call says that runs it.
    fn name(&self, run: Id) -> Option<Arc<str>> {
        self.run(run)?.name.clone().or_else(|| {
            let Up::Node(above) = self.node(run).place else {
                return None;
            };
            match &self.node(above).role {
                Role::Call(Call { class: Class::RunsAgent { to, .. }, .. }) => to.clone(),
                _ => None,
            }
        })
    }

    /// The run a node belongs to, if every span of the way is here and no other call lies between.
    fn agent_above(&self, id: Id) -> Option<Id> {
        match self.node(id).act {
            Up::Node(above) if self.run(above).is_some() => Some(above),
            _ => None,
        }
    }

    /// Who made a call: the agent above, else the one that the call's own span or the step around it names.
    fn caller(&self, id: Id, call: &Call<'_>) -> Option<Arc<str>> {
        self.agent_above(id).and_then(|run| self.name(run)).or_else(|| self.recorded_caller(id, call))
    }

    fn recorded_caller(&self, id: Id, call: &Call<'_>) -> Option<Arc<str>> {
        call.caller.clone().or_else(|| match &self.node(self.node(id).step?).role {
            Role::Step(agent) => Some(Arc::clone(agent)),
            _ => None,
        })
    }

    fn push(&mut self, draft: Draft) -> usize {
        self.drafts.push(draft);
        self.drafts.len() - 1
    }

    /// Gives every event the hand-off it ran in, and orders them by start.
    fn finish(self) -> Vec<Event> {
        let parent = |draft: &Draft| match draft.within.and_then(|run| self.causes[run as usize]) {
            Some(Cause::HandOff(by)) => Some((self.drafts[by].event.trace_id, self.drafts[by].event.span_id)),
            _ => None,
        };
        let parents: Vec<_> = self.drafts.iter().map(parent).collect();
        let mut events: Vec<Event> = self.drafts.into_iter().map(|draft| draft.event).collect();
        for (event, parent) in events.iter_mut().zip(parents) {
            event.parent = parent;
        }
        events.sort_by_key(|event| (event.started_at, event.trace_id, event.span_id, event.kind));
        events
    }
}
