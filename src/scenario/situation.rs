//! A scenario, checked: one situation the app is put in.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Contract, Pos, Source, Sql, SubGoal};
use crate::name::{ToolName, WorkerId};

/// One situation. Its cases differ in the values that `${name}` and `:name` stand for.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file itself.
    pub source: Source,
    /// `scenario:`; names the folder of its records.
    pub name: String,
    /// What it tries to find out.
    pub tests: String,
    /// At least one; a scenario without `cases` has one empty case.
    pub cases: Vec<Case>,
    /// Whether `cases` was written.
    pub has_cases: bool,
    /// Added to the app's environment.
    pub env: BTreeMap<String, String>,
    /// What the user says, in order.
    pub turns: Vec<Turn>,
    /// Run on the fresh world.
    pub seed: Vec<Sql>,
    /// `worker_budget_seconds`: every worker's deadline.
    pub budget: Option<Duration>,
    /// What starts it.
    pub budget_from: BudgetFrom,
    /// Narrowing by worker.
    pub narrow: BTreeMap<WorkerId, Narrowing>,
    /// Trouble we make.
    pub faults: Vec<Fault>,
    /// What a right app would do.
    pub solution: Vec<Step>,
    /// What is graded. `answered` is not among them: every scenario has it.
    pub sub_goals: Vec<SubGoal>,
    /// Repeats and how they are judged.
    pub repeat: Repeat,
}

/// The values of one case.
pub type Case = BTreeMap<String, Value>;

/// One thing the user says.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Where the scenario asks for it.
    pub pos: Pos,
    /// With `${name}` for values of the case.
    pub user: String,
    /// Whether `answered` waits for a reply to it.
    pub expects_reply: bool,
}

/// What starts a worker's budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetFrom {
    /// The first turn handed to the app. The default.
    FirstTurn,
    /// The worker's own first call.
    FirstCall,
}

/// What a scenario takes away from a worker. There is no key that gives.
#[derive(Clone, Debug, Default)]
pub struct Narrowing {
    /// Only these, of those it had.
    pub only_tools: Option<BTreeSet<String>>,
    /// Not these.
    pub deny_tools: BTreeSet<String>,
    /// No tool with effect `write`.
    pub deny_write: bool,
    /// No tool with effect `net`.
    pub deny_net: bool,
    /// At most this many allowed calls.
    pub max_calls: Option<u64>,
    /// Its deadline, from the start of the budget.
    pub budget: Option<Duration>,
}

/// Trouble we make on purpose.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Where the scenario asks for it.
    pub pos: Pos,
    /// Only calls of this worker.
    pub worker: Option<WorkerId>,
    /// Only calls of this tool.
    pub tool: Option<ToolName>,
    /// Only the nth matching call, from 1.
    pub on_call: Option<u64>,
    /// Only calls whose arguments hold these.
    pub args: Option<Value>,
    /// What happens.
    pub kind: FaultKind,
}

/// What a fault does.
#[derive(Clone, Debug)]
pub enum FaultKind {
    /// Sleep before the world, for a time in this range.
    Latency {
        /// At least.
        min: Duration,
        /// At most; drawn from the trial's seed where it is more than `min`.
        max: Duration,
    },
    /// Answer in the world's place.
    Reply {
        /// HTTP status.
        status: u16,
        /// Response headers.
        headers: BTreeMap<String, String>,
        /// Body.
        body: Option<Value>,
    },
    /// Close the connection without an answer; the world is untouched.
    Drop,
    /// Let the world act, and send only so many bytes of its answer.
    Truncate(u64),
    /// Let the world act, then close the connection before the answer.
    Disconnect,
    /// Let the world act, and hold the answer back for this long.
    Stall(Duration),
    /// Answer as the world answered this tool's call before, without asking it.
    Stale,
}

/// One step of the reference solution.
#[derive(Clone, Debug)]
pub struct Step {
    /// Where the scenario asks for it.
    pub pos: Pos,
    /// What is done.
    pub kind: StepKind,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum StepKind {
    /// A hand-off with a return.
    Delegate {
        /// Who hands over.
        from: WorkerId,
        /// To whom.
        to: String,
    },
    /// A pass of control.
    Transfer {
        /// Who hands over.
        from: WorkerId,
        /// To whom.
        to: String,
    },
    /// A tool call.
    Call {
        /// Whose.
        worker: WorkerId,
        /// Which tool.
        tool: ToolName,
        /// `${name}` may stand in strings.
        args: Value,
    },
    /// What the app answers to the turn.
    Reply(String),
}

/// `repeat:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// Trials per case.
    pub trials: u32,
    /// How many of them must pass.
    pub pass: PassRule,
}

/// How many trials of a scenario must pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PassRule {
    /// Every one.
    #[default]
    All,
    /// At least so many.
    AtLeast(u32),
}

/// A contract and the scenarios found for it.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The contract.
    pub contract: std::sync::Arc<Contract>,
    /// Sorted by name.
    pub scenarios: Vec<std::sync::Arc<Scenario>>,
    /// What is hardly meant in their files, though none of it keeps them from being used.
    pub warnings: Vec<super::Diagnostic>,
}
