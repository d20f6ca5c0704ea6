//! Proof that a worker's calls come through its channel: who needs it for a scenario's goals, and who has given it.
//!
//! A worker whose tools go round its channel leaves that channel empty, and an empty channel would then pass for a
//! worker that did nothing. So a `passed` that rests on an absence needs a call, in this trial or in another of the
//! same app, that did come through.

use std::collections::BTreeSet;

use super::evidence::{Evidence, Whose};
use super::roster::Roster;
use super::weigh::Side;
use crate::scenario::{CallPattern, Check, CheckKind, Contract, LaneSpec, Scenario, Subject, Times};

/// The workers whose proven binding a goal of this scenario may come to need: those that an absence is asked of.
pub fn needed_bindings(contract: &Contract, scenario: &Scenario) -> BTreeSet<String> {
    let mut asking = Asking { roster: Roster::new(contract), needed: BTreeSet::new() };
    for goal in &scenario.sub_goals {
        let subject = match &goal.subject {
            Subject::Task => None,
            Subject::Worker(id) => Some(id.as_str()),
        };
        asking.check(&goal.check, subject, Side::For);
    }
    let with_channel = contract.workers.iter().filter(|worker| worker.lane != LaneSpec::None);
    with_channel
        .map(|worker| worker.id.to_string())
        .filter(|worker| asking.needed.contains(worker.as_str()))
        .collect()
}

/// The workers of whom a call came through their channel, with nobody disputing whose it was.
pub fn shown_bindings(evidence: &Evidence) -> BTreeSet<String> {
    let shown = evidence.actions.iter().filter_map(|action| match action.whose() {
        Whose::Worker(worker) => Some(worker.to_owned()),
        Whose::Nobody | Whose::Disputed(..) => None,
    });
    shown.collect()
}

struct Asking<'a> {
    roster: Roster<'a>,
    needed: BTreeSet<String>,
}

impl Asking<'_> {
    fn check(&mut self, check: &Check, subject: Option<&str>, side: Side) {
        let absent = |times: Times| match side {
            Side::For => times.max.is_some(),
            Side::Against => times.min > 0,
        };
        match &check.kind {
            CheckKind::Calls(pattern, times) if absent(*times) => self.pattern(pattern, subject),
            CheckKind::Never(pattern) if side == Side::For => self.pattern(pattern, subject),
            CheckKind::Refused { worker, times, .. } if absent(*times) => {
                self.anybody(worker.as_ref().map(|id| id.as_str()).or(subject));
            }
            CheckKind::Order { worker, .. } if side == Side::Against => {
                self.anybody(worker.as_ref().map(|id| id.as_str()).or(subject));
            }
            CheckKind::Within(_) => self.anybody(subject),
            CheckKind::All(checks) | CheckKind::Any(checks) => {
                for check in checks {
                    self.check(check, subject, side);
                }
            }
            CheckKind::Not(check) => self.check(check, subject, side.other()),
            _ => {}
        }
    }

    fn pattern(&mut self, pattern: &CallPattern, subject: Option<&str>) {
        self.anybody(pattern.worker.as_ref().map(|id| id.as_str()).or(subject));
    }

    fn anybody(&mut self, worker: Option<&str>) {
        match worker {
            Some(worker) => drop(self.needed.insert(worker.to_owned())),
            None => self.needed.extend(self.roster.asked(None, false).into_iter().map(str::to_owned)),
        }
    }
}
