//! `sub_goals:` of a scenario, as written: a sub-goal is its own keys and exactly one check.

use schemars::JsonSchema;
use serde::Deserialize;

use super::scalar::{Form, Table};
use super::{At, Free};
use crate::scenario::Pos;
use crate::verdict::Gate;

/// A struct with the keys of a check beside its own, since a flattened struct would lose every place in it.
macro_rules! with_checks {
    ($(#[$meta:meta])* $name:ident { $($(#[$own:meta])* $key:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$own])* pub $key: $type,)*
            /// Action log: so many calls like this.
            pub calls: Option<At<CallFile>>,
            /// Action log: no call like this.
            pub never: Option<At<CallFile>>,
            /// Action log: so many refusals like this.
            pub refused: Option<At<RefusedFile>>,
            /// Action log: done calls of these tools stand in this order.
            pub order: Option<At<Vec<At<String>>>>,
            /// Action log: the last done action ends within so many seconds of the budget's start.
            pub within: Option<At<WithinFile>>,
            /// Events: so many hand-offs with a return.
            pub delegated: Option<At<HandOffFile>>,
            /// Events: so many passes of control.
            pub transferred: Option<At<HandOffFile>>,
            /// Events: so many tool calls.
            pub called: Option<At<CallFile>>,
            /// What a reply is to hold.
            pub reply: Option<At<ReplyFile>>,
            /// A statement over closed tables that gives one row with one 0 or 1.
            pub sql: Option<At<String>>,
            /// How tables are to have changed: by table, rows added, removed, changed.
            pub changed: Option<At<Table<At<ChangeFile>>>>,
            /// Tables that did not change at all.
            pub unchanged: Option<At<Vec<At<String>>>>,
            /// A command that is given the evidence and answers with a verdict.
            pub script: Option<At<Vec<String>>>,
            /// A model that is asked.
            pub judge: Option<At<JudgeFile>>,
            /// Every one of these holds.
            pub all: Option<At<Vec<At<CheckFile>>>>,
            /// At least one of these holds.
            pub any: Option<At<Vec<At<CheckFile>>>>,
            /// This does not hold.
            pub not: Option<At<Box<CheckFile>>>,
        }

        impl $name {
            /// The checks that are written, with their keys; a right file has exactly one.
            pub fn checks(&self) -> Vec<Written<'_>> {
                let mut found = Vec::new();
                let mut add = |it| found.extend::<Option<Written<'_>>>(it);
                add(self.calls.as_ref().map(Written::Calls));
                add(self.never.as_ref().map(Written::Never));
                add(self.refused.as_ref().map(Written::Refused));
                add(self.order.as_ref().map(Written::Order));
                add(self.within.as_ref().map(Written::Within));
                add(self.delegated.as_ref().map(Written::Delegated));
                add(self.transferred.as_ref().map(Written::Transferred));
                add(self.called.as_ref().map(Written::Called));
                add(self.reply.as_ref().map(Written::Reply));
                add(self.sql.as_ref().map(Written::Sql));
                add(self.changed.as_ref().map(Written::Changed));
                add(self.unchanged.as_ref().map(Written::Unchanged));
                add(self.script.as_ref().map(Written::Script));
                add(self.judge.as_ref().map(Written::Judge));
                add(self.all.as_ref().map(Written::All));
                add(self.any.as_ref().map(Written::Any));
                add(self.not.as_ref().map(Written::Not));
                found
            }
        }
    };
}

with_checks! {
    /// One thing to be graded: exactly one check, and about whom.
    SubGoalFile {
        /// Unique in its scenario.
        id: At<String>,
        /// `task` (the default) or `worker:ID`.
        subject: Option<At<String>>,
        /// What its verdict counts for: `required` (default for the task), `if_seen` (default for workers), `report`.
        gate: Option<Gate>,
    }
}

with_checks! {
    /// Exactly one check.
    CheckFile {}
}

