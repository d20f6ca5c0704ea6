//! What a run came to, in numbers: outcomes, unknown goals, and where the time went.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::Story;
use crate::verdict::Outcome;

/// Phases in the order a trial goes through them.
const PHASES: [&str; 6] = ["start", "turns", "settle", "stop", "grade", "seal"];

/// Sums over the trials that count: of a retried trial the second.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Trials that passed.
    pub passed: u64,
    /// Trials that failed.
    pub failed: u64,
    /// Trials of which nothing failed, and something required is unknown.
    pub unknown: u64,
    /// Trials that were no trial of the app.
    pub error: u64,
    /// Trials that were planned and never run.
    pub not_run: u64,
    /// Goals that are unknown, those that never count aside.
    pub unknown_goals: u64,
    /// Microseconds by phase, over all trials.
    pub phases: BTreeMap<String, u64>,
}

impl Totals {
    /// Counts a trial.
    pub fn add(&mut self, story: &Story) {
        *match story.outcome() {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Unknown => &mut self.unknown,
            Outcome::Error => &mut self.error,
        } += 1;
        self.unknown_goals += story.unknown_goals();
        for phase in &story.phases {
            self.spend(&phase.phase, phase.micros);
        }
    }

    /// Adds time that no record holds: a record cannot tell how long its own seal took.
    pub fn spend(&mut self, phase: &str, micros: u64) {
        let spent = self.phases.entry(phase.to_owned()).or_default();
        *spent = spent.saturating_add(micros);
    }

    /// All trials counted.
    pub fn trials(&self) -> u64 {
        self.passed + self.failed + self.unknown + self.error + self.not_run
    }

    /// `start 1.20 s, turns 3.40 s, …`: summed over trials, so with many at once it is more than the clock shows.
    /// Empty where no record says.
    pub fn time(&self) -> String {
        let named = PHASES.iter().filter(|phase| self.phases.contains_key(**phase));
        let other = self.phases.keys().map(String::as_str);
        let other = other.filter(|phase| !PHASES.contains(phase));
        let spent = named.copied().chain(other).map(|phase| {
            let spent = Duration::from_micros(self.phases[phase]);
            format!("{phase} {:.2} s", spent.as_secs_f64())
        });
        spent.collect::<Vec<_>>().join(", ")
    }
}

/// The last line of every run.
impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} trials: {} passed, {} failed, {} unknown, {} error",
            self.trials(),
            self.passed,
            self.failed,
            self.unknown,
            self.error,
        )?;
        if self.not_run > 0 {
            write!(f, ", {} not run", self.not_run)?;
        }
        write!(f, "; goals: {} unknown", self.unknown_goals)
    }
}
