//! The rows of a record, in their wire form: what `journal` appends, `record` reads and `grade` concludes from.
//!
//! Every struct here is one row kind of the design. Old readers ignore fields they do not know; a field that is added
//! later is optional when read. 64-bit integers are decimal strings on the wire ([`text64`]), since RFC 8785 would
//! round them above 2^53.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::name::TrialId;
use crate::verdict::{Gate, Outcome};

/// A row kind: the word in the `row` field.
pub trait RowKind: Serialize {
    /// The word.
    const ROW: &'static str;
}

macro_rules! kinds {
    ($($name:ident = $word:literal),* $(,)?) => {$(
        impl RowKind for $name { const ROW: &'static str = $word; }
    )*};
}
kinds! {
    TrialRow = "trial", TurnRow = "turn", ReplyRow = "reply", AttemptRow = "attempt", OutcomeRow = "outcome",
    LaneRow = "lane", SpanRow = "span", EventRow = "event", TableRow = "table", ChangeRow = "change",
    LaneChangeRow = "change", FindingRow = "finding", OutputRow = "output", ModelRow = "model", AnswerRow = "answer",
    PhaseRow = "phase",
    VerdictRow = "verdict", EndRow = "end", SealRow = "seal",
}

/// `trial`: what was pinned down before anything happened. Always the first row.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrialRow {
    /// Format version of the record.
    pub format: u32,
    /// Scenario name.
    pub scenario: String,
    /// Index of the case; 0 where there are none.
    pub case: usize,
    /// The values of the case.
    pub values: BTreeMap<String, Value>,
    /// Repeat, from 1.
    pub number: u32,
    /// The id of the trial this one retries.
    pub retry_of: Option<String>,
    /// Whether it was run beside the plan, only to show which workers' calls come through their channels.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binding_proof: bool,
    /// Seed of everything random in this trial, decimal.
    pub seed: String,
    /// Digests (`sha256:…`) by role: `contract`, `scenario`, `schema:PATH`, `script:PATH`, `app`, `mocktrial`, …
    pub digests: BTreeMap<String, String>,
    /// The texts needed to grade again, by path relative to the contract's folder; see `contract` and `scenario_file`.
    pub files: BTreeMap<String, String>,
    /// Key of the contract in `files`.
    pub contract: String,
    /// Key of the scenario in `files`.
    pub scenario_file: String,
    /// Version of mocktrial.
    pub version: String,
    /// Workers whose binding is proven, and by what (`trial`, or the id of the trial that proved it).
    #[serde(default)]
    pub bindings: BTreeMap<String, String>,
    /// In which resumption of the run it ran again, from 1; absent where it did not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resumption: u32,
}

impl TrialRow {
    /// The id of the trial it begins.
    pub fn id(&self) -> TrialId {
        let first = match self.binding_proof {
            true => TrialId::binding(&self.scenario, self.case),
            false => TrialId::new(&self.scenario, self.case, self.number, self.retry_of.is_some()),
        };
        first.resumed(self.resumption)
    }
}

/// `turn`: the user said something.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TurnRow {
    /// From 1.
    pub n: u32,
    /// What was said.
    pub text: String,
    /// Whether `answered` waits for a reply.
    pub expects_reply: bool,
}

/// `reply`: the app answered.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReplyRow {
    /// The turn it answers.
    pub n: u32,
    /// What was answered.
    pub text: String,
    /// Whether the text was cut at a bound.
    #[serde(default)]
    pub cut: bool,
}

/// What was decided of an attempt before anything happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Goes to the world.
    Allowed,
    /// Does not.
    Refused,
    /// A fault of ours applies.
    Faulted,
}

/// Whether a limit was enforced on the wire or only looked at afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// On the wire.
    Enforced,
    /// Afterwards.
    Audited,
}

/// `attempt`: written before anything happens.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AttemptRow {
    /// Whose channel; null on the shared one.
    pub worker: Option<String>,
    /// Null where no tool could be named.
    pub tool: Option<String>,
    /// As the world will see them, redacted; null where there were none.
    pub arguments: Value,
    /// Whether `arguments` was cut at a bound.
    #[serde(default, skip_serializing_if = "is_false")]
    pub arguments_cut: bool,
    /// What was decided.
    pub decision: Decision,
    /// The refusal's code.
    pub code: Option<String>,
    /// The refusal's reason, for people; or what the fault does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Enforced or audited.
    pub basis: Basis,
    /// After the channel closed.
    pub late: bool,
    /// `http`, `mcp` or `a2a`.
    pub face: String,
    /// `METHOD path?query` as received, without the token; null for MCP over stdio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// From the call's `traceparent`, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// From the call's `traceparent`, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
}

