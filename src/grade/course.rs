//! Checks on the course of the action log: in which order calls were done, and by when.

use std::time::Duration;

use super::evidence::Action;
use super::log::{Count, Fit, Question, got, is_of};
use super::weigh::{Court, Held, Side};
use crate::name::ToolName;
use crate::scenario::{BudgetFrom, OutcomeAsked};
use crate::verdict::{Reason, Verdict};

impl Court<'_> {
    pub(super) fn order(
        &self,
        of: Option<&str>,
        tools: &[ToolName],
        subject: Option<&str>,
        side: Side,
    ) -> Held {
        let question = Question { of, subject, tool: None, reached: true, side };
        let relevant: Vec<_> = self
            .evidence
            .actions
            .iter()
            .filter(|action| tools.iter().any(|tool| is_of(action, tool)))
            .map(|action| (action, self.lane(action, of, got(action, OutcomeAsked::Done))))
            .filter(|(_, fit)| *fit != Fit::No)
            .collect();
        let stand = |sure: bool| {
            let mut left = tools.iter().peekable();
            for (action, fit) in &relevant {
                if (!sure || *fit == Fit::Yes) && left.peek().is_some_and(|tool| is_of(action, tool)) {
                    left.next();
                }
            }
            left.peek().is_none()
        };
        let any = |fit| relevant.iter().any(|(_, seen)| *seen == fit);
        let verdict = if any(Fit::Disputed) {
            Verdict::Unknown(Reason::LaneDisputed)
        } else if stand(true) {
            side.of(Verdict::Passed)
        } else if !stand(false) {
            self.absent(&question, false)
        } else if any(Fit::Unattributed) {
            Verdict::Unknown(Reason::LaneUnattributed)
        } else {
            Verdict::Unknown(Reason::RecordIncomplete)
        };
        let done: Vec<_> = relevant
            .iter()
            .filter(|(_, fit)| *fit == Fit::Yes)
            .map(|(action, _)| action.attempt.tool.as_deref().unwrap_or_default())
            .collect();
        let seen = if done.is_empty() { "none of them".to_owned() } else { done.join(", ") };
        Held::new(verdict, seen)
    }

    pub(super) fn within(&self, limit: Duration, subject: Option<&str>, side: Side) -> Held {
        let question = Question { of: subject, subject, tool: None, reached: true, side };
        let own = |action: &&Action| self.lane(action, subject, Fit::Yes) == Fit::Yes;
        let start = match self.scenario.budget_from {
            BudgetFrom::FirstTurn => self.evidence.turns.first().map(|turn| turn.at),
            BudgetFrom::FirstCall => self.evidence.actions.iter().find(own).map(|a| a.at),
        };
        let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let end = start.map(|start| start.saturating_add(limit));
        let mut last = None;
        let (mut late, mut late_by_someone, mut count) = (false, false, Count::default());
        for action in &self.evidence.actions {
            let fit = self.lane(action, subject, got(action, OutcomeAsked::Done));
            let over = end.is_none_or(|end| action.ended_at.is_none_or(|at| at > end));
            match fit {
                Fit::Yes => {
                    late |= over;
                    last = last.max(action.ended_at);
                }
                Fit::Unattributed => late_by_someone |= over,
                _ => {}
            }
            count.add(fit);
        }
        let verdict = if count.disputed > 0 {
            Verdict::Unknown(Reason::LaneDisputed)
        } else if late {
            side.of(Verdict::Failed)
        } else if late_by_someone || (count.sure == 0 && count.unattributed > 0) {
            Verdict::Unknown(Reason::LaneUnattributed)
        } else if count.open > 0 {
            Verdict::Unknown(Reason::RecordIncomplete)
        } else {
            self.absent(&question, count.sure > 0)
        };
        let seen = match (last, start) {
            (Some(last), Some(start)) => {
                let after = Duration::from_nanos(last.saturating_sub(start));
                format!("the last of {} ended after {:.3} s", count.sure, after.as_secs_f64())
            }
            _ => "no call was done".to_owned(),
        };
        Held::new(verdict, seen)
    }
}
