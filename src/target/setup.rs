//! The contract's `setup`: what is built or installed once per run, before any trial.
//!
//! It inherits our whole environment, as a line of a Makefile would: a compiler or a package manager needs its caches
//! and proxies, and none of it is under trial.

use std::time::Duration;

use super::command::{self, Spawn, SpawnError};
use super::output::{Filters, Output, shown};
use super::running::Exit;
use crate::scenario::Contract;

/// A first build of a large app takes a while; a command that asks for something it will not get takes for ever.
const WITHIN: Duration = Duration::from_secs(3600);

/// Why the app could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("setup `{command}` {why}{}", shown(output))]
pub struct SetupError {
    /// The command, its words joined by blanks.
    pub command: String,
    /// What went wrong with it.
    pub why: String,
    /// The tails of its output.
    pub output: Vec<Output>,
}

/// Runs every `setup` command in order, in the app's folder with the app's `env`; the first that fails ends it.
pub async fn setup(contract: &Contract, filter: &Filters) -> Result<(), SetupError> {
    let app = &contract.app;
    let written = app.env.iter().map(|(name, value)| (name.into(), value.into()));
    let env = std::env::vars_os().chain(written).collect();
    for argv in &app.setup {
        let failed = |why: String, output| SetupError { command: argv.join(" "), why, output };
        let stdin = std::process::Stdio::null();
        let spawn = Spawn { argv, cwd: &app.cwd, env: &env, stdin };
        let finished = command::run(spawn, WITHIN, contract.limits.output, filter)
            .await
            .map_err(|error: SpawnError| failed(error.to_string(), Vec::new()))?;
        match finished.status {
            Some(status) if status.success() => {}
            Some(status) => {
                return Err(failed(Exit::from(status).to_string(), finished.output));
            }
            None => {
                return Err(failed(format!("took longer than {WITHIN:?}"), finished.output));
            }
        }
    }
    Ok(())
}
