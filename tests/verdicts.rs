//! The verdict table, tried on a real app: every scenario of `tests/verdicts` with the outcome, the verdicts, the reasons
//! and the exit code that the design gives it, each written by hand beside it. Every record is verified and graded again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const MOCKTRIAL: &str = env!("CARGO_BIN_EXE_mocktrial");

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts")
}

fn mocktrial(args: &[&std::ffi::OsStr]) -> Output {
    Command::new(MOCKTRIAL).args(args).output().expect("mocktrial starts")
}

/// The scenarios where the app can be started from: the contract filled in.
fn laid_out() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let app = Path::new(MOCKTRIAL).parent().expect("a folder").join("examples/returns");
    assert!(app.exists(), "{} is built with the tests", app.display());
    for entry in fs::read_dir(cases()).expect("the cases") {
        let from = entry.expect("an entry").path();
        let name = from.file_name().expect("a name");
        let text = fs::read_to_string(&from).expect("a text");
        let text = match name == "contract.yaml" {
            true => text
                .replace("APP", &app.display().to_string())
                .replace("CWD", &folder.path().display().to_string()),
            false => text,
        };
        fs::write(folder.path().join(name), text).expect("a copy");
    }
    folder
}

fn rows(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("a record");
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

/// `failed`, `unknown: no_calls`.
fn told(judged: &Value) -> String {
    let verdict = judged["verdict"].as_str().expect("a verdict");
    match judged["reason"].as_str() {
        Some(reason) => format!("{verdict}: {reason}"),
        None => verdict.to_owned(),
    }
}

fn records(out: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for scenario in fs::read_dir(out.join("trials")).expect("records") {
        let folder = scenario.expect("an entry").path();
        found.extend(fs::read_dir(folder).expect("records").map(|entry| entry.expect("an entry").path()));
    }
    // The retry, whose outcome counts, comes last.
    found.sort_by_key(|path| path.display().to_string().contains("-retry"));
    found
}

fn check(folder: &Path, name: &str, expected: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut want = |what: &str, seen: String, wanted: &Value| {
        let wanted = wanted.as_str().map_or_else(|| wanted.to_string(), str::to_owned);
        if seen != wanted {
            faults.push(format!("{name}: {what} is {seen}, not {wanted}"));
        }
    };
    let out = folder.join(format!("out-{name}"));
    let scenario = folder.join(format!("{name}.scenario.yaml"));
    let run = mocktrial(&["run".as_ref(), scenario.as_ref(), "--out".as_ref(), out.as_ref()]);
    let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    want("the exit code", run.status.code().unwrap_or(-1).to_string(), &expected["exit"]);
    if !out.join("run.json").exists() {
        faults.push(format!("{name}: no run: {said}"));
        return faults;
    }
    let records = records(&out);
    if let Some(count) = expected["records"].as_u64() {
        want("the count of records", records.len().to_string(), &Value::from(count));
    }
    let rows = rows(records.last().expect("a record"));
    let of_kind = |kind: &str| rows.iter().filter(|row| row["row"] == kind).collect::<Vec<_>>();
    let end = of_kind("end")[0];
    want("the outcome", end["outcome"].as_str().unwrap_or("none").to_owned(), &expected["outcome"]);
    if expected["task"].is_string() {
        want("the task", told(&end["task"]), &expected["task"]);
    }
    if expected["error"].is_string() {
        want("the error", end["error"]["code"].as_str().unwrap_or("none").to_owned(), &expected["error"]);
    }
    let verdicts: BTreeMap<_, _> = of_kind("verdict")
        .iter()
        .map(|row| (row["sub_goal"].as_str().expect("an id").to_owned(), told(row)))
        .collect();
    let none = || "none".to_owned();
    for (goal, wanted) in expected["goals"].as_object().expect("goals") {
        want(goal, verdicts.get(goal).cloned().unwrap_or_else(none), wanted);
    }
    for (worker, wanted) in expected["workers"].as_object().into_iter().flatten() {
        want(worker, told(&end["workers"][worker]), wanted);
    }
    for code in expected["findings"].as_array().into_iter().flatten() {
        let found = of_kind("finding").iter().any(|row| row["code"] == *code);
        want(&format!("finding {code}"), found.to_string(), &Value::Bool(true));
    }
    let verified = mocktrial(&["verify".as_ref(), out.as_ref()]);
    want("what verify exits with", verified.status.code().unwrap_or(-1).to_string(), &Value::from(0));
    let again = mocktrial(&["grade".as_ref(), records.last().expect("a record").as_ref()]);
    let agreed = String::from_utf8_lossy(&again.stdout).contains("as sealed");
    want("grading again", agreed.to_string(), &Value::Bool(true));
    if !faults.is_empty() {
        faults.push(said);
    }
    faults
}

#[test]
fn every_row_of_the_verdict_table_is_told_as_designed() {
    let folder = laid_out();
    let mut names: Vec<String> = fs::read_dir(cases())
        .expect("the cases")
        .filter_map(|entry| {
            entry.ok()?.file_name().to_str()?.strip_suffix(".expected.json").map(str::to_owned)
        })
        .collect();
    names.sort();
    assert!(names.len() >= 15, "{} cases", names.len());
    let faults: Vec<String> = std::thread::scope(|scope| {
        let folder = folder.path();
        let running: Vec<_> = names
            .iter()
            .map(|name| {
                scope.spawn(move || {
                    let text =
                        fs::read_to_string(cases().join(format!("{name}.expected.json"))).expect("expected");
                    check(folder, name, &serde_json::from_str(&text).expect("JSON"))
                })
            })
            .collect();
        running.into_iter().flat_map(|one| one.join().expect("no panic")).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
