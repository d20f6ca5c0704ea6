//! Why each run ran, and the hand-off where that is one.

use std::collections::HashMap;

use super::draft::Draft;
use super::{Cause, Place, Reading};
use crate::events::basis;
use crate::events::event::Kind;
use crate::events::forest::{Id, Up};
use crate::events::role::{Call, Class, Role, Task};
use crate::verdict::Relationship::{Observed, Unknown};

impl<'f, 'a> Reading<'f, 'a> {
    pub(super) fn runs(&mut self) {
        let mut first: HashMap<Place, Id> = HashMap::new();
        for id in self.ids().filter(|&id| self.run(id).is_some()).collect::<Vec<_>>() {
            let opener = *first.entry(self.place(id)).or_insert(id);
            if self.causes[id as usize].is_none() {
                self.causes[id as usize] = Some(self.cause(id, opener));
            }
        }
    }

    /// `opener` is the first run of the same place.
    fn cause(&mut self, id: Id, opener: Id) -> Cause {
        // The first run of a group starts where the group does.
        let way = self.forest.way_out(self.node(id).place);
        if way.starts_none {
            return self.uncaused(id, basis::RUN_NESTED);
        }
        let task = self.run(id).and_then(|run| run.task.as_ref());
        if let Some(cause) = task.and_then(|task| self.given(id, task, way.out)) {
            return cause;
        }
        if task.is_none() && way.in_order && !way.side_by_side && opener != id {
            return match self.name(id) {
                // The agent the place began with goes on; nobody is said to have handed it anything.
                Some(name) if self.name(opener) == Some(name.clone()) => Cause::None,
                _ => self.uncaused(id, basis::RUN_SECOND),
            };
        }
        match way.out {
            Up::Root if way.side_by_side => Cause::Beside,
            Up::Root => Cause::First,
            Up::Missing => self.uncaused(id, basis::RUN_PARENT_MISSING),
            Up::Node(above) => match &self.node(above).role {
                Role::Call(call) => self.under_call(above, call, id, way.in_order),
                _ => self.uncaused(id, basis::RUN_NESTED),
            },
        }
    }

    /// The framework's own record that this run was given its work.
    fn given(&mut self, id: Id, task: &Task<'_>, out: Up) -> Option<Cause> {
        let sender = self.agent_above(id);
        let holds = if task.nested { sender.is_some() } else { out == Up::Root };
        if !holds {
            return None;
        }
        let from = task.from.clone().or_else(|| sender.and_then(|run| self.name(run)));
        let mut draft =
            Draft::new(self.node(id).span, Kind::Delegated, (task.basis, Observed)).by(from, sender);
        draft.event.arguments = task.arguments.value();
        let draft = self.received(draft, id);
        Some(Cause::HandOff(self.push(draft)))
    }

    /// A run that nothing on record explains.
    fn uncaused(&mut self, id: Id, basis: &'static str) -> Cause {
        let mut draft = Draft::new(self.node(id).span, Kind::Delegated, (basis, Unknown));
        if let Some(task) = self.run(id).and_then(|run| run.task.as_ref()) {
            draft.event.arguments = task.arguments.value();
        }
        let draft = self.received(draft, id);
        self.push(draft);
        Cause::None
    }

    /// A run under a call: the call handed work to it; `as_first` of a workflow that the call runs.
    fn under_call(&mut self, call: Id, record: &Call<'_>, worker: Id, as_first: bool) -> Cause {
        let above = self.agent_above(call);
        let from = self.caller(call, record);
        let under = if as_first { basis::RUN_UNDER_CALL_FIRST } else { basis::RUN_UNDER_CALL };
        let adopted = self.node(worker).adopted.unwrap_or(under);
        let rule = match self.node(call).act {
            _ if self.run(worker).is_some_and(|run| run.unsure) => (basis::RUN_UNSURE, Unknown),
            Up::Node(_) if above.is_some() => (adopted, Observed),
            Up::Node(_) if as_first => (basis::RUN_UNDER_CALL_IN_CALL_FIRST, Unknown),
            Up::Node(_) => (basis::RUN_UNDER_CALL_IN_CALL, Unknown),
            _ if from.is_some() && as_first => (basis::RUN_UNDER_CALL_NAMED_FIRST, Observed),
            _ if from.is_some() => (basis::RUN_UNDER_CALL_NAMED, Observed),
            _ if as_first => (basis::RUN_UNDER_CALL_CALLER_MISSING_FIRST, Unknown),
            _ => (basis::RUN_UNDER_CALL_CALLER_MISSING, Unknown),
        };
        // A call that ran several agents is several hand-offs, each with a span of its own to rest on.
        let rests_on = if self.spent[call as usize] { worker } else { call };
        let draft =
            Draft::new(self.node(rests_on).span, Kind::Delegated, rule).by(from, above).carried(record);
        let mut draft = self.received(draft, worker);
        if matches!(record.class, Class::RunsAgent { .. }) && draft.event.ended_at.is_none() {
            let span = self.node(call).span;
            draft = draft.ended(span, span.end);
        }
        self.spent[call as usize] = true;
        Cause::HandOff(self.push(draft))
    }

    /// The worker's side of a hand-off: its name, and its own end where that is on record.
    fn received(&self, draft: Draft, worker: Id) -> Draft {
        let span = self.node(worker).span;
        let end = self.run(worker).map_or(0, |run| match run.end {
            _ if run.end_unrecorded => 0,
            Some(end) => end,
            None => span.end,
        });
        draft.to(self.name(worker)).ended(span, end)
    }
}
