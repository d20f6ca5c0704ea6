//! Two runs compared: what got worse, and whether that may be chance.

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
"#;

/// Two runs of ten trials, `before` and `after`; from the second on the app only says that it paid.
fn desk() -> Desk {
    let desk = Desk::bare();
    desk.write("pays.scenario.yaml", PAYS);
    desk.copy("refund_once");
    desk.told(&["run", ".", "--trials", "10", "--out", "before"], 0);
    desk.change("contract.yaml", "env: { ", "env: { MISBEHAVE: lies, ");
    std::fs::remove_file(desk.at("refund_once.scenario.yaml")).expect("removed");
    desk.write("new.scenario.yaml", &PAYS.replace("scenario: pays", "scenario: later"));
    desk
}

#[test]
fn a_regression_is_named_with_what_the_app_did_less_of() {
    let desk = desk();
    desk.told(&["run", ".", "--trials", "10", "--out", "after"], 1);
    let said = desk.told(&["diff", "before", "after"], 1);
    assert!(said.contains("regressed  pays  passed (10 of 10) -> failed (0 of 10)"), "{said}");
    assert!(said.contains("pass rate 1.00 -> 0.00 (by -1.00 to -0.61, 95 %)"), "{said}");
    assert!(said.contains("calls refund 1.00 -> 0.00 (by -1.00 to -1.00, 95 %)"), "{said}");
    assert!(said.contains("vanished   refund_once") && said.contains("new        later"), "{said}");
    assert!(said.ends_with("1 regressed, 0 fixed, 0 changed, 1 new, 1 vanished, 0 same\n"), "{said}");
    let back = desk.told(&["diff", "after", "before"], 0);
    assert!(back.contains("fixed      pays"), "{back}");
}

#[test]
fn only_regressions_decide_where_they_are_the_gate() {
    let desk = desk();
    let said = desk.told(&["run", ".", "--out", "after", "--baseline", "before", "--gate", "regressions"], 1);
    assert!(said.contains("regressed  pays"), "{said}");
    assert!(said.trim_end().ends_with("goals: 0 unknown"), "the last line is the totals: {said}");
    // It fails as it did: no regression, and by the gate no failure.
    desk.told(&["run", ".", "--out", "again", "--baseline", "after", "--gate", "regressions"], 0);
    desk.told(&["run", ".", "--out", "once", "--baseline", "after"], 1);
}

#[test]
fn runs_that_have_nothing_in_common_are_not_called_equal() {
    let desk = desk();
    desk.told(&["run", ".", "--filter", "later", "--out", "later"], 1);
    let said = desk.told(&["diff", "before", "later"], 2);
    assert!(said.contains("no scenario in common; nothing was compared"), "{said}");
    let said = desk.told(&["run", ".", "--baseline", "nowhere", "--out", "after"], 2);
    assert!(said.contains("nowhere") && !desk.at("after/trials").exists(), "{said}");
}
