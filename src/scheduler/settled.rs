//! Which cases are settled before all their trials were run, and whether the whole run is.

use std::collections::BTreeMap;

use crate::grade::Tally;
use crate::scenario::PassRule;
use crate::trial::Planned;
use crate::verdict::Outcome;

/// When trials are no longer begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailFast {
    /// All are run.
    #[default]
    Never,
    /// Those of a case whose verdict no further trial can change are not.
    Scenario,
    /// None is, once a case has failed whatever may come; nor those of a settled case.
    Run,
}

/// Suite, scenario and case.
type Key = (usize, String, usize);

#[derive(Debug, Default)]
pub(super) struct Settled {
    cases: BTreeMap<Key, (PassRule, Tally)>,
}

impl Settled {
    pub(super) fn new<'a>(trials: impl Iterator<Item = &'a (usize, Planned)>) -> Self {
        let mut settled = Self::default();
        for (suite, planned) in trials {
            let rule = planned.scenario.repeat.pass;
            let (_, tally) = settled.cases.entry(key(*suite, planned)).or_insert((rule, Tally::default()));
            tally.count(None);
        }
        settled
    }

    /// One more trial is over. Answers what its case comes to, where that is settled.
    pub(super) fn ended(&mut self, suite: usize, planned: &Planned, outcome: Outcome) -> Option<Outcome> {
        let (rule, tally) = self.cases.get_mut(&key(suite, planned))?;
        tally.not_run = tally.not_run.saturating_sub(1);
        tally.count(Some(outcome));
        // An error stays open by the rule, and yet nobody waits for another trial to mend it.
        match outcome {
            Outcome::Error => Some(Outcome::Error),
            _ => tally.is_settled(*rule).then(|| tally.judge(*rule)),
        }
    }

    /// Whether this trial's case is settled.
    pub(super) fn is_settled(&self, suite: usize, planned: &Planned) -> bool {
        self.cases.get(&key(suite, planned)).is_some_and(|(rule, tally)| tally.is_settled(*rule))
    }
}

fn key(suite: usize, planned: &Planned) -> Key {
    (suite, planned.scenario.name.clone(), planned.case)
}
