//! The app while it runs: its turns, its exit, its end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

use super::command::{self, Finished, Spawn};
use super::environment::Fill;
use super::launch::Launch;
use super::output::{Drain, Filters, Output, shown};
use super::port::Port;
use super::talk::{self, Pipes, Question, Reply, Said, Trouble, TurnTrouble};
use super::tree::{Awaited, Process, Tree};
use crate::clock::{Clock, Moment};
use crate::name::TrialId;
use crate::scenario::{Limits, Stop, Talk};

/// A connection that breaks is often the first sign of an exit; how long the exit may take to follow.
const EXIT_FOLLOWS: Duration = Duration::from_millis(250);
/// How long the output pipes may stay open when no process of the trial is left.
const PIPES_WITHIN: Duration = Duration::from_secs(1);
/// How long the rest of an app may take to go once its `stop: run` command has ended.
const GRACE: Duration = Duration::from_secs(5);
/// How long a `stop: run` command may take.
const STOP_RUN_WITHIN: Duration = Duration::from_secs(60);

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
    /// Somehow: its status went to somebody else.
    Lost,
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match status.code() {
            Some(code) => Self::Status(code),
            None => Self::Signal(status.signal().unwrap_or_default()),
        }
    }
}

/// Reads after "the app": `exited with status 3`, `was ended by signal 9`.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(code) => write!(f, "exited with status {code}"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
            Self::Lost => f.write_str("ended, nobody knows how"),
        }
    }
}

/// How the app ended, and whatever would not.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// How the app's first process ended; `None` where it could not be ended.
    pub exit: Option<Exit>,
    /// Whether it had ended before it was asked to.
    pub early: bool,
    /// Whether it ignored its stop signal for the whole grace and was killed.
    pub killed: bool,
    /// Processes that outlived the app or left its group (`setsid`), and were killed. Each a finding.
    pub outlived: Vec<Process>,
    /// Processes that are still there. Any of them makes the trial `app_left_running`.
    pub left: Vec<Process>,
    /// Whether every output pipe was let go. Where not, somebody unseen still holds one.
    pub closed: bool,
    /// The tails of its output.
    pub output: Vec<Output>,
    /// What went wrong with a `stop: run` command.
    pub trouble: Option<String>,
}

impl Stopped {
    /// Whether the whole process tree is proven gone.
    pub fn gone(&self) -> bool {
        self.exit.is_some() && self.left.is_empty() && self.closed
    }
}

/// An app that was started. Dropped, it is killed with all its descendants, without grace.
pub struct Running {
    child: Child,
    exit: Option<Exit>,
    tree: Tree,
    port: Port,
    trial: String,
    talk: Talk,
    stop: Stop,
    cwd: PathBuf,
    env: BTreeMap<OsString, OsString>,
    pipes: Option<Pipes>,
    drains: Vec<Drain>,
    limits: Limits,
    filter: Filters,
    clock: Clock,
    stopped: bool,
    _awaited: Awaited,
}

impl Running {
    pub(super) fn new(
        launch: &Launch<'_>,
        (mut child, root, awaited): (Child, Pid, Awaited),
        port: Port,
        mark: String,
        env: BTreeMap<OsString, OsString>,
    ) -> Self {
        let (app, limits) = (launch.app, launch.limits);
        let (keep, filter) = (limits.output, launch.filter);
        let mut tree = Tree { root, mark, pipes: Vec::new() };
        let mut drains = Vec::new();
        let mut pipes = None;
        if let Some(stdout) = child.stdout.take() {
            tree.pipes.extend(pipe_name(&stdout));
            let tap = child.stdin.take().map(|stdin| {
                let (tap, lines) = talk::replies(limits.body);
                pipes = Some(Pipes { stdin, lines });
                tap
            });
            drains.push(Drain::start("stdout", stdout, keep, filter(), tap));
        }
        if let Some(stderr) = child.stderr.take() {
            tree.pipes.extend(pipe_name(&stderr));
            drains.push(Drain::start("stderr", stderr, keep, filter(), None));
        }
        Self {
            child,
            exit: None,
            tree,
            port,
            trial: launch.trial.to_string(),
            talk: app.talk.clone(),
            stop: app.stop.clone(),
            cwd: app.cwd.clone(),
            env,
            pipes,
            drains,
            limits: limits.clone(),
            filter: Arc::clone(launch.filter),
            clock: launch.clock,
            stopped: false,
            _awaited: awaited,
        }
    }

