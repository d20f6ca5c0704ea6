//! `mocktrial worker`: runs the trials of a queue.

use std::path::PathBuf;
use std::sync::Arc;

use super::print::complain;
use super::run::{listen_for_interrupts, stages};
use super::{Told, runtime, suite};
use crate::clock::Clock;
use crate::scenario::Suite;
use crate::scheduler::queue::{Bench, Benches, Order, Queue, Remote, serve};
use crate::scheduler::{FailFast, Hands, Ledger, Settings, digest};
use crate::verdict::Exit;
use crate::world::Frozen;

/// Run the trials that `run --queue` asks for, until Ctrl-C
///
/// To be started where the same files stand under the same paths: each trial says of which files it is, and a worker
/// that has others leaves it to another.
#[derive(clap::Args)]
pub struct Args {
    /// The NATS server, as in nats://host:4222; JetStream must be enabled
    #[arg(long, value_name = "URL")]
    queue: String,
    /// Trials in flight at once
    #[arg(short, long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: u16,
    /// Where records are kept until they are stored [default: a temporary folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let temporary = tempfile::tempdir().map_err(Told::trouble)?;
        let out = self.out.unwrap_or_else(|| temporary.path().to_owned());
        runtime()?.block_on(async {
            let queue = Queue::connect(&self.queue).await.map_err(Told::trouble)?;
            let settings = Settings::new(self.jobs.into(), FailFast::Never);
            listen_for_interrupts(&settings);
            complain!("waiting for trials");
            let benches = FromFiles { out, clock: Clock::start() };
            serve(queue, benches, settings.jobs, &settings.wind_down, &settings.interrupt)
                .await
                .map_err(Told::trouble)?;
            Ok(Exit::Interrupted)
        })
    }
}

/// Benches made of the files here.
struct FromFiles {
    out: PathBuf,
    clock: Clock,
}

impl Benches for FromFiles {
    async fn bench(&self, order: &Order) -> Result<Bench, String> {
        let opened = suite::open(&order.paths).map_err(|told| told.message)?;
        let (suites, worlds): (Vec<Suite>, Vec<Frozen>) = opened.into_iter().unzip();
        // Told apart by the run; two workers on one machine share a folder only if they were given one.
        let out = self.out.join(format!("{}-{}", order.run.replace('/', "_"), std::process::id()));
        std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
        let stages = stages(&suites, worlds, &out, self.clock, None).await.map_err(|told| told.message)?;
        let ledger = Ledger::begin(&out, self.clock).map_err(|error| error.to_string())?;
        Ok(Bench { digest: digest(&suites, order.run_seed), suites, stages, ledger, out })
    }
}

/// The workers at the other end of a queue, for the run `run`.
pub(super) async fn remote(
    url: &str,
    run: &str,
    suites: &[Suite],
    paths: &[PathBuf],
    seed: u64,
) -> Result<Hands, Told> {
    let queue = Queue::connect(url).await.map_err(Told::trouble)?;
    let remote = Remote::open(queue, run.to_owned(), digest(suites, seed), paths.to_owned(), seed).await;
    Ok(Hands::Remote(Arc::new(remote.map_err(Told::trouble)?)))
}
