//! A canary: an app is given a secret, and leaks it and its tokens in every channel and spelling. No byte of either is
//! found in anything that is written or printed.

#[path = "support/mod.rs"]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SECRET: &str = "canary\"7f/3ö+ä%41 end";

const CONTRACT: &str = r#"
contract: 1
app:
  name: leaky
  start: [python3, APP]
  env: { WITNESS: WITNESS_FILE }
  env_pass: [API_KEY]
  secrets: [API_KEY]
  talk: stdio
  telemetry: { flush: on_reply }
workers:
  - { id: refund, agent: Refund, allowed_tools: [issue_refund], binding: separate, address_env: REFUND_URL }
world:
  sqlite: { schema: world.sql }
  tools:
    issue_refund:
      http: POST /refunds
      effect: write
      args: { order_id: string, amount_cents: integer }
      run: ["INSERT INTO refunds(order_id, amount_cents) VALUES (:order_id, :amount_cents)"]
      returns: { rows: "SELECT * FROM refunds" }
"#;

const SCENARIO: &str = r#"
scenario: leaks
tests: nothing that is secret is written anywhere
turns: [{ user: hello }]
sub_goals:
  - { id: never_said, reply: { contains: what nobody says } }
  - { id: refunded, subject: worker:refund, calls: { tool: issue_refund, times: 1 } }
"#;

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files(&path, into),
            false => into.push(path),
        }
    }
}

/// Spellings of the secret, and what of it no spelling changes.
fn spellings() -> Vec<String> {
    let escaped = serde_json::to_string(SECRET).expect("JSON");
    let escaped = &escaped[1..escaped.len() - 1];
    let twice = serde_json::to_string(escaped).expect("JSON");
    ["canary", "7f/3", "7f%2F3", "7f%252F3", SECRET, escaped, &twice[1..twice.len() - 1]]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn no_secret_and_no_token_is_in_anything_that_is_written() {
    if Command::new("python3").arg("--version").output().is_err() {
        return support::skip("no_secret_and_no_token_is_in_anything_that_is_written", "there is no python3");
    }
    let (folder, witness) =
        (tempfile::tempdir().expect("a folder"), tempfile::NamedTempFile::new().expect("a file"));
    let here = folder.path();
    let app = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps/leaky.py");
    let contract = CONTRACT
        .replace("APP", &app.display().to_string())
        .replace("WITNESS_FILE", &witness.path().display().to_string());
    fs::write(here.join("contract.yaml"), contract).expect("written");
    fs::write(here.join("world.sql"), "CREATE TABLE refunds (order_id TEXT, amount_cents INTEGER);")
        .expect("written");
    fs::write(here.join("leaks.scenario.yaml"), SCENARIO).expect("written");
    let mocktrial = |args: &[&str]| {
        let run = Command::new(env!("CARGO_BIN_EXE_mocktrial"))
            .current_dir(here)
            .env("API_KEY", SECRET)
            .args(args)
            .output()
            .expect("mocktrial starts");
        (run.status.code(), [run.stdout, run.stderr].concat())
    };
    let run = [
        "run",
        ".",
        "--out",
        "out",
        "--junit",
        "out/junit.xml",
        "--summary",
        "out/summary.md",
        "--sarif",
        "out/sarif.json",
        "--annotations",
    ];
    let (code, told) = mocktrial(&run);
    let shown = String::from_utf8_lossy(&told).into_owned();
    assert_eq!(code, Some(1), "{shown}");
    let record = "out/trials/leaks/0-1.jsonl";
    let mut artefacts = vec![("the terminal".to_owned(), told)];
    for verb in [
        &["show", record][..],
        &["show", record, "--json"],
        &["report", "out"],
        &["report", "out", "--json"],
        &["report", "out", "--markdown"],
        &["grade", record],
        &["verify", "out"],
    ] {
        artefacts.push((verb.join(" "), mocktrial(verb).1));
    }
    let mut written = Vec::new();
    files(&here.join("out"), &mut written);
    assert!(written.len() >= 5, "{written:?}");
    for path in written {
        artefacts.push((path.display().to_string(), fs::read(&path).expect("a file")));
    }

    let seen = fs::read_to_string(witness.path()).expect("what the app was given");
    let tokens: Vec<&str> = seen.split(['/', '\n']).filter(|part| part.len() == 32).collect();
    assert_eq!(tokens.len(), 2, "{seen}");
    let mut needles = spellings();
    needles.extend(tokens.iter().map(|token| (*token).to_owned()));
    let mut markers = 0;
    for (name, bytes) in &artefacts {
        for needle in &needles {
            let found = bytes.windows(needle.len()).position(|window| window == needle.as_bytes());
            if let Some(at) = found {
                let around = &bytes[at.saturating_sub(120)..bytes.len().min(at + 120)];
                panic!("`{needle}` in {name}: {}", String::from_utf8_lossy(around));
            }
        }
        markers += usize::from(String::from_utf8_lossy(bytes).contains("«secret:"));
    }
    // It was leaked: the rows show where it was.
    let rows = fs::read_to_string(here.join(record)).expect("a record");
    for kind in ["attempt", "reply", "span", "output", "outcome"] {
        let row = rows
            .lines()
            .find(|line| line.contains(&format!("\"row\":\"{kind}\"")) && line.contains("«secret:"));
        assert!(row.is_some(), "nothing redacted in a row `{kind}`\n{rows}");
    }
    println!("{} artefacts, {} needles, {markers} artefacts with markers", artefacts.len(), needles.len());
}
