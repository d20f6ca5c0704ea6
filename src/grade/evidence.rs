//! What a trial left behind, as grading reads it: the rows of a record, joined.
//!
//! A live trial and a later regrade both come here with rows, so what one concludes the other does. Unknown kinds and
//! fields are passed over (a newer writer may know more); a known row that cannot be read is an error, since leaving
//! it out would turn something seen into an absence.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::journal::{
    AnswerRow, AttemptRow, ChangeRow, Decision, EndRow, EventRow, FindingRow, LaneRow, ModelRow, OutcomeKind,
    OutcomeRow, ReplyRow, SpanRow, TableRow, TrialError, TrialRow, TurnRow,
};

/// A turn that was handed to the app.
#[derive(Clone, Debug, Serialize)]
pub struct Said {
    /// When: Unix nanoseconds of harness time.
    pub at: u64,
    /// What.
    #[serde(flatten)]
    pub row: TurnRow,
}

/// One attempt with what is known of it since.
#[derive(Clone, Debug, Serialize)]
pub struct Action {
    /// `seq` of the attempt.
    pub seq: u64,
    /// When it was attempted: Unix nanoseconds of harness time.
    pub at: u64,
    /// The attempt.
    #[serde(flatten)]
    pub attempt: AttemptRow,
    /// How it came out; none where nobody knows.
    pub outcome: Option<OutcomeRow>,
    /// When that was written.
    pub ended_at: Option<u64>,
    /// Whose call it was, where that was found out afterwards.
    pub lane: Option<LaneRow>,
}

/// Whose call an action was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose<'a> {
    /// This worker's, by its channel or by spans.
    Worker(&'a str),
    /// Nobody can say.
    Nobody,
    /// The channel says one worker, the spans another.
    Disputed(&'a str, &'a str),
}

impl Action {
    /// Whose call it was.
    pub fn whose(&self) -> Whose<'_> {
        let channel = self.attempt.worker.as_deref();
        let lane = self.lane.as_ref();
        let claimed = lane.and_then(|lane| lane.claimed.as_deref());
        match (channel, claimed) {
            (Some(channel), Some(claimed)) if channel != claimed => Whose::Disputed(channel, claimed),
            (Some(channel), _) => Whose::Worker(channel),
            (None, _) => lane.and_then(|lane| lane.worker.as_deref()).map_or(Whose::Nobody, Whose::Worker),
        }
    }

    /// The refusal's code: refused before its attempt row was written, or after.
    pub fn refusal(&self) -> Option<&str> {
        if self.attempt.decision == Decision::Refused {
            return Some(self.attempt.code.as_deref().unwrap_or(""));
        }
        match &self.outcome {
            Some(outcome) if outcome.kind == OutcomeKind::Refused => {
                Some(outcome.code.as_deref().unwrap_or(""))
            }
            _ => None,
        }
    }

    /// How it came out; none where nobody knows. A refused attempt needs no outcome row to be known.
    pub fn kind(&self) -> Option<OutcomeKind> {
        match &self.outcome {
            Some(outcome) => Some(outcome.kind),
            None if self.attempt.decision == Decision::Refused => Some(OutcomeKind::Refused),
            None => None,
        }
    }
}

/// Everything grading may look at.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Evidence {
    /// Turns handed to the app.
    pub turns: Vec<Said>,
    /// What it answered.
    pub replies: Vec<ReplyRow>,
    /// Every attempt, by `seq`.
    pub actions: Vec<Action>,
    /// What the spans say happened.
    pub events: Vec<EventRow>,
    /// By trace and span, in lower-case hex: the span's parent.
    #[serde(skip)]
    pub parents: BTreeMap<String, BTreeMap<String, Option<String>>>,
    /// What is worth saying but no verdict.
    pub findings: Vec<FindingRow>,
    /// The world as the trial left it.
    pub tables: Vec<TableRow>,
    /// What became of it, by table; a table without a row did not change.
    pub changes: Vec<ChangeRow>,
    /// What scripts and judges said.
    pub answers: Vec<AnswerRow>,
    /// Model calls.
    pub models: Vec<ModelRow>,
    /// Workers whose channel is proven, and by what.
    pub bindings: BTreeMap<String, String>,
    /// Trouble of the world or the harness, that made the trial an error before anything could be graded.
    pub error: Option<TrialError>,
}

