//! A helper command of the contract (`setup`, `stop: run`): run to its end, bounded, nothing left in its group.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::environment;
use super::output::{Drain, Filters, Output};
use super::tree::Awaited;

/// How long a command's output is waited for once it has ended: a daemon that it started may hold the pipe for good.
const OUTPUT_WITHIN: Duration = Duration::from_millis(200);

/// How a command is started.
pub(super) struct Spawn<'a> {
    pub(super) argv: &'a [String],
    pub(super) cwd: &'a Path,
    /// All of it; nothing is inherited beside.
    pub(super) env: &'a BTreeMap<OsString, OsString>,
    pub(super) stdin: Stdio,
}

/// Why a command could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The contract's list is empty.
    #[error("the command is empty")]
    Empty,
    /// No such file, or nothing of that name in `PATH`.
    #[error("there is no program `{0}`")]
    NoProgram(String),
    /// The system refused.
    #[error("`{0}` cannot be started: {1}")]
    Refused(String, std::io::Error),
}

impl Spawn<'_> {
    /// Starts it as the leader of its own process group, its output piped.
    pub(super) fn start(self) -> Result<(Child, Pid, Awaited), SpawnError> {
        let (name, rest) = self.argv.split_first().ok_or(SpawnError::Empty)?;
        let path = self.env.get(&OsString::from("PATH"));
        let program =
            environment::program(name, self.cwd, path).ok_or_else(|| SpawnError::NoProgram(name.clone()))?;
        let refused = |error| SpawnError::Refused(name.clone(), error);
        let child = Command::new(program)
            .arg0(name)
            .args(rest)
            .current_dir(self.cwd)
            .env_clear()
            .envs(self.env)
            .stdin(self.stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(refused)?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let pid = pid.ok_or_else(|| refused(std::io::ErrorKind::NotFound.into()))?;
        Ok((child, pid, Awaited::new(pid)))
    }
}

/// What a command came to. `None`: it was killed because its time was up.
pub(super) struct Finished {
    pub(super) status: Option<ExitStatus>,
    pub(super) output: Vec<Output>,
}

/// Runs `spawn` to its end, `within` at most; what is then left in its group is killed, also when the caller goes away.
pub(super) async fn run(
    spawn: Spawn<'_>,
    within: Duration,
    keep: u64,
    filter: &Filters,
) -> Result<Finished, SpawnError> {
    let (mut child, pid, awaited) = spawn.start()?;
    let group = Group(pid, awaited);
    let stdout = child.stdout.take().map(|s| Drain::start("stdout", s, keep, filter(), None));
    let stderr = child.stderr.take().map(|s| Drain::start("stderr", s, keep, filter(), None));
    let mut drains: Vec<Drain> = stdout.into_iter().chain(stderr).collect();
    let ended = tokio::time::timeout(within, child.wait()).await;
    let status = ended.ok().and_then(Result::ok);
    if status.is_none() {
        drop(group);
        let _ = child.wait().await;
    } else {
        // Its number may be another group's by now; and what `docker compose up -d` leaves is meant to stay.
        std::mem::forget(group);
    }
    for drain in &mut drains {
        let _ = tokio::time::timeout(OUTPUT_WITHIN, drain.ended()).await;
    }
    let output = drains.iter().map(Drain::output).collect();
    Ok(Finished { status, output })
}

/// Kills the group when the future that ran the command is dropped before its end.
struct Group(Pid, #[expect(dead_code, reason = "held, so that nobody else reaps it")] Awaited);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}
