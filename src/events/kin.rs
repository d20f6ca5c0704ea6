//! Which traces must be read together, so that all others can be read apart, with the events of one reading of all.
//!
//! Most traces stand alone. Traces are kin where a dialect joins them by an id of the framework's own (an AutoGen chat,
//! a link to a message), where two tracers may report one act in a trace each, and where one may hold the server's side
//! of a call made in the other. The last two show only in acts, whose names may follow from several spans: traces that
//! another tracer's overlap in time are [suspects](Kinship::suspects), to be looked into whole. Kinship may be found
//! where there is none, which costs memory, and is never missed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::dialect::{self, Chooser, Tie};
use super::role::{Call, Role, Run};
use super::{plant, tracers};
use crate::spans::{Span, TraceId};

/// What is known of the traces of one input: about 100 bytes a trace.
#[derive(Default)]
pub struct Kinship {
    numbers: HashMap<TraceId, u32>,
    traces: Vec<Trace>,
    /// The first trace that bore an id that joins traces.
    joined: HashMap<Box<str>, u32>,
    /// What one tracer saw of one trace.
    views: HashMap<(u32, u8), Time>,
    /// Runs (true) and calls of suspects by their names.
    acts: HashMap<(bool, Arc<str>), Vec<Seen>>,
    dialects: Chooser,
}

struct Trace {
    id: TraceId,
    /// Unix nanoseconds of its first span.
    start: u64,
    /// A trace of its kin, itself at the head of them.
    kin: u32,
    suspect: bool,
}

/// From the first start to the last end, Unix nanoseconds.
#[derive(Clone, Copy)]
struct Time {
    start: u64,
    end: u64,
}

/// Stands for the tracer of a server's side of a call, which any tracer's call may be the other side of.
const FAR_SIDE: u8 = u8::MAX;

impl Time {
    fn of(span: &Span) -> Self {
        Self { start: span.start, end: span.end.max(span.start) }
    }
}

/// Something of one trace, made by one tracer.
struct Seen {
    time: Time,
    tracer: u8,
    trace: u32,
}

/// Traces that are read together.
pub struct Family {
    /// Unix nanoseconds of the first span: no event of it, and of no later family, starts before.
    pub start: u64,
    /// At least one.
    pub traces: Vec<TraceId>,
}

impl Kinship {
    /// Takes note of one span. To be done with all before anything else.
    pub fn see(&mut self, span: &Span) {
        let trace = self.number(span.trace_id);
        let start = &mut self.traces[trace as usize].start;
        *start = span.start.min(*start);
        let tracer = self.dialects.of(span);
        self.view(trace, tracer, span);
        if let Role::Call(call) = dialect::role(tracer, span)
            && call.far_side
        {
            self.view(trace, FAR_SIDE, span);
        }
        let mut ties = Vec::new();
        dialect::ties(tracer, span, &mut |tie| {
            ties.push(match tie {
                Tie::Trace(other) => self.number(other),
                Tie::Id(id) => match self.joined.get(id) {
                    Some(&other) => other,
                    None => *self.joined.entry(id.into()).or_insert(trace),
                },
            });
        });
        ties.into_iter().for_each(|other| self.join(trace, other));
    }

    fn number(&mut self, id: TraceId) -> u32 {
        let next = self.traces.len() as u32;
        let number = *self.numbers.entry(id).or_insert(next);
        if number == next {
            self.traces.push(Trace { id, start: u64::MAX, kin: number, suspect: false });
        }
        number
    }

    fn view(&mut self, trace: u32, tracer: u8, span: &Span) {
        let seen = Time::of(span);
        let time = self.views.entry((trace, tracer)).or_insert(seen);
        *time = Time { start: time.start.min(seen.start), end: time.end.max(seen.end) };
    }

    /// Families that other tracers' traces overlap in time, each to be [looked into](Self::look) whole.
    pub fn suspects(&mut self) -> Vec<Family> {
        let views = std::mem::take(&mut self.views);
        let seen = |((trace, tracer), time)| Seen { time, tracer, trace };
        meetings(views.into_iter().map(seen).collect(), |one, other| {
            if one != other {
                self.traces[one as usize].suspect = true;
                self.traces[other as usize].suspect = true;
            }
        });
        let mut families = self.grouped();
        families.retain(|(_, suspect)| *suspect);
        families.into_iter().map(|(family, _)| family).collect()
    }

    /// Takes note of the acts of one family.
    pub fn look(&mut self, spans: &[Span]) {
        let forest = plant(spans, None);
        for node in &forest.nodes {
            let (act, tracer) = match &node.role {
                Role::Run(Run { name: Some(name), .. }) => ((true, Arc::clone(name)), node.tracer),
                Role::Call(Call { tool: Some(tool), far_side, .. }) => {
                    let tracer = if *far_side { FAR_SIDE } else { node.tracer };
                    ((false, tracers::short(tool).into()), tracer)
                }
                _ => continue,
            };
            let trace = self.number(node.span.trace_id);
            self.acts.entry(act).or_default().push(Seen { time: Time::of(node.span), tracer, trace });
        }
    }

    /// All traces by family, in order of start.
    pub fn families(mut self) -> Vec<Family> {
        for seen in std::mem::take(&mut self.acts).into_values() {
            meetings(seen, |one, other| self.join(one, other));
        }
        self.grouped().into_iter().map(|(family, _)| family).collect()
    }

    /// Families, and whether one of the family is a suspect.
    fn grouped(&mut self) -> Vec<(Family, bool)> {
        let mut by_head: BTreeMap<u32, (Family, bool)> = BTreeMap::new();
        for number in 0..self.traces.len() as u32 {
            let head = self.head(number);
            let trace = &self.traces[number as usize];
            let (family, suspect) = by_head
                .entry(head)
                .or_insert_with(|| (Family { start: trace.start, traces: Vec::new() }, false));
            family.start = family.start.min(trace.start);
            family.traces.push(trace.id);
            *suspect |= trace.suspect;
        }
        let mut families: Vec<_> = by_head.into_values().collect();
        families.sort_by_key(|(family, _)| family.start);
        families
    }

    fn head(&mut self, number: u32) -> u32 {
        let mut at = number;
        loop {
            let above = self.traces[at as usize].kin;
            if above == at {
                return at;
            }
            let over = self.traces[above as usize].kin;
            self.traces[at as usize].kin = over;
            at = over;
        }
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.head(one), self.head(other));
        self.traces[one.max(other) as usize].kin = one.min(other);
    }
}

/// Tells of traces in which different tracers saw something at one time: enough of them that whatever overlaps is
/// connected, in a time that does not grow with the square of it.
fn meetings(mut seen: Vec<Seen>, mut met: impl FnMut(u32, u32)) {
    seen.sort_by_key(|seen| seen.time.start);
    // What may still overlap with what comes, by tracer.
    let mut open: BTreeMap<u8, Vec<(u64, u32)>> = BTreeMap::new();
    for Seen { time, tracer, trace } in seen {
        for (_, others) in open.iter_mut().filter(|(other, _)| **other != tracer) {
            others.retain(|(end, _)| *end >= time.start);
            others.iter().for_each(|(_, other)| met(*other, trace));
            // They are all connected now: the last to end stands for them.
            others.sort_unstable_by_key(|(end, _)| std::cmp::Reverse(*end));
            others.truncate(1);
        }
        open.entry(tracer).or_default().push((time.end, trace));
    }
}
