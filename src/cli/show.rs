//! `mocktrial show RECORD`: one trial as a story.

use std::path::PathBuf;

use super::Told;
use super::print::{self, say};
use crate::report::{Story, json, show};
use crate::verdict::Exit;

/// Tell one trial as a story: turns, hand-offs, each worker's calls, refusals, changes, verdicts
#[derive(clap::Args)]
pub struct Args {
    /// A record
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// The contract's folder, for the names of scenario files
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let at = |error: &dyn std::fmt::Display| Told::usage(format!("{}: {error}", self.record.display()));
        let story = Story::read(&self.record).map_err(|error| at(&error))?;
        if self.json {
            let report = json::TrialReport::from(&story);
            say!("{}", serde_json::to_string_pretty(&report).map_err(Told::trouble)?);
        } else {
            show::trial(&mut print::out(), &story, &self.base.unwrap_or_default())
                .map_err(|error| at(&error))?;
        }
        Ok(Exit::Passed)
    }
}
