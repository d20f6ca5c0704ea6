//! The official SDKs, installed by the first test that needs them into `target/test-envs`, and run as they come.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// A program that speaks to a server and prints what came of it.
#[derive(Clone, Copy, Debug)]
pub enum Sdk {
    Python,
    JavaScript,
}

impl Sdk {
    /// Where it is installed; why it cannot be.
    pub fn home(self) -> Result<PathBuf, String> {
        match self {
            Self::Python => installed("mcp-python", |home| {
                run(Command::new("python3").args(["-m", "venv"]).arg(home.join("venv")))?;
                let pip = home.join("venv/bin/pip");
                run(Command::new(pip).args([
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    "mcp>=2.3,<3",
                ]))
            }),
            Self::JavaScript => installed("mcp-javascript", |home| {
                run(Command::new("npm")
                    .args(["install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix"])
                    .arg(home)
                    .args(["@modelcontextprotocol/sdk@1", "@modelcontextprotocol/client@2"])
                    .args(["@modelcontextprotocol/server@2", "zod@4"]))
            }),
        }
    }

    /// The command of one of our programs in `tests/apps/mcp`.
    pub fn program(self, name: &str) -> Result<Vec<String>, String> {
        let home = self.home()?;
        let apps = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps/mcp");
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        Ok(match self {
            Self::Python => vec![text(home.join("venv/bin/python")), text(apps.join(format!("{name}.py")))],
            Self::JavaScript => {
                // Modules are looked for beside the program. Other tests run the same one: it is put there whole.
                let here = home.join(format!("{name}.mjs"));
                let bytes = fs::read(apps.join(format!("{name}.mjs"))).map_err(|why| why.to_string())?;
                let whole = tempfile::NamedTempFile::new_in(&home).map_err(|why| why.to_string())?;
                fs::write(whole.path(), bytes).map_err(|why| why.to_string())?;
                whole.persist(&here).map_err(|why| why.to_string())?;
                vec!["node".to_owned(), text(here)]
            }
        })
    }

    /// Runs the client against `target`, and gives what it printed.
    pub async fn call(self, target: &str, mode: &str, calls: &Value) -> Result<Value, String> {
        let command = self.program("client")?;
        let mut client = tokio::process::Command::new(&command[0]);
        client.args(&command[1..]).args([target, mode, &calls.to_string()].map(OsStr::new));
        client.stdin(Stdio::null()).kill_on_drop(true);
        let running = tokio::time::timeout(Duration::from_secs(120), client.output());
        let output = running.await.expect("the client ends").expect("the client runs");
        let trouble = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{self:?} {mode}: {trouble}");
        Ok(serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {trouble}")))
    }
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

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|why| format!("{command:?}: {why}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}
