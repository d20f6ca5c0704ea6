//! `mocktrial run`: plan, run, report.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{Told, runtime, suite};
use crate::clock::Clock;
use crate::journal::RedactionKey;
use crate::record::SigningKey;
use crate::scenario::Suite;
use crate::scheduler::{self, Done, Progress, Selection, Settings};
use crate::target::{self, Filters};
use crate::trial::Stage;
use crate::verdict::{Exit, Outcome};
use crate::world::Frozen;

/// Run trials, and seal one record of each
#[derive(clap::Args)]
pub struct Args {
    /// Scenario files, or folders that hold them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Trials of each case, in place of the scenarios' own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    trials: Option<u32>,
    /// Trials in flight at once; waiting costs no core, so more than there are cores
    #[arg(short, long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: u16,
    /// Only scenarios whose name holds this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Begin no trial after one has failed
    #[arg(long)]
    fail_fast: bool,
    /// Where records and reports go [default: .mocktrial/RUN, with .mocktrial/latest]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write a JUnit report here
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a Markdown summary here
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Sign seals with the secret key in this file
    #[arg(long, value_name = "FILE")]
    sign_key: Option<PathBuf>,
}
