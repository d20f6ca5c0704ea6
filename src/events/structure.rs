//! The structure rules: what follows from where runs, calls and passes of control stand to each other.
//!
//! Written once for all dialects. A run's cause is what started it; a call's place is its agent's cause. No rule looks
//! at what an agent or tool is called, except to find again a name that a framework's own record gives.

use std::collections::HashMap;
use std::sync::Arc;

use super::basis;
use super::event::{EndedWith, Event, Kind};
use super::forest::{Forest, Id, Node, Up};
use super::role::{Call, Class, Role, Run};
use crate::spans::{Span, Status, TraceId};
use crate::verdict::Relationship::{self, Observed, Unknown};

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

/// An event whose parent is not known yet.
struct Draft {
    event: Event,
    /// The run it happened in, whose cause is the event's parent.
    within: Option<Id>,
}

/// A place where agents run one after the other: a group, a call, or the top of a trace.
type Place = (TraceId, Up);

pub(super) struct Reading<'f, 'a> {
    forest: &'f Forest<'a>,
    cause: HashMap<Id, Cause>,
    drafts: Vec<Draft>,
    /// Calls that became hand-offs.
    spent: HashMap<Id, usize>,
}

/// The events of a forest whose roles are settled, in order of start.
pub(super) fn events(forest: &Forest<'_>) -> Vec<Event> {
    let mut reading = Reading {
        forest,
        cause: HashMap::new(),
        drafts: Vec::new(),
        spent: HashMap::new(),
    };
    reading.passes();
    reading.causes();
    reading.calls();
    reading.finish()
}

impl<'f, 'a> Reading<'f, 'a> {
    fn node(&self, id: Id) -> &'f Node<'a> {
        self.forest.node(id)
    }

    fn run(&self, id: Id) -> Option<&'f Run<'a>> {
        match &self.node(id).role {
            Role::Run(run) => Some(run),
            _ => None,
        }
    }

    /// The agent of a run: as it says itself, else as the call says that runs it.
    fn name(&self, run: Id) -> Option<Arc<str>> {
        self.run(run)?.name.clone().or_else(|| {
            let Up::Node(above) = self.node(run).place else {
                return None;
            };
            match &self.node(above).role {
                Role::Call(Call {
                    class: Class::RunsAgent { to, .. },
                    ..
                }) => to.clone(),
                _ => None,
            }
        })
    }

    /// The agent run a node belongs to, if every span of the way is here and no other call lies between.
    fn agent_above(&self, id: Id) -> Option<Id> {
        match self.node(id).act {
            Up::Node(above) if self.run(above).is_some() => Some(above),
            _ => None,
        }
    }

    /// The caller as the call's own span, or the step it was made in, names it.
    fn named_by(&self, id: Id, call: &Call<'_>) -> Option<Arc<str>> {
        call.caller
            .clone()
            .or_else(|| match &self.node(self.node(id).step?).role {
                Role::Step(agent) => Some(Arc::clone(agent)),
                _ => None,
            })
    }

    /// Where a run was started, and whether the way there is whole. A group inside a group starts its first run in its
    /// own right.
    fn place(&self, id: Id) -> Place {
        (self.node(id).span.trace_id, self.node(id).place)
    }

    /// Runs by place, in order of start.
    fn runs_by_place(&self) -> HashMap<Place, Vec<Id>> {
        let mut runs: HashMap<Place, Vec<Id>> = HashMap::new();
        for id in 0..self.forest.nodes.len() as Id {
            if self.run(id).is_some() {
                runs.entry(self.place(id)).or_default().push(id);
            }
        }
        runs
    }

