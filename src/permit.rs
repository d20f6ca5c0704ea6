//! May this worker do this now: the one decision, and the only maker of a [`Permit`].
//!
//! Limits come in layers (contract, scenario, then each delegation), and each layer only takes away: allow-lists
//! intersect, denials unite, numbers take the minimum. There is no layer that gives, and no order in which the layers
//! could be written that changes the result. The world asks for a `Permit` by value, so nothing reaches it unasked.
//!
//! Pure: no clock is read and nothing is counted here; both are handed in.

mod delegation;

use std::collections::BTreeSet;
use std::time::Duration;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::clock::Moment;
use crate::name::{ToolName, WorkerId};
use crate::scenario::{AllowList, Effect, Narrowing, Worker};
pub use delegation::{Chain, Delegation, DelegationAsk, decide_delegation};

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
            allowed: narrowing.only_tools.clone().map_or(AllowList::Everything, AllowList::Only),
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

impl BadGlob {
    fn new(layer: &str, pattern: &str, error: &globset::Error) -> Self {
        Self { layer: layer.to_owned(), pattern: pattern.to_owned(), why: error.kind().to_string() }
    }
}

/// Names and globs of one list. Names are kept apart: most lists hold nothing else, and a lookup is cheaper than a match.
#[derive(Clone, Debug, Default)]
struct Patterns {
    names: BTreeSet<String>,
    globs: GlobSet,
}

impl Patterns {
    fn compile(layer: &str, patterns: &BTreeSet<String>) -> Result<Self, BadGlob> {
        let (globs, names): (Vec<_>, Vec<_>) =
            patterns.iter().partition(|pattern| pattern.contains(['*', '?', '[', ']', '{', '}', '\\']));
        let mut set = GlobSetBuilder::new();
        for pattern in globs {
            // A tool's name is no path: `*` crosses slashes, and a backslash only escapes.
            let glob = GlobBuilder::new(pattern)
                .literal_separator(false)
                .backslash_escape(true)
                .build()
                .map_err(|e| BadGlob::new(layer, pattern, &e))?;
            set.add(glob);
        }
        Ok(Self {
            names: names.into_iter().cloned().collect(),
            globs: set.build().map_err(|e| BadGlob::new(layer, "", &e))?,
        })
    }

    fn hold(&self, tool: &ToolName) -> bool {
        self.names.contains(tool.as_str()) || (!self.globs.is_empty() && self.globs.is_match(tool.as_str()))
    }
}

#[derive(Clone, Debug)]
struct Layer {
    name: String,
    limits: Limits,
    /// `None`: everything.
    allowed: Option<Patterns>,
    denied: Patterns,
}

impl Layer {
    /// What this layer has against the tool.
    fn objection(&self, tool: &ToolName, effect: Effect) -> Option<&'static str> {
        if self.allowed.as_ref().is_some_and(|list| !list.hold(tool)) {
            Some("is not among the tools allowed")
        } else if self.denied.hold(tool) {
            Some("is denied")
        } else if self.limits.deny_write && effect == Effect::Write {
            Some("writes, and writing is denied")
        } else if self.limits.deny_net && effect == Effect::Net {
            Some("reaches out, and the net is denied")
        } else {
            None
        }
    }

    fn takes_tools_away(&self) -> bool {
        self.allowed.is_some()
            || !self.limits.denied.is_empty()
            || self.limits.deny_write
            || self.limits.deny_net
    }
}

/// The layers of one worker.
#[derive(Clone, Debug)]
struct Stack {
    whom: String,
    layers: Vec<Layer>,
}

impl Stack {
    fn objection(&self, tool: &ToolName, effect: Effect) -> Option<(&Layer, &'static str)> {
        self.layers.iter().find_map(|layer| Some((layer, layer.objection(tool, effect)?)))
    }

    fn max_calls(&self) -> Option<u64> {
        self.layers.iter().filter_map(|l| l.limits.max_calls).min()
    }

    fn budget(&self) -> Option<Duration> {
        self.layers.iter().filter_map(|l| l.limits.budget).min()
    }
}

/// All layers of one channel, compiled: of its worker, or of every worker that may be calling on a shared one.
#[derive(Clone, Debug)]
pub struct Rules {
    worker: Option<WorkerId>,
    stacks: Vec<Stack>,
}

