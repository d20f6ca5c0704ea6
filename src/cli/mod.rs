//! The command line: one file per verb, and what all verbs share.
//!
//! A verb answers an [`Exit`] or a [`Told`]: what it could not do, said once, on standard error. No runtime, no TLS
//! roots and no templates are loaded before the verb is known, so that `--version` costs what an empty program costs.

use std::fmt;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::verdict::Exit;
use print::complain;

mod check;
mod completions;
mod diff;
mod doctor;
mod events;
mod grade;
mod init;
mod keygen;
mod mcp;
mod merge;
mod print;
mod prove;
mod proxy;
mod receive;
mod report;
mod reports;
mod roster;
mod run;
mod schema;
mod show;
mod suite;
mod verify;
#[cfg(feature = "cluster")]
mod worker;

/// Puts a multi-agent app on trial and says what each worker really did.
#[derive(Parser)]
#[command(name = "mocktrial", version, propagate_version = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

const EXIT_CODES: &str = "Exit codes: 0 passed, 1 failed, 2 usage or file error, 3 nothing failed but something \
required is unknown, 4 error of world, harness or check, 130 interrupted.";

#[derive(Subcommand)]
enum Verb {
    /// From nothing, from an OpenAPI file, or from an app that is watched once, to a first green
    Init(init::Args),
    /// Load scenarios, diagnose them, and prove each ready, solvable and not vacuous, without the app
    Check(check::Args),
    /// Run trials, and seal one record of each
    Run(Box<run::Args>),
    /// Show that each worker's calls come through its channel
    Prove(prove::Args),
    /// Tell one trial as a story
    Show(show::Args),
    /// Print a finished run again: to the terminal, or as JSON, Markdown, JUnit or SARIF
    Report(report::Args),
    /// Say what changed between two runs
    Diff(diff::Args),
    /// Put the shards of one run together: the whole plan, or an error that names what is missing
    Merge(merge::Args),
    /// Say whether records still hold
    Verify(verify::Args),
    /// Grade records again, without the app
    Grade(grade::Args),
    /// Turn spans into events
    Events(events::Args),
    /// The span receiver alone
    Receive(receive::Args),
    /// A worker's tools as an MCP server on standard input and output
    Mcp(mcp::Args),
    /// The channels of a contract alone, for trying things by hand
    Proxy(proxy::Args),
    /// Run the trials that `run --queue` asks for, until Ctrl-C
    #[cfg(feature = "cluster")]
    Worker(worker::Args),
    /// Run the app once, and say what would keep it from being observed
    Doctor(doctor::Args),
    /// Make an ed25519 key that seals can be signed with
    Keygen(keygen::Args),
    /// Print the JSON Schema of a file format
    Schema(schema::Args),
    /// Print the roster of A2A agent cards: what a model is told of these agents
    Roster(roster::Args),
    /// Print a completion script
    Completions(completions::Args),
}

/// A verb could not do its work; said on standard error.
#[derive(Debug)]
pub struct Told {
    exit: Exit,
    message: String,
}

impl Told {
    /// A usage or file error: exit 2.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string() }
    }

    /// Trouble of ours or of the machine: exit 4.
    pub fn trouble(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Error, message: message.to_string() }
    }
}

/// Parses the command line, runs the verb and answers its exit code.
pub fn main() -> ExitCode {
    let verb = match Cli::try_parse() {
        Ok(cli) => cli.verb,
        Err(told) => {
            let usage = told.use_stderr();
            let _ = told.print();
            return ExitCode::from(if usage { Exit::Usage.code() } else { 0 });
        }
    };
    let done = match verb {
        Verb::Init(args) => args.run(),
        Verb::Check(args) => args.run(),
        Verb::Run(args) => args.run(),
        Verb::Prove(args) => args.run(),
        Verb::Show(args) => args.run(),
        Verb::Report(args) => args.run(),
        Verb::Diff(args) => args.run(),
        Verb::Merge(args) => args.run(),
        Verb::Verify(args) => args.run(),
        Verb::Grade(args) => args.run(),
        Verb::Events(args) => args.run(),
        Verb::Receive(args) => args.run(),
        Verb::Mcp(args) => args.run(),
        Verb::Proxy(args) => args.run(),
        #[cfg(feature = "cluster")]
        Verb::Worker(args) => args.run(),
        Verb::Doctor(args) => args.run(),
        Verb::Keygen(args) => args.run(),
        Verb::Schema(args) => args.run(),
        Verb::Roster(args) => args.run(),
        Verb::Completions(args) => args.run(&mut Cli::command()),
    };
    let mut exit = done.unwrap_or_else(|told| {
        complain!("mocktrial: {}", told.message);
        told.exit
    });
    if let Some(error) = print::trouble() {
        complain!("mocktrial: standard output: {error}; what was to be said is not all there");
        exit = exit.worse(Exit::Error);
    }
    ExitCode::from(exit.code())
}

/// A runtime for the verbs that wait for something.
fn runtime() -> Result<tokio::runtime::Runtime, Told> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Told::trouble(format!("no runtime could be started: {e}")))
}

/// Resolves at Ctrl-C, or when we are asked to end.
async fn asked_to_stop() -> Result<(), Told> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate()).map_err(Told::trouble)?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.map_err(Told::trouble),
        _ = term.recv() => Ok(()),
    }
}
