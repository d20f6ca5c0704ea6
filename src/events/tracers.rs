//! Several tracers at once: one act that two of them report is one event.
//!
//! Two spans report one act if different dialects made them, they say the same thing (a run of the same agent, a call
//! of the same tool) and they overlap in time within one process. The tracer whose view alone shows most is the
//! authority: its span stays, the other's becomes a blank link, and lends the authority what it did not record. What
//! only the other tracer saw stays.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::event::Event;
use super::forest::{Forest, Id};
use super::role::{Args, Call, Role};
use crate::spans::{Span, TraceId};
use crate::verdict::Relationship;

/// One tracer's view of one trace.
type View = (TraceId, u8);

/// Blanks what a lesser tracer repeats. `alone` gives the events that one tracer's spans show by themselves.
pub(super) fn fold(forest: &mut Forest<'_>, alone: impl Fn(u8) -> Vec<Event>) {
    far_sides(forest);
    let acts = acts(forest);
    let tracers: BTreeSet<u8> = acts.values().flatten().map(|&id| forest.node(id).tracer).collect();
    if tracers.len() < 2 {
        return;
    }
    let mut twins: Vec<(Id, Id)> = acts.values().flat_map(|ids| pairs(forest, ids)).collect();
    twins.sort_unstable();
    let groups = Groups::of(forest, &twins);
    let mut shown: HashMap<(TraceId, u8), usize> = HashMap::new();
    let doubled: BTreeSet<u8> =
        twins.iter().flat_map(|&(one, other)| [one, other]).map(|id| forest.node(id).tracer).collect();
    for tracer in doubled {
        for event in alone(tracer).iter().filter(|event| event.relationship == Relationship::Observed) {
            *shown.entry((groups.first(event.trace_id), tracer)).or_default() += 1;
        }
    }
    let mut lesser: HashSet<View> = HashSet::new();
    for (one, other) in twins {
        let standing = |id: Id| {
            let node = forest.node(id);
            let group = groups.first(node.span.trace_id);
            (shown.get(&(group, node.tracer)).copied().unwrap_or(0), Reverse(node.tracer))
        };
        let (kept, blank) = if standing(one) >= standing(other) { (one, other) } else { (other, one) };
        let repeated = &mut forest.nodes[blank as usize];
        lesser.insert((repeated.span.trace_id, repeated.tracer));
        let repeated = std::mem::take(&mut repeated.role);
        lend(&mut forest.nodes[kept as usize].role, repeated);
    }
    // The lesser views' own places and passes of control repeat the authority's as well.
    for node in &mut forest.nodes {
        let repeats = matches!(node.role, Role::Group(_) | Role::Pass(_) | Role::Step(_));
        if repeats && lesser.contains(&(node.span.trace_id, node.tracer)) {
            node.role = Role::Blank;
        }
    }
}

/// Traces that report the same acts, each group known by one of them.
struct Groups(HashMap<TraceId, TraceId>);

impl Groups {
    fn of(forest: &Forest<'_>, twins: &[(Id, Id)]) -> Self {
        let mut groups = Self(HashMap::new());
        for &(one, other) in twins {
            let (one, other) = (forest.node(one).span.trace_id, forest.node(other).span.trace_id);
            let (one, other) = (groups.first(one), groups.first(other));
            if one != other {
                groups.0.insert(one.max(other), one.min(other));
            }
        }
        groups
    }

    fn first(&self, mut trace: TraceId) -> TraceId {
        while let Some(&before) = self.0.get(&trace) {
            trace = before;
        }
        trace
    }
}

/// Runs and calls by what they say, each list in order of start.
fn acts(forest: &Forest<'_>) -> HashMap<(bool, Arc<str>), Vec<Id>> {
    let mut acts: HashMap<(bool, Arc<str>), Vec<Id>> = HashMap::new();
    for (id, node) in forest.nodes.iter().enumerate() {
        let key = match &node.role {
            Role::Run(run) => run.name.clone().map(|name| (true, name)),
            Role::Call(call) if !call.far_side => call.tool.clone().map(|name| (false, name)),
            _ => None,
        };
        if let Some(key) = key {
            acts.entry(key).or_default().push(id as Id);
        }
    }
    for ids in acts.values_mut() {
        ids.sort_by_key(|&id| (forest.node(id).span.start, id));
    }
    acts
}

