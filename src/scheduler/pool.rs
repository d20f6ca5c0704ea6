//! Works a plan off, so many trials at once.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::journal::{EndRow, Judged, TrialError};
use crate::name::TrialId;
use crate::trial::{self, Finished, Planned, Stage};
use crate::verdict::Outcome;

use super::bindings::{Next, Prospects, Shown};
use super::plan::Plan;
use super::settled::{FailFast, Settled};

/// How a plan is worked off.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Trials in flight at most; at least 1.
    pub jobs: usize,
    /// When trials are no longer begun.
    pub fail_fast: FailFast,
    /// Cancelled: begin no further trial.
    pub wind_down: CancellationToken,
    /// Cancelled: end the trials in flight now.
    pub interrupt: CancellationToken,
}

impl Settings {
    /// Nothing is cancelled yet.
    pub fn new(jobs: usize, fail_fast: FailFast) -> Self {
        let (wind_down, interrupt) = (CancellationToken::new(), CancellationToken::new());
        Self { jobs, fail_fast, wind_down, interrupt }
    }
}

/// One planned trial and what became of it.
#[derive(Debug)]
pub struct Done {
    /// Index into the plan.
    pub place: usize,
    /// Index of its suite.
    pub suite: usize,
    /// The trial that counts: the retry, where there was one.
    pub planned: Planned,
    /// How it ended; none where it never began.
    pub finished: Option<Finished>,
    /// The first try, where infrastructure trouble was retried.
    pub first: Option<Finished>,
}

impl Done {
    /// What the trial came to; none where it never began.
    pub fn outcome(&self) -> Option<Outcome> {
        self.finished.as_ref().map(|finished| finished.end.outcome)
    }
}

/// Told as trials end.
pub trait Progress {
    /// One more trial is over (or, with `finished` none, was never begun).
    fn ended(&mut self, done: &Done);
}

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    /// One per planned trial, in the plan's order.
    pub done: Vec<Done>,
    /// Trials beside the plan, that only showed whose calls come through their channels.
    pub beside: Vec<Done>,
    /// By suite: workers whose binding was shown, and by which trial.
    pub bindings: Vec<BTreeMap<String, String>>,
    /// By suite: workers whose binding was wanted and not shown.
    pub unshown: Vec<Vec<String>>,
}

/// Runs the plan.
pub async fn run(
    stages: &[Arc<Stage>],
    plan: Plan,
    settings: &Settings,
    progress: &mut impl Progress,
) -> Ran {
    let settled = Settled::new(plan.trials.iter());
    let waiting = plan.trials.into_iter().enumerate().collect();
    let ran = Ran { done: Vec::new(), beside: Vec::new(), bindings: Vec::new(), unshown: Vec::new() };
    let mut pool = Pool { stages, settings, progress, settled, waiting, ran };
    for (suite, prospects) in plan.prospects.into_iter().enumerate() {
        pool.show_bindings(suite, prospects).await;
    }
    for (suite, planned) in pool.waiting.values_mut() {
        planned.bindings = pool.ran.bindings[*suite].clone();
    }
    pool.work_off().await;
    for (place, (suite, planned)) in std::mem::take(&mut pool.waiting) {
        pool.not_run(place, suite, planned);
    }
    pool.ran.done.sort_by_key(|done| done.place);
    pool.ran
}

struct Pool<'a, P> {
    stages: &'a [Arc<Stage>],
    settings: &'a Settings,
    progress: &'a mut P,
    settled: Settled,
    /// By place.
    waiting: BTreeMap<usize, (usize, Planned)>,
    ran: Ran,
}

