//! `mocktrial merge`: shards of one run, judged as one.

use std::path::PathBuf;

use super::Told;
use super::report::tell;
use super::reports::{Reports, Wanted};
use crate::record::{MergeError, merge};
use crate::verdict::Exit;

/// Put the shards of one run together: the whole plan, or an error that names what is missing
#[derive(clap::Args)]
pub struct Args {
    /// Folders of `run --shard I/N`
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Where the whole run goes
    #[arg(long, value_name = "DIR", required = true)]
    out: PathBuf,
    #[command(flatten)]
    wanted: Wanted,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let run = merge(&self.folders, &self.out).map_err(|error| match error {
            MergeError::Io { .. } => Told::trouble(error),
            _ => Told::usage(error),
        })?;
        tell(&self.out, &run, Reports::new(self.wanted, false), std::path::Path::new(""))?;
        Ok(run.exit())
    }
}
