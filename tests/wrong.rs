//! The corpus of wrong files: one folder a fault, and what the user is told about it, word for word.
//!
//! A folder holds a scenario (then the contract is its own or the one above), or a contract alone. `expected.txt` is
//! written by hand after reading the file: nothing here writes it. What a run says instead is kept beside the other
//! build products, to be read.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use mocktrial::scenario::{Diagnostic, Severity, load, load_contract};
use mocktrial::world::{Frozen, WorldFault};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong")
}

fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<_> = fs::read_dir(corpus())
        .expect("the corpus")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// Everything that is told about a folder, in the order it is told.
fn told(folder: &Path) -> Vec<Diagnostic> {
    let has_scenario = fs::read_dir(folder)
        .expect("a folder")
        .any(|entry| entry.is_ok_and(|e| e.path().to_string_lossy().ends_with(".scenario.yaml")));
    if !has_scenario {
        return match load_contract(&folder.join("contract.yaml")) {
            Err(faults) => faults,
            Ok(contract) => {
                Frozen::build(&contract).err().into_iter().flatten().map(WorldFault::into).collect()
            }
        };
    }
    let suites = match load(&[folder.to_path_buf()]) {
        Err(faults) => return faults,
        Ok(suites) => suites,
    };
    let mut told = Vec::new();
    for suite in suites {
        told.extend(suite.warnings.iter().cloned());
        match Frozen::build(&suite.contract) {
            Err(faults) => told.extend(faults.into_iter().map(WorldFault::into)),
            Ok(frozen) => told.extend(
                suite
                    .scenarios
                    .iter()
                    .flat_map(|scenario| frozen.check_scenario(scenario))
                    .map(WorldFault::into),
            ),
        }
    }
    told
}

fn text(folder: &Path) -> String {
    let mut text = String::new();
    for fault in told(folder) {
        let file = fault.file.file_name().expect("a file").to_string_lossy();
        let severity = match fault.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let (line, column) = (fault.pos.line, fault.pos.column);
        writeln!(text, "{file}:{line}:{column}: {severity}[{}]: {}", fault.code, fault.what)
            .expect("a string");
        if let Some(help) = &fault.help {
            writeln!(text, "    help: {help}").expect("a string");
        }
    }
    text.replace(&format!("{}/", folder.display()), "")
}

#[test]
fn each_fault_is_told_at_its_place_with_what_to_do() {
    let seen = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wrong");
    fs::create_dir_all(&seen).expect("a folder for what was seen");
    let mut different = Vec::new();
    for folder in folders() {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let got = text(&folder);
        let expected = fs::read_to_string(folder.join("expected.txt")).unwrap_or_default();
        if got.is_empty() || got != expected {
            fs::write(seen.join(format!("{name}.txt")), &got).expect("written");
            different.push(format!("== {name}\n-- expected\n{expected}-- told\n{got}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn no_fault_comes_without_a_place_in_its_file() {
    for folder in folders() {
        for fault in told(&folder) {
            assert!(fault.pos.line >= 1 && fault.pos.column >= 1, "{fault:?}");
        }
    }
}
