//! Repeats, tried on an app that does not always do the same: its second and fifth trial only say that they paid.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const MOCKTRIAL: &str = env!("CARGO_BIN_EXE_mocktrial");

fn desk(pass: &str) -> tempfile::TempDir {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let app = Path::new(MOCKTRIAL).parent().expect("a folder").join("examples/returns");
    let start = format!(
        "[sh, -c, 'case $TRIAL in *-2|*-5) export MISBEHAVE=lies;; esac; exec {}']\n  env: {{ TRIAL: \"${{trial}}\", ",
        app.display()
    );
    let contract = fs::read_to_string(here.join("tests/verdicts/contract.yaml")).expect("a contract");
    let contract =
        contract.replace("[APP]\n  env: { ", &start).replace("CWD", &folder.path().display().to_string());
    fs::write(folder.path().join("contract.yaml"), contract).expect("written");
    fs::copy(here.join("scenarios/returns/world.sql"), folder.path().join("world.sql")).expect("a copy");
    let scenario = format!(
        "scenario: pays\ntests: an order that came broken is paid back\nturns:\n  - user: Order 1042 came broken. I'd like my money back.\n  \
         - user: Yes, please go ahead.\nseed: [\"INSERT INTO orders VALUES ('1042', 'delivered', 5990)\"]\n\
         sub_goals:\n  - {{ id: paid, sql: \"SELECT count(*) = 1 FROM refunds\" }}\nrepeat: {{ trials: 6, pass: {pass} }}\n"
    );
    fs::write(folder.path().join("pays.scenario.yaml"), scenario).expect("written");
    folder
}

fn mocktrial(folder: &Path, args: &[&str]) -> Output {
    Command::new(MOCKTRIAL).current_dir(folder).args(args).output().expect("mocktrial starts")
}

fn said(run: &Output) -> String {
    String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr)
}

fn run_file(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("out/run.json")).expect("a run file")).expect("JSON")
}

#[test]
fn enough_passes_pass_though_the_app_is_flaky_and_the_figures_say_so() {
    let desk = desk("{ at_least: 4 }");
    let run = mocktrial(desk.path(), &["run", ".", "--out", "out"]);
    let said = said(&run);
    assert_eq!(run.status.code(), Some(0), "{said}");
    assert!(
        said.contains("pays/0: 4 of 6 trials passed, 2 failed; at least 4 must: passed, flaky"),
        "{said}"
    );
    // C(4,2)/C(6,2) = 6/15; 1 - C(2,2)/C(6,2) = 14/15; Wilson's interval of 4 in 6.
    assert!(said.contains("k=2 0.40") && said.contains("k=2 0.93"), "{said}");
    assert!(said.contains("pass rate 0.30 to 0.90 (95 %)"), "{said}");
    assert_eq!(run_file(desk.path())["scenarios"]["pays"]["flaky"], true);
    let again = mocktrial(desk.path(), &["report", "out"]);
    assert_eq!(again.status.code(), Some(0));
    assert!(self::said(&again).contains("4 of 6 trials passed, 2 failed"), "{}", self::said(&again));
}

#[test]
fn a_run_that_fails_fast_ends_when_the_case_has_failed_whatever_may_come() {
    let desk = desk("{ at_least: 5 }");
    let run = mocktrial(desk.path(), &["run", ".", "-j", "1", "--fail-fast", "--out", "out"]);
    let said = said(&run);
    assert_eq!(run.status.code(), Some(1), "{said}");
    // The second failure is the fifth trial: before it five passes were still possible.
    assert!(said.contains("6 trials: 3 passed, 2 failed, 0 unknown, 0 error, 1 not run"), "{said}");
    assert_eq!(run_file(desk.path())["trials"]["pays/0-6"]["state"]["state"], "planned");
}

#[test]
fn a_settled_case_needs_no_further_trials() {
    let desk = desk("{ at_least: 2 }");
    let run = mocktrial(desk.path(), &["run", ".", "-j", "1", "--fail-fast=scenario", "--out", "out"]);
    let said = said(&run);
    assert_eq!(run.status.code(), Some(0), "{said}");
    assert!(said.contains("6 trials: 2 passed, 1 failed, 0 unknown, 0 error, 3 not run"), "{said}");
}

#[test]
fn a_shuffle_is_the_same_for_the_same_seed_and_changes_no_trial() {
    let desk = desk("{ at_least: 4 }");
    let order = |seed: &str, out: &str| {
        let run = mocktrial(desk.path(), &["run", ".", "--shuffle", seed, "--out", out]);
        let said = said(&run);
        let ids: Vec<_> =
            said.lines().filter_map(|line| line.split("pays/0-").nth(1)?.chars().next()).collect();
        (ids, fs::read_to_string(desk.path().join(out).join("trials/pays/0-3.jsonl")).expect("a record"))
    };
    let (by_one, record) = order("1", "a");
    let (again, same) = order("1", "b");
    let (by_two, _) = order("2", "c");
    assert_eq!(by_one, again);
    assert_ne!(by_one, by_two);
    let seed = |record: &str| {
        serde_json::from_str::<Value>(record.lines().next()?).ok().map(|row| row["seed"].clone())
    };
    assert_eq!(seed(&record), seed(&same));
}
