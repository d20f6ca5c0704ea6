//! `mocktrial doctor`: what would keep this app from being observed.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::print::{out, say};
use super::run::stages;
use super::{Told, runtime, suite};
use crate::clock::Clock;
use crate::report::doctor::{Checkup, tell};
use crate::scenario::{StepKind, Suite};
use crate::scheduler::{Selection, plan};
use crate::trial;
use crate::verdict::Exit;
use crate::world::Frozen;

/// Run the app once, and say what would keep it from being observed
///
/// Runs the scenario whose solution calls the most workers. Exit 3 where something is to be mended.
#[derive(clap::Args)]
pub struct Args {
    /// Scenario files, or folders that hold them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let (suites, worlds): (Vec<Suite>, Vec<Frozen>) = suite::open(&self.paths)?.into_iter().unzip();
        let plan = plan(&suites, &Selection { trials: Some(1), ..Selection::default() });
        let folder = tempfile::tempdir().map_err(Told::trouble)?;
        runtime()?.block_on(async {
            let stages = stages(&suites, worlds, folder.path(), Clock::start(), None).await?;
            let mut exit = Exit::Passed;
            for (at, stage) in stages.iter().enumerate() {
                let own = plan.trials.iter().filter(|(suite, _)| *suite == at).map(|(_, planned)| planned);
                // Of several the first, whose name comes first.
                let Some(planned) = own.rev().max_by_key(|planned| callers(planned)) else { continue };
                say!("{}", stage.contract.source.path.display());
                say!("  by one trial of {}", planned.scenario.name);
                let ran =
                    trial::run(stage, planned, &CancellationToken::new()).await.map_err(Told::trouble)?;
                if let Some(error) = &ran.end.error {
                    say!("{}: {}", error.code, error.message);
                    exit = exit.worse(Exit::Error);
                }
                let contract = Arc::clone(&stage.contract);
                let checkup = Checkup::read(&ran.path, &contract).map_err(Told::trouble)?;
                tell(&mut out(), &checkup).map_err(Told::trouble)?;
                if !checkup.is_well() {
                    exit = exit.worse(Exit::Unknown);
                }
                stage.end_services().await;
            }
            Ok(exit)
        })
    }
}

/// How many workers the solution has call something.
fn callers(planned: &trial::Planned) -> usize {
    let mut callers: Vec<_> = planned
        .scenario
        .solution
        .iter()
        .filter_map(|step| match &step.kind {
            StepKind::Call { worker, .. } => Some(worker.as_str()),
            _ => None,
        })
        .collect();
    callers.sort_unstable();
    callers.dedup();
    callers.len()
}
