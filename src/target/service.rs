//! A service of the world that we start: like an app, one process tree, ready before anything is asked of it, ended with
//! all its descendants.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::time::Duration;

use http::{Method, Uri};
use http_body_util::Full;
use hyper::body::Bytes;
use tokio::process::{ChildStdin, ChildStdout};

use super::environment::Fill;
use super::http as client;
use super::launch::{Launch, StartError};
use super::output::{Filters, Output};
use super::running::{Exit, Running, Stopped};
use crate::clock::Clock;
use crate::name::TrialId;
use crate::scenario::{App, Contract, Flush, Per, Stop, Talk, Upstream, UpstreamKind};

/// How long a service may take to end.
const GRACE: Duration = Duration::from_secs(5);
/// How long a service may take to put itself back.
const RESET_WITHIN: Duration = Duration::from_secs(30);

/// Everything that makes one start of a service.
#[derive(Clone, Copy)]
pub struct ServiceLaunch<'a> {
    /// Its name, for the environment and for errors.
    pub name: &'a str,
    /// The service.
    pub upstream: &'a Upstream,
    /// Folder, address and bounds.
    pub contract: &'a Contract,
    /// The trial it is first started for.
    pub trial: &'a TrialId,
    /// The run's.
    pub clock: Clock,
    /// Makes the filter of one output stream.
    pub filter: &'a Filters,
}

/// A service that runs. Dropped, it is killed with all its descendants, without grace.
pub struct Service {
    running: Running,
    url: Option<String>,
    pipes: Option<(ChildStdin, ChildStdout)>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("url", &self.url).finish_non_exhaustive()
    }
}

impl ServiceLaunch<'_> {
    /// Starts it and waits until it is ready. None: it is not ours to start.
    pub async fn start(&self) -> Result<Option<Service>, StartError> {
        let (command, url) = match (&self.upstream.kind, &self.upstream.start) {
            (UpstreamKind::McpStdio(command), _) => (command, None),
            (UpstreamKind::Http(url) | UpstreamKind::McpHttp(url), Some(command)) => (command, Some(url)),
            (UpstreamKind::Http(_) | UpstreamKind::McpHttp(_), None) => return Ok(None),
        };
        let app = self.as_app(command, url);
        let launch = Launch {
            app: &app,
            limits: &self.contract.limits,
            trial: self.trial,
            scenario_env: &Default::default(),
            harness_env: &[],
            clock: self.clock,
            filter: self.filter,
        };
        let (running, pipes) = launch.start_on_pipes(url.is_none()).await?;
        let port = running.port().to_string();
        let names = [("port", port.as_str()), ("trial", self.trial.as_str())];
        let url = url.map(|url| Fill(&names).text(url));
        Ok(Some(Service { running, url, pipes }))
    }

    /// The service as an app: it is started, found ready and ended in the same way, and inherits as little.
    fn as_app(&self, command: &[String], url: Option<&String>) -> App {
        App {
            name: self.name.to_owned(),
            cwd: self.contract.folder.clone(),
            setup: Vec::new(),
            start: command.to_vec(),
            env: self.upstream.env.clone(),
            env_pass: BTreeSet::new(),
            secrets: BTreeSet::new(),
            ready: self.upstream.ready.clone(),
            // Where a service says nothing of being ready, whoever accepts at its address is.
            talk: url.map_or(Talk::Stdio, |url| Talk::A2a { url: url.clone() }),
            flush: Flush::None,
            per: Per::Trial,
            stop: Stop::Signal { signal: "TERM".to_owned(), grace: GRACE },
            listen: self.contract.app.listen,
            advertise: None,
        }
    }
}

impl Service {
    /// Where it is; none on pipes.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// Its standard streams, once.
    pub fn take_pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        self.pipes.take()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<Exit> {
        self.running.ended_early()
    }

    /// The tails of its output so far.
    pub fn output(&self) -> Vec<Output> {
        self.running.output()
    }

    /// Asks it to put itself back.
    pub async fn reset(&self, path: &str) -> Result<(), String> {
        match &self.url {
            Some(url) => reset(url, path).await,
            None => Err("a service on pipes has no path to post to".to_owned()),
        }
    }

    /// Ends it.
    pub async fn stop(self) -> Stopped {
        drop(self.pipes);
        self.running.stop().await
    }
}

/// Posts to `path` of the service at `url`, and wants an answer below 400.
pub async fn reset(url: &str, path: &str) -> Result<(), String> {
    let target = format!("{}{path}", url.trim_end_matches('/'));
    let told = |why: String| format!("POST {target}: {why}");
    let at: Uri = target.parse().map_err(|_| told("no URL".to_owned()))?;
    let address = client::address(&at).map_err(&told)?;
    let post = client::request(Method::POST, &at)
        .header(http::header::CONTENT_LENGTH, "0")
        .body(Full::new(Bytes::new()))
        .map_err(|error| told(error.to_string()))?;
    let answered = async {
        let stream = client::connect(&address).await?;
        client::send(stream, post).await.map_err(io::Error::other)
    };
    match tokio::time::timeout(RESET_WITHIN, answered).await {
        Ok(Ok(answer)) if answer.head.status.as_u16() < 400 => Ok(()),
        Ok(Ok(answer)) => Err(told(format!("it answered {}", answer.head.status))),
        Ok(Err(error)) => Err(told(error.to_string())),
        Err(_) => Err(told(format!("no answer within {RESET_WITHIN:?}"))),
    }
}
