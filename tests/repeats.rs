//! Repeats, tried on an app that does not always do the same: its second and fifth trial only say that they paid.

#[path = "support/desk.rs"]
mod desk;

use desk::Desk;

const PAYS: &str = r#"scenario: pays
tests: an order that came broken is paid back
turns:
  - user: Order 1042 came broken. I'd like my money back.
  - user: Yes, please go ahead.
seed: ["INSERT INTO orders VALUES ('1042', 'delivered', 5990)"]
sub_goals:
  - { id: paid, sql: "SELECT count(*) = 1 FROM refunds" }
repeat: { trials: 6, pass: PASS }
"#;

fn desk(pass: &str) -> Desk {
    let desk = Desk::after("case $TRIAL in *-2|*-5) export MISBEHAVE=lies;; esac;");
    desk.write("pays.scenario.yaml", &PAYS.replace("PASS", pass));
    desk
}

#[test]
fn enough_passes_pass_though_the_app_is_flaky_and_the_figures_say_so() {
    let desk = desk("{ at_least: 4 }");
    let said = desk.told(&["run", ".", "--out", "out"], 0);
    assert!(
        said.contains("pays/0: 4 of 6 trials passed, 2 failed; at least 4 must: passed, flaky"),
        "{said}"
    );
    // C(4,2)/C(6,2) = 6/15; 1 - C(2,2)/C(6,2) = 14/15; Wilson's interval of 4 in 6.
    assert!(said.contains("k=2 0.40") && said.contains("k=2 0.93"), "{said}");
    assert!(said.contains("pass rate 0.30 to 0.90 (95 %)"), "{said}");
    assert_eq!(desk.run_file("out")["scenarios"]["pays"]["flaky"], true);
    let again = desk.told(&["report", "out"], 0);
    assert!(again.contains("4 of 6 trials passed, 2 failed"), "{again}");
}

#[test]
fn a_run_that_fails_fast_ends_when_the_case_has_failed_whatever_may_come() {
    let desk = desk("{ at_least: 5 }");
    let said = desk.told(&["run", ".", "-j", "1", "--fail-fast", "--out", "out"], 1);
    // The second failure is the fifth trial: before it five passes were still possible.
    assert!(said.contains("6 trials: 3 passed, 2 failed, 0 unknown, 0 error, 1 not run"), "{said}");
    assert_eq!(desk.run_file("out")["trials"]["pays/0-6"]["state"]["state"], "planned");
}

#[test]
fn a_settled_case_needs_no_further_trials() {
    let desk = desk("{ at_least: 2 }");
    let said = desk.told(&["run", ".", "-j", "1", "--fail-fast=scenario", "--out", "out"], 0);
    assert!(said.contains("6 trials: 2 passed, 1 failed, 0 unknown, 0 error, 3 not run"), "{said}");
}

#[test]
fn a_shuffle_is_the_same_for_the_same_seed_and_changes_no_trial() {
    let desk = desk("{ at_least: 4 }");
    let order = |seed: &str, out: &str| -> Vec<String> {
        let said = desk.told(&["run", ".", "--shuffle", seed, "--out", out], 0);
        said.lines().filter_map(|line| line.split("pays/0-").nth(1)?.get(..1).map(str::to_owned)).collect()
    };
    let (by_one, again, by_two) = (order("1", "a"), order("1", "b"), order("2", "c"));
    assert_eq!(by_one, again);
    assert_ne!(by_one, by_two);
    assert_eq!(desk.record("a", "pays/0-3")[0]["seed"], desk.record("c", "pays/0-3")[0]["seed"]);
}