/// A row that cannot be taken as what it says it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {seq} (`{kind}`): {why}")]
pub struct EvidenceError {
    /// Its `seq`.
    pub seq: u64,
    /// Its kind.
    pub kind: String,
    /// What is wrong with it.
    pub why: String,
}

/// The code of an error that grading itself comes to: it is found again from the rows, so it is not carried over.
pub(super) const CHECK_BROKEN: &str = "check_broken";

impl Evidence {
    /// Joins rows, in the order of the record: `seq`, `at` in Unix nanoseconds, kind, and the kind's own fields.
    pub fn from_rows<'a>(
        rows: impl IntoIterator<Item = (u64, u64, &'a str, &'a Map<String, Value>)>,
    ) -> Result<Self, EvidenceError> {
        let mut evidence = Self::default();
        for (seq, at, kind, body) in rows {
            evidence.take(seq, at, kind, body).map_err(|why| EvidenceError {
                seq,
                kind: kind.to_owned(),
                why,
            })?;
        }
        Ok(evidence)
    }

    fn take(&mut self, seq: u64, at: u64, kind: &str, body: &Map<String, Value>) -> Result<(), String> {
        match kind {
            "trial" => self.bindings = read::<TrialRow>(body)?.bindings,
            "turn" => self.turns.push(Said { at, row: read(body)? }),
            "reply" => self.replies.push(read(body)?),
            "attempt" => self.actions.push(Action {
                seq,
                at,
                attempt: read(body)?,
                outcome: None,
                ended_at: None,
                lane: None,
            }),
            "outcome" => {
                let row: OutcomeRow = read(body)?;
                let action = self.attempt(row.attempt)?;
                if action.outcome.is_some() {
                    return Err(format!("attempt {} has two outcomes", action.seq));
                }
                action.outcome = Some(row);
                action.ended_at = Some(at);
            }
            "lane" => {
                let row: LaneRow = read(body)?;
                let action = self.attempt(row.attempt)?;
                action.lane = Some(row);
            }
            "span" => self.take_span(&read::<SpanRow>(body)?),
            "event" => self.events.push(read(body)?),
            "finding" => self.findings.push(read(body)?),
            "table" => self.tables.push(read(body)?),
            "change" if body.contains_key("table") => self.changes.push(read(body)?),
            "answer" => self.answers.push(read(body)?),
            "model" => self.models.push(read(body)?),
            "end" => {
                let end: EndRow = read(body)?;
                self.error = end.error.filter(|error| error.code != CHECK_BROKEN);
            }
            _ => {}
        }
        Ok(())
    }

    fn attempt(&mut self, seq: u64) -> Result<&mut Action, String> {
        // Rows come in order, so attempts are sorted by `seq`.
        self.actions
            .binary_search_by_key(&seq, |action| action.seq)
            .map(|at| &mut self.actions[at])
            .map_err(|_| format!("there is no attempt {seq}"))
    }

    fn take_span(&mut self, row: &SpanRow) {
        let hex = |key: &str| {
            row.span
                .get(key)
                .and_then(Value::as_str)
                .filter(|id| id.bytes().any(|b| b != b'0'))
                .map(str::to_ascii_lowercase)
        };
        // A span without ids names nothing that a call could be under.
        if let (Some(trace), Some(span)) = (hex("traceId"), hex("spanId")) {
            let parent = hex("parentSpanId");
            self.parents.entry(trace).or_default().insert(span, parent);
        }
    }

    /// The evidence with what [`super::lanes`] concluded from it.
    pub fn with_lanes(
        mut self,
        lanes: impl IntoIterator<Item = LaneRow>,
        findings: impl IntoIterator<Item = FindingRow>,
    ) -> Self {
        for lane in lanes {
            if let Ok(action) = self.attempt(lane.attempt) {
                action.lane = Some(lane);
            }
        }
        self.findings.extend(findings);
        self
    }

    /// Whether a finding of this code stands.
    pub fn found(&self, code: &str) -> bool {
        self.findings.iter().any(|finding| finding.code == code)
    }
}

fn read<T: DeserializeOwned>(body: &Map<String, Value>) -> Result<T, String> {
    T::deserialize(body).map_err(|e| e.to_string())
}
