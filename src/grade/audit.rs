//! `stayed_permitted`: whether a worker that no channel holds back stayed within its limits all the same.
//!
//! The shared channel lets through what any of its workers may do. What spans then attribute to one worker is put to
//! that worker's own rules, by the very decision that a channel of its own would have taken.

use super::evidence::{Action, Whose};
use super::weigh::{Broken, Court, Held};
use crate::clock::Moment;
use crate::name::ToolName;
use crate::permit::{Ask, Limits, Refusal, Rules, Usage, decide};
use crate::scenario::{BudgetFrom, Effect, Worker};
use crate::verdict::{Reason, Verdict};

impl Court<'_> {
    pub(super) fn stayed_permitted(&self, worker: &Worker) -> Result<Held, Broken> {
        let id = worker.id.as_str();
        let rules = self.rules(worker)?;
        let mut usage = Usage { calls: 0, budget_start: self.budget_start(id) };
        let mut doubts = vec![self.incomplete()];
        let mut own = 0u64;
        for action in &self.evidence.actions {
            let whose = action.whose();
            own += u64::from(whose == Whose::Worker(id));
            // What was refused on the wire was not let through, so it cannot be a breach.
            let Some(tool) = action.attempt.tool.as_deref() else {
                continue;
            };
            if action.refusal().is_some() {
                continue;
            }
            match whose {
                Whose::Worker(whose) if whose == id => {
                    if let Err(refusal) = self.would(&rules, usage, tool, action) {
                        let seen = format!("attempt {}: {}", action.seq, refusal.reason);
                        return Ok(Held::new(Verdict::Failed, seen));
                    }
                    usage.calls += 1;
                }
                Whose::Disputed(a, b) if a == id || b == id => {
                    doubts.push(Some(Reason::LaneDisputed));
                }
                Whose::Nobody if self.would(&rules, usage, tool, action).is_err() => {
                    doubts.push(Some(Reason::LaneUnattributed));
                }
                _ => {}
            }
        }
        if own == 0 {
            doubts.push(Some(Reason::NoCalls));
        }
        let reason = doubts.into_iter().flatten().min();
        let seen = format!("{own} calls, {} let through", usage.calls);
        Ok(Held::new(reason.map_or(Verdict::Passed, Verdict::Unknown), seen))
    }

    fn rules(&self, worker: &Worker) -> Result<Rules, Broken> {
        let budget = Limits { budget: self.scenario.budget, ..Limits::default() };
        let narrowing = self.scenario.narrow.get(&worker.id);
        let layers = [
            ("contract".to_owned(), Limits::from(worker)),
            ("scenario".to_owned(), narrowing.map_or_else(Limits::default, Limits::from)),
            ("scenario".to_owned(), budget),
        ];
        Rules::new(&worker.id, layers)
            .map_err(|bad| Broken { line: worker.pos.line, message: bad.to_string() })
    }

    fn budget_start(&self, worker: &str) -> Option<Moment> {
        let at = match self.scenario.budget_from {
            BudgetFrom::FirstTurn => self.evidence.turns.first().map(|turn| turn.at),
            BudgetFrom::FirstCall => self.of_worker(worker).next().map(|first| first.at),
        };
        at.map(Moment)
    }

    /// What a channel of its own would have said. Row times are Unix nanoseconds, and only differences count.
    fn would(&self, rules: &Rules, usage: Usage, tool: &str, action: &Action) -> Result<(), Refusal> {
        let tool = ToolName::new(tool);
        let effect = self.contract.tool(&tool).map_or(Effect::Write, |tool| tool.effect);
        let at = Moment(action.at);
        decide(rules, usage, Ask { tool: &tool, effect, at }).map(drop)
    }
}
