//! `mocktrial check` proves scenarios without the app, and says which are no proof of anything.

use std::fs;
use std::path::Path;
use std::process::Command;

fn check(path: &Path) -> (Option<i32>, String) {
    let run = Command::new(env!("CARGO_BIN_EXE_mocktrial"))
        .arg("check")
        .arg(path)
        .output()
        .expect("mocktrial starts");
    let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    (run.status.code(), said)
}

/// The desk's contract and world, and one scenario of these sub-goals.
fn told_of(solution: &str, sub_goals: &str) -> (Option<i32>, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/returns");
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["contract.yaml", "world.sql"] {
        fs::copy(root.join(name), folder.path().join(name)).expect("a copy");
    }
    let text = format!(
        "scenario: one\ntests: something\nturns: [{{ user: Refund order 1001. }}]\nsolution:\n{solution}\nsub_goals:\n{sub_goals}\n"
    );
    fs::write(folder.path().join("one.scenario.yaml"), text).expect("written");
    check(folder.path())
}

/// The row of the printed table that starts with this word.
fn cells<'a>(said: &'a str, first: &str) -> Vec<&'a str> {
    let row = said.lines().find(|line| line.trim_start().starts_with(first)).unwrap_or_default();
    row.trim().split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}

const PAY: &str =
    "  - { worker: refund, tool: issue_refund, args: { order_id: \"1001\", amount_cents: 2500 } }";
const REPLY: &str = "  - { reply: done }";
const PAID: &str = "  - { id: paid, changed: { refunds: { added: 1 } } }";

#[test]
fn every_scenario_of_the_project_is_proved() {
    let (exit, said) = check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios"));
    assert_eq!(exit, Some(0), "{said}");
    let last = said.lines().last().unwrap_or_default();
    let counts: Vec<usize> =
        last.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
    assert!(counts[0] >= 50 && counts[1] == counts[2], "{last}");
}

#[test]
fn a_solution_that_reaches_every_goal_is_a_proof() {
    let (exit, said) = told_of(&format!("{PAY}\n{REPLY}"), PAID);
    assert_eq!(exit, Some(0), "{said}");
    assert_eq!(
        cells(&said, "would"),
        ["would notice, by line", "left out", "twice", "wrong argument"],
        "{said}"
    );
    assert_eq!(cells(&said, "paid"), ["paid", "5", "-", "5"], "{said}");
    assert_eq!(cells(&said, "answered"), ["answered", "6", "-", "-"], "{said}");
}

#[test]
fn a_goal_that_the_solution_does_not_reach_makes_it_unsolvable() {
    let (exit, said) = told_of(REPLY, PAID);
    assert_eq!(exit, Some(1), "{said}");
    assert!(said.contains("one.scenario.yaml:7:5: unsolvable: the solution leaves `paid` failed"), "{said}");
}

#[test]
fn goals_that_an_idle_app_meets_are_vacuous() {
    let (exit, said) = told_of(REPLY, "  - { id: nothing_paid, unchanged: [refunds] }");
    assert_eq!(exit, Some(1), "{said}");
    assert!(said.contains("vacuous: "), "{said}");
}

#[test]
fn a_step_that_the_contract_forbids_is_named() {
    let forbidden =
        "  - { worker: order_lookup, tool: issue_refund, args: { order_id: \"1001\", amount_cents: 2500 } }";
    let (exit, said) = told_of(&format!("{PAY}\n{forbidden}\n{REPLY}"), PAID);
    assert_eq!(exit, Some(1), "{said}");
    assert!(said.contains("one.scenario.yaml:6:5: forbidden: the solution may not do this"), "{said}");
}

#[test]
fn a_turn_that_the_solution_leaves_unanswered_is_no_solution() {
    let (exit, said) = told_of(PAY, PAID);
    assert_eq!(exit, Some(1), "{said}");
    assert!(said.contains("the solution leaves `answered` failed"), "{said}");
}

#[test]
fn a_step_that_nobody_would_miss_is_named() {
    let look = "  - { worker: order_lookup, tool: get_order, args: { order_id: \"1001\" } }";
    let (exit, said) = told_of(&format!("{look}\n{PAY}\n{REPLY}"), PAID);
    assert_eq!(exit, Some(0), "{said}");
    assert!(said.contains("one.scenario.yaml:5:5: no sub-goal would miss this step"), "{said}");
}
