//! What many trials come to: per scenario by its rule, and over all for the last line and the exit code.

use std::collections::BTreeMap;

use crate::scenario::PassRule;
use crate::verdict::{Exit, Outcome};

use super::pool::Done;

/// Counts of outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Trials that passed.
    pub passed: u32,
    /// Trials that failed.
    pub failed: u32,
    /// Trials that are unknown.
    pub unknown: u32,
    /// Trials that are errors.
    pub error: u32,
    /// Trials planned and never begun.
    pub not_run: u32,
}

impl Tally {
    /// Counts one trial.
    pub fn count(&mut self, outcome: Option<Outcome>) {
        *match outcome {
            Some(Outcome::Passed) => &mut self.passed,
            Some(Outcome::Failed) => &mut self.failed,
            Some(Outcome::Unknown) => &mut self.unknown,
            Some(Outcome::Error) => &mut self.error,
            None => &mut self.not_run,
        } += 1;
    }

    /// All of them.
    pub fn trials(&self) -> u32 {
        self.passed + self.failed + self.unknown + self.error + self.not_run
    }
}

/// One scenario's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioTally {
    /// Its name.
    pub scenario: String,
    /// Its trials, all cases together.
    pub tally: Tally,
    /// By its rule, each case for itself; the worst case's.
    pub outcome: Outcome,
}

/// Passed if passes >= k, failed if passes + unknown < k, else unknown. An error is no evidence for either side: it
/// leaves the question open like an unknown does, and makes it an error where the question stays open.
pub fn judge(rule: PassRule, tally: Tally) -> Outcome {
    let k = match rule {
        PassRule::All => tally.trials(),
        PassRule::AtLeast(k) => k,
    };
    let open = tally.unknown + tally.error + tally.not_run;
    if tally.passed >= k {
        Outcome::Passed
    } else if tally.passed + open < k {
        Outcome::Failed
    } else if tally.error + tally.not_run > 0 {
        Outcome::Error
    } else {
        Outcome::Unknown
    }
}

/// Judges every scenario of a run.
pub fn scenarios(all: &[Done]) -> Vec<ScenarioTally> {
    let mut cases: BTreeMap<(&str, usize), (PassRule, Tally)> = BTreeMap::new();
    for done in all {
        let scenario = &done.planned.scenario;
        let key = (scenario.name.as_str(), done.planned.case);
        let (_, tally) = cases.entry(key).or_insert((scenario.repeat.pass, Tally::default()));
        tally.count(done.outcome());
    }
    let mut by_name: BTreeMap<&str, ScenarioTally> = BTreeMap::new();
    for ((name, _), (rule, tally)) in cases {
        let outcome = judge(rule, tally);
        let entry = by_name.entry(name).or_insert_with(|| ScenarioTally {
            scenario: name.to_owned(),
            tally: Tally::default(),
            outcome: Outcome::Passed,
        });
        entry.tally = sum(entry.tally, tally);
        if Exit::from(entry.outcome).worse(outcome.into()) != Exit::from(entry.outcome) {
            entry.outcome = outcome;
        }
    }
    by_name.into_values().collect()
}

fn sum(a: Tally, b: Tally) -> Tally {
    Tally {
        passed: a.passed + b.passed,
        failed: a.failed + b.failed,
        unknown: a.unknown + b.unknown,
        error: a.error + b.error,
        not_run: a.not_run + b.not_run,
    }
}
