//! What the run's log is told while trials begin and end.

use std::path::Path;

use crate::clock::Clock;
use crate::record::{PlannedTrial, RunFileError, RunLog, TrialState};
use crate::trial::{Finished, Planned};

/// Notes what becomes of a run's trials as it happens.
#[derive(Debug)]
pub struct Ledger {
    log: RunLog,
    clock: Clock,
}

impl Ledger {
    /// Of the run in `folder`, whose run file was just written.
    pub fn begin(folder: &Path, clock: Clock) -> Result<Self, RunFileError> {
        Ok(Self { log: RunLog::begin(folder)?, clock })
    }

    /// Notes that a trial begins, before its record does. What cannot be noted must not begin.
    pub(super) fn begins(&self, planned: &Planned) -> Result<(), RunFileError> {
        let running = PlannedTrial { state: TrialState::Running, ..listed(planned) };
        self.log.note(planned.id.as_str(), &running)
    }

    /// Notes how a trial ended. Its own record says the same, and the run file will, so trouble is left to those.
    pub(super) fn ended(&self, planned: &Planned, finished: &Finished) {
        let _ = self.log.note(planned.id.as_str(), &entry(planned, Some(finished), self.clock));
    }
}

/// A trial as the run file lists it; `finished` is none where it has not begun.
pub fn entry(planned: &Planned, finished: Option<&Finished>, clock: Clock) -> PlannedTrial {
    let mut trial = listed(planned);
    if let Some(finished) = finished {
        ended(&mut trial, finished, clock);
    }
    trial
}

/// A trial as the run file lists it before it begins.
pub(super) fn listed(planned: &Planned) -> PlannedTrial {
    PlannedTrial {
        scenario: planned.scenario.name.clone(),
        case: planned.case,
        number: planned.number,
        retry_of: planned.retry_of.as_ref().map(ToString::to_string),
        binding_proof: planned.binding_proof,
        shard: None,
        started_at: None,
        micros: None,
        resumes: planned.resumes.as_ref().map(ToString::to_string),
        resumption: planned.resumption,
        state: TrialState::Planned,
    }
}

/// The trial is over.
pub fn ended(trial: &mut PlannedTrial, finished: &Finished, clock: Clock) {
    trial.started_at = Some(clock.unix_nanos(finished.began).to_string());
    trial.micros = Some(u64::try_from(finished.took.as_micros()).unwrap_or(u64::MAX));
    trial.state = match &finished.sealed {
        Some(sealed) => TrialState::sealed(sealed, finished.end.outcome),
        None => TrialState::Unsealed {
            why: finished.end.error.as_ref().map_or("unknown", |error| &error.code).to_owned(),
        },
    };
}
