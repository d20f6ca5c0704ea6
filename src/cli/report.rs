//! `mocktrial report DIR`: a finished run, printed again from its records.

use std::path::PathBuf;

use super::Told;
use super::reports::{Kept, Reports, Wanted};
use crate::record::{RunFile, TrialState, trial_file};
use crate::report::{repeats, term};
use crate::verdict::Exit;

/// Print a finished run again from its records
#[derive(clap::Args)]
pub struct Args {
    /// The folder of a run, with its run.json
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// One JSON document (schema: mocktrial schema report)
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Markdown, for a pull request comment
    #[arg(long)]
    markdown: bool,
    /// The contract's folder, for the names of scenario files
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
    #[command(flatten)]
    wanted: Wanted,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let run = RunFile::read(&self.folder).map_err(Told::usage)?;
        let mut reports = Reports::new(self.wanted, self.json);
        let quiet = self.json || self.markdown;
        let mut out = anstream::stdout();
        let retried: Vec<_> = run.trials.values().filter_map(|trial| trial.retry_of.clone()).collect();
        for (id, trial) in run.trials.iter().filter(|(_, trial)| !trial.binding_proof) {
            let Some(file) = trial_file(id).filter(|_| !matches!(trial.state, TrialState::Planned)) else {
                reports.totals.not_run += 1;
                continue;
            };
            let kept = Kept {
                path: self.folder.join(file),
                base: self.base.clone().unwrap_or_default(),
                counts: !retried.contains(id),
            };
            reports.add(&kept, (!quiet).then_some(&mut out as _))?;
        }
        reports.write()?;
        if let Some(json) = reports.take_json() {
            println!("{json:#}");
        } else if self.markdown {
            reports.markdown(&mut out).map_err(Told::trouble)?;
        } else {
            repeats(&mut out, &run).map_err(Told::trouble)?;
            term::totals(&mut out, &reports.totals).map_err(Told::trouble)?;
        }
        Ok(run.exit())
    }
}
