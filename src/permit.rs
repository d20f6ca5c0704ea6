//! May this worker do this now: the one decision, and the only maker of a [`Permit`].
//!
//! Limits come in layers (contract, scenario, then each delegation), and each layer only takes away: allow-lists
//! intersect, denials unite, numbers take the minimum. There is no layer that gives, and no order in which the layers
//! could be written that changes the result. The world asks for a `Permit` by value, so nothing reaches it unasked.
//!
//! Pure: no clock is read and nothing is counted here; both are handed in.

use std::collections::BTreeSet;
use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::clock::Moment;
use crate::name::{ToolName, WorkerId};
use crate::scenario::{AllowList, Effect, Narrowing, Worker};

/// What one layer leaves. [`Limits::default`] takes nothing away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Tools left.
    pub allowed: AllowList,
    /// Tools taken away: names or globs.
    pub denied: BTreeSet<String>,
    /// No tool with effect `write`.
    pub deny_write: bool,
    /// No tool with effect `net`.
    pub deny_net: bool,
    /// At most this many calls.
    pub max_calls: Option<u64>,
    /// From the start of the budget.
    pub budget: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            allowed: AllowList::Everything,
            denied: BTreeSet::new(),
            deny_write: false,
            deny_net: false,
            max_calls: None,
            budget: None,
        }
    }
}

impl From<&Worker> for Limits {
    fn from(worker: &Worker) -> Self {
        Self {
            allowed: worker.allowed.clone(),
            denied: worker.denied.clone(),
            deny_write: worker.deny_write,
            deny_net: worker.deny_net,
            max_calls: worker.max_calls,
            budget: worker.budget,
        }
    }
}

impl From<&Narrowing> for Limits {
    fn from(narrowing: &Narrowing) -> Self {
        Self {
            allowed: narrowing
                .only_tools
                .clone()
                .map_or(AllowList::Everything, AllowList::Only),
            denied: narrowing.deny_tools.clone(),
            deny_write: narrowing.deny_write,
            deny_net: narrowing.deny_net,
            max_calls: narrowing.max_calls,
            budget: narrowing.budget,
        }
    }
}

/// A pattern that is no glob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` in layer `{layer}` is no glob: {why}")]
pub struct BadGlob {
    /// Whose.
    pub layer: String,
    /// What was written.
    pub pattern: String,
    /// Why it is none.
    pub why: String,
}

#[derive(Clone, Debug)]
struct Layer {
    name: String,
    limits: Limits,
    allowed: GlobSet,
    denied: GlobSet,
}

/// All layers of one channel, compiled.
#[derive(Clone, Debug)]
pub struct Rules {
    worker: Option<WorkerId>,
    layers: Vec<Layer>,
}

impl Rules {
    /// `worker` is null on a shared channel. A bad glob is an error, never a rule that matches nothing.
    pub fn new(
        worker: Option<WorkerId>,
        layers: impl IntoIterator<Item = (String, Limits)>,
    ) -> Result<Self, BadGlob> {
        let layers = layers
            .into_iter()
            .map(|(name, limits)| {
                let allowed = match &limits.allowed {
                    AllowList::Everything => compile(&name, [])?,
                    AllowList::Only(names) => compile(&name, names)?,
                };
                let denied = compile(&name, &limits.denied)?;
                Ok(Layer {
                    name,
                    limits,
                    allowed,
                    denied,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { worker, layers })
    }

    /// Whose rules these are.
    pub fn worker(&self) -> Option<&WorkerId> {
        self.worker.as_ref()
    }

    /// Whether any layer names the tools allowed: a worker without a list is unlimited, and recorded so.
    pub fn lists_tools(&self) -> bool {
        self.layers
            .iter()
            .any(|layer| layer.limits.allowed != AllowList::Everything)
    }

    /// The least of the layers' call counts.
    pub fn max_calls(&self) -> Option<u64> {
        self.layers.iter().filter_map(|l| l.limits.max_calls).min()
    }

    /// The least of the layers' budgets.
    pub fn budget(&self) -> Option<Duration> {
        self.layers.iter().filter_map(|l| l.limits.budget).min()
    }

    /// Whether the layers let this tool through, time and counts aside; else the first layer that does not.
    pub fn permits(&self, tool: &ToolName, effect: Effect) -> Result<(), Refusal> {
        for layer in &self.layers {
            let limits = &layer.limits;
            let why = if limits.allowed != AllowList::Everything
                && !layer.allowed.is_match(tool.as_str())
            {
                "is not among the tools allowed"
            } else if layer.denied.is_match(tool.as_str()) {
                "is denied"
            } else if limits.deny_write && effect == Effect::Write {
                "writes, and writing is denied"
            } else if limits.deny_net && effect == Effect::Net {
                "reaches out, and the net is denied"
            } else {
                continue;
            };
            let whom = self.whom();
            return Err(Refusal {
                code: RefusalCode::NotPermitted,
                reason: format!("{tool} {why} for {whom} by the {}", layer.name),
            });
        }
        Ok(())
    }

    fn whom(&self) -> &str {
        self.worker
            .as_ref()
            .map_or("any worker of this channel", WorkerId::as_str)
    }

    fn least(&self, what: impl Fn(&Limits) -> bool) -> &str {
        self.layers
            .iter()
            .find(|layer| what(&layer.limits))
            .map_or("contract", |layer| layer.name.as_str())
    }
}

fn compile<'a>(
    layer: &str,
    patterns: impl IntoIterator<Item = &'a String>,
) -> Result<GlobSet, BadGlob> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let bad = |e: globset::Error| BadGlob {
            layer: layer.to_owned(),
            pattern: pattern.clone(),
            why: e.kind().to_string(),
        };
        // A tool's name is no path: `*` crosses slashes, and a backslash only escapes.
        let glob = GlobBuilder::new(pattern)
            .literal_separator(false)
            .backslash_escape(true)
            .build()
            .map_err(bad)?;
        set.add(glob);
    }
    set.build().map_err(|e| BadGlob {
        layer: layer.to_owned(),
        pattern: String::new(),
        why: e.kind().to_string(),
    })
}