/// How an attempt came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The world did it.
    Done,
    /// The world said no.
    WorldRefused,
    /// A fault of ours stood in the world's place.
    Faulted,
    /// Somebody's defect.
    Crashed,
    /// Refused before the world.
    Refused,
}

/// `outcome`: written after.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OutcomeRow {
    /// `seq` of the attempt.
    pub attempt: u64,
    /// How it came out.
    pub kind: OutcomeKind,
    /// Code of a refusal or crash.
    pub code: Option<String>,
    /// HTTP status sent, or null.
    pub status: Option<u16>,
    /// What was answered, redacted: JSON where it is JSON, else text; null where nothing was.
    pub result: Value,
    /// Whether `result` was cut at a bound.
    #[serde(default, skip_serializing_if = "is_false")]
    pub result_cut: bool,
    /// Begun in time, ended after the worker's deadline.
    pub ended_after_deadline: bool,
    /// A latency or truncate fault applied.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cut: bool,
}

/// `lane`: whose call it was, found out afterwards.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LaneRow {
    /// `seq` of the attempt.
    pub attempt: u64,
    /// Null where nobody can say, or where channel and spans disagree (then see the finding).
    pub worker: Option<String>,
    /// `audited`, or `disputed`.
    pub basis: String,
    /// Another worker that the spans name, where they disagree with the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<String>,
}

/// `span`: as received, in OTLP/JSON shape, redacted.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SpanRow {
    /// The span as one OTLP/JSON `Span`.
    pub span: Value,
    /// Scope name and version.
    pub scope: Value,
    /// Resource attributes, only on the first span of each resource; else its index in order of appearance.
    pub resource: Value,
}

/// `event`: the reader's events (design, Events).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EventRow {
    /// `delegated`, `transferred` or `tool_call`.
    pub kind: String,
    /// Who acted.
    pub agent: Option<String>,
    /// Who handed over.
    pub from: Option<String>,
    /// To whom.
    pub to: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// As recorded by the framework.
    pub arguments: Value,
    /// `observed` or `unknown`.
    pub relationship: crate::verdict::Relationship,
    /// Id of the rule that made the event.
    pub basis: String,
    /// Hex.
    pub trace_id: String,
    /// Hex.
    pub span_id: String,
    /// `span_id` of the hand-off it ran in.
    pub parent_span_id: Option<String>,
    /// Unix nanoseconds, decimal.
    pub started_at: String,
    /// Unix nanoseconds, decimal.
    pub ended_at: Option<String>,
    /// `ok`, `error` or null.
    pub ended_with: Option<String>,
}

/// `table`: one whole table of the world as the trial left it, so that closed checks can be evaluated again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TableRow {
    /// Its name.
    pub table: String,
    /// The statement that makes it.
    pub create: String,
    /// Column names.
    pub columns: Vec<String>,
    /// Rows; cells as [`ChangeRow`] writes them.
    pub rows: Vec<Vec<Value>>,
}

/// `change`: the rows of one table that came, went or changed, after the seed. Cells: null, JSON numbers (integers
/// above 2^53 as `{"i":"…"}`), text, blobs as `{"b":"<base64>"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChangeRow {
    /// The table.
    pub table: String,
    /// Rows as objects, as they were: one per row that went or changed.
    pub before: Vec<Value>,
    /// Rows as objects, as they are: one per row that came or changed.
    pub after: Vec<Value>,
    /// How many came.
    pub added: u64,
    /// How many went.
    pub removed: u64,
    /// How many changed.
    pub changed: u64,
}

/// `change`, of a worker: what it attempted, and what was refused.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LaneChangeRow {
    /// The worker.
    pub worker: String,
    /// How many attempts.
    pub attempts: u64,
    /// Each refusal: `{attempt, tool, code, reason}`.
    pub refusals: Vec<Value>,
}