    /// From here on `${trial}` in what it is told is this one. Its environment stays what it was.
    pub fn serves(&mut self, trial: &TrialId) {
        self.trial = trial.to_string();
    }

    /// The tails of what it has printed since this was last asked.
    pub fn take_output(&self) -> Vec<Output> {
        self.drains.iter().map(Drain::take).collect()
    }

    /// The port it was given.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The ids of its living processes.
    pub(super) fn members(&self) -> Vec<Pid> {
        self.tree.members()
    }

    /// The tails of its output so far.
    pub(super) fn output(&self) -> Vec<Output> {
        self.drains.iter().map(Drain::output).collect()
    }

    /// Resolves when the app has ended. An app that is not our child (`stop: run`) goes on when the command that
    /// started it has succeeded: then never. May be dropped and called again.
    pub async fn exited(&mut self) -> Exit {
        ended(&mut self.child, &mut self.exit, &self.stop).await
    }

    /// Puts turn `n` to the app and waits for its reply until the turn's limit or `until`, whichever comes first.
    /// A reply counts only while the app lives. Dropping the future gives up the turn and leaves the app running.
    pub async fn turn(
        &mut self,
        n: u32,
        text: &str,
        history: &[Said],
        until: Moment,
    ) -> Result<Reply, TurnTrouble> {
        if let Some(exit) = self.ended_early() {
            return Err(TurnTrouble::Exited(exit));
        }
        let now = self.clock.now();
        let within = self.limits.turn.min(until.since(now));
        let port = self.port.number().to_string();
        let (port, trial) = (port.as_str(), self.trial.as_str());
        let question = Question { n, text, history, port, trial, limit: self.limits.body };
        let asked = tokio::select! {
            biased;
            asked = talk::ask(&self.talk, &question, self.pipes.as_mut()) => asked,
            exit = ended(&mut self.child, &mut self.exit, &self.stop) => {
                return Err(TurnTrouble::Exited(exit));
            }
            () = self.clock.sleep_until(now.plus(within)) => {
                return Err(TurnTrouble::TimedOut(within));
            }
        };
        match asked {
            Ok(reply) => Ok(reply),
            Err(Trouble::Bad(why)) => Err(TurnTrouble::BadReply { why }),
            Err(Trouble::Broken(why)) => match tokio::time::timeout(EXIT_FOLLOWS, self.exited()).await {
                Ok(exit) => Err(TurnTrouble::Exited(exit)),
                Err(_) => Err(TurnTrouble::BadReply { why }),
            },
        }
    }

    /// Ends the app: asks it to, gives it its grace, kills every descendant that is left, and waits until all are gone
    /// and the output pipes are closed.
    pub async fn stop(mut self) -> Stopped {
        let early = self.ended_early().is_some();
        let (grace, trouble) = self.ask_to_stop().await;
        self.pipes = None;
        let went = async {
            reaped(&mut self.child, &mut self.exit).await;
            self.tree.group_gone().await;
        };
        let _ = tokio::time::timeout(grace, went).await;
        let killed = self.exit.is_none();
        let tree = self.tree.end().await;
        let _ = tokio::time::timeout(PIPES_WITHIN, reaped(&mut self.child, &mut self.exit)).await;
        let drained = async {
            for drain in &mut self.drains {
                drain.ended().await;
            }
        };
        let closed = tokio::time::timeout(PIPES_WITHIN, drained).await.is_ok();
        self.stopped = true;
        Stopped {
            exit: self.exit,
            early,
            killed,
            outlived: self.named(tree.killed),
            left: self.named(tree.left),
            closed,
            output: self.output(),
            trouble,
        }
    }

