//! Calls that no run was found under: tool calls, and calls that their framework says run an agent.

use super::draft::Draft;
use super::{Cause, Reading};
use crate::events::basis;
use crate::events::event::Kind;
use crate::events::forest::{Id, Up};
use crate::events::role::{Call, Class, Role};
use crate::verdict::Relationship::{self, Observed, Unknown};

impl<'f, 'a> Reading<'f, 'a> {
    pub(super) fn calls(&mut self) {
        for id in self.ids() {
            let node = self.node(id);
            if let (Role::Call(call), false) = (&node.role, self.spent[id as usize]) {
                let draft = self.call(id, call).carried(call).ended(node.span, node.span.end);
                self.push(draft);
            }
        }
    }

    fn call(&self, id: Id, call: &Call<'_>) -> Draft {
        let span = self.node(id).span;
        if call.far_side {
            return Draft::new(span, Kind::ToolCall, (basis::CALL_FAR_SIDE, Unknown));
        }
        let above = self.agent_above(id);
        if let Class::RunsAgent { to, basis } = &call.class {
            let known = above.is_some() || self.recorded_caller(id, call).is_some();
            let rule = (*basis, if known { Observed } else { Unknown });
            return Draft::new(span, Kind::Delegated, rule).by(self.caller(id, call), above).to(to.clone());
        }
        Draft::new(span, Kind::ToolCall, self.rule(id, above)).by(self.caller(id, call), above)
    }

    /// Whether a call's place is known: it is its agent's.
    fn rule(&self, id: Id, above: Option<Id>) -> (&'static str, Relationship) {
        let Some(run) = above else {
            return match self.node(id).act {
                Up::Node(_) => (basis::CALL_IN_CALL, Unknown),
                Up::Missing => (basis::CALL_PARENT_MISSING, Unknown),
                Up::Root => (basis::CALL_WITHOUT_AGENT, Unknown),
            };
        };
        match self.causes[run as usize] {
            Some(Cause::First) => (basis::CALL_OF_FIRST, Observed),
            Some(Cause::Beside) => (basis::CALL_BESIDE, Observed),
            Some(Cause::HandOff(_)) if self.run(run).is_some_and(|run| run.unsure) => {
                (basis::RUN_UNSURE, Unknown)
            }
            Some(Cause::HandOff(by)) => (basis::in_hand_off(self.drafts[by].event.basis), Observed),
            Some(Cause::None) | None => (basis::CALL_OF_UNCAUSED, Unknown),
        }
    }
}
