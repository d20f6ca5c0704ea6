//! An absence on a channel counts only where the channel is known to be used: shown by another trial, or by nobody.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const MOCKTRIAL: &str = env!("CARGO_BIN_EXE_mocktrial");

const LIES: &str = r#"scenario: a_lie
tests: a desk that only says it paid is known not to have called
env: { MISBEHAVE: lies }
turns:
  - user: Order 1042 came broken. I'd like my money back.
  - user: Yes, please go ahead.
seed: ["INSERT INTO orders VALUES ('1042', 'delivered', 5990)"]
sub_goals:
  - { id: told, reply: { contains: on its way } }
  - { id: refund_never_paid, never: { worker: refund, tool: issue_refund } }
"#;

/// The desk's contract with the lie beside a scenario whose solution calls both workers.
fn desk(scenarios: &[(&str, &str)]) -> tempfile::TempDir {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().expect("a folder");
    let app = Path::new(MOCKTRIAL).parent().expect("a folder").join("examples/returns");
    let contract = fs::read_to_string(here.join("tests/verdicts/contract.yaml")).expect("a contract");
    let contract = contract
        .replace("APP", &app.display().to_string())
        .replace("CWD", &folder.path().display().to_string());
    fs::write(folder.path().join("contract.yaml"), contract).expect("written");
    fs::copy(here.join("scenarios/returns/world.sql"), folder.path().join("world.sql")).expect("a copy");
    for (name, text) in scenarios {
        fs::write(folder.path().join(format!("{name}.scenario.yaml")), text).expect("written");
    }
    folder
}

fn refund() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(here.join("scenarios/returns/refund_once.scenario.yaml")).expect("a scenario")
}

fn mocktrial(folder: &Path, args: &[&str]) -> Output {
    Command::new(MOCKTRIAL).current_dir(folder).args(args).output().expect("mocktrial starts")
}

fn said(run: &Output) -> String {
    String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr)
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

#[test]
fn a_filtered_run_shows_the_channel_by_a_scenario_it_would_not_have_run() {
    let desk = desk(&[("a_lie", LIES), ("refund_once", &refund())]);
    let run = mocktrial(desk.path(), &["run", ".", "--filter", "a_lie", "--out", "out"]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    assert!(said(&run).contains("1 trials: 1 passed"), "{}", said(&run));
    let file = json(&desk.path().join("out/run.json"));
    let proof = &file["trials"]["refund_once/0-binding"];
    assert_eq!(proof["binding_proof"], true, "{file}");
    assert_eq!(proof["state"]["state"], "sealed", "{file}");
    let record = fs::read_to_string(desk.path().join("out/trials/a_lie/0-1.jsonl")).expect("a record");
    let first: Value = serde_json::from_str(record.lines().next().expect("a row")).expect("JSON");
    assert_eq!(first["bindings"]["refund"], "refund_once/0-binding");
    assert_eq!(mocktrial(desk.path(), &["verify", "out"]).status.code(), Some(0));
}

#[test]
fn a_trial_of_the_plan_that_calls_the_worker_comes_first_and_is_run_once() {
    let desk = desk(&[("a_lie", LIES), ("refund_once", &refund())]);
    let run = mocktrial(desk.path(), &["run", ".", "--out", "out"]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    let file = json(&desk.path().join("out/run.json"));
    let trials = file["trials"].as_object().expect("trials");
    assert!(trials.values().all(|trial| trial.get("binding_proof").is_none()), "{file}");
    let record = fs::read_to_string(desk.path().join("out/trials/a_lie/0-1.jsonl")).expect("a record");
    let first: Value = serde_json::from_str(record.lines().next().expect("a row")).expect("JSON");
    assert_eq!(first["bindings"]["refund"], "refund_once/0-1");
}

#[test]
fn a_channel_that_nobody_used_is_not_shown_and_the_absence_stays_unknown() {
    let desk = desk(&[("a_lie", LIES), ("refund_once", &refund())]);
    let contract = fs::read_to_string(desk.path().join("contract.yaml")).expect("a contract");
    // The app's refund client reads another variable than the contract says: no call comes by that channel.
    let contract = contract.replace("address_env: REFUND_URL", "address_env: REFUNDS_URL");
    let contract = contract.replace("env: { ", "env: { REFUND_URL: \"http://127.0.0.1:9/\", ");
    fs::write(desk.path().join("contract.yaml"), contract).expect("written");
    let proof = mocktrial(desk.path(), &["prove", "--binding", "."]);
    assert_eq!(proof.status.code(), Some(3), "{}", said(&proof));
    assert!(
        said(&proof).contains("refund: not shown: no call came by it in refund_once/0-binding"),
        "{}",
        said(&proof)
    );
    assert!(said(&proof).contains("does its tool client read REFUNDS_URL?"), "{}", said(&proof));
    assert!(said(&proof).contains("order_lookup: its calls come through its channel"), "{}", said(&proof));
    let run = mocktrial(desk.path(), &["run", ".", "--filter", "a_lie", "--out", "out"]);
    assert_eq!(run.status.code(), Some(3), "{}", said(&run));
    assert!(said(&run).contains("unknown: binding_unproven  refund_never_paid"), "{}", said(&run));
}
