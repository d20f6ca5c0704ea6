//! Means of what trials did, and intervals of their differences.

use std::collections::BTreeMap;

use crate::grade::Range;

use super::Shift;

/// Of one scenario's trials: how many there were, and of each measure the sum and the sum of squares. A measure that a
/// trial does not have is 0 there.
#[derive(Clone, Debug, Default)]
pub(super) struct Means {
    trials: u64,
    sums: BTreeMap<String, (f64, f64)>,
}

impl Means {
    pub(super) fn add(&mut self, seen: &BTreeMap<String, f64>) {
        self.trials += 1;
        for (what, n) in seen {
            let (sum, squares) = self.sums.entry(what.clone()).or_default();
            *sum += n;
            *squares += n * n;
        }
    }

    /// Mean and variance of a measure.
    fn of(&self, what: &str) -> (f64, f64) {
        let (sum, squares) = self.sums.get(what).copied().unwrap_or_default();
        let n = self.trials.max(1) as f64;
        let mean = sum / n;
        let spread = (squares - n * mean * mean).max(0.0);
        (mean, if self.trials > 1 { spread / (n - 1.0) } else { 0.0 })
    }

    /// Every measure that changed. A time is always another, so it counts only where chance hardly explains it.
    pub(super) fn shifts(&self, after: &Self) -> BTreeMap<String, Shift> {
        let mut shifts = BTreeMap::new();
        for what in self.sums.keys().chain(after.sums.keys()) {
            let ((before, before_var), (mean, var)) = (self.of(what), after.of(what));
            let interval = (self.trials > 1 && after.trials > 1)
                .then(|| welch((before, before_var, self.trials), (mean, var, after.trials)));
            let shift = Shift { before, after: mean, interval };
            let told = if what == "seconds" { shift.is_sure() } else { before != mean };
            if told {
                shifts.insert(what.clone(), shift);
            }
        }
        shifts
    }
}

/// Welch's 95 % interval for the difference of two means: mean, variance and count of each.
fn welch(a: (f64, f64, u64), b: (f64, f64, u64)) -> Range {
    let (ea, eb) = (a.1 / a.2 as f64, b.1 / b.2 as f64);
    let change = b.0 - a.0;
    let error = ea + eb;
    if error == 0.0 {
        return Range { low: change, high: change };
    }
    let freedom = error * error / (ea * ea / (a.2 - 1) as f64 + eb * eb / (b.2 - 1) as f64);
    let half = t(freedom) * error.sqrt();
    Range { low: change - half, high: change + half }
}

/// The 97.5 % point of Student's distribution, by whole degrees of freedom rounded down, from the usual tables.
fn t(freedom: f64) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    match freedom {
        f if f < 1.0 => TABLE[0],
        f if f < 31.0 => TABLE[(f as usize).clamp(1, 30) - 1],
        f if f < 60.0 => 2.042,
        f if f < 120.0 => 2.000,
        _ => 1.980,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(what: &[f64]) -> Means {
        let mut means = Means::default();
        for n in what {
            means.add(&BTreeMap::from([("calls a".to_owned(), *n)]));
        }
        means
    }

    #[test]
    fn a_difference_has_the_textbooks_interval() {
        // Means 3 and 6, variances 2.5 and 2.5, five each: 8 degrees of freedom, error 1, t = 2.306.
        let shifts = means(&[1.0, 2.0, 3.0, 4.0, 5.0]).shifts(&means(&[4.0, 5.0, 6.0, 7.0, 8.0]));
        let shift = shifts["calls a"];
        let range = shift.interval.expect("an interval");
        assert!((range.low - 0.694).abs() < 1e-3 && (range.high - 5.306).abs() < 1e-3, "{range:?}");
        assert!(shift.is_sure());
    }

    #[test]
    fn one_trial_a_side_says_nothing_about_chance() {
        let shifts = means(&[1.0]).shifts(&means(&[2.0]));
        assert!(shifts["calls a"].interval.is_none() && !shifts["calls a"].is_sure());
        assert!(means(&[1.0, 1.0]).shifts(&means(&[1.0])).is_empty());
    }

    #[test]
    fn what_one_side_never_did_counts_as_none() {
        let shifts = Means { trials: 2, ..Means::default() }.shifts(&means(&[2.0, 2.0]));
        assert_eq!(shifts["calls a"].before, 0.0);
        assert!(shifts["calls a"].is_sure());
    }
}