    /// Passes of control come first: they explain runs that would else be without a cause.
    fn passes(&mut self) {
        for passed in &self.forest.passed {
            let (from, to) = (self.name(passed.sender), self.name(passed.receiver));
            let draft = self.draft(passed.on, Kind::Transferred, from, passed.basis, Observed);
            self.drafts[draft].event.to = to;
            if let Role::Call(call) = &self.node(passed.on).role {
                self.drafts[draft].event.tool = call.tool.clone();
                self.drafts[draft].event.arguments = call.arguments.value();
                self.spent.insert(passed.on, draft);
            }
            self.drafts[draft].within = Some(passed.sender);
            self.cause.insert(passed.receiver, Cause::HandOff(draft));
        }
        let runs = self.runs_by_place();
        for id in 0..self.forest.nodes.len() as Id {
            match &self.node(id).role {
                Role::Pass(pass) => {
                    let above = self.agent_above(id);
                    let from = pass
                        .from
                        .clone()
                        .or_else(|| above.and_then(|run| self.name(run)));
                    let draft =
                        self.draft(id, Kind::Transferred, from, basis::PASS_RECORDED, Observed);
                    self.drafts[draft].event.to = pass.to.clone();
                    self.drafts[draft].within = above;
                    if let Some(receiver) =
                        above.and_then(|sender| self.named_receiver(&runs, id, sender))
                    {
                        self.cause.insert(receiver, Cause::HandOff(draft));
                    }
                }
                Role::Call(call) => {
                    let Class::PassesControl { to } = &call.class else {
                        continue;
                    };
                    if self.spent.contains_key(&id) {
                        continue;
                    }
                    let Some(sender) = self.agent_above(id) else {
                        continue;
                    };
                    let Some(receiver) = self.next_run(&runs, id, sender, to.as_ref()) else {
                        continue;
                    };
                    let basis = if to.is_some() {
                        basis::PASS_NAMED_NEXT
                    } else {
                        basis::PASS_ONLY_NEXT
                    };
                    let from = self.name(sender);
                    let to = self.name(receiver);
                    let draft = self.draft(id, Kind::Transferred, from, basis, Observed);
                    let event = &mut self.drafts[draft].event;
                    event.to = to;
                    event.tool = call.tool.clone();
                    event.arguments = call.arguments.value();
                    self.drafts[draft].within = Some(sender);
                    self.spent.insert(id, draft);
                    self.cause.insert(receiver, Cause::HandOff(draft));
                }
                _ => {}
            }
        }
    }

    /// The run that names this pass's sender as the one who handed it control, in the same place and after it.
    fn named_receiver(&self, runs: &HashMap<Place, Vec<Id>>, pass: Id, sender: Id) -> Option<Id> {
        let Role::Pass(record) = &self.node(pass).role else {
            return None;
        };
        let from = record.from.as_ref().or(self.run(sender)?.name.as_ref())?;
        runs.get(&self.place(sender))?.iter().copied().find(|&id| {
            self.node(id).span.start >= self.node(pass).span.start
                && !self.cause.contains_key(&id)
                && self.run(id).is_some_and(|run| {
                    run.handed_by.as_ref() == Some(from)
                        && (record.to.is_none() || run.name == record.to)
                })
        })
    }

    /// The next run of the sender's place after the call, if it is the named one and nothing else can be meant.
    fn next_run(
        &self,
        runs: &HashMap<Place, Vec<Id>>,
        call: Id,
        sender: Id,
        to: Option<&Arc<str>>,
    ) -> Option<Id> {
        let ended = self.node(call).span.end;
        let beside = runs.get(&self.place(sender))?;
        let next = beside.partition_point(|&id| self.node(id).span.start < ended);
        let &receiver = beside.get(next)?;
        let named = to.is_none() || self.run(receiver)?.name.as_ref() == to;
        (named && receiver != sender && !self.cause.contains_key(&receiver)).then_some(receiver)
    }

    /// Why each run ran, and a hand-off where that is one.
    fn causes(&mut self) {
        let mut first: HashMap<Place, Id> = HashMap::new();
        for id in 0..self.forest.nodes.len() as Id {
            if self.run(id).is_none() {
                continue;
            }
            let place = self.place(id);
            let opener = *first.entry(place).or_insert(id);
            if self.cause.contains_key(&id) {
                continue;
            }
            let cause = self.cause_of(id, place.1, opener);
            self.cause.insert(id, cause);
        }
    }