/// A check as written; each variant is the key of the same name in `SubGoalFile`.
#[derive(Clone, Copy, Debug)]
pub enum Written<'a> {
    Calls(&'a At<CallFile>),
    Never(&'a At<CallFile>),
    Refused(&'a At<RefusedFile>),
    Order(&'a At<Vec<At<String>>>),
    Within(&'a At<WithinFile>),
    Delegated(&'a At<HandOffFile>),
    Transferred(&'a At<HandOffFile>),
    Called(&'a At<CallFile>),
    Reply(&'a At<ReplyFile>),
    Sql(&'a At<String>),
    Changed(&'a At<Table<At<ChangeFile>>>),
    Unchanged(&'a At<Vec<At<String>>>),
    Script(&'a At<Vec<String>>),
    Judge(&'a At<JudgeFile>),
    All(&'a At<Vec<At<CheckFile>>>),
    Any(&'a At<Vec<At<CheckFile>>>),
    Not(&'a At<Box<CheckFile>>),
}

impl Written<'_> {
    /// Where it is written.
    pub fn pos(self) -> Pos {
        match self {
            Self::Calls(at) | Self::Never(at) | Self::Called(at) => at.pos,
            Self::Refused(at) => at.pos,
            Self::Order(at) | Self::Unchanged(at) => at.pos,
            Self::Within(at) => at.pos,
            Self::Delegated(at) | Self::Transferred(at) => at.pos,
            Self::Reply(at) => at.pos,
            Self::Sql(at) => at.pos,
            Self::Changed(at) => at.pos,
            Self::Script(at) => at.pos,
            Self::Judge(at) => at.pos,
            Self::All(at) | Self::Any(at) => at.pos,
            Self::Not(at) => at.pos,
        }
    }
}

/// Which calls are meant.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallFile {
    /// Whose; the subject's where not written.
    pub worker: Option<At<String>>,
    /// Which tool.
    pub tool: Option<At<String>>,
    /// A subset of the arguments, compared as JSON values and numbers.
    pub args: Option<At<Free>>,
    /// How far the call got: `done` (the default), `reached` or `any`.
    pub outcome: Option<At<OutcomeFile>>,
    /// How many; at least one by default.
    pub times: Option<At<TimesFile>>,
}

/// How far a call got.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeFile {
    /// The world did it.
    Done,
    /// Handed to the world, whatever it answered.
    Reached,
    /// Every attempt.
    Any,
}

/// A count, or bounds; both ends inclusive.
pub type TimesFile = Form<u64, BoundsFile>;

/// Bounds of a count; both ends inclusive.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoundsFile {
    /// At least.
    pub at_least: Option<u64>,
    /// At most.
    pub at_most: Option<u64>,
}

/// Which refusals are meant.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RefusedFile {
    /// Whose; the subject's where not written.
    pub worker: Option<At<String>>,
    /// Of which tool.
    pub tool: Option<At<String>>,
    /// With which code.
    pub code: Option<At<String>>,
    /// How many; at least one by default.
    pub times: Option<At<TimesFile>>,
}

/// A time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithinFile {
    /// Seconds.
    pub seconds: At<f64>,
}

/// Which hand-offs are meant.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandOffFile {
    /// Who handed over: a worker.
    pub from: Option<At<String>>,
    /// To whom: a worker or peer.
    pub to: Option<At<String>>,
    /// How many; at least one by default.
    pub times: Option<At<TimesFile>>,
}

/// What a reply is to hold. Exactly one of `contains`, `matches` and `json`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplyFile {
    /// This text, ignoring case.
    pub contains: Option<At<String>>,
    /// Something this regular expression finds.
    pub matches: Option<At<String>>,
    /// The reply is JSON and holds this.
    pub json: Option<At<JsonFile>>,
    /// The number of a turn from 1, `last`, or `any` (the default).
    pub turn: Option<At<TurnNumberFile>>,
}

/// A value in a JSON reply.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonFile {
    /// JSON pointer.
    pub pointer: At<String>,
    /// Compared as JSON values and numbers.
    pub equals: At<Free>,
}

/// Which replies, as written.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct TurnNumberFile(pub String);

impl JsonSchema for TurnNumberFile {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TurnNumber".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "enum": ["last", "any"] },
        ] })
    }
}

/// How one table is to have changed; what is not named is 0.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeFile {
    /// Rows that came.
    pub added: Option<At<TimesFile>>,
    /// Rows that went.
    pub removed: Option<At<TimesFile>>,
    /// Rows that changed.
    pub changed: Option<At<TimesFile>>,
}

/// What a judge is asked.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JudgeFile {
    /// When to say `passed`.
    pub pass_when: At<String>,
    /// When to say `failed`.
    pub fail_when: At<String>,
    /// When to say `unknown`.
    pub unknown_when: Option<At<String>>,
    /// How many times it is asked; 1 by default.
    #[schemars(range(min = 1, max = 25))]
    pub votes: Option<At<u32>>,
}
