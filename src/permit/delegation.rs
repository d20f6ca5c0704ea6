//! May this worker hand work to that agent now: one decision, as for tools, and the only maker of a [`Delegation`].
//!
//! A chain of hand-offs begins with the worker that nobody delegated to. Whoever stands in it bounds what comes below:
//! how deep, and with which tools. Limits that refuse are decided here; how many may run at a time never refuses
//! anything ([`Chain::slots`]), the channel lets the others wait in the order they came.

use std::collections::BTreeSet;

use super::{Limits, Refusal, RefusalCode};
use crate::clock::Moment;
use crate::name::WorkerId;
use crate::roster::clean_field;
use crate::scenario::{AllowList, Containment, ContainmentMode, Worker};

/// Characters of an id nobody has that are told again in the refusal.
const TOLD: usize = 80;

/// One worker of a chain, and what it leaves to those below it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    worker: WorkerId,
    /// `None`: nobody is excluded.
    delegates_to: Option<BTreeSet<String>>,
    containment: Containment,
    ceiling: Limits,
}

impl From<&Worker> for Link {
    fn from(worker: &Worker) -> Self {
        Self {
            worker: worker.id.clone(),
            delegates_to: worker.delegates_to.as_ref().map(|ids| ids.iter().cloned().collect()),
            containment: worker.containment,
            ceiling: ceiling(worker),
        }
    }
}

/// What `worker` leaves to whoever works for it. Its denials flow down, its tools only as far as it says: a
/// coordinator may well hand out work for which it has no tool itself. Calls and budgets are each worker's own.
fn ceiling(worker: &Worker) -> Limits {
    let granted = worker.may_grant.as_ref().map(|list| AllowList::Only(list.iter().cloned().collect()));
    let allowed = match worker.containment.mode {
        ContainmentMode::Off => return Limits::default(),
        ContainmentMode::Delegable => granted.unwrap_or(AllowList::Everything),
        ContainmentMode::Strict => granted.unwrap_or_else(|| worker.allowed.clone()),
    };
    Limits {
        allowed,
        denied: worker.denied.clone(),
        deny_write: worker.deny_write,
        deny_net: worker.deny_net,
        max_calls: None,
        budget: None,
    }
}

/// Who delegated to whom, down to the worker that acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    above: Vec<Link>,
    acts: Link,
}

impl Chain {
    /// Of a worker that nobody delegated to.
    pub fn root(worker: &Worker) -> Self {
        Self { above: Vec::new(), acts: Link::from(worker) }
    }

    /// The chain of a worker that a delegation of this one reached.
    #[must_use]
    pub fn then(&self, worker: &Worker) -> Self {
        let above = self.above.iter().chain([&self.acts]).cloned().collect();
        Self { above, acts: Link::from(worker) }
    }

    /// The worker that acts.
    pub fn worker(&self) -> &WorkerId {
        &self.acts.worker
    }

    /// How many delegations lead to the worker that acts; 0 for the root.
    pub fn depth(&self) -> usize {
        self.above.len()
    }

    /// The layers that those above add to the rules of the worker that acts, each under its name (`chain:ID`).
    pub fn layers(&self) -> impl Iterator<Item = (String, Limits)> {
        self.above.iter().map(|link| (format!("chain:{}", link.worker), link.ceiling.clone()))
    }

    /// How many of its delegations may run at a time; the others wait. None where all may.
    pub fn slots(&self) -> Option<u64> {
        self.acts.containment.max_concurrent
    }

    /// Whether the worker that acts may hand work to an agent of that id, depth and counts aside.
    pub fn reaches(&self, id: &str) -> bool {
        self.acts.delegates_to.as_ref().is_none_or(|ids| ids.contains(id))
    }

    fn links(&self) -> impl Iterator<Item = &Link> {
        self.above.iter().chain([&self.acts])
    }

    /// The id of a worker whose limit one delegation more would go beyond, and that limit.
    fn too_deep(&self) -> Option<(&WorkerId, u64)> {
        let below = (1..=self.above.len() as u64 + 1).rev();
        self.links().zip(below).find_map(|(link, depth)| {
            let max = link.containment.max_depth?;
            (depth > max).then_some((&link.worker, max))
        })
    }
}

/// One delegation asked for.
#[derive(Clone, Copy, Debug)]
pub struct DelegationAsk<'a> {
    /// To whom, as it was written: ids are exact and case-sensitive.
    pub to: &'a str,
    /// How many delegations the worker was let make so far.
    pub made: u64,
    /// When its deadline is, if it has one.
    pub deadline: Option<Moment>,
    /// When it asks.
    pub at: Moment,
}

/// The right to one delegation. Only [`decide_delegation`] makes one; the channel takes it by value.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Delegation {
    from: WorkerId,
    to: String,
    depth: usize,
}

impl Delegation {
    /// Who delegates.
    pub fn from(&self) -> &WorkerId {
        &self.from
    }

    /// To whom: an id of the roster.
    pub fn to(&self) -> &str {
        &self.to
    }

    /// How deep the agent it reaches stands; the root's own delegations reach depth 1.
    pub fn depth(&self) -> usize {
        self.depth
    }
}

/// Whether the worker that acts in `chain` may delegate as it asks, `agents` being the ids of all workers and peers.
/// An id nobody has, then one it may not reach, then cycle, depth and count, and the deadline last, so that no answer
/// but that one hangs on timing.
pub fn decide_delegation(
    chain: &Chain,
    agents: &BTreeSet<String>,
    ask: DelegationAsk<'_>,
) -> Result<Delegation, Refusal> {
    let worker = chain.worker();
    let refuse = |code, reason| Err(Refusal { code, reason });
    if !agents.contains(ask.to) {
        let asked = clean_field(ask.to, TOLD).text;
        let valid = valid(chain, agents);
        let reason = format!("there is no agent `{asked}`; {worker} may hand work to: {valid}");
        return refuse(RefusalCode::AgentUnknown, reason);
    }
    if !chain.reaches(ask.to) {
        let valid = valid(chain, agents);
        let reason = format!("{worker} may not hand work to {}, only to: {valid}", ask.to);
        return refuse(RefusalCode::AgentNotDelegable, reason);
    }
    let forbids = chain.links().any(|link| link.containment.forbid_cycles);
    if forbids && chain.links().any(|link| link.worker.as_str() == ask.to) {
        let reason = format!("{} waits for this work already, and cycles are forbidden", ask.to);
        return refuse(RefusalCode::DelegationCycle, reason);
    }
    if let Some((whose, max)) = chain.too_deep() {
        let reason = format!("{whose} lets work be handed on {max} deep at most");
        return refuse(RefusalCode::DelegationDepth, reason);
    }
    if let Some(max) = chain.acts.containment.max_delegations
        && ask.made >= max
    {
        return refuse(RefusalCode::DelegationCap, format!("{worker} has made its {max} delegations"));
    }
    if ask.deadline.is_some_and(|deadline| ask.at >= deadline) {
        let reason = format!("the deadline of {worker} has passed");
        return refuse(RefusalCode::DelegationDeadlinePassed, reason);
    }
    Ok(Delegation { from: worker.clone(), to: ask.to.to_owned(), depth: chain.depth() + 1 })
}

/// The ids a worker could have meant, sorted.
fn valid(chain: &Chain, agents: &BTreeSet<String>) -> String {
    let ids: Vec<_> = agents.iter().map(String::as_str).filter(|id| chain.reaches(id)).collect();
    if ids.is_empty() { "none are registered".to_owned() } else { ids.join(", ") }
}

#[cfg(test)]
mod tests;
