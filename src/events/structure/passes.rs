//! Passes of control: whether the agent that was meant then ran, and which run that was.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::draft::Draft;
use super::{Cause, Place, Reading};
use crate::events::basis;
use crate::events::event::Kind;
use crate::events::forest::Id;
use crate::events::role::{Call, Class, Pass, Role};
use crate::verdict::Relationship::Observed;

/// Runs by place, in order of start.
type Runs = HashMap<Place, Vec<Id>>;
/// Runs that name who handed them control: by place, that agent and their own.
type Handed = HashMap<(Place, Arc<str>, Arc<str>), VecDeque<Id>>;

impl<'f, 'a> Reading<'f, 'a> {
    pub(super) fn passes(&mut self) {
        for passed in &self.forest.passed {
            let mut draft = self.pass(passed.on, passed.basis);
            draft = draft.by(self.name(passed.sender), Some(passed.sender)).to(self.name(passed.receiver));
            self.give(passed.on, passed.receiver, draft);
        }
        let (mut runs, mut handed) = (Runs::new(), Handed::new());
        for id in self.ids() {
            let Some(run) = self.run(id) else { continue };
            runs.entry(self.place(id)).or_default().push(id);
            if let (Some(by), Some(name)) = (&run.handed_by, &run.name) {
                handed.entry((self.place(id), Arc::clone(by), Arc::clone(name))).or_default().push_back(id);
            }
        }
        for id in self.ids() {
            match &self.node(id).role {
                Role::Pass(pass) => self.recorded(id, pass, &mut handed),
                Role::Call(Call { class: Class::PassesControl { to }, .. }) if !self.spent[id as usize] => {
                    self.called(id, to.as_ref(), &runs);
                }
                _ => {}
            }
        }
    }

    fn pass(&self, on: Id, basis: &'static str) -> Draft {
        let node = self.node(on);
        let draft = Draft::new(node.span, Kind::Transferred, (basis, Observed));
        match &node.role {
            Role::Call(call) => draft.carried(call),
            _ => draft,
        }
    }

    fn give(&mut self, on: Id, receiver: Id, draft: Draft) {
        let draft = self.push(draft);
        self.spent[on as usize] = true;
        self.causes[receiver as usize] = Some(Cause::HandOff(draft));
    }

    /// A framework's own span of a pass is one, whether or not it says to whom. Which run came of it is known only where
    /// that run names the sender, after it and in the same place.
    fn recorded(&mut self, id: Id, pass: &Pass, handed: &mut Handed) {
        let sender = self.agent_above(id);
        let from = pass.from.clone().or_else(|| sender.and_then(|run| self.name(run)));
        let draft = self.pass(id, basis::PASS_RECORDED).by(from.clone(), sender).to(pass.to.clone());
        let receiver = (|| {
            let runs = handed.get_mut(&(self.place(sender?), from?, pass.to.clone()?))?;
            // Passes come in order of start, so that a run before this one is of no use to a later one either.
            while let Some(run) = runs.pop_front() {
                if self.node(run).span.start >= self.node(id).span.start
                    && self.causes[run as usize].is_none()
                {
                    return Some(run);
                }
            }
            None
        })();
        match receiver {
            Some(receiver) => self.give(id, receiver, draft),
            None => {
                self.push(draft);
            }
        }
    }

    /// A call that passes control is a pass only if the named agent, or where none is named the only next one, then ran
    /// in the same place. Else it stays a call.
    fn called(&mut self, id: Id, to: Option<&Arc<str>>, runs: &Runs) {
        let Some(sender) = self.agent_above(id) else {
            return;
        };
        let Some(beside) = runs.get(&self.place(sender)) else {
            return;
        };
        let ended = self.node(id).span.end;
        let next = beside.partition_point(|&run| self.node(run).span.start < ended);
        let Some(&receiver) = beside.get(next) else {
            return;
        };
        let named = to.is_none_or(|to| self.name(receiver).as_ref() == Some(to));
        if !named || receiver == sender || self.causes[receiver as usize].is_some() {
            return;
        }
        let basis = if to.is_some() { basis::PASS_NAMED_NEXT } else { basis::PASS_ONLY_NEXT };
        let draft = self.pass(id, basis).by(self.name(sender), Some(sender)).to(self.name(receiver));
        self.give(id, receiver, draft);
    }
}
