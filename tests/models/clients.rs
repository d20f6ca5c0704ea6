//! The official clients, installed once into `target/test-envs`: `tests/apps/models` asserts what they make of the
//! answers, here stands what was written down.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use super::stage::{Trial, contract, endpoint, no_case};
use crate::support::skip;

#[tokio::test(flavor = "multi_thread")]
async fn the_python_clients_read_every_answer() {
    let packages = ["openai==3.57.0", "anthropic==2.14.0", "google-genai==3.6.1"];
    let home = installed("model-clients-python", |home| {
        let venv = home.join("venv");
        run(std::process::Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let install = ["install", "--quiet", "--disable-pip-version-check"];
        run(std::process::Command::new(venv.join("bin/pip")).args(install).args(packages))
    });
    match home {
        Err(why) => skip("the_python_clients_read_every_answer", &why),
        Ok(home) => {
            let mut command = Command::new(home.join("venv/bin/python"));
            command.arg(apps().join("ask.py"));
            // Chat, Responses, Messages, generateContent: two calls of a conversation each, plain and streaming.
            talk(command, 4).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_javascript_clients_read_every_answer() {
    let packages = ["openai@6", "@anthropic-ai/sdk@1"];
    let home = installed("model-clients-javascript", |home| {
        let install = ["install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix"];
        run(std::process::Command::new("npm").args(install).arg(home).args(packages))
    });
    match home {
        Err(why) => skip("the_javascript_clients_read_every_answer", &why),
        Ok(home) => {
            // Modules are looked for beside the program.
            let here = home.join("ask.mjs");
            fs::copy(apps().join("ask.mjs"), &here).expect("copied");
            let mut command = Command::new("node");
            command.arg(here);
            talk(command, 3).await;
        }
    }
}

/// Runs a program of clients, and counts what `apis` of them must have left in the record.
async fn talk(mut command: Command, apis: usize) {
    let (endpoint, contract) = (endpoint(), contract("model.yaml"));
    let trial = Trial::open(&endpoint, &contract, &no_case());
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(trial.session.env().iter().cloned())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(300), command.output()).await;
    let output = output.expect("it ends").expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
    let rows = trial.rows("model");
    let of = |rule: &str| rows.iter().filter(|row| row["rule"] == rule).collect::<Vec<_>>();
    assert_eq!((of("looks_up").len(), of("compares").len()), (2 * apis, 2 * apis));
    assert!(of("looks_up").iter().all(|row| row["input_tokens"] == 12 && row["output_tokens"] == 7));
    // Each client was turned away once and came back: one call, one retry.
    let busy = of("busy");
    let retries = busy.iter().filter(|row| row.get("retry_of").is_some()).count();
    assert_eq!((busy.len(), retries), (2 * apis, apis), "{busy:?}");
    // Told not to retry, none did.
    assert_eq!(of("down").len(), apis, "{:?}", of("down"));
    let unseen = trial.rows("finding");
    assert_eq!(unseen.iter().filter(|row| row["code"] == "model_unseen").count(), apis, "{unseen:?}");
}

fn apps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps/models")
}

/// A folder in which `install` was done once; others wait for it and find it done.
fn installed(name: &str, install: impl FnOnce(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/test-envs").join(name);
    fs::create_dir_all(&home).map_err(|why| why.to_string())?;
    let lock = File::create(home.join("lock")).map_err(|why| why.to_string())?;
    lock.lock().map_err(|why| why.to_string())?;
    let done = home.join("installed");
    if !done.exists() {
        install(&home)?;
        File::create(done).map_err(|why| why.to_string())?;
    }
    Ok(home)
}

fn run(command: &mut std::process::Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|why| format!("{command:?}: {why}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}
