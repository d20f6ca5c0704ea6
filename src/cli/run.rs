//! `mocktrial run`: plan, run, report.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::print::{self, complain};
use super::reports::{Kept, Reports, Wanted};
use super::{Told, diff, runtime, suite};
use crate::clock::Clock;
use crate::grade::Tally;
use crate::journal::RedactionKey;
use crate::record::{Host, LateCalls, RUN_FORMAT, RunFile, RunLock, ScenarioTally, SigningKey};
use crate::report::diff::text;
use crate::report::{Story, repeats, term};
use crate::scenario::Suite;
use crate::scheduler::{
    self, Done, FailFast, Ledger, Plan, Progress, Ran, Resumed, Selection, Settings, Shard, ended, entry,
};
use crate::target;
use crate::trial::{Finished, Stage, StageError, first_row};
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
    /// Trials in flight at once; one that waits costs no core
    #[arg(short, long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: u16,
    /// Only scenarios whose name holds this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Begin no trial after a case has failed; with `=scenario`, only none of a case whose verdict is settled
    #[arg(long, value_name = "WHAT", num_args = 0..=1, require_equals = true, default_missing_value = "run", value_parser = ["run", "scenario"])]
    fail_fast: Option<String>,
    /// An earlier run to compare with
    #[arg(long, value_name = "DIR")]
    baseline: Option<PathBuf>,
    /// What decides the exit code: the verdicts, or only whether a scenario is worse than in the baseline
    #[arg(long, value_name = "BY", value_parser = ["verdicts", "regressions"], default_value = "verdicts", requires_if("regressions", "baseline"))]
    gate: String,
    /// Run only this share of the plan; `merge` puts the shares together
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// A run before this one, by whose times the shares are made even; the same for every shard
    #[arg(long, value_name = "DIR", requires = "shard")]
    times: Option<PathBuf>,
    /// Run in an order of this seed's, instead of by name
    #[arg(long, value_name = "SEED")]
    shuffle: Option<u64>,
    /// Have the trials run by the workers of this NATS server, as in nats://host:4222
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "URL", conflicts_with_all = ["jobs", "sign_key"])]
    queue: Option<String>,
    /// Where records and the run file go [default: .mocktrial/RUN, with .mocktrial/latest]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Take up the run in this folder: what is sealed is kept, the rest runs
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    resume: Option<PathBuf>,
    /// Sign seals with the secret key in this file, or in the variable of `env:NAME`
    #[arg(long, value_name = "FILE|env:NAME")]
    sign_key: Option<String>,
    #[command(flatten)]
    wanted: Wanted,
}

impl Args {
    pub(super) fn run(self) -> Result<Exit, Told> {
        let (suites, worlds): (Vec<Suite>, Vec<Frozen>) = suite::open(&self.paths)?.into_iter().unzip();
        let sign = self.sign_key.as_deref().map(SigningKey::load).transpose().map_err(Told::usage)?;
        // A baseline that is none is said before the trials, not after them.
        let before = self.baseline.as_deref().map(diff::Before::read).transpose()?;
        let times = self.times.as_deref().map(RunFile::read).transpose().map_err(Told::usage)?;
        let selection = Selection {
            filter: self.filter.clone(),
            trials: self.trials,
            seed: self.seed,
            shard: self.shard,
            times: times.map(|run| run.times()).unwrap_or_default(),
            shuffle: self.shuffle,
        };
        let plan = scheduler::plan(&suites, &selection);
        // A share may come out empty where there are more shares than trials; the plan may not.
        if plan.trials.is_empty() && plan.share.as_ref().is_none_or(|share| share.plan.is_empty()) {
            let filter = self.filter.unwrap_or_default();
            return Err(Told::usage(format!("no scenario's name holds `{filter}`; nothing was run")));
        }
        let fail_fast = match self.fail_fast.as_deref() {
            None => FailFast::Never,
            Some("scenario") => FailFast::Scenario,
            Some(_) => FailFast::Run,
        };
        let clock = Clock::start();
        let out = match &self.resume {
            Some(folder) => Out::reopen(folder)?,
            None => Out::make(self.out, clock)?,
        };
        let mut run = match self.resume {
            Some(_) => taken_up(&out, clock)?,
            None => run_file(&out, &plan, clock),
        };
        if self.resume.is_none() {
            run.write(&out.folder).map_err(Told::usage)?;
        }
        let key = sign.as_ref().map(SigningKey::public);
        runtime()?.block_on(async {
            let stages = stages(&suites, worlds, &out.folder, clock, sign).await?;
            let settings = Settings::new(self.jobs.into(), fail_fast);
            listen_for_interrupts(&settings);
            let Resumed { kept, work } = match self.resume {
                Some(_) => scheduler::resume(&stages, plan, &mut run, &out.folder, key.as_ref())
                    .map_err(Told::usage)?,
                None => Resumed { kept: Vec::new(), work: plan.work() },
            };
            run.write(&out.folder).map_err(Told::usage)?;
            let ledger = Arc::new(Ledger::begin(&out.folder, clock).map_err(Told::trouble)?);
            #[cfg(not(feature = "cluster"))]
            let hands = scheduler::Hands::Own;
            #[cfg(feature = "cluster")]
            let (hands, settings) = match &self.queue {
                None => (scheduler::Hands::Own, settings),
                Some(url) => {
                    let remote = super::worker::remote(url, &run.id, &suites, &self.paths, self.seed).await?;
                    // Nothing is in flight here: all trials wait at once for whoever takes them.
                    (remote, Settings { jobs: work.tasks.len().max(1), ..settings })
                }
            };
            let mut line = Line::new(work.tasks.len());
            let ran = scheduler::run(&stages, work, &settings, &hands, &ledger, &mut line).await;
            let Ran { mut done, beside, .. } = ran;
            line.clear();
            for stage in &stages {
                stage.end_services().await;
            }
            #[cfg(feature = "cluster")]
            if let scheduler::Hands::Remote(remote) = &hands {
                remote.close().await;
            }
            conclude(&mut run, &done, &beside, &stages, clock);
            done.extend(kept);
            done.sort_by_key(|done| done.place);
            let told = tell(&stages, &done, self.wanted)?;
            run.write(&out.folder).map_err(Told::trouble)?;
            repeats(&mut print::out(), &run).map_err(Told::trouble)?;
            let diff = before.map(|before| diff::compare(before, (&out.folder, &run))).transpose()?;
            if let Some(diff) = &diff {
                text(&mut print::out(), diff).map_err(Told::trouble)?;
            }
            term::totals(&mut print::out(), &told).map_err(Told::trouble)?;
            let by_verdicts = exit(&run, &settings);
            Ok(match diff.filter(|_| self.gate == "regressions" && by_verdicts != Exit::Interrupted) {
                Some(diff) => diff::exit(&diff),
                None => by_verdicts,
            })
        })
    }
}

