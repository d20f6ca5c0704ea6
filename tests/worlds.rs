//! The suites of the project's own desks, run through the built binary as a user would: every trial passes, every record
//! holds, and each graded again says what it said.

mod support;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const MOCKTRIAL: &str = env!("CARGO_BIN_EXE_mocktrial");
const CONTRACT: &str = "contract.yaml";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Whether the airline desk can run here; says so where it cannot.
fn python(test: &str) -> bool {
    let found = Command::new("python3").arg("--version").output().is_ok();
    if !found {
        support::skip(test, "there is no python3 here");
    }
    found
}

fn mocktrial(args: &[&OsStr]) -> Output {
    Command::new(MOCKTRIAL).current_dir(root()).args(args).output().expect("mocktrial starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The records of a run, in order of their path.
fn records(out: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(out.join("trials")).expect("records");
    let mut found: Vec<_> = folders
        .flat_map(|folder| fs::read_dir(folder.expect("an entry").path()).expect("records"))
        .map(|entry| entry.expect("an entry").path())
        .collect();
    found.sort();
    found
}

/// How often each decision and kind of outcome stands in the records.
fn kinds(records: &[PathBuf]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for path in records {
        for line in fs::read_to_string(path).expect("a record").lines() {
            let row: Value = serde_json::from_str(line).expect("a row");
            for key in ["decision", "kind"] {
                if ["attempt", "outcome"].iter().any(|kind| row["row"] == *kind)
                    && let Some(word) = row[key].as_str()
                {
                    *counts.entry(word.to_owned()).or_default() += 1;
                }
            }
        }
    }
    counts
}

/// Runs a suite and gives what its records count.
fn green(suite: &Path) -> (usize, BTreeMap<String, usize>) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let run = mocktrial(&["run".as_ref(), suite.as_ref(), "--out".as_ref(), out.as_ref()]);
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    let records = records(&out);
    let all_passed =
        format!("{0} trials: {0} passed, 0 failed, 0 unknown, 0 error; goals: 0 unknown", records.len());
    assert!(said(&run).contains(&all_passed), "{}", said(&run));

    let verified = mocktrial(&["verify".as_ref(), out.as_ref()]);
    assert_eq!(verified.status.code(), Some(0), "{}", said(&verified));
    let mut again: Vec<&OsStr> = vec!["grade".as_ref()];
    again.extend(records.iter().map(|path| path.as_os_str()));
    let again = mocktrial(&again);
    assert_eq!(said(&again).matches("as sealed").count(), records.len(), "{}", said(&again));
    assert_eq!(again.status.code(), Some(0), "{}", said(&again));
    (records.len(), kinds(&records))
}

/// Calls that were done, refused by the world, refused by a channel and faulted: a desk's suite has all of them.
fn has_every_outcome(kinds: &BTreeMap<String, usize>) {
    for kind in ["allowed", "refused", "faulted", "done", "world_refused"] {
        assert!(kinds.contains_key(kind), "no call is {kind}: {kinds:?}");
    }
    assert!(!kinds.contains_key("crashed"), "{kinds:?}");
}

#[test]
fn the_airline_desk_passes_its_suite_in_plain_python() {
    if Command::new("python3").arg("--version").output().is_err() {
        return support::skip(
            "the_airline_desk_passes_its_suite_in_plain_python",
            "there is no python3 here",
        );
    }
    let (trials, kinds) = green(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/airline"));
    assert!(trials >= 27, "{trials} trials");
    has_every_outcome(&kinds);
}

/// The suite of this name where its app can be started from, with `change` made to each text. Scenarios for which it
/// gives nothing are left out.
fn laid_out(name: &str, change: impl Fn(&str, String) -> Option<String>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(root().join("scenarios").join(name)).expect("the suite") {
        let from = entry.expect("an entry").path();
        let file = from.file_name().expect("a name").to_string_lossy().into_owned();
        if let Some(text) = change(&file, fs::read_to_string(&from).expect("a text")) {
            fs::write(folder.path().join(file), text).expect("a copy");
        }
    }
    folder
}

#[test]
fn the_help_desk_passes_its_suite_by_the_documents_of_its_channels() {
    let app = Path::new(MOCKTRIAL).parent().expect("a folder").join("examples/helpdesk");
    assert!(app.exists(), "{} is built with the tests", app.display());
    let folder = laid_out("helpdesk", |file, text| {
        if file != CONTRACT {
            return Some(text);
        }
        let built = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("setup:"))
            .map(|line| line.replace("target/release/examples/helpdesk", &app.display().to_string()) + "\n");
        Some(built.collect())
    });
    let (trials, kinds) = green(folder.path());
    assert!(trials >= 21, "{trials} trials");
    has_every_outcome(&kinds);
}

#[test]
fn a_desk_that_buys_again_after_a_cut_answer_is_caught() {
    if !python("a_desk_that_buys_again_after_a_cut_answer_is_caught") {
        return;
    }
    let folder = laid_out("airline", |file, text| match file {
        CONTRACT => Some(
            text.replace("../../examples/airline", &root().join("examples/airline").display().to_string()),
        ),
        "answer_cut.scenario.yaml" => Some(text.replace("turns:", "env: { MISBEHAVE: books_twice }\nturns:")),
        other => (!other.ends_with(".scenario.yaml")).then_some(text),
    });
    let out = folder.path().join("out");
    let run = mocktrial(&["run".as_ref(), folder.path().as_ref(), "--out".as_ref(), out.as_ref()]);
    assert_eq!(run.status.code(), Some(1), "{}", said(&run));
    assert!(said(&run).contains("failed  sold_once (task, required)"), "{}", said(&run));
}
