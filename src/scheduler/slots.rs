//! Apps that are kept between trials (`per: slot`), each with the trial that is over in it and is concluded with the next.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::trial::{Ended, Finished, Kept, Planned, Stage, run_kept};

use super::ledger::Ledger;
use super::plan::Task;
use super::pool::Done;
use super::tries::{broken, once_more, threw};

/// A kept app that nobody uses now.
pub(super) struct Idle {
    kept: Kept,
    before: Over,
}

/// A trial that is over and not concluded.
struct Over {
    place: usize,
    task: Task,
}

impl Idle {
    pub(super) fn suite(&self) -> usize {
        self.before.task.suite
    }
}

/// What came of one trial's go: trials that are concluded, and an app that can be used again.
pub(super) struct Go {
    pub(super) done: Vec<Done>,
    pub(super) idle: Option<Idle>,
}

/// Takes the idle app that suits the trial best: of its suite, with its environment if there is one.
pub(super) fn fitting(idle: &mut Vec<Idle>, task: &Task) -> Option<Idle> {
    let own = |idle: &Idle| idle.suite() == task.suite;
    let at = idle.iter().position(|idle| own(idle) && idle.kept.suits(&task.planned));
    at.or_else(|| idle.iter().position(own)).map(|at| idle.swap_remove(at))
}

/// Runs one trial in `idle`, or in a fresh app.
pub(super) async fn go(
    stage: &Stage,
    place: usize,
    task: Task,
    idle: Option<Idle>,
    ledger: &Ledger,
    interrupt: &CancellationToken,
) -> Go {
    if let Err(error) = ledger.begins(&task.planned) {
        let told = format!("it could not be noted that it begins: {error}");
        let finished = broken(stage, &task.planned, "no_record", told);
        let done = once_more(stage, place, task, finished, ledger, interrupt).await;
        return Go { done: vec![done], idle };
    }
    let (kept, before) = idle.map(|Idle { kept, before }| (kept, before)).unzip();
    let this = Over { place, task };
    let run = run_kept(stage, kept, this.task.planned.clone(), interrupt);
    let (ended, kept) = match AssertUnwindSafe(run).catch_unwind().await {
        Ok(ran) => ran,
        Err(_) => {
            let both = before.iter().chain([&this]).map(|over| &over.task.planned);
            let threw =
                both.map(|planned| Ended { planned: planned.clone(), finished: Ok(threw(stage, planned)) });
            (threw.collect(), None)
        }
    };
    let mut open: Vec<Over> = before.into_iter().chain([this]).collect();
    let mut done = Vec::new();
    for Ended { planned, finished } in ended {
        let finished =
            finished.unwrap_or_else(|error| broken(stage, &planned, "no_record", error.to_string()));
        let Some(at) = open.iter().position(|over| over.task.planned.id == planned.id) else { continue };
        done.push(concluded(stage, open.remove(at), &planned, finished, ledger, interrupt).await);
    }
    // What is not concluded is over in the app that is kept.
    let idle = kept.zip(open.pop()).map(|(kept, before)| Idle { kept, before });
    Go { done, idle }
}

/// Stops a kept app and concludes its last trial.
pub(super) async fn release(
    stage: &Stage,
    idle: Idle,
    ledger: &Ledger,
    interrupt: &CancellationToken,
) -> Done {
    let Idle { kept, before } = idle;
    let planned = before.task.planned.clone();
    let finished = match AssertUnwindSafe(kept.release(stage)).catch_unwind().await {
        Ok(Ended { finished, .. }) => {
            finished.unwrap_or_else(|error| broken(stage, &planned, "no_record", error.to_string()))
        }
        Err(_) => threw(stage, &planned),
    };
    concluded(stage, before, &planned, finished, ledger, interrupt).await
}

async fn concluded(
    stage: &Stage,
    over: Over,
    planned: &Planned,
    finished: Finished,
    ledger: &Ledger,
    interrupt: &CancellationToken,
) -> Done {
    ledger.ended(planned, &finished);
    once_more(stage, over.place, over.task, finished, ledger, interrupt).await
}