/// Where a run's files go.
pub(super) struct Out {
    id: String,
    pub(super) folder: PathBuf,
    _lock: RunLock,
}

impl Out {
    /// A folder that holds no run yet.
    pub(super) fn make(wanted: Option<PathBuf>, clock: Clock) -> Result<Self, Told> {
        let seconds = clock.unix_nanos(clock.now()) / 1_000_000_000;
        let id = format!("{seconds}-{}", std::process::id());
        let latest = wanted.is_none();
        let folder = wanted.unwrap_or_else(|| Path::new(".mocktrial").join(&id));
        let at = |error: &dyn std::fmt::Display| Told::usage(format!("{}: {error}", folder.display()));
        std::fs::create_dir_all(&folder).map_err(|error| at(&error))?;
        let lock = RunLock::take(&folder).map_err(Told::usage)?;
        if folder.join(crate::record::RUN_FILE).exists() {
            return Err(at(
                &"a run is kept here already; name another folder with --out, or take it up with --resume",
            ));
        }
        if latest {
            let link = Path::new(".mocktrial/latest");
            let _ = std::fs::remove_file(link);
            // Only a convenience: a file system without links runs trials all the same.
            let _ = std::os::unix::fs::symlink(&id, link);
        }
        Ok(Self { id, folder, _lock: lock })
    }

    /// The folder of a run that is to be taken up.
    fn reopen(folder: &Path) -> Result<Self, Told> {
        let lock = RunLock::take(folder).map_err(Told::usage)?;
        let run = RunFile::read(folder).map_err(Told::usage)?;
        Ok(Self { id: run.id, folder: folder.to_owned(), _lock: lock })
    }
}

/// One stage per suite, its app set up.
pub(super) async fn stages(
    suites: &[Suite],
    worlds: Vec<Frozen>,
    out: &Path,
    clock: Clock,
    sign: Option<SigningKey>,
) -> Result<Vec<Arc<Stage>>, Told> {
    let key = RedactionKey::random().map_err(Told::trouble)?;
    let mut stages = Vec::new();
    for (suite, world) in suites.iter().zip(worlds) {
        let contract = Arc::clone(&suite.contract);
        let mut stage = Stage::new(contract, world, out.to_owned(), clock, key.clone(), sign.clone())
            .map_err(|error| {
                let told = format!("{}: {error}", suite.contract.source.path.display());
                match error {
                    StageError::Unserved { .. } => Told::usage(told),
                    _ => Told::trouble(told),
                }
            })?;
        target::setup(&suite.contract, &stage.filters().map_err(Told::trouble)?)
            .await
            .map_err(|error| Told::trouble(format!("{}: {error}", suite.contract.source.path.display())))?;
        stage.pin_app();
        stages.push(Arc::new(stage));
    }
    Ok(stages)
}

/// The first Ctrl-C lets the trials in flight finish, the second ends them.
pub(super) fn listen_for_interrupts(settings: &Settings) {
    let (wind_down, interrupt) = (settings.wind_down.clone(), settings.interrupt.clone());
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            complain!("interrupted: waiting for the trials in flight; again to end them now");
            wind_down.cancel();
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            interrupt.cancel();
        }
    });
}

/// One line of progress on standard error, where that is a terminal.
pub(super) struct Line {
    total: usize,
    done: usize,
    shown: bool,
}