impl Rules {
    /// The rules of one worker. A bad glob is an error, never a rule that matches nothing.
    pub fn new(
        worker: &WorkerId,
        layers: impl IntoIterator<Item = (String, Limits)>,
    ) -> Result<Self, BadGlob> {
        let layers = layers
            .into_iter()
            .map(|(name, limits)| {
                let allowed = match &limits.allowed {
                    AllowList::Everything => None,
                    AllowList::Only(names) => Some(Patterns::compile(&name, names)?),
                };
                let denied = Patterns::compile(&name, &limits.denied)?;
                Ok(Layer { name, limits, allowed, denied })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { worker: Some(worker.clone()), stacks: vec![Stack { whom: worker.to_string(), layers }] })
    }

    /// The union: what any of these workers may do. For a channel that cannot tell its workers apart, where what each
    /// of them did is audited afterwards. Of none, it permits nothing.
    pub fn any_of(rules: impl IntoIterator<Item = Self>) -> Self {
        Self { worker: None, stacks: rules.into_iter().flat_map(|one| one.stacks).collect() }
    }

    /// Whose rules these are; null for a union.
    pub fn worker(&self) -> Option<&WorkerId> {
        self.worker.as_ref()
    }

    /// Whether a layer of every worker takes tools away, by list, denial or effect. Where none does, an action that
    /// is no tool of the contract may pass.
    pub fn limits_tools(&self) -> bool {
        self.stacks.iter().all(|stack| stack.layers.iter().any(Layer::takes_tools_away))
    }

    /// The least of the layers' call counts; of a union their sum, where every worker has one.
    pub fn max_calls(&self) -> Option<u64> {
        self.stacks
            .iter()
            .map(Stack::max_calls)
            .try_fold(0u64, |sum, max| Some(sum.saturating_add(max?)))
            .filter(|_| !self.stacks.is_empty())
    }

    /// Whether the layers let this tool through, time and counts aside; else the first layer that does not.
    pub fn permits(&self, tool: &ToolName, effect: Effect) -> Result<(), Refusal> {
        self.budget_for(tool, effect).map(drop)
    }

    /// The longest budget among the workers that may use this tool: none where one of them has none.
    fn budget_for(&self, tool: &ToolName, effect: Effect) -> Result<Option<Duration>, Refusal> {
        let mut longest = None;
        let mut objection = None;
        for stack in &self.stacks {
            match stack.objection(tool, effect) {
                None => {
                    let budget = stack.budget().unwrap_or(Duration::MAX);
                    longest = longest.max(Some(budget));
                }
                Some(found) => objection = objection.or(Some((stack, found))),
            }
        }
        if let Some(budget) = longest {
            return Ok(Some(budget).filter(|budget| *budget != Duration::MAX));
        }
        let reason = match objection {
            Some((stack, (layer, why))) => {
                format!("{tool} {why} for {} by the {}", stack.whom, layer.name)
            }
            None => format!("no worker of this channel may use {tool}"),
        };
        Err(Refusal { code: RefusalCode::NotPermitted, reason })
    }

    fn whom(&self) -> &str {
        self.worker.as_ref().map_or(ANYONE, WorkerId::as_str)
    }
}

const ANYONE: &str = "any worker of this channel";

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

/// The right to one call. Only [`decide`] and [`decide_unmapped`] make one; the world takes it by value.
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

    /// For which tool. The empty name, which is no tool's, where the action is not mapped.
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
            Some(deadline) if at >= deadline => {
                let whom = self.worker.as_ref().map_or(ANYONE, WorkerId::as_str);
                Err(Refusal {
                    code: RefusalCode::DeadlinePassed,
                    reason: format!("the deadline of {whom} has passed"),
                })
            }
            _ => Ok(self),
        }
    }
}

/// Whether `ask` may go on: permitted, then calls left, then deadline, so that the verdict does not hang on timing.
pub fn decide(rules: &Rules, usage: Usage, ask: Ask<'_>) -> Result<Permit, Refusal> {
    let budget = rules.budget_for(ask.tool, ask.effect)?;
    grant(rules, usage, ask.tool.clone(), budget, ask.at)
}

/// Whether an action that is no tool of the contract may go on: only where no layer takes tools away, since what it
/// would do to the world is not known.
pub fn decide_unmapped(rules: &Rules, usage: Usage, at: Moment) -> Result<Permit, Refusal> {
    if rules.limits_tools() {
        return Err(Refusal {
            code: RefusalCode::UnknownAction,
            reason: format!("no tool of the contract, and {} is limited", rules.whom()),
        });
    }
    // Some worker here has no limits on tools; the longest budget of all stands for the one that calls.
    let budget = rules
        .stacks
        .iter()
        .map(|stack| stack.budget().unwrap_or(Duration::MAX))
        .max()
        .filter(|budget| *budget != Duration::MAX);
    grant(rules, usage, ToolName::new(""), budget, at)
}

fn grant(
    rules: &Rules,
    usage: Usage,
    tool: ToolName,
    budget: Option<Duration>,
    at: Moment,
) -> Result<Permit, Refusal> {
    if let Some(max) = rules.max_calls()
        && usage.calls >= max
    {
        return Err(Refusal {
            code: RefusalCode::CallsExhausted,
            reason: format!("{} has made its {max} calls", rules.whom()),
        });
    }
    let deadline = match (budget, usage.budget_start) {
        (Some(budget), Some(start)) => Some(start.plus(budget)),
        _ => None,
    };
    Permit { worker: rules.worker.clone(), tool, deadline }.still(at)
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
    /// No worker or peer has this id.
    AgentUnknown,
    /// It is not among those this worker may hand work to.
    AgentNotDelegable,
    /// Handed on deeper than a worker of the chain lets it.
    DelegationDepth,
    /// Its delegations are used up.
    DelegationCap,
    /// The agent waits for this work already.
    DelegationCycle,
    /// The deadline of the worker that delegates has passed.
    DelegationDeadlinePassed,
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
            Self::AgentUnknown => "agent.unknown",
            Self::AgentNotDelegable => "agent.not_delegable",
            Self::DelegationDepth => "delegation.depth",
            Self::DelegationCap => "delegation.cap",
            Self::DelegationCycle => "delegation.cycle",
            Self::DelegationDeadlinePassed => "delegation.deadline_passed",
        }
    }
}

#[cfg(test)]
mod tests;