    fn cause_of(&mut self, id: Id, mut place: Up, opener: Id) -> Cause {
        let mut beside = false;
        let mut in_order = matches!(place, Up::Root);
        // Out through groups: the first run of a group starts where the group does.
        while let Up::Node(at) = place {
            let Role::Group(group) = &self.node(at).role else {
                break;
            };
            if group.starts_none {
                return self.uncaused(id, basis::RUN_NESTED);
            }
            beside |= group.side_by_side;
            in_order |= !group.side_by_side;
            place = self.node(at).place;
        }
        let recorded = self.run(id).is_some_and(|run| run.task.is_some());
        if in_order && !beside && !recorded && opener != id {
            if self.name(id).is_some() && self.name(id) == self.name(opener) {
                // The agent the place began with goes on; nobody is said to have handed it anything.
                return Cause::None;
            }
            return self.uncaused(id, basis::RUN_SECOND);
        }
        let above = self.agent_above(id);
        match (place, self.run(id).and_then(|run| run.task.as_ref())) {
            (Up::Root | Up::Node(_), Some(task))
                if task.nested == above.is_some() && (task.nested || place == Up::Root) =>
            {
                let from = task
                    .from
                    .clone()
                    .or_else(|| above.and_then(|run| self.name(run)));
                let draft = self.draft(id, Kind::Delegated, from, task.basis, Observed);
                self.drafts[draft].event.arguments = task.arguments.value();
                self.drafts[draft].within = above;
                self.received(draft, id);
                return Cause::HandOff(draft);
            }
            _ => {}
        }
        match place {
            Up::Root if beside => Cause::Beside,
            Up::Root => Cause::First,
            Up::Missing => self.uncaused(id, basis::RUN_PARENT_MISSING),
            Up::Node(at) => match &self.node(at).role {
                Role::Call(call) => Cause::HandOff(self.by_call(at, call, id)),
                _ => self.uncaused(id, basis::RUN_NESTED),
            },
        }
    }

    /// A run nothing on record explains.
    fn uncaused(&mut self, id: Id, basis: &'static str) -> Cause {
        let draft = self.draft(id, Kind::Delegated, None, basis, Unknown);
        if let Some(task) = self.run(id).and_then(|run| run.task.as_ref()) {
            self.drafts[draft].event.arguments = task.arguments.value();
        }
        self.received(draft, id);
        Cause::None
    }

    /// The worker's side of a hand-off: its name and its own end.
    fn received(&mut self, draft: usize, worker: Id) {
        let span = self.node(worker).span;
        let to = self.name(worker);
        let end = self.run(worker).and_then(|run| {
            if run.end_unrecorded {
                None
            } else {
                run.end.or(Some(span.end))
            }
        });
        let ended = end.filter(|&end| end > 0);
        let event = &mut self.drafts[draft].event;
        event.to = to;
        event.ended_at = ended;
        event.ended_with = ended.and_then(|_| ended_with(span));
    }

    /// The act's own span ended.
    fn ended(&mut self, draft: usize, on: Id) {
        let span = self.node(on).span;
        let event = &mut self.drafts[draft].event;
        event.ended_at = (span.end > 0).then_some(span.end);
        event.ended_with = ended_with(span);
    }

    /// A run under a call: the call handed work to it.
    fn by_call(&mut self, call: Id, record: &'f Call<'a>, worker: Id) -> usize {
        let node = self.node(call);
        let above = self.agent_above(call);
        let named = above
            .and_then(|run| self.name(run))
            .or_else(|| self.named_by(call, record));
        let (basis, relationship) = match node.act {
            Up::Node(_) if above.is_some() => (basis::RUN_UNDER_CALL, Observed),
            Up::Node(_) => (basis::RUN_UNDER_CALL_IN_CALL, Unknown),
            _ if named.is_some() => (basis::RUN_UNDER_CALL_NAMED, Observed),
            _ => (basis::RUN_UNDER_CALL_CALLER_MISSING, Unknown),
        };
        let (basis, relationship) = match self.node(worker).adopted {
            _ if self.run(worker).is_some_and(|run| run.unsure) => (basis::RUN_UNSURE, Unknown),
            Some(adopted) if relationship == Observed => (adopted, Observed),
            _ => (basis, relationship),
        };
        // A call that ran several agents is several hand-offs, each with a span of its own to rest on.
        let rests_on = if self.spent.contains_key(&call) {
            worker
        } else {
            call
        };
        let draft = self.draft(rests_on, Kind::Delegated, named, basis, relationship);
        let event = &mut self.drafts[draft].event;
        event.tool = record.tool.clone();
        event.arguments = record.arguments.value();
        self.drafts[draft].within = above;
        self.received(draft, worker);
        if matches!(record.class, Class::RunsAgent { .. })
            && self.drafts[draft].event.ended_at.is_none()
        {
            self.ended(draft, call);
        }
        self.spent.entry(call).or_insert(draft);
        draft
    }

