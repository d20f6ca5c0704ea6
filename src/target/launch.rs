//! Starting the app for one trial: a port, an environment, a process tree, and the proof that it is ready.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout};

use super::command::{Spawn, SpawnError};
use super::environment::{self, Fill, MARK};
use super::output::{Filters, shown};
use super::port::{Port, is_strangers};
use super::ready::Probe;
use super::running::{Exit, Running, Stopped};
use super::{guard, http, tree};
use crate::clock::Clock;
use crate::name::TrialId;
use crate::scenario::{App, Limits, Stop, Talk};

/// How long an app may take that says nothing of being ready.
const WITHIN: Duration = Duration::from_secs(20);
/// How long somebody else's listener may take to accept before the app is started.
const STRANGER_WITHIN: Duration = Duration::from_millis(200);

/// A child's standard input and output.
pub(super) type Pipes = (ChildStdin, ChildStdout);

/// Everything that makes one start of the app.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// The app.
    pub app: &'a App,
    /// Bounds of turns, bodies and output.
    pub limits: &'a Limits,
    /// `${trial}`, and the mark in the environment.
    pub trial: &'a TrialId,
    /// The scenario's `env`.
    pub scenario_env: &'a BTreeMap<String, String>,
    /// Addresses, endpoints and tokens of the harness; they win over everything else.
    pub harness_env: &'a [(String, String)],
    /// The trial's clock.
    pub clock: Clock,
    /// Makes the filter of one output stream.
    pub filter: &'a Filters,
}

/// Why there is no running app. What had been started is gone, or named in `stopped`.
#[derive(Debug, thiserror::Error)]
#[error("{why}{}", stopped.as_ref().map(|stopped| shown(&stopped.output)).unwrap_or_default())]
pub struct StartError {
    /// The reason.
    pub why: NotStarted,
    /// How the app that had been started was ended, with its output; none where nothing was started.
    pub stopped: Option<Box<Stopped>>,
}

/// The reasons why there is no running app.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// Somebody else listens at the app's port; of two ports, where the app can be told another.
    #[error("port {0} is taken: somebody answers there who is not the app")]
    PortTaken(u16),
    /// It ended before it was ready.
    #[error("the app {0} before it was ready")]
    Exited(Exit),
    /// It did not get ready in its time.
    #[error("the app was not ready within {within:?}: {why}")]
    NotReady {
        /// The contract's time.
        within: Duration,
        /// What the last attempt met.
        why: String,
    },
    /// It could not be started at all.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// An address of the contract cannot be used.
    #[error("{0}")]
    Address(String),
    /// No port is to be had.
    #[error("no free port: {0}")]
    NoPort(std::io::Error),
}

impl StartError {
    /// The trial error's code.
    pub fn code(&self) -> &'static str {
        match self.why {
            NotStarted::PortTaken(_) => "port_taken",
            _ => "not_ready",
        }
    }
}

