//! Spans by their parents: what stands above what, however the spans came.
//!
//! A parent that never came, a cycle and a span that is its own parent are all one thing here: a missing link, never a
//! root. Nothing recurses, so depth costs no stack, and every span is visited a bounded number of times.

use std::collections::HashMap;

use super::role::Role;
use crate::spans::{Span, SpanId, TraceId};

/// Index of a node in [`Forest::nodes`].
pub(super) type Id = u32;

/// Where the way up from a span leads first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Up {
    /// The span has no parent.
    Root,
    /// Its parent is not here: it never came, or the way up is a circle.
    Missing,
    /// To this node.
    Node(Id),
}

/// One span in its place.
pub(super) struct Node<'a> {
    /// The span.
    pub span: &'a Span,
    /// What it is.
    pub role: Role<'a>,
    /// Which dialect read it; spans of one dialect are one tracer's view.
    pub tracer: u8,
    /// Its parent.
    pub parent: Up,
    /// Nearest run or call above.
    pub act: Up,
    /// Nearest run, call or group above.
    pub place: Up,
    /// Of a group: where a run that starts in it really starts.
    pub way: Way,
    /// Nearest step above, with no run or call between.
    pub step: Option<Id>,
    /// The rule by which a framework's own ids put this span below another than its parent.
    pub adopted: Option<&'static str>,
}

/// The way out of the groups around a run, to what they were started by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The run or call around the groups, or where the way up ends.
    pub out: Up,
    /// One of the groups runs its agents side by side.
    pub side_by_side: bool,
    /// One of the groups, or the trace itself, runs its agents one after the other.
    pub in_order: bool,
    /// One of the groups starts no agents.
    pub starts_none: bool,
}

impl Default for Way {
    fn default() -> Self {
        Self::from(Up::Root)
    }
}

impl From<Up> for Way {
    fn from(out: Up) -> Self {
        Self { out, side_by_side: false, in_order: out == Up::Root, starts_none: false }
    }
}

/// All spans of one reading.
pub(super) struct Forest<'a> {
    /// In the order of `(trace, start, span id)`, whatever order the spans came in.
    pub nodes: Vec<Node<'a>>,
    /// Every node, each after its parent.
    pub downward: Vec<Id>,
    /// Passes of control that a framework's own ids show.
    pub passed: Vec<Passed>,
    index: HashMap<(TraceId, SpanId), Id>,
}

/// A pass of control whose two runs a framework's own ids name.
pub(super) struct Passed {
    /// The span it rests on.
    pub on: Id,
    /// The run that passed control.
    pub sender: Id,
    /// The run that received it.
    pub receiver: Id,
    /// The rule.
    pub basis: &'static str,
}