    /// Asks the app to end; how long it may take, and what went wrong with the asking.
    async fn ask_to_stop(&self) -> (Duration, Option<String>) {
        match &self.stop {
            Stop::Signal { signal, grace } => {
                let signal = named_signal(signal);
                if self.exit.is_none() {
                    // Not reaped yet, so its number is still its group's.
                    let _ = kill_process_group(self.tree.root, signal);
                } else {
                    self.tree.signal_group(signal);
                }
                (*grace, None)
            }
            Stop::Run(argv) => (GRACE, self.run_to_stop(argv).await.err()),
        }
    }

    async fn run_to_stop(&self, argv: &[String]) -> Result<(), String> {
        let port = self.port.number().to_string();
        let names = [("port", port.as_str()), ("trial", self.trial.as_str())];
        let argv = Fill(&names).all(argv);
        let spawn = Spawn { argv: &argv, cwd: &self.cwd, env: &self.env, stdin: Stdio::null() };
        let run = command::run(spawn, STOP_RUN_WITHIN, self.limits.output, &self.filter).await;
        match run.map_err(|error| error.to_string())? {
            Finished { status: Some(status), .. } if status.success() => Ok(()),
            Finished { status, output } => {
                let how = status.map_or("took too long".into(), |s| Exit::from(s).to_string());
                Err(format!("`{}` {how}{}", argv.join(" "), shown(&output)))
            }
        }
    }

    /// How it ended, if it has and was not meant to.
    pub(super) fn ended_early(&mut self) -> Option<Exit> {
        if self.exit.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.exit = Some(status.into());
        }
        self.exit.filter(|exit| !goes_on(*exit, &self.stop))
    }

    fn named(&self, processes: Vec<Process>) -> Vec<Process> {
        let clean = |Process { pid, command }| {
            let mut filter = (self.filter)();
            let kept = [filter(command.as_bytes()), filter(b"")].concat();
            Process { pid, command: String::from_utf8_lossy(&kept).into_owned() }
        };
        processes.into_iter().map(clean).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.stopped {
            self.tree.kill();
        }
    }
}

/// Whether an app whose starting command came to `exit` is taken to run on, elsewhere.
fn goes_on(exit: Exit, stop: &Stop) -> bool {
    matches!(stop, Stop::Run(_)) && exit == Exit::Status(0)
}

async fn ended(child: &mut Child, exit: &mut Option<Exit>, stop: &Stop) -> Exit {
    let exit = reaped(child, exit).await;
    if goes_on(exit, stop) {
        std::future::pending::<()>().await;
    }
    exit
}

async fn reaped(child: &mut Child, exit: &mut Option<Exit>) -> Exit {
    if let Some(exit) = exit {
        return *exit;
    }
    let ended = child.wait().await.map_or(Exit::Lost, Exit::from);
    *exit = Some(ended);
    ended
}

fn pipe_name(pipe: &impl AsRawFd) -> Option<String> {
    let link = std::fs::read_link(format!("/proc/self/fd/{}", pipe.as_raw_fd())).ok()?;
    link.into_os_string().into_string().ok()
}

/// The signal of that name (without SIG); TERM for any that an app is not stopped with.
fn named_signal(name: &str) -> Signal {
    match name.trim_start_matches("SIG") {
        "INT" => Signal::INT,
        "QUIT" => Signal::QUIT,
        "HUP" => Signal::HUP,
        "USR1" => Signal::USR1,
        "USR2" => Signal::USR2,
        "KILL" => Signal::KILL,
        _ => Signal::TERM,
    }
}