/// A server's span of a call adds nothing where the call itself is here: the same tool, around it in time.
fn far_sides(forest: &mut Forest<'_>) {
    let mut near: HashMap<&str, Vec<(u64, u64)>> = HashMap::new();
    for node in &forest.nodes {
        if let Role::Call(Call { tool: Some(tool), far_side: false, .. }) = &node.role {
            near.entry(short(tool)).or_default().push((node.span.start, node.span.end));
        }
    }
    for calls in near.values_mut() {
        calls.sort_unstable();
        // Each with the last end of it and of those before.
        let mut last = 0;
        for (_, end) in calls {
            last = last.max(*end);
            *end = last;
        }
    }
    let around = |span: &Span, tool: &str| {
        let calls = near.get(tool)?;
        let before = calls.partition_point(|(start, _)| *start <= span.start);
        calls[..before].last().filter(|(_, end)| *end >= span.end)
    };
    let mut repeated = Vec::new();
    for (id, node) in forest.nodes.iter().enumerate() {
        if let Role::Call(Call { tool: Some(tool), far_side: true, .. }) = &node.role
            && around(node.span, tool).is_some()
        {
            repeated.push(id);
        }
    }
    for id in repeated {
        forest.nodes[id].role = Role::Blank;
    }
}

/// A tool without its server's name, which a client may put before it: `mcp__server__tool`.
pub(super) fn short(tool: &str) -> &str {
    tool.rsplit_once("__").map_or(tool, |(_, tool)| tool)
}

/// How many spans of another tracer behind one are looked at for its twin.
const WINDOW: usize = 64;

/// Spans of two tracers that overlap, each in at most one pair per other tracer. What a third tracer saw, or what ran
/// at another time, is no part of it.
fn pairs(forest: &Forest<'_>, ids: &[Id]) -> Vec<(Id, Id)> {
    let mut by_tracer: BTreeMap<u8, Vec<Id>> = BTreeMap::new();
    for &id in ids {
        by_tracer.entry(forest.node(id).tracer).or_default().push(id);
    }
    let order = |id: Id| (forest.node(id).span.start, id);
    let mut found = Vec::new();
    let mut taken: HashSet<(Id, u8)> = HashSet::new();
    for &one in ids {
        let first = forest.node(one);
        for (_, others) in by_tracer.iter().filter(|(tracer, _)| **tracer != first.tracer) {
            let next = others.partition_point(|&other| order(other) < order(one));
            for &other in others[next..].iter().take(WINDOW) {
                let second = forest.node(other);
                if second.span.start > first.span.end {
                    break;
                }
                if same_process(first.span, second.span)
                    && !taken.contains(&(one, second.tracer))
                    && !taken.contains(&(other, first.tracer))
                {
                    taken.insert((one, second.tracer));
                    taken.insert((other, first.tracer));
                    found.push((one, other));
                }
            }
        }
    }
    found
}

/// Whether nothing on record says that two spans came from different processes.
fn same_process(one: &Span, other: &Span) -> bool {
    one.trace_id == other.trace_id
        || Arc::ptr_eq(&one.resource, &other.resource)
        || ["process.pid", "host.name", "service.instance.id"].iter().all(|key| {
            match (one.resource.get(key), other.resource.get(key)) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            }
        })
}

/// What the authority did not record and the other tracer did.
fn lend(kept: &mut Role<'_>, repeated: Role<'_>) {
    let (Role::Call(kept), Role::Call(repeated)) = (kept, repeated) else { return };
    if matches!(kept.arguments, Args::None) {
        kept.arguments = match repeated.arguments.value() {
            serde_json::Value::Null => Args::None,
            value => Args::Data(value),
        };
    }
}
