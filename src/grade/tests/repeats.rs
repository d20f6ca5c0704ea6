//! Repeats: the rule, and figures that leave no trial out.

use proptest::prelude::*;

use crate::grade::{Tally, difference, wilson};
use crate::scenario::PassRule;
use crate::verdict::Outcome;

fn tally(passed: u64, failed: u64, unknown: u64, error: u64, not_run: u64) -> Tally {
    Tally { passed, failed, unknown, error, not_run }
}

#[test]
fn the_rule_is_the_designs() {
    use Outcome::{Error, Failed, Passed, Unknown};
    for (counts, rule, outcome) in [
        (tally(3, 0, 0, 0, 0), PassRule::All, Passed),
        (tally(2, 1, 0, 0, 0), PassRule::All, Failed),
        (tally(2, 0, 1, 0, 0), PassRule::All, Unknown),
        (tally(2, 0, 0, 1, 0), PassRule::All, Error),
        (tally(2, 0, 0, 0, 1), PassRule::All, Unknown),
        (tally(1, 1, 1, 1, 0), PassRule::All, Failed),
        (tally(2, 1, 0, 0, 0), PassRule::AtLeast(2), Passed),
        (tally(2, 0, 0, 1, 7), PassRule::AtLeast(2), Passed),
        (tally(1, 1, 1, 0, 0), PassRule::AtLeast(2), Unknown),
        (tally(1, 1, 1, 1, 0), PassRule::AtLeast(2), Error),
        (tally(0, 2, 1, 0, 0), PassRule::AtLeast(2), Failed),
        (tally(0, 0, 0, 0, 0), PassRule::All, Unknown),
    ] {
        assert_eq!(counts.judge(rule), outcome, "{counts:?} by {rule:?}");
    }
}

#[test]
fn passing_draws_are_counted_over_all_trials() {
    // 10 trials, 8 passed: C(8,2)/C(10,2) = 28/45, 1 - C(2,2)/C(10,2) = 44/45.
    let eight = tally(8, 2, 0, 0, 0);
    assert!((eight.pass_hat(2).low - 28.0 / 45.0).abs() < 1e-12);
    assert!((eight.pass_at(2).low - 44.0 / 45.0).abs() < 1e-12);
    assert_eq!(eight.pass_hat(2).to_string(), "0.62");
    // The same with the two open instead of failed: no trial leaves the denominator.
    let open = tally(8, 0, 1, 1, 0);
    assert!((open.pass_hat(2).low - 28.0 / 45.0).abs() < 1e-12);
    assert_eq!(open.pass_hat(2).high, 1.0);
    assert_eq!(open.pass_hat(2).to_string(), "0.62 to 1.00");
    assert!(!open.is_flaky() && eight.is_flaky());
}

#[test]
fn wilsons_interval_is_the_textbooks() {
    // 8 of 10, 95 %: 0.4902 to 0.9433.
    let (low, high) = wilson(8, 10);
    assert!((low - 0.490_2).abs() < 1e-4 && (high - 0.943_3).abs() < 1e-4, "{low} {high}");
    assert_eq!(wilson(0, 0), (0.0, 1.0));
    assert_eq!(wilson(0, 5).0, 0.0);
    assert_eq!(wilson(5, 5).1, 1.0);
}

#[test]
fn two_rates_differ_by_newcombes_interval() {
    // Newcombe 1998, method 10, example (a): 56 of 70 and 48 of 80 differ by 0.2, from 0.0524 to 0.3339.
    let range = difference((48, 80), (56, 70));
    assert!((range.low - 0.052_4).abs() < 1e-4 && (range.high - 0.333_9).abs() < 1e-4, "{range:?}");
}

fn any_tally() -> impl Strategy<Value = Tally> {
    (0..20u64, 0..20u64, 0..5u64, 0..5u64, 0..5u64).prop_map(|(p, f, u, e, n)| tally(p, f, u, e, n))
}

fn any_rule() -> impl Strategy<Value = PassRule> {
    prop_oneof![Just(PassRule::All), (1..25u32).prop_map(PassRule::AtLeast)]
}

proptest! {
    #[test]
    fn what_is_settled_stays_so_however_the_open_trials_come_out(
        counts in any_tally(), rule in any_rule(), passes in 0..15u64,
    ) {
        let open = counts.unknown + counts.error + counts.not_run;
        prop_assume!(counts.trials() > 0);
        let passes = passes.min(open);
        let closed = tally(counts.passed + passes, counts.failed + open - passes, 0, 0, 0);
        let now = counts.judge(rule);
        prop_assert_eq!(counts.is_settled(rule), matches!(now, Outcome::Passed | Outcome::Failed));
        if counts.is_settled(rule) {
            prop_assert_eq!(closed.judge(rule), now);
        }
    }

    #[test]
    fn ranges_lie_within_0_and_1_and_hold_what_could_come_true(
        counts in any_tally(), k in 1..6u64, passes in 0..15u64,
    ) {
        let open = counts.unknown + counts.error + counts.not_run;
        let passes = passes.min(open);
        let closed = tally(counts.passed + passes, counts.failed + open - passes, 0, 0, 0);
        for (range, truth) in [
            (counts.pass_hat(k), closed.pass_hat(k).low),
            (counts.pass_at(k), closed.pass_at(k).low),
        ] {
            prop_assert!((0.0..=1.0).contains(&range.low) && (0.0..=1.0).contains(&range.high));
            prop_assert!(range.low <= truth + 1e-12 && truth <= range.high + 1e-12);
        }
        let rate = counts.pass_rate();
        prop_assert!(rate.low <= rate.high && (0.0..=1.0).contains(&rate.low) && (0.0..=1.0).contains(&rate.high));
    }
}
