//! Asking the scripts of a scenario: the only file of this room that does anything. What they say becomes rows, and
//! grading reads the rows alone, so a record is graded again without running anything.
//!
//! A script that crashes, dawdles, says too much or says something else has given no answer; it is never a verdict.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::closed::excerpt;
use super::evidence::Evidence;
use crate::journal::AnswerRow;
use crate::scenario::{Case, Check, CheckKind, Scenario};

/// How long one script may take.
const LIMIT: Duration = Duration::from_secs(60);
/// How much it may say on one stream, in bytes.
const OUTPUT: u64 = 64 << 10;

/// Runs every `script:` check, one after the other, each in the scenario's folder with `env` and nothing else
/// inherited. `env` is the app's environment without its secrets. On standard input a script is given one JSON
/// object: `scenario`, `case`, and the fields of [`Evidence`]; on standard output it gives `{"verdict", "reason"}`.
pub async fn ask(
    scenario: &Scenario,
    case: &Case,
    evidence: &Evidence,
    env: &BTreeMap<String, String>,
) -> Vec<AnswerRow> {
    let mut scripts = Vec::new();
    for goal in &scenario.sub_goals {
        find_scripts(&goal.check, &mut scripts);
    }
    let mut answers = Vec::with_capacity(scripts.len());
    for (check, command, folder) in scripts {
        let given = Given { scenario: &scenario.name, case, evidence };
        let said = run(command, folder, &given, env).await;
        let (verdict, reason) = match said {
            Ok(said) => (Some(said.verdict.word().to_owned()), said.reason),
            Err(why) => (None, why),
        };
        answers.push(AnswerRow {
            check: format!("{}:{}", check.pos.line, check.pos.column),
            by: "script".to_owned(),
            verdict,
            reason,
            detail: serde_json::Value::Null,
        });
    }
    answers
}

#[derive(Serialize)]
struct Given<'a> {
    scenario: &'a str,
    case: &'a Case,
    #[serde(flatten)]
    evidence: &'a Evidence,
}

#[derive(Deserialize)]
struct Said {
    verdict: Word,
    #[serde(default)]
    reason: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Passed,
    Failed,
    Unknown,
}

impl Word {
    fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

fn find_scripts<'a>(check: &'a Check, found: &mut Vec<(&'a Check, &'a [String], &'a Path)>) {
    match &check.kind {
        CheckKind::Script { command, folder } => found.push((check, command, folder)),
        CheckKind::All(checks) | CheckKind::Any(checks) => {
            for check in checks {
                find_scripts(check, found);
            }
        }
        CheckKind::Not(inner) => find_scripts(inner, found),
        _ => {}
    }
}

async fn run(
    command: &[String],
    folder: &Path,
    given: &Given<'_>,
    env: &BTreeMap<String, String>,
) -> Result<Said, String> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let evidence = serde_json::to_vec(given).map_err(|e| e.to_string())?;
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .envs(env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| format!("{program}: {e}"))?;
    let group = Group::of(&child);
    let heard = tokio::time::timeout(LIMIT, hear(&mut child, group, evidence)).await;
    let (status, stdout, stderr) =
        heard.map_err(|_| format!("no answer within {LIMIT:?}"))?.map_err(|e| e.to_string())?;
    let stderr = String::from_utf8_lossy(&stderr);
    if !status.success() {
        return Err(format!("{status}: {}", excerpt(stderr.trim())));
    }
    if stdout.len() as u64 > OUTPUT {
        return Err(format!("said more than {OUTPUT} bytes"));
    }
    serde_json::from_slice(&stdout).map_err(|e| {
        let text = String::from_utf8_lossy(&stdout);
        format!("said {:?}: {e}", excerpt(text.trim()))
    })
}

/// Feeds and hears a child at the same time. Its group ends with it, so that nothing it left behind holds its
/// streams open.
async fn hear(
    child: &mut Child,
    group: Group,
    evidence: Vec<u8>,
) -> std::io::Result<(ExitStatus, Vec<u8>, Vec<u8>)> {
    let stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A script need not read what it does not need.
            let _ = stdin.write_all(&evidence).await;
        }
    };
    let end = async {
        let status = child.wait().await;
        drop(group);
        status
    };
    let ((), status, stdout, stderr) = tokio::join!(feed, end, bounded(stdout), bounded(stderr));
    Ok((status?, stdout?, stderr?))
}

/// Up to one byte more than a script may say, so that too much can be told; what comes after is read and let go.
async fn bounded(stream: Option<impl AsyncRead + Unpin>) -> std::io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    if let Some(mut stream) = stream {
        (&mut stream).take(OUTPUT + 1).read_to_end(&mut kept).await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    }
    Ok(kept)
}

/// A process group that is killed when it is let go of, the future that holds it being dropped included.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // Gone already is as good.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
