//! One trial of a run: tried, and once more where infrastructure is to blame.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::journal::{EndRow, Judged, TrialError};
use crate::name::TrialId;
use crate::record::RunFileError;
use crate::trial::{self, Finished, OpenError, Planned, Stage};
use crate::verdict::Outcome;

use super::ledger::Ledger;
use super::plan::Task;
use super::pool::Done;

/// One trial, and once more where infrastructure is to blame.
pub(super) async fn one(
    stage: &Stage,
    place: usize,
    Task { suite, planned, first }: Task,
    ledger: &Ledger,
    interrupt: &CancellationToken,
) -> Done {
    let finished = attempt(stage, &planned, ledger, interrupt).await;
    once_more(stage, place, Task { suite, planned, first }, finished, ledger, interrupt).await
}

/// Tries a trial that is over once more, where that is worth it and was not done.
pub(super) async fn once_more(
    stage: &Stage,
    place: usize,
    Task { suite, planned, first }: Task,
    finished: Finished,
    ledger: &Ledger,
    interrupt: &CancellationToken,
) -> Done {
    let retried = first.is_some() || planned.binding_proof;
    if retried || !finished.may_retry() || interrupt.is_cancelled() {
        return Done { place, suite, planned, finished: Some(finished), first };
    }
    let again = retry(planned);
    let second = attempt(stage, &again, ledger, interrupt).await;
    Done { place, suite, planned: again, finished: Some(second), first: Some(finished) }
}

/// The trial that tries `planned` once more.
pub(super) fn retry(planned: Planned) -> Planned {
    let id = TrialId::new(&planned.scenario.name, planned.case, planned.number, true);
    Planned {
        id: id.resumed(planned.resumption),
        retry_of: Some(planned.id.clone()),
        resumes: None,
        ..planned
    }
}

/// Why there is no record.
#[derive(Debug, thiserror::Error)]
enum NoRecord {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("it could not be noted that it begins: {0}")]
    Ledger(#[from] RunFileError),
}

/// Runs a trial; one that cannot even begin, or that throws, is an error of that trial alone.
async fn attempt(
    stage: &Stage,
    planned: &Planned,
    ledger: &Ledger,
    interrupt: &CancellationToken,
) -> Finished {
    let run = async {
        ledger.begins(planned)?;
        let finished = trial::run(stage, planned, interrupt).await?;
        ledger.ended(planned, &finished);
        Ok(finished)
    };
    match AssertUnwindSafe(run).catch_unwind().await {
        Ok(ran) => {
            ran.unwrap_or_else(|error: NoRecord| broken(stage, planned, "no_record", error.to_string()))
        }
        Err(_) => threw(stage, planned),
    }
}

/// A trial that threw: a defect of ours.
pub(super) fn threw(stage: &Stage, planned: &Planned) -> Finished {
    let told = "a defect of mocktrial: this trial threw, see standard error".to_owned();
    broken(stage, planned, "harness_failed", told)
}

/// A trial of which there is no record that could say more.
pub(super) fn broken(stage: &Stage, planned: &Planned, code: &str, message: String) -> Finished {
    Finished {
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
    }
}
