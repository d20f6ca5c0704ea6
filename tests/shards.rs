//! One plan run in shares and put together again: the whole plan or nothing.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const MOCKTRIAL: &str = env!("CARGO_BIN_EXE_mocktrial");

/// The returns desk with all its scenarios, on the app that the tests were built with.
fn desk() -> tempfile::TempDir {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/returns");
    let folder = tempfile::tempdir().expect("a folder");
    let app = Path::new(MOCKTRIAL).parent().expect("a folder").join("examples/returns");
    for entry in fs::read_dir(from).expect("the scenarios") {
        let path = entry.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a text");
        let text = text
            .replace("setup: [[cargo, build, --release, --example, returns]]", "setup: []")
            .replace("cwd: ../..", "cwd: .")
            .replace("target/release/examples/returns", &app.display().to_string());
        fs::write(folder.path().join(path.file_name().expect("a name")), text).expect("written");
    }
    folder
}

fn mocktrial(folder: &Path, args: &[&str]) -> Output {
    Command::new(MOCKTRIAL).current_dir(folder).args(args).output().expect("mocktrial starts")
}

fn said(run: &Output) -> String {
    String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr)
}

fn run_file(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("run.json")).expect("a run file")).expect("JSON")
}

fn shards(folder: &Path, of: u32, more: &[&str]) -> Vec<String> {
    (1..=of)
        .map(|index| {
            let (shard, out) = (format!("{index}/{of}"), format!("out-{index}"));
            let run = mocktrial(folder, &[&["run", ".", "--shard", &shard, "--out", &out], more].concat());
            assert_eq!(run.status.code(), Some(0), "{}", said(&run));
            out
        })
        .collect()
}

#[test]
fn shards_put_together_come_to_what_the_whole_comes_to() {
    let desk = desk();
    let whole = mocktrial(desk.path(), &["run", ".", "--out", "whole"]);
    assert_eq!(whole.status.code(), Some(0), "{}", said(&whole));
    let outs = shards(desk.path(), 3, &[]);
    let merged = mocktrial(desk.path(), &["merge", &outs[2], &outs[0], &outs[1], "--out", "merged"]);
    assert_eq!(merged.status.code(), Some(0), "{}", said(&merged));
    let (whole, merged) = (run_file(&desk.path().join("whole")), run_file(&desk.path().join("merged")));
    assert_eq!(whole["scenarios"], merged["scenarios"]);
    let planned = |run: &Value| -> Vec<String> {
        let trials = run["trials"].as_object().expect("trials");
        let own = trials.iter().filter(|(_, trial)| trial.get("binding_proof").is_none());
        own.map(|(id, _)| id.clone()).collect()
    };
    assert_eq!(planned(&whole), planned(&merged));
    let verified = mocktrial(desk.path(), &["verify", "merged"]);
    assert_eq!(verified.status.code(), Some(0), "{}", said(&verified));
    // Evenly by the times of the run before: again the same trials, each once.
    for out in &outs {
        fs::remove_dir_all(desk.path().join(out)).expect("removed");
    }
    let outs = shards(desk.path(), 3, &["--times", "whole"]);
    let merged = mocktrial(desk.path(), &["merge", &outs[0], &outs[1], &outs[2], "--out", "even"]);
    assert_eq!(merged.status.code(), Some(0), "{}", said(&merged));
    assert_eq!(run_file(&desk.path().join("even"))["scenarios"], whole["scenarios"]);
}

#[test]
fn a_merge_names_what_is_missing_twice_changed_or_of_another_plan() {
    let desk = desk();
    let outs = shards(desk.path(), 2, &[]);
    let refused = |folders: &[&str], told: &str| {
        let run = mocktrial(desk.path(), &[&["merge", "--out", "merged"], folders].concat());
        assert_eq!(run.status.code(), Some(2), "{}", said(&run));
        assert!(said(&run).contains(told), "{told}: {}", said(&run));
        assert!(!desk.path().join("merged/run.json").exists());
    };
    let second = run_file(&desk.path().join(&outs[1]));
    let own = second["trials"].as_object().expect("trials");
    let missing = own.iter().find(|(_, trial)| trial.get("binding_proof").is_none()).expect("a trial").0;
    refused(&[&outs[0]], missing);
    refused(&[&outs[0], &outs[0], &outs[1]], "stands in out-1 and in out-1");
    let whole = mocktrial(desk.path(), &["run", ".", "--out", "whole"]);
    assert_eq!(whole.status.code(), Some(0));
    refused(&[&outs[0], "whole"], "a whole run, no shard of one");
    let other = mocktrial(desk.path(), &["run", ".", "--shard", "2/2", "--seed", "7", "--out", "other"]);
    assert_eq!(other.status.code(), Some(0), "{}", said(&other));
    refused(&[&outs[0], "other"], "a shard of another plan");
    let record = desk.path().join(&outs[1]).join("trials").join(format!("{missing}.jsonl"));
    let text = fs::read_to_string(&record).expect("a record");
    fs::write(&record, text.replacen("1042", "1043", 1)).expect("written");
    refused(&[&outs[0], &outs[1]], missing);
}

#[test]
fn no_shard_is_told_how_one_is_written() {
    let desk = desk();
    let run = mocktrial(desk.path(), &["run", ".", "--shard", "3/2"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(said(&run).contains("write I/N, as in 2/3"), "{}", said(&run));
}