    /// Calls that are no hand-off, and calls that their framework says run an agent.
    fn calls(&mut self) {
        for id in 0..self.forest.nodes.len() as Id {
            let node = self.node(id);
            let Role::Call(call) = &node.role else {
                continue;
            };
            if self.spent.contains_key(&id) {
                continue;
            }
            if call.far_side {
                let draft = self.draft(id, Kind::ToolCall, None, basis::CALL_FAR_SIDE, Unknown);
                let event = &mut self.drafts[draft].event;
                event.tool = call.tool.clone();
                event.arguments = call.arguments.value();
                self.ended(draft, id);
                continue;
            }
            let above = self.agent_above(id);
            let named = above
                .and_then(|run| self.name(run))
                .or_else(|| self.named_by(id, call));
            if let Class::RunsAgent { to, basis } = &call.class {
                let relationship = if above.is_some() || self.named_by(id, call).is_some() {
                    Observed
                } else {
                    Unknown
                };
                let from = if relationship == Observed {
                    named
                } else {
                    None
                };
                let draft = self.draft(id, Kind::Delegated, from, basis, relationship);
                let event = &mut self.drafts[draft].event;
                event.to = to.clone();
                event.tool = call.tool.clone();
                event.arguments = call.arguments.value();
                self.drafts[draft].within = above;
                self.ended(draft, id);
                continue;
            }
            let (basis, relationship) = self.place_of_call(id, above);
            let draft = self.draft(id, Kind::ToolCall, named, basis, relationship);
            let event = &mut self.drafts[draft].event;
            event.tool = call.tool.clone();
            event.arguments = call.arguments.value();
            self.drafts[draft].within = above;
            self.ended(draft, id);
        }
    }

    fn place_of_call(&self, id: Id, above: Option<Id>) -> (&'static str, Relationship) {
        let Some(run) = above else {
            return match self.node(id).act {
                Up::Node(_) => (basis::CALL_IN_CALL, Unknown),
                Up::Missing => (basis::CALL_PARENT_MISSING, Unknown),
                Up::Root => (basis::CALL_WITHOUT_AGENT, Unknown),
            };
        };
        match self.cause.get(&run) {
            Some(Cause::First) => (basis::CALL_OF_FIRST, Observed),
            Some(Cause::Beside) => (basis::CALL_BESIDE, Observed),
            Some(Cause::HandOff(_)) if self.run(run).is_some_and(|run| run.unsure) => {
                (basis::RUN_UNSURE, Unknown)
            }
            Some(Cause::HandOff(_)) => (basis::CALL_IN_HAND_OFF, Observed),
            Some(Cause::None) | None => (basis::CALL_OF_UNCAUSED, Unknown),
        }
    }

    fn draft(
        &mut self,
        on: Id,
        kind: Kind,
        agent: Option<Arc<str>>,
        basis: &'static str,
        relationship: Relationship,
    ) -> usize {
        let span = self.node(on).span;
        self.drafts.push(Draft {
            event: Event {
                kind,
                agent,
                to: None,
                tool: None,
                arguments: serde_json::Value::Null,
                relationship,
                basis,
                trace_id: span.trace_id,
                span_id: span.span_id,
                parent: None,
                started_at: span.start,
                ended_at: None,
                ended_with: None,
            },
            within: None,
        });
        self.drafts.len() - 1
    }

    /// Gives every event the hand-off it ran in, and orders them by start.
    fn finish(self) -> Vec<Event> {
        let parents: Vec<_> = self
            .drafts
            .iter()
            .map(
                |draft| match draft.within.and_then(|run| self.cause.get(&run)) {
                    Some(Cause::HandOff(by)) => Some(self.drafts[*by].event.span_id),
                    _ => None,
                },
            )
            .collect();
        let mut events: Vec<Event> = self.drafts.into_iter().map(|draft| draft.event).collect();
        for (event, parent) in events.iter_mut().zip(parents) {
            event.parent = parent;
        }
        events.sort_by(|a, b| {
            (a.started_at, a.trace_id, a.span_id, a.kind).cmp(&(
                b.started_at,
                b.trace_id,
                b.span_id,
                b.kind,
            ))
        });
        events
    }
}

fn ended_with(span: &Span) -> Option<EndedWith> {
    match span.status {
        Status::Unset => None,
        Status::Ok => Some(EndedWith::Ok),
        Status::Error => Some(EndedWith::Error),
    }
}