impl<P: Progress> Pool<'_, P> {
    async fn show_bindings(&mut self, suite: usize, mut prospects: Prospects) {
        let mut shown = Shown::default();
        while !self.settings.wind_down.is_cancelled() {
            let (place, planned) = match prospects.next(&mut shown) {
                None => break,
                Some(Next::Planned(place)) => match self.waiting.remove(&place) {
                    Some((_, planned)) => (place, planned),
                    None => continue,
                },
                Some(Next::Beside(planned)) => (usize::MAX, *planned),
            };
            let planned = Planned { bindings: shown.by.clone(), ..planned };
            let done = one(&self.stages[suite], (place, suite), planned, &self.settings.interrupt).await;
            if let Some(finished) = &done.finished {
                shown.add(&finished.shown, &done.planned.id);
            }
            match done.planned.binding_proof {
                true => self.ran.beside.push(done),
                false => self.land(done),
            }
        }
        self.ran.unshown.push(prospects.missing(&shown).cloned().collect());
        self.ran.bindings.push(shown.by);
    }

    async fn work_off(&mut self) {
        let slots = Arc::new(Semaphore::new(self.settings.jobs.max(1)));
        let mut flying = JoinSet::new();
        loop {
            let begin = tokio::select! {
                biased;
                () = self.settings.wind_down.cancelled() => None,
                slot = Arc::clone(&slots).acquire_owned() => slot.ok(),
            };
            while let Some(joined) = flying.try_join_next() {
                joined.into_iter().for_each(|done| self.land(done));
            }
            if begin.is_none() || self.settings.wind_down.is_cancelled() {
                break;
            }
            let Some((place, (suite, planned))) = self.waiting.pop_first() else {
                break;
            };
            if self.settings.fail_fast != FailFast::Never && self.settled.is_settled(suite, &planned) {
                self.not_run(place, suite, planned);
                continue;
            }
            let stage = Arc::clone(&self.stages[suite]);
            let interrupt = self.settings.interrupt.clone();
            flying.spawn(async move {
                let done = one(&stage, (place, suite), planned, &interrupt).await;
                drop(begin);
                done
            });
        }
        // No task is aborted, and a trial that throws is caught within its own: every join is a trial that is over.
        while let Some(joined) = flying.join_next().await {
            joined.into_iter().for_each(|done| self.land(done));
        }
    }

    fn land(&mut self, done: Done) {
        self.progress.ended(&done);
        let came_to =
            done.outcome().and_then(|outcome| self.settled.ended(done.suite, &done.planned, outcome));
        if self.settings.fail_fast == FailFast::Run
            && matches!(came_to, Some(Outcome::Failed | Outcome::Error))
        {
            self.settings.wind_down.cancel();
        }
        self.ran.done.push(done);
    }

    fn not_run(&mut self, place: usize, suite: usize, planned: Planned) {
        let done = Done { place, suite, planned, finished: None, first: None };
        self.progress.ended(&done);
        self.ran.done.push(done);
    }
}

/// One trial, and once more where infrastructure is to blame.
async fn one(
    stage: &Stage,
    (place, suite): (usize, usize),
    planned: Planned,
    interrupt: &CancellationToken,
) -> Done {
    let first = attempt(stage, &planned, interrupt).await;
    if !first.may_retry() || planned.binding_proof || interrupt.is_cancelled() {
        return Done { place, suite, planned, finished: Some(first), first: None };
    }
    let again = Planned {
        id: TrialId::new(&planned.scenario.name, planned.case, planned.number, true),
        retry_of: Some(planned.id.clone()),
        ..planned
    };
    let second = attempt(stage, &again, interrupt).await;
    Done { place, suite, planned: again, finished: Some(second), first: Some(first) }
}

/// Runs a trial; one that cannot even begin, or that throws, is an error of that trial alone.
async fn attempt(stage: &Stage, planned: &Planned, interrupt: &CancellationToken) -> Finished {
    let broken = |code: &str, message: String| Finished {
        path: planned.path(&stage.out),
        verdicts: Vec::new(),
        end: EndRow {
            task: Judged { verdict: "unknown".to_owned(), reason: None },
            workers: BTreeMap::new(),
            outcome: Outcome::Error,
            error: Some(TrialError { code: code.to_owned(), message, line: None }),
        },
        sealed: None,
        began: stage.now(),
        took: Duration::ZERO,
        phases: Vec::new(),
        attempts: 0,
        shown: BTreeSet::new(),
    };
    match AssertUnwindSafe(trial::run(stage, planned, interrupt)).catch_unwind().await {
        Ok(ran) => ran.unwrap_or_else(|error| broken("no_record", error.to_string())),
        Err(_) => {
            broken("harness_failed", "a defect of mocktrial: this trial threw, see standard error".to_owned())
        }
    }
}
