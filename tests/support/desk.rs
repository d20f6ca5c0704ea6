//! The returns desk where a test can change it, on the app that the tests were built with.

#![allow(dead_code, reason = "each test file uses its own share")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const MOCKTRIAL: &str = env!("CARGO_BIN_EXE_mocktrial");

/// A folder with a contract, scenarios, and whatever runs of it leave.
pub struct Desk {
    folder: TempDir,
}

impl Desk {
    /// All of `scenarios/returns`.
    pub fn returns() -> Self {
        let desk = Self { folder: tempfile::tempdir().expect("a folder") };
        for entry in fs::read_dir(here().join("scenarios/returns")).expect("the scenarios") {
            let path = entry.expect("an entry").path();
            let text = fs::read_to_string(&path).expect("a text");
            let text = text
                .replace("setup: [[cargo, build, --release, --example, returns]]", "setup: []")
                .replace("cwd: ../..", "cwd: .")
                .replace("target/release/examples/returns", &app().display().to_string());
            desk.write(path.file_name().expect("a name").to_str().expect("a name"), &text);
        }
        desk
    }

    /// The contract of `tests/verdicts`, with no scenario yet.
    pub fn bare() -> Self {
        let desk = Self { folder: tempfile::tempdir().expect("a folder") };
        let contract = fs::read_to_string(here().join("tests/verdicts/contract.yaml")).expect("a contract");
        let contract = contract
            .replace("APP", &app().display().to_string())
            .replace("CWD", &desk.path().display().to_string());
        desk.write("contract.yaml", &contract);
        fs::copy(here().join("scenarios/returns/world.sql"), desk.at("world.sql")).expect("a copy");
        desk
    }

    /// As [`Desk::bare`]; before the app starts, a shell does `script`, which knows the trial's id as `$TRIAL`.
    pub fn after(script: &str) -> Self {
        let desk = Self::bare();
        let app = app().display().to_string();
        desk.change(
            "contract.yaml",
            &format!("start: [{app}]"),
            &format!("start: [sh, -c, '{script} exec {app}']"),
        );
        desk.change("contract.yaml", "env: { ", "env: { TRIAL: \"${trial}\", ");
        desk
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A file in it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).expect("written");
    }

    /// Copies a scenario of `scenarios/returns`.
    pub fn copy(&self, scenario: &str) {
        let name = format!("{scenario}.scenario.yaml");
        fs::copy(here().join("scenarios/returns").join(&name), self.at(&name)).expect("a copy");
    }

    /// Replaces what stands in a file, and must.
    pub fn change(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.at(name)).expect("a text");
        assert!(text.contains(from), "{name} has no `{from}`");
        self.write(name, &text.replace(from, to));
    }

    /// Runs mocktrial there.
    pub fn mocktrial(&self, args: &[&str]) -> Output {
        Command::new(MOCKTRIAL).current_dir(self.path()).args(args).output().expect("mocktrial starts")
    }

    /// The same, with the exit code that it must have; answers what it said.
    pub fn told(&self, args: &[&str], exit: i32) -> String {
        let run = self.mocktrial(args);
        let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(exit), "{args:?}: {said}");
        said
    }

    /// The run file of a run.
    pub fn run_file(&self, out: &str) -> Value {
        let bytes = fs::read(self.at(out).join("run.json")).expect("a run file");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// The rows of a record.
    pub fn record(&self, out: &str, trial: &str) -> Vec<Value> {
        let path = self.at(out).join("trials").join(format!("{trial}.jsonl"));
        let text = fs::read_to_string(path).expect("a record");
        text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
    }
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The desk's program.
pub fn app() -> PathBuf {
    let app = Path::new(MOCKTRIAL).parent().expect("a folder").join("examples/returns");
    assert!(app.exists(), "{} is built with the tests", app.display());
    app
}