impl Launch<'_> {
    /// Starts the app and waits until it is ready. Where a port turns out to be somebody else's, another is tried once.
    pub async fn start(&self) -> Result<Running, StartError> {
        self.start_on_pipes(false).await.map(|(running, _)| running)
    }

    /// The same; with `pipes`, standard input and output are the caller's to read and write, and are not kept.
    pub(super) async fn start_on_pipes(&self, pipes: bool) -> Result<(Running, Option<Pipes>), StartError> {
        match self.attempt(pipes).await {
            Err(StartError { why: NotStarted::PortTaken(_), .. }) => self.attempt(pipes).await,
            other => other,
        }
    }

    async fn attempt(&self, pipes: bool) -> Result<(Running, Option<Pipes>), StartError> {
        let early = |why| StartError { why, stopped: None };
        let port = Port::free(self.app.listen).map_err(|error| early(NotStarted::NoPort(error)))?;
        let number = port.number().to_string();
        let names = [("port", number.as_str()), ("trial", self.trial.as_str())];
        let fill = Fill(&names);
        let (probe, within) = self.probe(fill).map_err(|why| early(NotStarted::Address(why)))?;
        let address = probe.address().map_err(|why| early(NotStarted::Address(why)))?;
        if let Some(address) = &address {
            let answers = tokio::time::timeout(STRANGER_WITHIN, http::connect(address)).await;
            if matches!(answers, Ok(Ok(_))) {
                return Err(early(NotStarted::PortTaken(address.1)));
            }
        }
        let (mut running, pipes) = self.spawn(port, fill, pipes).map_err(|error| early(error.into()))?;
        let mut why = String::new();
        let ready = tokio::select! {
            biased;
            exit = running.exited() => Err(Self::died(&running, exit)),
            ready = tokio::time::timeout(within, probe.answered(&mut why)) => match ready {
                Ok(()) => self.owned(&running, address.as_ref()),
                Err(_) => Err(NotStarted::NotReady { within, why }),
            },
        };
        match ready {
            Ok(()) => Ok((running, pipes)),
            Err(why) => Err(StartError { why, stopped: Some(Box::new(running.stop().await)) }),
        }
    }

    /// What shows that the app is ready, and how long that may take.
    fn probe(&self, fill: Fill<'_>) -> Result<(Probe, Duration), String> {
        let url = |text: &str| {
            let text = fill.text(text);
            text.parse().map_err(|_| format!("`{text}` is no URL"))
        };
        if let Some(ready) = &self.app.ready {
            return Ok((Probe::Http(url(&ready.http)?), ready.within));
        }
        let probe = match &self.app.talk {
            Talk::Http { post, .. } => Probe::Connect(http::address(&url(post)?)?),
            Talk::OpenAiChat { url: base, .. } | Talk::A2a { url: base } => {
                Probe::Connect(http::address(&url(base)?)?)
            }
            Talk::Stdio => Probe::Nothing,
        };
        Ok((probe, WITHIN))
    }

    fn spawn(&self, port: Port, fill: Fill<'_>, pipes: bool) -> Result<(Running, Option<Pipes>), SpawnError> {
        // Ids of trials are unique within a run only; a harness tried by a harness has two runs in one tree.
        static LAUNCHES: AtomicU64 = AtomicU64::new(0);
        let launch = LAUNCHES.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}#{}.{launch}", self.trial, std::process::id());
        let mut env = environment::clean(self.app, &fill, self.scenario_env, self.harness_env);
        env.insert("PORT".into(), port.number().to_string().into());
        env.insert(MARK.into(), mark.as_str().into());
        tree::adopt_orphans();
        guard::post();
        let talks = matches!(self.app.talk, Talk::Stdio);
        let stdin = if talks { Stdio::piped() } else { Stdio::null() };
        let argv = fill.all(&self.app.start);
        let mut started = Spawn { argv: &argv, cwd: &self.app.cwd, env: &env, stdin }.start()?;
        let taken = pipes.then(|| started.0.stdin.take().zip(started.0.stdout.take())).flatten();
        Ok((Running::new(self, started, port, format!("{MARK}={mark}"), env), taken))
    }

    /// An app that dies because its port went to somebody else in the meantime did not fail: it had no chance.
    fn died(running: &Running, exit: Exit) -> NotStarted {
        if is_strangers(running.port(), &running.members()) {
            return NotStarted::PortTaken(running.port());
        }
        NotStarted::Exited(exit)
    }

    /// An answer counts only where it is not known to come from a stranger. An app that is not our child (`stop: run`)
    /// listens wherever it was put, and cannot be told from one.
    fn owned(&self, running: &Running, address: Option<&(String, u16)>) -> Result<(), NotStarted> {
        match (address, &self.app.stop) {
            (Some((_, port)), Stop::Signal { .. }) if is_strangers(*port, &running.members()) => {
                Err(NotStarted::PortTaken(*port))
            }
            _ => Ok(()),
        }
    }
}
