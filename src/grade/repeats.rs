//! What repeats of one case come to by the scenario's rule, and how much that says about the app.
//!
//! Every planned trial stands in every denominator: a trial that is unknown, broken or was never run is one that did
//! not pass as far as anybody knows, and could have. So each figure is a pair, with the open trials counted against
//! the app and for it; where nothing is open both are the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scenario::PassRule;
use crate::verdict::Outcome;

/// Counts of outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Trials that passed.
    pub passed: u64,
    /// Trials that failed.
    pub failed: u64,
    /// Trials of which nobody can say.
    pub unknown: u64,
    /// Trials that broke, by no fault of the app.
    pub error: u64,
    /// Trials planned and not run.
    #[serde(default)]
    pub not_run: u64,
}

impl Tally {
    /// Counts one trial; none: it was not run.
    pub fn count(&mut self, outcome: Option<Outcome>) {
        *match outcome {
            Some(Outcome::Passed) => &mut self.passed,
            Some(Outcome::Failed) => &mut self.failed,
            Some(Outcome::Unknown) => &mut self.unknown,
            Some(Outcome::Error) => &mut self.error,
            None => &mut self.not_run,
        } += 1;
    }

    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            unknown: self.unknown + other.unknown,
            error: self.error + other.error,
            not_run: self.not_run + other.not_run,
        }
    }

    /// All of them.
    pub fn trials(self) -> u64 {
        self.passed + self.failed + self.open()
    }

    /// Those that could yet have been either.
    fn open(self) -> u64 {
        self.unknown + self.error + self.not_run
    }

    /// Some passed and some failed: the app does not always do the same.
    pub fn is_flaky(self) -> bool {
        self.passed > 0 && self.failed > 0
    }

    /// Whether no trial that is still to come can change what it comes to.
    pub fn is_settled(self, rule: PassRule) -> bool {
        let k = self.needed(rule);
        self.passed >= k || self.passed + self.open() < k
    }

    fn needed(self, rule: PassRule) -> u64 {
        match rule {
            PassRule::All => self.trials(),
            PassRule::AtLeast(k) => k.into(),
        }
    }

    /// Passed if passes >= k, failed if passes + open < k, else unknown. An error is no evidence for either side: it
    /// leaves the question open like an unknown does, and makes it an error where the question stays open.
    pub fn judge(self, rule: PassRule) -> Outcome {
        let k = self.needed(rule);
        if self.passed >= k && self.trials() > 0 {
            Outcome::Passed
        } else if self.passed + self.open() < k {
            Outcome::Failed
        } else if self.error > 0 {
            Outcome::Error
        } else {
            Outcome::Unknown
        }
    }

    /// The chance that `k` trials drawn from these without putting back all pass: C(c, k) / C(n, k) of n trials of
    /// which c passed (tau-bench's pass^k).
    pub fn pass_hat(self, k: u64) -> Range {
        self.range(|passed, trials| draw(passed, trials, k))
    }

    /// The chance that at least one of `k` trials drawn from these passes: 1 - C(n - c, k) / C(n, k) (pass@k as
    /// HumanEval defines it).
    pub fn pass_at(self, k: u64) -> Range {
        self.range(|passed, trials| 1.0 - draw(trials - passed, trials, k))
    }

    /// Where the app's own pass rate lies, with 95 % confidence: Wilson's score interval, from the lower end with the
    /// open trials against the app to the upper end with them for it.
    pub fn pass_rate(self) -> Range {
        let trials = self.trials();
        let (low, _) = wilson(self.passed, trials);
        let (_, high) = wilson(self.passed + self.open(), trials);
        Range { low, high }
    }

    fn range(self, of: impl Fn(u64, u64) -> f64) -> Range {
        match self.trials() {
            0 => Range { low: 0.0, high: 1.0 },
            trials => Range { low: of(self.passed, trials), high: of(self.passed + self.open(), trials) },
        }
    }
}

/// From what is sure to what is possible, both within 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (low, high) = (format!("{:.2}", self.low), format!("{:.2}", self.high));
        if low == high { f.write_str(&low) } else { write!(f, "{low} to {high}") }
    }
}

/// C(of, k) / C(all, k): that `k` drawn from `all` are all of `of`. More than all cannot be drawn.
fn draw(of: u64, all: u64, k: u64) -> f64 {
    let k = k.min(all);
    if k > of {
        return 0.0;
    }
    (0..k).map(|drawn| (of - drawn) as f64 / (all - drawn) as f64).product()
}

/// 97.5 % of a normal distribution lie below it.
const Z: f64 = 1.959_963_984_540_054;

/// Wilson's score interval for `hits` of `trials`, 95 %.
pub fn wilson(hits: u64, trials: u64) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let n = trials as f64;
    let rate = hits as f64 / n;
    let square = Z * Z / n;
    let centre = (rate + square / 2.0) / (1.0 + square);
    let half = Z / (1.0 + square) * (rate * (1.0 - rate) / n + square / (4.0 * n)).sqrt();
    // At either end the formula gives the end itself, but for rounding.
    let low = if hits == 0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if hits == trials { 1.0 } else { (centre + half).min(1.0) };
    (low, high)
}

/// The 95 % interval of how much the second rate is above the first, each given as hits and trials (Newcombe's hybrid
/// of two of Wilson's intervals).
pub fn difference(first: (u64, u64), second: (u64, u64)) -> Range {
    let rate = |(hits, trials): (u64, u64)| if trials == 0 { 0.5 } else { hits as f64 / trials as f64 };
    let (a, b) = (rate(first), rate(second));
    let ((low_a, high_a), (low_b, high_b)) = (wilson(first.0, first.1), wilson(second.0, second.1));
    Range {
        low: b - a - ((b - low_b).powi(2) + (high_a - a).powi(2)).sqrt(),
        high: b - a + ((high_b - b).powi(2) + (a - low_a).powi(2)).sqrt(),
    }
}
