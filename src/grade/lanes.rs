//! Whose call was it? What channels and spans say together, as `lane` rows and findings.
//!
//! A channel is a fact and a span a claim. Where only spans can tell workers apart, an attempt is attributed by the
//! trace it came with, or, where it came with none, by counting; never by order or by likeness. Where both speak and
//! disagree, nobody is believed.

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::{Action, Evidence};
use super::roster::Roster;
use crate::journal::{EventRow, FindingRow, LaneRow};
use crate::name::ToolName;
use crate::scenario::{Contract, LaneSpec};
use crate::verdict::Relationship;

/// Attributes every attempt on the shared address, marks every attempt that channel and spans dispute, and says what
/// only one of the two has seen: `off_channel`, `span_missing`, `agent_unknown`.
pub fn lanes(contract: &Contract, evidence: &Evidence) -> (Vec<LaneRow>, Vec<FindingRow>) {
    let mut found = Matching::new(contract, evidence);
    found.by_trace();
    found.by_count();
    let (lanes, mut findings) = found.conclude();
    findings.extend(found.off_channel());
    findings.extend(found.span_missing());
    findings.extend(agent_unknown(&found.roster, evidence));
    (lanes, findings)
}

/// Which attempt was made by which tool call.
struct Matching<'a> {
    contract: &'a Contract,
    roster: Roster<'a>,
    evidence: &'a Evidence,
    calls: Vec<&'a EventRow>,
    /// By position in `calls`: whether an attempt was found for it.
    met: Vec<bool>,
    /// By position in `actions`.
    of_action: Vec<Match<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Match<'a> {
    None,
    /// The call's trace names the tool call; its worker, where an observed event names one.
    Traced(Option<&'a str>),
    /// The counts come out even; its worker, where all the events of that tool name one.
    Counted(Option<&'a str>),
}

impl<'a> Matching<'a> {
    fn new(contract: &'a Contract, evidence: &'a Evidence) -> Self {
        let calls: Vec<_> = evidence.events.iter().filter(|event| event.kind == "tool_call").collect();
        Self {
            contract,
            roster: Roster::new(contract),
            evidence,
            met: vec![false; calls.len()],
            of_action: vec![Match::None; evidence.actions.len()],
            calls,
        }
    }

    /// An attempt's `traceparent` names the tool's span or one below it; the nearest tool call above is the one.
    fn by_trace(&mut self) {
        let by_span: BTreeMap<_, _> = self
            .calls
            .iter()
            .enumerate()
            .map(|(at, event)| ((event.trace_id.as_str(), event.span_id.as_str()), at))
            .collect();
        for (action, matched) in self.evidence.actions.iter().zip(&mut self.of_action) {
            let met = ancestors(self.evidence, action).find_map(|span| by_span.get(&span).copied());
            if let Some(at) = met {
                self.met[at] = true;
                *matched = Match::Traced(actor(&self.roster, self.calls[at]));
            }
        }
    }

    /// The rest by worker, tool and count: first each channel with the spans of its own worker, then the shared
    /// address, then spans that name nobody.
    fn by_count(&mut self) {
        for tool in &self.contract.world.tools {
            let mut own: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
            let mut shared = Vec::new();
            for (at, action) in self.unmatched(&tool.name) {
                match action.attempt.worker.as_deref() {
                    Some(worker) => own.entry(worker).or_default().push(at),
                    None => shared.push(at),
                }
            }
            for (worker, attempts) in &own {
                let events = self.unmet(&tool.name, |who| who == Some(worker));
                self.pair(attempts, &events, Some(worker));
            }
            let roster = &self.roster;
            let events = self.unmet(&tool.name, |who| who.is_none_or(|id| roster.is_shared(id)));
            // A call that is known to lie under no tool's span is not made some tool's by counting.
            let countable = events.len() >= shared.len() && !shared.iter().any(|at| self.placed(*at));
            let worker = self.only_actor(&events).filter(|_| countable);
            self.pair(&shared, &events, worker);
            let nameless = self.unmet(&tool.name, |who| who.is_none());
            let rest: Vec<_> = self.unmatched(&tool.name).map(|(at, _)| at).collect();
            self.pair(&rest, &nameless, None);
        }
    }

    /// Whether the very span this attempt came from was received.
    fn placed(&self, action: usize) -> bool {
        let attempt = &self.evidence.actions[action].attempt;
        let span = attempt.trace_id.as_ref().zip(attempt.span_id.as_ref());
        span.is_some_and(|(trace, span)| {
            let spans = self.evidence.parents.get(trace);
            spans.is_some_and(|spans| spans.contains_key(span))
        })
    }

    fn unmatched(&self, tool: &ToolName) -> impl Iterator<Item = (usize, &'a Action)> {
        let actions = self.evidence.actions.iter().enumerate();
        actions.filter(move |(at, action)| {
            self.of_action[*at] == Match::None && action.attempt.tool.as_deref() == Some(tool.as_str())
        })
    }

    /// Tool calls without an attempt, by what they say of the worker.
    fn unmet(&self, tool: &ToolName, whose: impl Fn(Option<&str>) -> bool) -> Vec<usize> {
        let calls = self.calls.iter().enumerate();
        calls
            .filter(|(at, event)| {
                !self.met[*at]
                    && event.tool.as_deref() == Some(tool.as_str())
                    && whose(actor(&self.roster, event))
            })
            .map(|(at, _)| at)
            .collect()
    }

    /// The one worker that all these events name.
    fn only_actor(&self, events: &[usize]) -> Option<&'a str> {
        let named: BTreeSet<_> = events.iter().map(|at| actor(&self.roster, self.calls[*at])).collect();
        match named.len() {
            1 => named.into_iter().next().flatten(),
            _ => None,
        }
    }

    fn pair(&mut self, attempts: &[usize], events: &[usize], worker: Option<&'a str>) {
        for (attempt, event) in attempts.iter().zip(events) {
            self.of_action[*attempt] = Match::Counted(worker);
            self.met[*event] = true;
        }
    }

    fn conclude(&self) -> (Vec<LaneRow>, Vec<FindingRow>) {
        let mut lanes = Vec::new();
        let mut findings = Vec::new();
        for (action, matched) in self.evidence.actions.iter().zip(&self.of_action) {
            match (action.attempt.worker.as_deref(), *matched) {
                (None, matched) => lanes.push(LaneRow {
                    attempt: action.seq,
                    worker: matched.worker().map(str::to_owned),
                    basis: "audited".to_owned(),
                    claimed: None,
                }),
                (Some(channel), Match::Traced(Some(claimed))) if claimed != channel => {
                    lanes.push(LaneRow {
                        attempt: action.seq,
                        worker: None,
                        basis: "disputed".to_owned(),
                        claimed: Some(claimed.to_owned()),
                    });
                    findings.push(FindingRow {
                        code: "lane_disputed".to_owned(),
                        worker: Some(channel.to_owned()),
                        detail: format!(
                            "attempt {} of {} came through the channel of {channel}, and its trace says {claimed}",
                            action.seq,
                            tool_of(action),
                        ),
                    });
                }
                _ => {}
            }
        }
        (lanes, findings)
    }

    /// Spans of the contract's tools that no channel saw. Tools of a worker without a channel run in-process: what
    /// such a worker is allowed is not looked for on a channel.
    fn off_channel(&self) -> Vec<FindingRow> {
        let unseen = self.calls.iter().zip(&self.met).filter(|(_, met)| !**met);
        unseen
            .filter_map(|(event, _)| {
                let name = ToolName::new(event.tool.as_deref()?);
                self.contract.tool(&name)?;
                let worker = event.agent.as_deref().and_then(|a| self.roster.worker(a));
                if let Some(worker) = worker
                    && worker.lane == LaneSpec::None
                    && self.roster.may(worker, Some(&name))
                {
                    return None;
                }
                let agent = event.agent.as_deref().unwrap_or("an agent not named");
                Some(FindingRow {
                    code: "off_channel".to_owned(),
                    worker: worker.map(|worker| worker.id.to_string()),
                    detail: format!(
                        "span {} says {agent} called {name}, and no channel saw that call",
                        event.span_id
                    ),
                })
            })
            .collect()
    }

    /// Where a worker's tool calls do show in spans, calls that do not are said.
    fn span_missing(&self) -> Vec<FindingRow> {
        let mut by_worker: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (action, matched) in self.evidence.actions.iter().zip(&self.of_action) {
            let worker = action.attempt.worker.as_deref().or(matched.worker());
            if let Some(worker) = worker {
                let (seen, all) = by_worker.entry(worker).or_default();
                *seen += u64::from(*matched != Match::None);
                *all += 1;
            }
        }
        by_worker
            .into_iter()
            .filter(|(_, (seen, all))| 0 < *seen && seen < all)
            .map(|(worker, (seen, all))| FindingRow {
                code: "span_missing".to_owned(),
                worker: Some(worker.to_owned()),
                detail: format!("{} of the {all} calls of {worker} show in no span", all - seen),
            })
            .collect()
    }
}

