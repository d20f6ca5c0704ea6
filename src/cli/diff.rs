//! `mocktrial diff`: what changed between two runs.

use std::path::{Path, PathBuf};

use super::Told;
use super::print::{self, say};
use crate::record::RunFile;
use crate::report::diff::{Diff, Moved, text};
use crate::verdict::Exit;

/// Say what changed between two runs; exit 1 where a scenario regressed
#[derive(clap::Args)]
pub struct Args {
    /// The earlier run's folder
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The later run's folder
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let after = RunFile::read(&self.after).map_err(Told::usage)?;
        let diff = compare(Before::read(&self.before)?, (&self.after, &after))?;
        match self.json {
            true => say!("{:#}", serde_json::to_value(&diff).map_err(Told::trouble)?),
            false => text(&mut print::out(), &diff).map_err(Told::trouble)?,
        }
        Ok(exit(&diff))
    }
}

/// The earlier run.
pub(super) struct Before {
    folder: PathBuf,
    run: RunFile,
}

impl Before {
    pub(super) fn read(folder: &Path) -> Result<Self, Told> {
        let run = RunFile::read(folder).map_err(Told::usage)?;
        Ok(Self { folder: folder.to_owned(), run })
    }
}

/// What changed since. Two runs without a scenario in common have nothing to say of each other.
pub(super) fn compare(before: Before, after: (&Path, &RunFile)) -> Result<Diff, Told> {
    let diff = Diff::read((&before.folder, &before.run), after).map_err(Told::usage)?;
    match diff.compared() {
        0 => Err(Told::usage(format!(
            "{} and {} have no scenario in common; nothing was compared",
            before.folder.display(),
            after.0.display()
        ))),
        _ => Ok(diff),
    }
}

/// Only regressions count.
pub(super) fn exit(diff: &Diff) -> Exit {
    if diff.count(Moved::Regressed) > 0 { Exit::Failed } else { Exit::Passed }
}
