//! Works a plan off, so many trials at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::journal::{EndRow, Judged, TrialError};
use crate::name::TrialId;
use crate::trial::{self, Finished, Planned, Stage};
use crate::verdict::Outcome;

use super::plan::Plan;

/// How a plan is worked off.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Trials in flight at most; at least 1.
    pub jobs: usize,
    /// Begin no trial after one has failed.
    pub fail_fast: bool,
    /// Cancelled: begin no further trial.
    pub wind_down: CancellationToken,
    /// Cancelled: end the trials in flight now.
    pub interrupt: CancellationToken,
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

/// Runs the plan. Answers one [`Done`] per planned trial, in the plan's order.
pub async fn run(
    stages: &[Arc<Stage>],
    plan: Plan,
    settings: &Settings,
    progress: &mut impl Progress,
) -> Vec<Done> {
    let slots = Arc::new(Semaphore::new(settings.jobs.max(1)));
    let mut waiting = plan.trials.into_iter().enumerate();
    let mut flying = JoinSet::new();
    let mut all = Vec::new();
    loop {
        let begin = tokio::select! {
            biased;
            () = settings.wind_down.cancelled() => None,
            slot = Arc::clone(&slots).acquire_owned() => slot.ok(),
        };
        while let Some(joined) = flying.try_join_next() {
            land(joined, settings, progress, &mut all);
        }
        if begin.is_none() || settings.wind_down.is_cancelled() {
            break;
        }
        let Some((place, (suite, planned))) = waiting.next() else {
            break;
        };
        let stage = Arc::clone(&stages[suite]);
        let interrupt = settings.interrupt.clone();
        flying.spawn(async move {
            let done = one(&stage, (place, suite), planned, &interrupt).await;
            drop(begin);
            done
        });
    }
    while let Some(joined) = flying.join_next().await {
        land(joined, settings, progress, &mut all);
    }
    for (place, (suite, planned)) in waiting {
        let done = Done { place, suite, planned, finished: None, first: None };
        progress.ended(&done);
        all.push(done);
    }
    all.sort_by_key(|done| done.place);
    all
}

fn land(
    joined: Result<Done, tokio::task::JoinError>,
    settings: &Settings,
    progress: &mut impl Progress,
    all: &mut Vec<Done>,
) {
    // A trial that panicked took its task with it; the plan still lists it, and it counts as never graded.
    let Ok(done) = joined else { return };
    progress.ended(&done);
    if settings.fail_fast && matches!(done.outcome(), Some(Outcome::Failed | Outcome::Error)) {
        settings.wind_down.cancel();
    }
    all.push(done);
}

/// One trial, and once more where infrastructure is to blame.
async fn one(
    stage: &Stage,
    (place, suite): (usize, usize),
    planned: Planned,
    interrupt: &CancellationToken,
) -> Done {
    let first = attempt(stage, &planned, interrupt).await;
    if !first.may_retry() || interrupt.is_cancelled() {
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

async fn attempt(stage: &Stage, planned: &Planned, interrupt: &CancellationToken) -> Finished {
    trial::run(stage, planned, interrupt).await.unwrap_or_else(|error| Finished {
        path: planned.path(&stage.out),
        verdicts: Vec::new(),
        end: EndRow {
            task: Judged { verdict: "unknown".to_owned(), reason: None },
            workers: BTreeMap::new(),
            outcome: Outcome::Error,
            error: Some(TrialError { code: "no_record".to_owned(), message: error.to_string(), line: None }),
        },
        sealed: None,
        phases: Vec::new(),
        attempts: 0,
    })
}
