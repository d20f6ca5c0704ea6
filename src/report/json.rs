//! A run as JSON, by a published schema: what other programs read instead of a terminal.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Story, Totals};
use crate::journal::{FindingRow, Judged, TrialError, VerdictRow};
use crate::verdict::Outcome;

/// Version of this format.
pub const FORMAT: u32 = 1;

/// A run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunReport {
    /// Version of this format.
    pub format: u32,
    /// Trials counted, of a retried one the second.
    pub trials: u64,
    /// How many passed.
    pub passed: u64,
    /// How many failed.
    pub failed: u64,
    /// How many are unknown.
    pub unknown: u64,
    /// How many are errors.
    pub error: u64,
    /// Goals that are unknown, those that never count aside.
    pub unknown_goals: u64,
    /// Microseconds by phase, summed over trials.
    pub phases: BTreeMap<String, u64>,
    /// Every trial on record, replaced ones included.
    pub records: Vec<TrialReport>,
}

/// One trial.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TrialReport {
    /// `SCENARIO/CASE-NUMBER`.
    pub id: String,
    /// Scenario.
    pub scenario: String,
    /// Its file, relative to the contract's folder.
    pub file: String,
    /// Index of the case.
    pub case: usize,
    /// The case's values.
    pub values: BTreeMap<String, serde_json::Value>,
    /// Repeat, from 1.
    pub number: u32,
    /// The trial it retries.
    pub retry_of: Option<String>,
    /// By gates over all goals.
    pub outcome: Outcome,
    /// Why it is an error.
    pub error: Option<TrialError>,
    /// The task's verdict.
    pub task: Option<Judged>,
    /// Worker id to verdict.
    pub workers: BTreeMap<String, WorkerReport>,
    /// Every goal.
    pub goals: Vec<VerdictRow>,
    /// Everything worth saying besides.
    pub findings: Vec<FindingRow>,
    /// Microseconds from the first row to the last.
    pub micros: u64,
    /// Whether the record ends with a seal.
    pub sealed: bool,
}

/// One worker in one trial.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorkerReport {
    /// Its verdict.
    #[serde(flatten)]
    pub judged: Judged,
    /// Attempts that are its own.
    pub calls: u64,
    /// How many of them were refused, by code.
    pub refused: BTreeMap<String, u64>,
}

impl RunReport {
    /// Of the trials that count (`totals`) and of every record there is.
    pub fn new(totals: &Totals, records: Vec<TrialReport>) -> Self {
        Self {
            format: FORMAT,
            trials: totals.trials(),
            passed: totals.passed,
            failed: totals.failed,
            unknown: totals.unknown,
            error: totals.error,
            unknown_goals: totals.unknown_goals,
            phases: totals.phases.clone(),
            records,
        }
    }
}

impl From<&Story> for TrialReport {
    fn from(story: &Story) -> Self {
        let trial = &story.trial;
        let workers = story.end.iter().flat_map(|end| &end.workers);
        Self {
            id: story.id().to_string(),
            scenario: trial.scenario.clone(),
            file: trial.scenario_file.clone(),
            case: trial.case,
            values: trial.values.clone(),
            number: trial.number,
            retry_of: trial.retry_of.clone(),
            outcome: story.outcome(),
            error: story.error(),
            task: story.end.as_ref().map(|end| end.task.clone()),
            workers: workers.map(|(id, judged)| (id.clone(), worker(story, id, judged))).collect(),
            goals: story.verdicts.clone(),
            findings: story.evidence.findings.clone(),
            micros: u64::try_from(story.took().as_micros()).unwrap_or(u64::MAX),
            sealed: story.sealed,
        }
    }
}

fn worker(story: &Story, id: &str, judged: &Judged) -> WorkerReport {
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    let mut calls = 0;
    for action in story.calls(id) {
        calls += 1;
        if let Some(code) = action.refusal() {
            *refused.entry(code.to_owned()).or_default() += 1;
        }
    }
    WorkerReport { judged: judged.clone(), calls, refused }
}

/// The published schema of a [`RunReport`].
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(RunReport).to_value()
}