/// `finding`: something worth saying that is no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FindingRow {
    /// e.g. `off_channel`, `agent_unknown`, `app_exited`, `foreign_spans`, `record_incomplete`.
    pub code: String,
    /// Whom it is about.
    pub worker: Option<String>,
    /// For people.
    pub detail: String,
}

/// `output`: the tail of one of the app's streams.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct OutputRow {
    /// `stdout` or `stderr`.
    pub stream: String,
    /// Its tail.
    pub text: String,
    /// Whether earlier output was let go.
    #[serde(default)]
    pub cut: bool,
}

/// `model`: one model call, or one vote of a judge.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelRow {
    /// Whose call, where that is known.
    pub worker: Option<String>,
    /// How that is known: `address` (it came to the worker's own).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<String>,
    /// `openai_chat`, `openai_responses`, `anthropic`, `gemini`, `judge` or `user`.
    pub api: String,
    /// Model asked for.
    pub asked: Option<String>,
    /// Model served.
    pub served: Option<String>,
    /// Digest of the normalised request.
    pub digest: String,
    /// Input tokens, where said.
    pub input_tokens: Option<u64>,
    /// Output tokens, where said.
    pub output_tokens: Option<u64>,
    /// The rule or cassette entry that answered; null where none did.
    pub rule: Option<String>,
    /// HTTP status.
    pub status: u16,
    /// `seq` of the row of the call that this is a client's retry of; such a row counts as no call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<u64>,
    /// From the call's `traceparent`, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// From the call's `traceparent`, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    /// Anything else (prompt and answer of a judge, attempts of a retry, …).
    #[serde(default)]
    pub detail: Value,
}

/// `answer`: what a script or a judge said when asked, so that a record is graded again without asking.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AnswerRow {
    /// The check that asked: `LINE:COLUMN` of the scenario.
    pub check: String,
    /// `script` or `judge`.
    pub by: String,
    /// `passed`, `failed` or `unknown`; null where it gave no answer.
    pub verdict: Option<String>,
    /// What it said, or why there is no answer.
    pub reason: String,
    /// Anything else (votes, exit status).
    #[serde(default)]
    pub detail: Value,
}

/// `phase`: where a trial's time went: how long one phase took, in whole microseconds.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PhaseRow {
    /// `start`, `turns`, `settle`, `stop`, `grade`.
    pub phase: String,
    /// Microseconds.
    pub micros: u64,
}

/// `verdict`: one sub-goal's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct VerdictRow {
    /// Its id.
    pub sub_goal: String,
    /// `task` or `worker:ID`.
    pub subject: String,
    /// `passed`, `failed` or `unknown`.
    pub verdict: String,
    /// Reason code of an `unknown`.
    pub reason: Option<String>,
    /// Its gate.
    pub gate: Gate,
    /// Line of the scenario that asked for it; 0 for built-in goals.
    pub line: u32,
    /// What was seen and what was asked, for people.
    pub detail: String,
}

/// One worker's or the task's verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Judged {
    /// `passed`, `failed` or `unknown`.
    pub verdict: String,
    /// Reason code of an `unknown`.
    pub reason: Option<String>,
}

/// `end`: what the trial came to.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EndRow {
    /// The task's verdict.
    pub task: Judged,
    /// Worker id to verdict.
    pub workers: BTreeMap<String, Judged>,
    /// By gates over all sub-goals.
    pub outcome: Outcome,
    /// Why the outcome is `error`.
    pub error: Option<TrialError>,
}

/// Why a trial is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrialError {
    /// e.g. `not_ready`, `port_taken`, `check_broken`, `world_failed`, `interrupted`.
    pub code: String,
    /// For people.
    pub message: String,
    /// Line of the scenario or contract, where one is to blame.
    pub line: Option<u32>,
}

/// `seal`: the last row.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SealRow {
    /// Rows of the record, this one included.
    pub rows: u64,
    /// `prev` of this row: the head of the chain, hex.
    pub head: String,
    /// Sub-goal id to verdict word (`unknown: reason` where it is one).
    pub verdicts: BTreeMap<String, String>,
    /// Format version, again.
    pub format: u32,
    /// Signature by the key, base64, where one was given; over the head and the rest of this row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Value>,
    /// SHA-256 of this row's own form without this field, hex.
    #[serde(rename = "self")]
    pub own: String,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
}
