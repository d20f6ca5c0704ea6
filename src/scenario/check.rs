//! Sub-goals and their checks, as asked: what grading evaluates.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::{Pos, Sql};
use crate::name::{ToolName, WorkerId};
use crate::verdict::Gate;

/// One thing to be graded.
#[derive(Clone, Debug)]
pub struct SubGoal {
    /// Unique in its scenario.
    pub id: String,
    /// Where the scenario asks for it.
    pub pos: Pos,
    /// About whom.
    pub subject: Subject,
    /// What its verdict counts for.
    pub gate: Gate,
    /// What is to hold.
    pub check: Check,
}

/// About whom a sub-goal speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The whole task. The default.
    Task,
    /// One worker's lane.
    Worker(WorkerId),
}

/// A check, with the place that asked for it.
#[derive(Clone, Debug)]
pub struct Check {
    /// Where the scenario asks for it.
    pub pos: Pos,
    /// What is to hold.
    pub kind: CheckKind,
}

/// What is to hold.
#[derive(Clone, Debug)]
pub enum CheckKind {
    /// Action log: so many calls like this.
    Calls(CallPattern, Times),
    /// Action log: none.
    Never(CallPattern),
    /// Action log: so many refusals.
    Refused {
        /// Whose; the subject's where not written.
        worker: Option<WorkerId>,
        /// Of which tool.
        tool: Option<ToolName>,
        /// With which code.
        code: Option<String>,
        /// How many.
        times: Times,
    },
    /// Action log: done calls of these tools stand in this order (others may stand between).
    Order {
        /// Whose; the subject's where not written.
        worker: Option<WorkerId>,
        /// At least two.
        tools: Vec<ToolName>,
    },
    /// Action log: the last done action ends within this time of the budget's start.
    Within(Duration),
    /// Events: hand-offs with a return.
    Delegated(HandOff),
    /// Events: passes of control.
    Transferred(HandOff),
    /// Events: tool calls.
    Called(CallPattern, Times),
    /// Replies.
    Reply(ReplyCheck),
    /// Closed tables: one row with one 0 or 1.
    Sql(Sql),
    /// Closed tables: which rows came, went and changed, by table.
    Changed(Vec<TableChange>),
    /// Closed tables: these did not change at all.
    Unchanged(Vec<String>),
    /// A command that is given the evidence and answers with a verdict.
    Script {
        /// Run in the scenario's folder.
        command: Vec<String>,
        /// That folder.
        folder: PathBuf,
    },
    /// A model that is asked.
    Judge(JudgeCheck),
    /// Kleene AND; at least one.
    All(Vec<Check>),
    /// Kleene OR; at least one.
    Any(Vec<Check>),
    /// Kleene NOT.
    Not(Box<Check>),
}

/// Which calls are meant.
#[derive(Clone, Debug, Default)]
pub struct CallPattern {
    /// Whose; the subject's where not written.
    pub worker: Option<WorkerId>,
    /// Which tool.
    pub tool: Option<ToolName>,
    /// A subset of the arguments, compared as JSON values and numbers.
    pub args: Option<Value>,
    /// How far the call got (action log only).
    pub outcome: OutcomeAsked,
}

/// How far a call got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutcomeAsked {
    /// The world did it.
    #[default]
    Done,
    /// Handed to the world, whatever it answered.
    Reached,
    /// Every attempt.
    Any,
}

/// `times:`; both ends inclusive. The default is at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// At least.
    pub min: u64,
    /// At most.
    pub max: Option<u64>,
}

impl Default for Times {
    fn default() -> Self {
        Self { min: 1, max: None }
    }
}

impl Times {
    /// Whether `n` lies within.
    pub fn holds(self, n: u64) -> bool {
        n >= self.min && self.max.is_none_or(|max| n <= max)
    }
}

/// A hand-off asked for.
#[derive(Clone, Debug)]
pub struct HandOff {
    /// Who handed over: a worker.
    pub from: Option<String>,
    /// To whom: a worker or peer.
    pub to: Option<String>,
    /// How often.
    pub times: Times,
}

/// What a reply is to hold.
#[derive(Clone, Debug)]
pub struct ReplyCheck {
    /// Which replies.
    pub turn: WhichTurn,
    /// What is asked of it.
    pub test: ReplyTest,
}

/// Which replies a check looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhichTurn {
    /// The nth, from 1.
    Nth(u32),
    /// The last one.
    Last,
    /// Any one. The default.
    Any,
}

/// What is asked of a reply.
#[derive(Clone, Debug)]
pub enum ReplyTest {
    /// Holds this text, ignoring case.
    Contains(String),
    /// A regular expression finds something in it.
    Matches(String),
    /// Is JSON, and holds this value at this pointer.
    Json {
        /// JSON pointer.
        pointer: String,
        /// Compared as JSON values and numbers.
        equals: Value,
    },
}

/// How one table is to have changed; what is not named is 0.
#[derive(Clone, Debug)]
pub struct TableChange {
    /// The table.
    pub table: String,
    /// Rows that came.
    pub added: Times,
    /// Rows that went.
    pub removed: Times,
    /// Rows that changed.
    pub changed: Times,
}

/// What a judge is asked.
#[derive(Clone, Debug)]
pub struct JudgeCheck {
    /// When to say `passed`.
    pub pass_when: String,
    /// When to say `failed`.
    pub fail_when: String,
    /// When to say `unknown`.
    pub unknown_when: Option<String>,
    /// How many times it is asked.
    pub votes: u32,
}
