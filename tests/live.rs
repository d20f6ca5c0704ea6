//! Desks on real frameworks, on trial: spans come over the wire, and what the desks' own tools wrote is the truth.
//!
//! Each framework is installed once, into `target/test-envs`, and found there again. Where it cannot be installed a test
//! is skipped, with the reason.

mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

const SDK: [&str; 2] = ["opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-proto-http==1.45.2"];

#[test]
fn google_adk_hands_off_twice_at_once_and_again_in_the_next_turn() {
    let adk = ["google-adk==2.13.0", "opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"];
    python("google_adk", &adk);
}

#[test]
fn langgraph_hands_off_twice_at_once_and_again_in_the_next_turn() {
    let own = ["langgraph==1.2.24", "langchain==1.5.2", "openinference-instrumentation-langchain==0.1.80"];
    python("langgraph", &[&own[..], &SDK].concat());
}

#[test]
fn an_autogen_swarm_passes_control() {
    python("autogen", &[&["autogen-agentchat==0.7.5", "autogen-ext==0.7.5"][..], &SDK].concat());
}

#[test]
fn a_crew_gives_its_tasks_to_its_agents() {
    python(
        "crewai",
        &[&["crewai==1.15.30", "openinference-instrumentation-crewai==1.1.21"][..], &SDK].concat(),
    );
}

#[test]
fn the_vercel_ai_sdk_hands_off_twice_at_once_and_again_in_the_next_turn() {
    let packages = [
        "ai@6.0.326",
        "@opentelemetry/sdk-trace-node@2.12.1",
        "@opentelemetry/exporter-trace-otlp-proto@0.223.1",
    ];
    let installed = installed("vercel_ai_sdk", |home| {
        run(Command::new("npm")
            .current_dir(home)
            .args(["install", "--silent", "--no-fund", "--no-audit", "--no-package-lock", "--prefix", "."])
            .args(packages))
    });
    tried("vercel_ai_sdk", Path::new("node"), "mjs", installed);
}

fn python(framework: &str, packages: &[&str]) {
    let installed = installed(framework, |home| {
        run(Command::new("python3").args(["-m", "venv"]).arg(home))?;
        run(Command::new(home.join("bin/pip"))
            .args(["install", "-q", "--disable-pip-version-check"])
            .args(packages))
    });
    tried(framework, &envs().join(framework).join("bin/python"), "py", installed);
}

/// Tries the desk and compares what its tools wrote with the channels' rows and the spans' events.
fn tried(framework: &str, program: &Path, extension: &str, installed: Result<(), String>) {
    if let Err(why) = installed {
        return support::skip(framework, &why);
    }
    let out = tempfile::tempdir().expect("a folder");
    let log = out.path().join("tools.jsonl");
    let run = Command::new(env!("CARGO_BIN_EXE_mocktrial"))
        .current_dir(root())
        .args(["run", &format!("tests/apps/live/{framework}.scenario.yaml"), "--out"])
        .arg(out.path().join("run"))
        .env("DESK", format!("{framework}.{extension}"))
        .envs([("PROGRAM", program), ("ENVS", &envs()), ("TOOLS_LOG", &log)])
        .output()
        .expect("mocktrial starts");
    let said = String::from_utf8_lossy(&run.stdout);
    assert_eq!(run.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&run.stderr));
    assert!(said.contains("1 trials: 1 passed, 0 failed, 0 unknown, 0 error; goals: 0 unknown"), "{said}");

    let record = rows(&out.path().join(format!("run/trials/{framework}/0-1.jsonl")));
    let of = |row: &str| -> Vec<&Value> { record.iter().filter(|one| one["row"] == row).collect() };
    let truth = sorted(rows(&log).iter().map(|call| act(call, "worker")).collect());
    assert!(truth.len() >= 2, "the tools were called: {truth:?}");
    let allowed = of("attempt").into_iter().inspect(|attempt| assert_eq!(attempt["decision"], "allowed"));
    assert_eq!(sorted(allowed.map(|attempt| act(attempt, "worker")).collect()), truth, "the channels' rows");
    let calls = of("event").into_iter().filter(|event| event["kind"] == "tool_call");
    let seen = calls.map(|event| (event["agent"].clone(), event["tool"].clone()));
    let mut seen: Vec<String> = seen.map(|(agent, tool)| format!("{agent} {tool}")).collect();
    seen.sort();
    let told: Vec<String> = truth.iter().map(|(worker, tool, _)| format!("{worker} {tool}")).collect();
    assert_eq!(seen, told, "the spans' events");
    assert!(of("finding").is_empty(), "{:?}", of("finding"));
}

type Act = (String, String, String);

fn act(row: &Value, worker: &str) -> Act {
    (row[worker].to_string(), row["tool"].to_string(), row["arguments"].to_string())
}

fn sorted(mut acts: Vec<Act>) -> Vec<Act> {
    acts.sort();
    acts
}

fn rows(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn envs() -> PathBuf {
    root().join("target/test-envs")
}

/// Does `install` once in a folder of its own; others wait for it and find it done.
fn installed(name: &str, install: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    let home = envs().join(name);
    fs::create_dir_all(&home).map_err(|why| why.to_string())?;
    let lock = File::create(home.join("lock")).map_err(|why| why.to_string())?;
    lock.lock().map_err(|why| why.to_string())?;
    let done = home.join("installed");
    if !done.exists() {
        install(&home)?;
        File::create(done).map_err(|why| why.to_string())?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|why| format!("{command:?}: {why}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}
