//! One record, read for telling: its rows by what they are about.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::grade::{Action, Evidence, EvidenceError, Whose};
use crate::journal::{EndRow, OutputRow, PhaseRow, ReplyRow, TrialError, TrialRow, VerdictRow};
use crate::name::TrialId;
use crate::record::{self, ReadError, Row};
use crate::verdict::{Gate, Outcome};

/// One trial as its record tells it.
#[derive(Clone, Debug)]
pub struct Story {
    /// What was pinned down beforehand.
    pub trial: TrialRow,
    /// What was seen.
    pub evidence: Evidence,
    /// What each goal came to.
    pub verdicts: Vec<VerdictRow>,
    /// The tails of the app's streams.
    pub outputs: Vec<OutputRow>,
    /// Where the time went.
    pub phases: Vec<PhaseRow>,
    /// What the trial came to; none where it was interrupted.
    pub end: Option<EndRow>,
    /// Whether the record ends with a seal. Whether the seal holds is `record::verify`'s to say.
    pub sealed: bool,
    /// Whole rows it has.
    pub rows: u64,
    /// When each turn was answered, by its number: Unix nanoseconds of harness time.
    pub replied: BTreeMap<u32, u64>,
    /// First and last time on record: Unix nanoseconds of harness time.
    pub span: (u64, u64),
}

/// Why there is no story.
#[derive(Debug, thiserror::Error)]
pub enum StoryError {
    /// A row cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A row does not fit those before it.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// No `trial` row: this is no record.
    #[error("there is no `trial` row")]
    NoTrial,
}

impl Story {
    /// Reads the record at `path`.
    pub fn read(path: &Path) -> Result<Self, StoryError> {
        Self::of(record::read(path)?)
    }

    /// Takes rows in the order of the record. Spans are passed over: their events are told.
    pub fn of(rows: impl IntoIterator<Item = Result<Row, ReadError>>) -> Result<Self, StoryError> {
        let mut seen = Vec::new();
        let (mut trial, mut end) = (None, None);
        let (mut verdicts, mut outputs, mut phases) = (Vec::new(), Vec::new(), Vec::new());
        let (mut sealed, mut last) = (false, 0);
        let (mut span, mut replied) = (None, BTreeMap::new());
        for row in rows {
            let row = match row {
                // Its writer was killed: what was written is told.
                Err(ReadError::Cut { .. }) => break,
                row => row?,
            };
            last = row.seq;
            let (first, _) = span.unwrap_or((row.at, row.at));
            span = Some((first, row.at));
            match row.kind.as_str() {
                "span" => continue,
                "trial" => trial = Some(row.parse()?),
                "verdict" => verdicts.push(row.parse()?),
                "output" => outputs.push(row.parse()?),
                "phase" => phases.push(row.parse()?),
                "end" => end = Some(row.parse()?),
                "seal" => sealed = true,
                "reply" => {
                    let reply: ReplyRow = row.parse()?;
                    replied.insert(reply.n, row.at);
                }
                _ => {}
            }
            seen.push(row);
        }
        let rows = seen.iter();
        let rows = rows.map(|row| (row.seq, row.at, row.kind.as_str(), &row.body));
        Ok(Self {
            trial: trial.ok_or(StoryError::NoTrial)?,
            evidence: Evidence::from_rows(rows)?,
            verdicts,
            outputs,
            phases,
            end,
            sealed,
            rows: last,
            replied,
            span: span.unwrap_or_default(),
        })
    }

    /// Of a trial whose record could not be begun: what it set out to be.
    pub fn unrecorded(trial: TrialRow) -> Self {
        Self {
            trial,
            evidence: Evidence::default(),
            verdicts: Vec::new(),
            outputs: Vec::new(),
            phases: Vec::new(),
            end: None,
            sealed: false,
            rows: 0,
            replied: BTreeMap::new(),
            span: (0, 0),
        }
    }

    /// `SCENARIO/CASE-NUMBER`.
    pub fn id(&self) -> TrialId {
        self.trial.id()
    }

    /// What the trial came to. A record without a seal is of a trial that was cut off, which is an error.
    pub fn outcome(&self) -> Outcome {
        self.end.as_ref().filter(|_| self.sealed).map_or(Outcome::Error, |end| end.outcome)
    }

    /// Why it is an error.
    pub fn error(&self) -> Option<TrialError> {
        match &self.end {
            Some(end) if self.sealed || end.error.is_some() => end.error.clone(),
            Some(_) => Some(TrialError {
                code: "not_sealed".to_owned(),
                message: format!("the record ends after {} rows, without a seal", self.rows),
                line: None,
            }),
            None => Some(TrialError {
                code: "interrupted".to_owned(),
                message: format!("the record ends after {} rows, before the trial did", self.rows),
                line: None,
            }),
        }
    }

    /// From the first row to the last.
    pub fn took(&self) -> Duration {
        self.since_start(self.span.1)
    }

    /// How long after the first row `at` is.
    pub fn since_start(&self, at: u64) -> Duration {
        Duration::from_nanos(at.saturating_sub(self.span.0))
    }

    /// Goals that did not pass.
    pub fn open_goals(&self) -> impl Iterator<Item = &VerdictRow> {
        self.verdicts.iter().filter(|row| row.verdict != "passed")
    }

    /// How many goals are unknown, those that never count aside.
    pub fn unknown_goals(&self) -> u64 {
        let rows = self.open_goals();
        rows.filter(|row| row.verdict == "unknown" && row.gate != Gate::Report).count() as u64
    }

    /// The scenario's file as seen from `base`, the contract's folder.
    pub fn scenario_file(&self, base: &Path) -> String {
        base.join(&self.trial.scenario_file).display().to_string()
    }

    /// The ids of all workers, in the order of their names.
    pub fn workers(&self) -> Vec<&str> {
        let end = self.end.iter().flat_map(|end| end.workers.keys());
        let mut workers: Vec<&str> = end.map(String::as_str).collect();
        for action in &self.evidence.actions {
            if let Whose::Worker(worker) | Whose::Disputed(worker, _) = action.whose() {
                workers.push(worker);
            }
        }
        workers.sort_unstable();
        workers.dedup();
        workers
    }

    /// The attempts that are this worker's, and those that may be: disputed ones are told with both.
    pub fn calls<'a>(&'a self, worker: &'a str) -> impl Iterator<Item = &'a Action> {
        self.evidence.actions.iter().filter(move |a| match a.whose() {
            Whose::Worker(whose) => whose == worker,
            Whose::Disputed(channel, claimed) => channel == worker || claimed == worker,
            Whose::Nobody => false,
        })
    }

    /// The attempts that nobody can be given.
    pub fn nobodys_calls(&self) -> impl Iterator<Item = &Action> {
        let actions = self.evidence.actions.iter();
        actions.filter(|action| action.whose() == Whose::Nobody)
    }
}