impl<'a> Match<'a> {
    fn worker(self) -> Option<&'a str> {
        match self {
            Self::None => None,
            Self::Traced(worker) | Self::Counted(worker) => worker,
        }
    }
}

/// Who an event says acted. A relationship that is unknown is no evidence.
fn actor<'a>(roster: &Roster<'a>, event: &EventRow) -> Option<&'a str> {
    if event.relationship != Relationship::Observed {
        return None;
    }
    let worker = roster.worker(event.agent.as_deref()?)?;
    Some(worker.id.as_str())
}

/// The span an attempt came from and those above it, as far as they were received. A ring of parents ends, since no
/// chain is longer than the spans are many.
fn ancestors<'a>(evidence: &'a Evidence, action: &'a Action) -> impl Iterator<Item = (&'a str, &'a str)> {
    let trace = action.attempt.trace_id.as_deref();
    let first = trace.zip(action.attempt.span_id.as_deref());
    let above = move |(trace, span): &(&'a str, &'a str)| {
        let parent = evidence.parents.get(*trace)?.get(*span)?.as_deref()?;
        Some((*trace, parent))
    };
    let spans = trace.and_then(|trace| evidence.parents.get(trace));
    std::iter::successors(first, above).take(spans.map_or(0, BTreeMap::len) + 1)
}

/// Names in spans that the contract gives to nobody, each once.
fn agent_unknown(roster: &Roster<'_>, evidence: &Evidence) -> Vec<FindingRow> {
    let names: BTreeSet<&str> = evidence
        .events
        .iter()
        .flat_map(|event| [&event.agent, &event.from, &event.to])
        .filter_map(Option::as_deref)
        .filter(|name| roster.party(name).is_none())
        .collect();
    names
        .into_iter()
        .map(|name| FindingRow {
            code: "agent_unknown".to_owned(),
            worker: None,
            detail: format!("spans name an agent `{name}`, and no worker of the contract has that name"),
        })
        .collect()
}

fn tool_of(action: &Action) -> &str {
    action.attempt.tool.as_deref().unwrap_or("no tool")
}
