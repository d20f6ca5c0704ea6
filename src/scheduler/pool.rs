//! Works a plan off, so many trials at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::scenario::Per;
use crate::trial::{Finished, Planned, Stage};
use crate::verdict::Outcome;

use super::bindings::{Next, Prospects, Shown};
use super::ledger::Ledger;
use super::plan::{Task, Work};
use super::settled::{FailFast, Settled};
use super::slots::{self, Go, Idle};
use super::tries::one;

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

/// Who runs the trials.
#[derive(Clone)]
pub enum Hands {
    /// This process.
    Own,
    /// Workers at the other end of a queue.
    #[cfg(feature = "cluster")]
    Remote(Arc<super::queue::Remote>),
}

impl Hands {
    async fn one(
        &self,
        stage: &Stage,
        place: usize,
        task: Task,
        ledger: &Ledger,
        interrupt: &CancellationToken,
    ) -> Done {
        match self {
            Self::Own => one(stage, place, task, ledger, interrupt).await,
            #[cfg(feature = "cluster")]
            Self::Remote(remote) => remote.one(stage, place, task, interrupt).await,
        }
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

/// Does the work, and notes in the ledger what becomes of it.
pub async fn run(
    stages: &[Arc<Stage>],
    work: Work,
    settings: &Settings,
    hands: &Hands,
    ledger: &Arc<Ledger>,
    progress: &mut impl Progress,
) -> Ran {
    let Work { tasks: waiting, prospects, shown, settled } = work;
    let ran = Ran { done: Vec::new(), beside: Vec::new(), bindings: Vec::new(), unshown: Vec::new() };
    let mut pool =
        Pool { stages, settings, hands, ledger, progress, settled, waiting, idle: Vec::new(), ran };
    for (suite, (prospects, shown)) in prospects.into_iter().zip(shown).enumerate() {
        pool.show_bindings(suite, prospects, shown).await;
    }
    for task in pool.waiting.values_mut() {
        task.planned.bindings = pool.ran.bindings[task.suite].clone();
    }
    pool.work_off().await;
    for (place, task) in std::mem::take(&mut pool.waiting) {
        pool.not_run(place, task);
    }
    pool.ran.done.sort_by_key(|done| done.place);
    pool.ran
}

struct Pool<'a, P> {
    stages: &'a [Arc<Stage>],
    settings: &'a Settings,
    hands: &'a Hands,
    ledger: &'a Arc<Ledger>,
    progress: &'a mut P,
    settled: Settled,
    /// By place.
    waiting: BTreeMap<usize, Task>,
    /// Kept apps that nobody uses now.
    idle: Vec<Idle>,
    ran: Ran,
}

impl<P: Progress> Pool<'_, P> {
    async fn show_bindings(&mut self, suite: usize, mut prospects: Prospects, mut shown: Shown) {
        while !self.settings.wind_down.is_cancelled() {
            let (place, task) = match prospects.next(&mut shown) {
                None => break,
                Some(Next::Planned(place)) => match self.waiting.remove(&place) {
                    Some(task) => (place, task),
                    None => continue,
                },
                Some(Next::Beside(planned)) => (usize::MAX, Task { suite, planned: *planned, first: None }),
            };
            let planned = Planned { bindings: shown.by.clone(), ..task.planned };
            let task = Task { planned, ..task };
            let interrupt = &self.settings.interrupt;
            let done = self.hands.one(&self.stages[suite], place, task, self.ledger, interrupt).await;
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
        let mut flying = JoinSet::new();
        while !self.settings.wind_down.is_cancelled() {
            // What a trial came to is known before the next is begun in its place.
            let joined = match flying.len() >= self.settings.jobs.max(1) {
                true => flying.join_next().await,
                false => flying.try_join_next(),
            };
            if let Some(joined) = joined {
                joined.into_iter().for_each(|go| self.went(go));
                continue;
            }
            let Some((place, task)) = self.waiting.pop_first() else {
                break;
            };
            if self.settings.fail_fast != FailFast::Never
                && self.settled.is_settled(task.suite, &task.planned)
            {
                self.not_run(place, task);
                continue;
            }
            let (stage, ledger) = (Arc::clone(&self.stages[task.suite]), Arc::clone(self.ledger));
            let interrupt = self.settings.interrupt.clone();
            match (self.hands, stage.contract.app.per) {
                (Hands::Own, Per::Slot) => {
                    let idle = slots::fitting(&mut self.idle, &task);
                    flying
                        .spawn(async move { slots::go(&stage, place, task, idle, &ledger, &interrupt).await })
                }
                (hands, _) => {
                    let hands = hands.clone();
                    flying.spawn(async move {
                        let done = hands.one(&stage, place, task, &ledger, &interrupt).await;
                        Go { done: vec![done], idle: None }
                    })
                }
            };
        }
        // No task is aborted, and a trial that throws is caught within its own: every join is a trial that is over.
        while let Some(joined) = flying.join_next().await {
            joined.into_iter().for_each(|go| self.went(go));
        }
        for idle in std::mem::take(&mut self.idle) {
            let (stage, ledger) = (Arc::clone(&self.stages[idle.suite()]), Arc::clone(self.ledger));
            let interrupt = self.settings.interrupt.clone();
            flying.spawn(async move {
                let done = slots::release(&stage, idle, &ledger, &interrupt).await;
                Go { done: vec![done], idle: None }
            });
        }
        while let Some(joined) = flying.join_next().await {
            joined.into_iter().for_each(|go| self.went(go));
        }
    }

    fn went(&mut self, go: Go) {
        self.idle.extend(go.idle);
        go.done.into_iter().for_each(|done| self.land(done));
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

    fn not_run(&mut self, place: usize, Task { suite, planned, first }: Task) {
        let done = Done { place, suite, planned, finished: None, first };
        self.progress.ended(&done);
        self.ran.done.push(done);
    }
}