impl<'a> Forest<'a> {
    /// Places every span once. Of spans with one id, the last to end is kept: retries and split batches repeat spans.
    pub fn new(spans: impl Iterator<Item = (&'a Span, Role<'a>, u8)>) -> Self {
        let mut nodes: Vec<Node<'a>> = spans
            .map(|(span, role, tracer)| Node {
                span,
                role,
                tracer,
                parent: Up::Root,
                act: Up::Root,
                place: Up::Root,
                way: Way::default(),
                step: None,
                adopted: None,
            })
            .collect();
        nodes.sort_by(|a, b| order(a.span).cmp(&order(b.span)).then_with(|| tie(b.span).cmp(&tie(a.span))));
        let mut index = HashMap::with_capacity(nodes.len());
        // Ids decide, not neighbours: a repeated span may carry another start.
        let mut kept: Vec<Node<'a>> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let key = (node.span.trace_id, node.span.span_id);
            if key.0 == TraceId::default() || key.1 == SpanId::default() {
                kept.push(node);
                continue;
            }
            match index.get(&key) {
                None => {
                    index.insert(key, kept.len() as Id);
                    kept.push(node);
                }
                Some(&at) => {
                    let first = &mut kept[at as usize];
                    if tie(node.span) > tie(first.span) {
                        *first = node;
                    }
                }
            }
        }
        let mut forest = Self { nodes: kept, downward: Vec::new(), passed: Vec::new(), index };
        forest.find_parents();
        forest.order();
        forest
    }

    /// The node of a span.
    pub fn find(&self, trace: TraceId, span: SpanId) -> Option<Id> {
        self.index.get(&(trace, span)).copied()
    }

    /// The node at `id`.
    pub fn node(&self, id: Id) -> &Node<'a> {
        &self.nodes[id as usize]
    }

    /// Puts a span below the one that its framework's own ids name.
    pub fn adopt(&mut self, child: Id, parent: Id, basis: &'static str) {
        let node = &mut self.nodes[child as usize];
        node.parent = Up::Node(parent);
        node.adopted = Some(basis);
    }

    fn find_parents(&mut self) {
        for at in 0..self.nodes.len() {
            let span = self.nodes[at].span;
            self.nodes[at].parent = match span.parent {
                None => Up::Root,
                Some(parent) => self.find(span.trace_id, parent).map_or(Up::Missing, Up::Node),
            };
        }
    }

    /// An order in which each parent stands before its children; breaks circles. To be done again after adoptions.
    pub fn order(&mut self) {
        let mut downward = Vec::with_capacity(self.nodes.len());
        let mut state = vec![Seen::No; self.nodes.len()];
        let mut way = Vec::new();
        for start in 0..self.nodes.len() as Id {
            let mut at = start;
            loop {
                match state[at as usize] {
                    Seen::Done => break,
                    Seen::OnTheWay => {
                        // A circle: every span on it has a parent that leads nowhere.
                        for &id in way.iter().rev() {
                            self.nodes[id as usize].parent = Up::Missing;
                            if id == at {
                                break;
                            }
                        }
                        break;
                    }
                    Seen::No => {
                        state[at as usize] = Seen::OnTheWay;
                        way.push(at);
                        match self.nodes[at as usize].parent {
                            Up::Node(parent) => at = parent,
                            _ => break,
                        }
                    }
                }
            }
            for id in way.drain(..).rev() {
                state[id as usize] = Seen::Done;
                downward.push(id);
            }
        }
        self.downward = downward;
    }

    /// The way out of the groups around what stands at `place`.
    pub fn way_out(&self, place: Up) -> Way {
        match place {
            Up::Node(at) if matches!(self.node(at).role, Role::Group(_)) => self.node(at).way,
            place => Way::from(place),
        }
    }

    /// Finds the nearest run, call and group above every node, once roles are settled.
    pub fn look_up(&mut self) {
        for at in 0..self.downward.len() {
            let id = self.downward[at];
            let (act, place, step) = match self.node(id).parent {
                Up::Node(parent) => {
                    let above = self.node(parent);
                    match above.role {
                        Role::Run(_) | Role::Call(_) => (Up::Node(parent), Up::Node(parent), None),
                        Role::Group(_) => (above.act, Up::Node(parent), above.step),
                        Role::Step(_) => (above.act, above.place, Some(parent)),
                        Role::Blank | Role::Pass(_) => (above.act, above.place, above.step),
                    }
                }
                end => (end, end, None),
            };
            let mut way = self.way_out(place);
            if let Role::Group(group) = &self.node(id).role {
                way.side_by_side |= group.side_by_side;
                way.in_order |= !group.side_by_side;
                way.starts_none |= group.starts_none;
            }
            let node = &mut self.nodes[id as usize];
            node.way = way;
            node.act = act;
            node.place = place;
            node.step = step;
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Seen {
    No,
    OnTheWay,
    Done,
}

fn order(span: &Span) -> (TraceId, u64, SpanId) {
    (span.trace_id, span.start, span.span_id)
}

/// Which of two spans with one id is kept: a choice that does not depend on which came first.
fn tie(span: &Span) -> (u64, usize, u64, &str, Option<SpanId>) {
    (span.end, span.attributes.0.len(), span.start, &span.name, span.parent)
}
