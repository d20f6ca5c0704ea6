//! The workflow files in `examples/ci`: they are YAML, and every command line of mocktrial's in them is one.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Every `mocktrial …` line of a file's scripts, its words as a shell would take them.
fn lines(value: &Value, found: &mut Vec<Vec<String>>) {
    match value {
        Value::String(text) => found.extend(text.lines().filter_map(words)),
        Value::Array(values) => values.iter().for_each(|value| lines(value, found)),
        Value::Object(values) => values.values().for_each(|value| lines(value, found)),
        _ => {}
    }
}

fn words(line: &str) -> Option<Vec<String>> {
    let line = line.trim().strip_prefix("mocktrial ")?;
    let command = line.split([';', '|', '>', '&']).next()?;
    Some(command.split_whitespace().map(|word| word.trim_matches('"').to_owned()).collect())
}

#[test]
fn every_command_line_of_the_workflow_files_parses() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ci");
    let nowhere = tempfile::tempdir().expect("a folder");
    for (file, verbs) in [
        ("github.yml", vec!["check", "run", "verify", "report"]),
        ("gitlab.yml", vec!["check", "run", "verify"]),
    ] {
        let text = std::fs::read_to_string(here.join(file)).expect("a file");
        let parsed: Value = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut found = Vec::new();
        lines(&parsed, &mut found);
        let mut used: Vec<_> = found.iter().map(|words| words[0].as_str()).collect();
        used.sort_by_key(|verb| verbs.iter().position(|known| known == verb));
        assert_eq!(used, verbs, "{file}");
        for words in &found {
            // In an empty folder nothing is found; what clap says of a word it does not know is said before that.
            let run = Command::new(env!("CARGO_BIN_EXE_mocktrial"))
                .current_dir(nowhere.path())
                .args(words)
                .output()
                .expect("mocktrial starts");
            let said = String::from_utf8_lossy(&run.stderr);
            assert_eq!(run.status.code(), Some(2), "{words:?}: {said}");
            assert!(said.contains("mocktrial: ") && !said.contains("Usage:"), "{file}: {words:?}: {said}");
        }
    }
}
