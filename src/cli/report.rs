//! `mocktrial report DIR`: a finished run, printed again from its records.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::Told;
use super::print::{self, complain, say};
use super::reports::{Kept, Reports, Wanted};
use crate::record::{self, RunFile, TrialState, trial_file};
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
        let mut run = RunFile::read(&self.folder).map_err(Told::usage)?;
        if run.ended_at.is_none() {
            complain!("the run has not ended: it goes on, or was killed (then see `mocktrial run --resume`)");
            run.judge();
        }
        let cut_off = run.ended_at.is_none().then_some(Exit::Error);
        let exit = cut_off.into_iter().fold(run.exit(), Exit::worse);
        let mut reports = Reports::new(self.wanted, self.json);
        let base = self.base.unwrap_or_default();
        if !self.json && !self.markdown {
            tell(&self.folder, &run, reports, &base)?;
            return Ok(exit);
        }
        walk(&self.folder, &run, &mut reports, &base, None)?;
        reports.write()?;
        match reports.take_json() {
            Some(json) => say!("{json:#}"),
            None => reports.markdown(&mut print::out()).map_err(Told::trouble)?,
        }
        Ok(exit)
    }
}

/// Prints a run from its records, and writes the reports that were asked for.
pub(super) fn tell(folder: &Path, run: &RunFile, mut reports: Reports, base: &Path) -> Result<(), Told> {
    let mut out = print::out();
    walk(folder, run, &mut reports, base, Some(&mut out))?;
    reports.write()?;
    repeats(&mut out, run).map_err(Told::trouble)?;
    term::totals(&mut out, &reports.totals).map_err(Told::trouble)
}

fn walk(
    folder: &Path,
    run: &RunFile,
    reports: &mut Reports,
    base: &Path,
    mut out: Option<&mut dyn Write>,
) -> Result<(), Told> {
    let retried: BTreeSet<_> = run.trials.values().filter_map(|trial| trial.retry_of.as_deref()).collect();
    let again = run.trials.iter().filter_map(|(id, trial)| Some((trial.resumes.as_ref()?, id)));
    let again: BTreeMap<_, _> = again.collect();
    for (id, trial) in run.trials.iter().filter(|(_, trial)| !trial.binding_proof) {
        if let Some(by) = again.get(id) {
            if let Some(out) = &mut out {
                writeln!(out, "{id}: cut off, and run again as {by}").map_err(Told::trouble)?;
            }
            continue;
        }
        let Some(file) = trial_file(id).filter(|_| !matches!(trial.state, TrialState::Planned)) else {
            reports.totals.not_run += 1;
            continue;
        };
        let kept =
            Kept { path: folder.join(file), base: base.to_owned(), counts: !retried.contains(id.as_str()) };
        let first = || record::read(&kept.path).ok()?.next()?.ok();
        // Noted as begun, and killed before its first row was written.
        if trial.state == TrialState::Running && first().is_none() {
            reports.totals.not_run += 1;
            continue;
        }
        reports.add(&kept, out.as_mut().map(|out| &mut **out as &mut dyn Write))?;
    }
    Ok(())
}