/// What was used up so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Calls that got a permit.
    pub calls: u64,
    /// When the budget started, if it did.
    pub budget_start: Option<Moment>,
}

/// One tool asked for.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Which.
    pub tool: &'a ToolName,
    /// What it does to the world.
    pub effect: Effect,
    /// When.
    pub at: Moment,
}

/// The right to one call of one tool. Only [`decide`] makes one; the world takes it by value.
#[derive(Debug)]
#[must_use]
pub struct Permit {
    worker: Option<WorkerId>,
    tool: ToolName,
    deadline: Option<Moment>,
}

impl Permit {
    /// Whose it is; null on a shared channel.
    pub fn worker(&self) -> Option<&WorkerId> {
        self.worker.as_ref()
    }

    /// For which tool.
    pub fn tool(&self) -> &ToolName {
        &self.tool
    }

    /// Until when a call may begin; a call begun in time may end later.
    pub fn deadline(&self) -> Option<Moment> {
        self.deadline
    }

    /// The permit again, if its deadline has not passed meanwhile (a latency fault slept).
    pub fn still(self, at: Moment) -> Result<Self, Refusal> {
        match self.deadline {
            Some(deadline) if at >= deadline => Err(deadline_passed(
                self.worker
                    .as_ref()
                    .map_or("this channel", WorkerId::as_str),
            )),
            _ => Ok(self),
        }
    }
}

/// Whether `ask` may go on: permitted, then calls left, then deadline, so that the verdict does not hang on timing.
pub fn decide(rules: &Rules, usage: Usage, ask: Ask<'_>) -> Result<Permit, Refusal> {
    rules.permits(ask.tool, ask.effect)?;
    if let Some(max) = rules.max_calls()
        && usage.calls >= max
    {
        let layer = rules.least(|limits| limits.max_calls == Some(max));
        return Err(Refusal {
            code: RefusalCode::CallsExhausted,
            reason: format!("{} has made its {max} calls ({layer})", rules.whom()),
        });
    }
    let deadline = match (rules.budget(), usage.budget_start) {
        (Some(budget), Some(start)) => Some(start.plus(budget)),
        _ => None,
    };
    Permit {
        worker: rules.worker.clone(),
        tool: ask.tool.clone(),
        deadline,
    }
    .still(ask.at)
}

fn deadline_passed(whom: &str) -> Refusal {
    Refusal {
        code: RefusalCode::DeadlinePassed,
        reason: format!("the deadline of {whom} has passed"),
    }
}

/// A refusal: its code, and the reason for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its code.
    pub code: RefusalCode,
    /// Names worker, tool and layer; never a secret.
    pub reason: String,
}

/// Why a call is refused before the world (design, Refusals).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalCode {
    /// The layers do not let this worker use this tool.
    NotPermitted,
    /// Its deadline has passed.
    DeadlinePassed,
    /// Its calls are used up.
    CallsExhausted,
    /// No channel of that token.
    UnknownChannel,
    /// No tool of that route or name.
    UnknownAction,
    /// The trial is over.
    TrialClosed,
    /// The body is over the limit.
    BodyTooLarge,
    /// The attempt could not be written.
    LogUnavailable,
}

impl RefusalCode {
    /// The code as it stands on the wire and in records.
    pub fn code(self) -> &'static str {
        match self {
            Self::NotPermitted => "not_permitted",
            Self::DeadlinePassed => "deadline_passed",
            Self::CallsExhausted => "calls_exhausted",
            Self::UnknownChannel => "unknown_channel",
            Self::UnknownAction => "unknown_action",
            Self::TrialClosed => "trial_closed",
            Self::BodyTooLarge => "body_too_large",
            Self::LogUnavailable => "log_unavailable",
        }
    }
}
