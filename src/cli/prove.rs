//! `mocktrial prove --binding`: does each worker's tool client use the channel it was given?

use std::path::PathBuf;
use std::sync::Arc;

use super::print::say;
use super::run::{Line, Out, listen_for_interrupts, run_file, stages, told_of_beside};
use super::{Told, runtime, suite};
use crate::clock::Clock;
use crate::scenario::Suite;
use crate::scheduler::{self, FailFast, Hands, Ledger, Ran, Selection, Settings};
use crate::verdict::Exit;
use crate::world::Frozen;

/// Show that each worker's calls come through its channel
#[derive(clap::Args)]
pub struct Args {
    /// The only proof there is so far: run a scenario whose solution calls the worker, and look at its channel
    #[arg(long, required = true)]
    binding: bool,
    /// Scenario files, or folders that hold them
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Where records and the run file go [default: .mocktrial/RUN, with .mocktrial/latest]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let (suites, worlds): (Vec<Suite>, Vec<Frozen>) = suite::open(&self.paths)?.into_iter().unzip();
        let plan = scheduler::plan_bindings(&suites, &Selection::default());
        let clock = Clock::start();
        let out = Out::make(self.out, clock)?;
        let mut run = run_file(&out, &plan, clock);
        run.write(&out.folder).map_err(Told::usage)?;
        runtime()?.block_on(async {
            let stages = stages(&suites, worlds, &out.folder, clock, None).await?;
            let settings = Settings::new(1, FailFast::Never);
            listen_for_interrupts(&settings);
            let ledger = Arc::new(Ledger::begin(&out.folder, clock).map_err(Told::trouble)?);
            let ran =
                scheduler::run(&stages, plan.work(), &settings, &Hands::Own, &ledger, &mut Line::new(0))
                    .await;
            told_of_beside(&mut run, &ran.beside, clock);
            run.write(&out.folder).map_err(Told::trouble)?;
            Ok(tell(&suites, &ran, &settings))
        })
    }
}

fn tell(suites: &[Suite], ran: &Ran, settings: &Settings) -> Exit {
    let mut exit = Exit::Passed;
    for ((suite, shown), unshown) in suites.iter().zip(&ran.bindings).zip(&ran.unshown) {
        say!("{}", suite.contract.source.path.display());
        for (worker, trial) in shown {
            say!("  {worker}: its calls come through its channel, shown by {trial}");
        }
        for worker in unshown {
            exit = exit.worse(Exit::Unknown);
            say!("  {worker}: not shown: {}", why(suite, worker, ran));
        }
    }
    for trouble in ran.beside.iter().filter_map(|done| done.finished.as_ref()?.end.error.as_ref()) {
        exit = exit.worse(Exit::Error);
        say!("  {}: {}", trouble.code, trouble.message);
    }
    if settings.interrupt.is_cancelled() || settings.wind_down.is_cancelled() {
        exit = exit.worse(Exit::Interrupted);
    }
    exit
}

fn why(suite: &Suite, worker: &str, ran: &Ran) -> String {
    let tried: Vec<_> = ran
        .beside
        .iter()
        .filter(|done| scheduler::called(&done.planned.scenario).any(|called| called == worker))
        .map(|done| done.planned.id.to_string())
        .collect();
    if tried.is_empty() {
        return "no scenario's solution calls it".to_owned();
    }
    let address = suite.contract.workers.iter().find(|own| own.id.as_str() == worker).map(|own| &own.lane);
    let address = match address {
        Some(crate::scenario::LaneSpec::Separate { address_env }) => {
            format!("; does its tool client read {address_env}?")
        }
        _ => String::new(),
    };
    format!("no call came by it in {}{address}", tried.join(", "))
}