impl Line {
    pub(super) fn new(total: usize) -> Self {
        Self { total, done: 0, shown: std::io::stderr().is_terminal() }
    }

    fn clear(&self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

impl Progress for Line {
    fn ended(&mut self, done: &Done) {
        self.done += 1;
        if self.shown {
            let outcome = done.outcome().map_or("not run", Outcome::word);
            let _ = write!(
                std::io::stderr(),
                "\r\x1b[K{}/{} {} {outcome}",
                self.done,
                self.total,
                done.planned.id
            );
        }
    }
}

/// Tells of every record in the plan's order, and writes the reports.
fn tell(stages: &[Arc<Stage>], done: &[Done], wanted: Wanted) -> Result<crate::report::Totals, Told> {
    let mut reports = Reports::new(wanted, false);
    let mut out = print::out();
    for one in done {
        let contract = &stages[one.suite].contract.source.path;
        let base = contract.parent().unwrap_or(Path::new(""));
        let tries = one.first.iter().map(|first| (first, false));
        let tries = tries.chain(one.finished.iter().map(|finished| (finished, true)));
        for (finished, counts) in tries {
            let kept = Kept { path: finished.path.clone(), base: base.to_owned(), counts };
            match finished.sealed {
                Some(_) => reports.add(&kept, Some(&mut out))?,
                None => reports.take(&unsealed(&stages[one.suite], one, finished), &kept, Some(&mut out))?,
            }
            let seal = finished.phases.iter().filter(|phase| counts && phase.name == "seal");
            for phase in seal {
                let micros = u64::try_from(phase.took.as_micros()).unwrap_or(u64::MAX);
                reports.totals.spend(phase.name, micros);
            }
        }
        if one.finished.is_none() {
            reports.totals.not_run += 1;
            writeln!(out, "{}: not run", one.planned.id).map_err(Told::trouble)?;
        }
    }
    reports.write()?;
    Ok(reports.totals)
}

/// A trial whose record has no seal, as far as there is a record; how it ended is known here all the same.
fn unsealed(stage: &Stage, one: &Done, finished: &Finished) -> Story {
    let story = Story::read(&finished.path);
    let mut story = story.unwrap_or_else(|_| Story::unrecorded(first_row(stage, &one.planned)));
    story.end = Some(finished.end.clone());
    story
}

pub(super) fn run_file(out: &Out, plan: &Plan, clock: Clock) -> RunFile {
    let trials = plan.trials.iter().map(|(_, planned)| (planned.id.to_string(), entry(planned, None, clock)));
    let scenarios = plan.trials.iter().map(|(_, planned)| {
        let pass = planned.scenario.repeat.pass;
        let tally = ScenarioTally { verdict: Outcome::Unknown, pass, tally: Tally::default(), flaky: false };
        (planned.scenario.name.clone(), tally)
    });
    RunFile {
        format: RUN_FORMAT,
        id: out.id.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: Host::here(None),
        started_at: clock.unix_nanos(clock.now()).to_string(),
        ended_at: None,
        resumed_at: Vec::new(),
        shard: plan.share.clone(),
        trials: trials.collect(),
        scenarios: scenarios.collect(),
        late_calls: Vec::new(),
        unknown_tokens: Default::default(),
    }
}

/// The run file of a run that is taken up, as it was left.
fn taken_up(out: &Out, clock: Clock) -> Result<RunFile, Told> {
    let mut run = RunFile::read(&out.folder).map_err(Told::usage)?;
    run.ended_at = None;
    run.resumed_at.push(clock.unix_nanos(clock.now()).to_string());
    Ok(run)
}

/// Writes down the trials beside the plan, and that the run is over.
pub(super) fn told_of_beside(run: &mut RunFile, beside: &[Done], clock: Clock) {
    for one in beside {
        run.trials.insert(one.planned.id.to_string(), entry(&one.planned, one.finished.as_ref(), clock));
    }
    run.ended_at = Some(clock.unix_nanos(clock.now()).to_string());
}

fn conclude(run: &mut RunFile, done: &[Done], beside: &[Done], stages: &[Arc<Stage>], clock: Clock) {
    for one in done {
        if let (Some(first), Some(id)) = (&one.first, &one.planned.retry_of) {
            // Listed since before it began.
            run.trials.entry(id.to_string()).and_modify(|trial| ended(trial, first, clock));
        }
        let id = one.planned.id.to_string();
        run.trials.insert(id, entry(&one.planned, one.finished.as_ref(), clock));
    }
    for stage in stages {
        run.late_calls.extend(stage.late_calls().into_iter().map(|late| LateCalls {
            trial: late.trial.to_string(),
            worker: late.worker.map(|worker| worker.to_string()),
            calls: late.calls,
        }));
        run.unknown_tokens.extend(stage.unknown_tokens());
    }
    told_of_beside(run, beside, clock);
    run.judge();
}

fn exit(run: &RunFile, settings: &Settings) -> Exit {
    let interrupted = settings.wind_down.is_cancelled() && settings.fail_fast != FailFast::Run
        || settings.interrupt.is_cancelled();
    if interrupted { run.exit().worse(Exit::Interrupted) } else { run.exit() }
}
