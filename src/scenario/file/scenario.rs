//! `NAME.scenario.yaml`, as written, checks aside.

use schemars::JsonSchema;
use serde::Deserialize;

use super::check::SubGoalFile;
use super::scalar::{Table, Time};
use super::{At, Free};

/// One situation the app is put in.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Its name; names the folder of its records.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"))]
    pub scenario: At<String>,
    /// What it tries to find out.
    pub tests: Option<At<String>>,
    /// Each its own trial: values for `${name}` in text and `:name` in SQL.
    pub cases: Option<At<Vec<At<Table<At<Free>>>>>>,
    /// Added to the app's environment.
    pub env: Option<Table<At<String>>>,
    /// What the user says, in order.
    #[schemars(length(min = 1))]
    pub turns: At<Vec<At<TurnFile>>>,
    /// Statements run on the fresh world.
    pub seed: Option<Vec<At<String>>>,
    /// Every worker's deadline in seconds.
    pub worker_budget_seconds: Option<At<f64>>,
    /// What starts the budget; `first_turn` by default.
    pub budget_from: Option<BudgetFromFile>,
    /// What is taken away from workers, by id.
    pub workers: Option<Table<At<NarrowingFile>>>,
    /// Trouble we make.
    pub faults: Option<Vec<At<FaultFile>>>,
    /// What a right app would do.
    pub solution: Option<Vec<At<StepFile>>>,
    /// What is graded.
    #[schemars(length(min = 1))]
    pub sub_goals: At<Vec<At<SubGoalFile>>>,
    /// How often a case is tried, and how many trials must pass.
    pub repeat: Option<At<RepeatFile>>,
}

/// One thing the user says.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnFile {
    /// The text; `${name}` stands for a value of the case.
    pub user: At<String>,
    /// Whether a reply is waited for; true by default.
    pub expects_reply: Option<bool>,
}

/// What starts a worker's budget.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetFromFile {
    /// The first turn handed to the app.
    FirstTurn,
    /// The worker's own first call.
    FirstCall,
}

/// What is taken away from a worker. There is no key that gives.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NarrowingFile {
    /// Names or globs: only these, of those it had.
    pub only_tools: Option<Vec<At<String>>>,
    /// Names or globs: not these.
    pub deny_tools: Option<Vec<At<String>>>,
    /// No tool with effect `write`.
    pub deny_write: Option<bool>,
    /// No tool with effect `net`.
    pub deny_net: Option<bool>,
    /// At most this many allowed calls.
    pub max_calls: Option<At<u64>>,
    /// Its deadline in seconds, from the start of the budget.
    pub budget_seconds: Option<At<f64>>,
}

/// Trouble we make: which calls, and exactly one thing that happens.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultFile {
    /// Only calls of this worker.
    pub worker: Option<At<String>>,
    /// Only calls of this tool.
    pub tool: Option<At<String>>,
    /// Only the nth matching call, from 1.
    #[schemars(range(min = 1))]
    pub on_call: Option<At<u64>>,
    /// Only calls whose arguments hold these.
    pub args: Option<At<Free>>,
    /// Sleep before the world: `2s`, or `1s..3s`.
    pub latency: Option<At<Time>>,
    /// Answer in the world's place.
    pub reply: Option<At<FaultReplyFile>>,
    /// `true`: close the connection without an answer; the world is untouched.
    pub drop: Option<At<bool>>,
    /// Let the world act, and send only so many bytes of its answer.
    pub truncate: Option<At<u64>>,
    /// `true`: let the world act, then close the connection before the answer.
    pub disconnect: Option<At<bool>>,
    /// Let the world act, and hold the answer back for this long.
    pub stall: Option<At<Time>>,
    /// `true`: answer as the world answered this tool before, without asking it.
    pub stale: Option<At<bool>>,
}

/// An answer in the world's place.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultReplyFile {
    /// HTTP status.
    #[schemars(range(min = 200, max = 599))]
    pub status: At<u16>,
    /// Response headers.
    pub headers: Option<Table<At<String>>>,
    /// Body.
    pub body: Option<At<Free>>,
}

/// One step of the reference solution: `delegate`, `transfer`, `reply`, or a call (`worker`, `tool`, `args`).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StepFile {
    /// A hand-off with a return.
    pub delegate: Option<At<HandOffStepFile>>,
    /// A pass of control.
    pub transfer: Option<At<HandOffStepFile>>,
    /// What the app answers to the turn.
    pub reply: Option<At<String>>,
    /// Whose call.
    pub worker: Option<At<String>>,
    /// Of which tool.
    pub tool: Option<At<String>>,
    /// With which arguments.
    pub args: Option<At<Free>>,
}

/// Who hands over to whom.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandOffStepFile {
    /// A worker.
    pub from: At<String>,
    /// A worker or peer.
    pub to: At<String>,
}

/// Repeats.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepeatFile {
    /// Trials per case; 1 by default.
    #[schemars(range(min = 1, max = 1000))]
    pub trials: Option<At<u32>>,
    /// How many of them must pass; `all` by default.
    pub pass: Option<At<PassFile>>,
}

/// How many trials must pass.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PassFile {
    /// Every one.
    All,
    /// At least so many.
    AtLeast(u32),
}
