//! From the record to its seal: what was written is read back, asked about, graded and sealed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::clock::{Clock, Moment};
use crate::grade::{self, Evidence, EvidenceError, Grades};
use crate::journal::{EndRow, LaneChangeRow, PhaseRow, TrialError, VerdictRow};
use crate::record::{self, ReadError, Row, SealError, Sealed};
use crate::verdict::Outcome;

use super::opening::{Opening, Planned};
use super::stage::Stage;

/// One phase of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// `start`, `turns`, `settle`, `stop`, `grade` or `seal`.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
}

/// Where a trial's time goes.
pub(super) struct Phases {
    clock: Clock,
    began: Moment,
    since: Moment,
    done: Vec<Phase>,
}

impl Phases {
    pub(super) fn new(clock: Clock) -> Self {
        let now = clock.now();
        Self { clock, began: now, since: now, done: Vec::new() }
    }

    /// Begins anew after a wait that is no phase of the trial's.
    pub(super) fn resume(&mut self) {
        self.since = self.clock.now();
    }

    /// Ends the phase that began when the last one ended.
    pub(super) fn end(&mut self, name: &'static str) {
        let now = self.clock.now();
        self.done.push(Phase { name, took: now.since(self.since) });
        self.since = now;
    }
}

/// A trial that is over.
#[derive(Debug)]
pub struct Finished {
    /// The record.
    pub path: PathBuf,
    /// One per sub-goal; none where nothing could be graded.
    pub verdicts: Vec<VerdictRow>,
    /// What it came to.
    pub end: EndRow,
    /// None where the record stays unsealed: interrupted, or it could not be written.
    pub sealed: Option<Sealed>,
    /// Where the time went.
    pub phases: Vec<Phase>,
    /// When it began.
    pub began: Moment,
    /// How long it took, the seal included.
    pub took: Duration,
    /// Attempts on record.
    pub attempts: usize,
    /// Workers of whom a call came through their channel.
    pub shown: BTreeSet<String>,
}

impl Finished {
    /// Whether trouble of world or harness, or an app that never got ready, is to blame: worth one more try.
    pub fn may_retry(&self) -> bool {
        let code = self.end.error.as_ref().map(|error| error.code.as_str());
        matches!(
            code,
            Some("not_ready" | "port_taken" | "world_failed" | "log_unavailable" | "upstream_failed")
        )
    }
}

/// Why a record could not be concluded from.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

pub(super) async fn conclude(
    stage: &Stage,
    planned: &Planned,
    opening: Opening,
    mut phases: Phases,
    conducted: Result<(), TrialError>,
) -> Finished {
    let journal = &opening.journal;
    let unread = |error: Unread| TrialError {
        code: "record_unreadable".to_owned(),
        message: error.to_string(),
        line: None,
    };
    let evidence = match conducted {
        Err(error) => Err(error),
        Ok(()) => gather(stage, planned, &opening).await.map_err(unread),
    };
    let evidence = evidence.unwrap_or_else(|error| Evidence { error: Some(error), ..Evidence::default() });
    let grades = grade::grade(&stage.contract, &planned.scenario, planned.values(), &evidence);
    phases.end("grade");
    for phase in &phases.done {
        let micros = u64::try_from(phase.took.as_micros()).unwrap_or(u64::MAX);
        let row = PhaseRow { phase: phase.name.to_owned(), micros };
        // Of no consequence: a record too full for these still says so itself.
        let _ = journal.append(&row);
    }
    let Grades { verdicts, mut end } = grades;
    let sealed = match &end.error {
        Some(error) if error.code == "interrupted" => {
            journal.append(&end).map(|_| None).map_err(SealError::from)
        }
        _ => record::seal(journal, &verdicts, &end, stage.sign.as_ref()).map(Some),
    };
    phases.end("seal");
    let sealed = sealed.unwrap_or_else(|error| {
        end.outcome = Outcome::Error;
        end.error =
            Some(TrialError { code: "not_sealed".to_owned(), message: error.to_string(), line: None });
        None
    });
    Finished {
        path: opening.path,
        verdicts,
        end,
        sealed,
        began: phases.began,
        took: phases.done.iter().map(|phase| phase.took).sum(),
        phases: phases.done,
        attempts: evidence.actions.len(),
        shown: grade::shown_bindings(&evidence),
    }
}

/// Reads the record back, and adds to it what is concluded about lanes and what scripts and judges say.
async fn gather(stage: &Stage, planned: &Planned, opening: &Opening) -> Result<Evidence, Unread> {
    let evidence = read_back(&opening.path)?;
    let (lanes, findings) = grade::lanes(&stage.contract, &evidence);
    let journal = &opening.journal;
    // A row that cannot be written shows in the journal's own trouble, and the seal then fails.
    for lane in &lanes {
        let _ = journal.append(lane);
    }
    for finding in &findings {
        let _ = journal.append(finding);
    }
    let mut evidence = evidence.with_lanes(lanes, findings);
    for change in lane_changes(stage, &evidence) {
        let _ = journal.append(&change);
    }
    let answers =
        grade::ask(&planned.scenario, planned.values(), &evidence, &script_env(stage, planned)).await;
    for answer in answers {
        let _ = journal.append(&answer);
        evidence.answers.push(answer);
    }
    Ok(evidence)
}

/// The app's environment without its secrets.
fn script_env(stage: &Stage, planned: &Planned) -> BTreeMap<String, String> {
    let app = &stage.contract.app;
    let passed = app.env_pass.iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
    let path = std::env::var("PATH").map(|path| ("PATH".to_owned(), path));
    let mut env: BTreeMap<_, _> = path.into_iter().chain(passed).collect();
    env.extend(app.env.clone());
    env.extend(planned.env());
    env.retain(|name, _| !app.secrets.contains(name));
    env
}

fn read_back(path: &Path) -> Result<Evidence, Unread> {
    let rows: Vec<Row> = record::read(path)?.collect::<Result<_, _>>()?;
    let rows = rows.iter().map(|row| (row.seq, row.at, row.kind.as_str(), &row.body));
    Ok(Evidence::from_rows(rows)?)
}

/// Each worker's attempts and refusals, as their own entry in what the trial changed.
fn lane_changes(stage: &Stage, evidence: &Evidence) -> Vec<LaneChangeRow> {
    let mut by_worker: BTreeMap<&str, LaneChangeRow> = BTreeMap::new();
    for worker in &stage.contract.workers {
        let row = LaneChangeRow { worker: worker.id.to_string(), attempts: 0, refusals: Vec::new() };
        by_worker.insert(worker.id.as_str(), row);
    }
    for action in &evidence.actions {
        let grade::Whose::Worker(worker) = action.whose() else {
            continue;
        };
        let Some(row) = by_worker.get_mut(worker) else {
            continue;
        };
        row.attempts += 1;
        if let Some(code) = action.refusal() {
            let (tool, reason) = (&action.attempt.tool, &action.attempt.reason);
            row.refusals.push(json!({ "attempt": action.seq, "tool": tool, "code": code, "reason": reason }));
        }
    }
    by_worker.into_values().filter(|row| row.attempts > 0).collect()
}
