//! An app in a network namespace of its own, as in a container: reached over a veth pair and by `advertise`, it is
//! traced and refused like one at home.

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Removed when the test ends, with the namespace's end of the pair and so the pair.
struct Namespace(String);

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).output();
    }
}

impl Namespace {
    /// A namespace at the other end of a pair: we are 10.231.7.1, it is 10.231.7.2.
    fn new() -> Result<Self, String> {
        let number = std::process::id();
        let (name, ours, theirs) = (format!("mt-{number}"), format!("mta{number}"), format!("mtb{number}"));
        ip(&["netns", "add", &name])?;
        let made = Self(name.clone());
        ip(&["link", "add", &ours, "type", "veth", "peer", "name", &theirs, "netns", &name])?;
        ip(&["addr", "add", "10.231.7.1/30", "dev", &ours])?;
        ip(&["link", "set", &ours, "up"])?;
        ip(&["-n", &name, "addr", "add", "10.231.7.2/30", "dev", &theirs])?;
        ip(&["-n", &name, "link", "set", &theirs, "up"])?;
        Ok(made)
    }
}

fn ip(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(arguments).output().map_err(|why| format!("ip: {why}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("ip {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr))),
    }
}

/// What the record says that does not depend on when and where.
fn tried(start: &str, listen: &str) -> (Output, Vec<String>) {
    let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps");
    let home = tempfile::tempdir().expect("a folder");
    let contract = fs::read_to_string(apps.join("live/contract.yaml")).expect("the contract");
    let (before, rest) = contract.split_once("  start:").expect("start");
    let (_, rest) = rest.split_once("  telemetry:").expect("telemetry");
    let contract = format!("{before}  start: {start}\n  talk: stdio\n{listen}  telemetry:{rest}");
    fs::write(home.path().join("contract.yaml"), contract).expect("written");
    for file in ["desk.py", "world.sql", "elsewhere.scenario.yaml"] {
        fs::copy(apps.join("elsewhere").join(file), home.path().join(file)).expect("copied");
    }
    let run = Command::new(env!("CARGO_BIN_EXE_mocktrial"))
        .current_dir(home.path())
        .args(["run", ".", "--out", "out"])
        .output()
        .expect("mocktrial starts");
    let record = fs::read_to_string(home.path().join("out/trials/elsewhere/0-1.jsonl")).unwrap_or_default();
    let rows = record.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row"));
    let said = rows.filter_map(|row| {
        let keys: &[&str] = match row["row"].as_str()? {
            "attempt" => &["worker", "tool", "arguments", "decision", "code", "basis"],
            "outcome" => &["kind", "code", "status"],
            "event" => &["kind", "agent", "from", "to", "tool", "relationship", "span_id", "parent_span_id"],
            "finding" => &["code", "worker"],
            "reply" => &["text"],
            "end" => &["task", "workers", "outcome", "error"],
            _ => return None,
        };
        Some(keys.iter().map(|key| format!("{key}={} ", row[*key])).collect())
    });
    (run, said.collect())
}

#[test]
fn an_app_in_another_network_namespace_is_traced_and_refused_like_a_local_one() {
    let test = "an_app_in_another_network_namespace_is_traced_and_refused_like_a_local_one";
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(why) => return support::skip(test, &why),
    };
    let (at_home, local) = tried("[python3, desk.py]", "");
    let said = |run: &Output| {
        format!("{}{}", String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr))
    };
    assert_eq!(at_home.status.code(), Some(0), "{}", said(&at_home));

    let start = format!("[ip, netns, exec, {}, python3, desk.py]", namespace.0);
    // Without the address it could reach, it reaches nothing: the namespace is one.
    let (lost, _) = tried(&start, "");
    assert_ne!(lost.status.code(), Some(0), "{}", said(&lost));

    let (elsewhere, remote) = tried(&start, "  listen: 0.0.0.0\n  advertise: 10.231.7.1\n");
    assert_eq!(elsewhere.status.code(), Some(0), "{}", said(&elsewhere));
    assert_eq!(remote, local);
    assert!(local.iter().any(|row| row.contains("not_permitted")), "{local:?}");
}
