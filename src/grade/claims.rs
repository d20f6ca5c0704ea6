//! Checks on events: open evidence, so that what was seen can decide and what was not seen cannot.
//!
//! A relationship that is unknown, an agent that is not named, arguments that were not recorded: each may be the one
//! asked for, and none counts as seen.

use super::value::holds;
use super::weigh::{Court, Held};
use crate::journal::EventRow;
use crate::scenario::{CallPattern, HandOff, Times, fill_value};
use crate::verdict::{Reason, Relationship, Verdict};

/// Whether something recorded is what was asked for: yes, no, or not recorded.
type Fits = Option<bool>;

impl Court<'_> {
    pub(super) fn handed_off(&self, kind: &str, asked: &HandOff) -> Held {
        self.observed(asked.times, |event| {
            if event.kind != kind {
                return Some(false);
            }
            let parties = [(&asked.from, &event.from), (&asked.to, &event.to)];
            both(parties.map(|(asked, seen)| self.named(asked.as_deref(), seen.as_deref())))
        })
    }

    pub(super) fn called(&self, pattern: &CallPattern, times: Times, subject: Option<&str>) -> Held {
        let worker = pattern.worker.as_ref().map(|id| id.as_str()).or(subject);
        let args = pattern.args.as_ref().map(|args| fill_value(args, self.case));
        self.observed(times, |event| {
            if event.kind != "tool_call" {
                return Some(false);
            }
            let tool = match (&pattern.tool, event.tool.as_deref()) {
                (None, _) => Some(true),
                (Some(_), None) => None,
                (Some(asked), Some(seen)) => Some(asked.as_str() == seen),
            };
            let given = match &args {
                None => Some(true),
                Some(_) if event.arguments.is_null() => None,
                Some(asked) => Some(holds(&event.arguments, asked)),
            };
            both([tool, given, self.named(worker, event.agent.as_deref())])
        })
    }

    /// Whether the agent that spans name is the worker or peer asked for.
    fn named(&self, asked: Option<&str>, seen: Option<&str>) -> Fits {
        match (asked, seen) {
            (None, _) => Some(true),
            (Some(_), None) => None,
            (Some(asked), Some(seen)) => Some(self.roster.party(seen) == Some(asked)),
        }
    }

    fn observed(&self, times: Times, fits: impl Fn(&EventRow) -> Fits) -> Held {
        let (mut sure, mut open) = (0u64, 0u64);
        for event in &self.evidence.events {
            let observed = event.relationship == Relationship::Observed;
            match fits(event) {
                Some(true) if observed => sure += 1,
                Some(false) => {}
                _ => open += 1,
            }
        }
        let not_observed = Verdict::Unknown(Reason::NotObserved);
        let verdict = match times.max {
            Some(max) if sure > max => Verdict::Failed,
            _ if sure < times.min => self.cut_off().unwrap_or(not_observed),
            None => Verdict::Passed,
            // Nothing was asked to be seen, only not to be seen too often.
            Some(_) if times.min == 0 => self.cut_off().unwrap_or(not_observed),
            Some(max) if sure + open > max => self.cut_off().unwrap_or(not_observed),
            Some(_) => self.cut_off().unwrap_or(Verdict::Passed),
        };
        let mut seen = format!("{sure} observed");
        if open > 0 {
            seen.push_str(&format!(", {open} more of which too little is recorded"));
        }
        Held::new(verdict, seen)
    }

    fn cut_off(&self) -> Option<Verdict> {
        self.incomplete().map(Verdict::Unknown)
    }
}

/// All of them; not recorded, where one is not and no other says no.
fn both<const N: usize>(parts: [Fits; N]) -> Fits {
    if parts.contains(&Some(false)) {
        Some(false)
    } else if parts.contains(&None) {
        None
    } else {
        Some(true)
    }
}
