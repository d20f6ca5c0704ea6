//! How a conclusion is written, and how absence is.
//!
//! A [`Verdict`] is no bool: `unknown` carries why. Verdicts combine by Kleene's three-valued logic; where several
//! reasons fit, the one that stands first in [`Reason`] is told.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why nobody can say. The order is the order of precedence (design, Verdicts).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Channel and spans name different workers for one call.
    LaneDisputed,
    /// No evidence says whose call it was.
    LaneUnattributed,
    /// Something was cut or dropped, so an absence proves nothing.
    RecordIncomplete,
    /// The app's processes are not proven gone.
    AppLeftRunning,
    /// The worker's deadline refused a call before the goal was settled.
    DeadlinePassed,
    /// No call of that worker was ever seen to come through its channel.
    BindingUnproven,
    /// The worker has neither an allowed nor a `not_permitted` call on record.
    NoCalls,
    /// No span shows it, and spans are open evidence.
    NotObserved,
    /// The judge gave no answer.
    JudgeFailed,
    /// The script gave no answer.
    ScriptFailed,
    /// Nothing was asked of this worker.
    NotAsked,
}

impl Reason {
    /// The code as it stands in records and reports.
    pub fn code(self) -> &'static str {
        match self {
            Self::LaneDisputed => "lane_disputed",
            Self::LaneUnattributed => "lane_unattributed",
            Self::RecordIncomplete => "record_incomplete",
            Self::AppLeftRunning => "app_left_running",
            Self::DeadlinePassed => "deadline_passed",
            Self::BindingUnproven => "binding_unproven",
            Self::NoCalls => "no_calls",
            Self::NotObserved => "not_observed",
            Self::JudgeFailed => "judge_failed",
            Self::ScriptFailed => "script_failed",
            Self::NotAsked => "not_asked",
        }
    }
}

/// What may be concluded.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The evidence shows it.
    Passed,
    /// The evidence shows the contrary.
    Failed,
    /// The evidence shows neither.
    Unknown(Reason),
}

impl Verdict {
    /// `passed` or `failed` for a fact that closed evidence settles.
    pub fn of(holds: bool) -> Self {
        if holds { Self::Passed } else { Self::Failed }
    }

    /// Kleene AND: one `failed` decides, else one `unknown` does.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Failed, _) | (_, Self::Failed) => Self::Failed,
            (Self::Unknown(a), Self::Unknown(b)) => Self::Unknown(a.min(b)),
            (Self::Unknown(a), Self::Passed) | (Self::Passed, Self::Unknown(a)) => Self::Unknown(a),
            (Self::Passed, Self::Passed) => Self::Passed,
        }
    }

    /// Kleene OR: one `passed` decides, else one `unknown` does.
    pub fn or(self, other: Self) -> Self {
        self.negated().and(other.negated()).negated()
    }

    /// Kleene NOT: `unknown` stays, with its reason.
    pub fn negated(self) -> Self {
        match self {
            Self::Passed => Self::Failed,
            Self::Failed => Self::Passed,
            unknown => unknown,
        }
    }

    /// `passed`, `failed` or `unknown`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unknown(_) => "unknown",
        }
    }

    /// The reason code, where there is one.
    pub fn reason(self) -> Option<Reason> {
        match self {
            Self::Unknown(reason) => Some(reason),
            _ => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(reason) => write!(f, "unknown: {}", reason.code()),
            _ => f.write_str(self.word()),
        }
    }
}

/// Whether spans show how an event came about. Never a guess (promise 2).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Relationship {
    /// A recorded fact says so.
    Observed,
    /// Nothing recorded says so.
    Unknown,
}

/// What a sub-goal's verdict counts for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// `failed` and `unknown` both count. The default for the task.
    Required,
    /// Only `failed` counts; `unknown` is printed and counted apart. The default for workers.
    IfSeen,
    /// Never counts.
    Report,
}

/// How a trial, or a scenario of many, came out: what repeats and exit codes count.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything required holds, and nothing that was seen failed.
    Passed,
    /// Something gated failed.
    Failed,
    /// Nothing failed, but something required is unknown.
    Unknown,
    /// The check, the world or the harness is broken; never the app's `failed`.
    Error,
}

impl Outcome {
    /// The word as it stands in records and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Error => "error",
        }
    }

    /// By gates over all sub-goals: an `if_seen` failure fails, an `if_seen` unknown does not count.
    pub fn of(goals: impl IntoIterator<Item = (Gate, Verdict)>) -> Self {
        let mut outcome = Self::Passed;
        for (gate, verdict) in goals {
            match (gate, verdict) {
                (Gate::Report, _) | (_, Verdict::Passed) | (Gate::IfSeen, Verdict::Unknown(_)) => {}
                (_, Verdict::Failed) => return Self::Failed,
                (Gate::Required, Verdict::Unknown(_)) => outcome = Self::Unknown,
            }
        }
        outcome
    }
}

/// What the process says to whoever started it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0
    Passed,
    /// 1: a trial failed, a scenario is not proved, a record is broken.
    Failed,
    /// 2: a usage or file error, or nothing to do.
    Usage,
    /// 3: nothing failed, but something required is unknown.
    Unknown,
    /// 4: world, harness or check broken.
    Error,
    /// 130: interrupted.
    Interrupted,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unknown => 3,
            Self::Error => 4,
            Self::Interrupted => 130,
        }
    }

    /// Of several, the first of 130, 2, 4, 1, 3, 0.
    pub fn worse(self, other: Self) -> Self {
        let rank = |exit| match exit {
            Self::Interrupted => 0,
            Self::Usage => 1,
            Self::Error => 2,
            Self::Failed => 3,
            Self::Unknown => 4,
            Self::Passed => 5,
        };
        if rank(self) <= rank(other) { self } else { other }
    }
}

impl From<Outcome> for Exit {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Passed => Self::Passed,
            Outcome::Failed => Self::Failed,
            Outcome::Unknown => Self::Unknown,
            Outcome::Error => Self::Error,
        }
    }
}
