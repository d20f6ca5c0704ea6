//! The dialects: how each framework and tracer writes agents, tools and hand-offs into spans.
//!
//! A dialect is a file here and a line in [`DIALECTS`]. It says what one span is and where names, arguments and ends
//! stand; it concludes nothing from where spans stand to each other, except to join what a framework itself joins by
//! an id.

mod adk;
mod agent_framework;
mod agno;
mod ai_sdk;
mod autogen;
mod claude;
mod convention;
mod crewai;
mod genai;
mod langgraph;
mod llama_index;
mod logfire;
mod openai_agents;
mod openinference;
mod smolagents;
mod strands;
mod traceai;
mod traceloop;

use std::sync::Arc;

use super::forest::Forest;
use super::role::Role;
use crate::spans::{Scope, Span, TraceId};

/// One way of writing spans.
pub(super) struct Dialect {
    /// Beginnings of the names of its scopes.
    scopes: &'static [&'static str],
    /// Attributes that only this dialect writes, for spans of scopes nobody has listed.
    marks: &'static [&'static str],
    /// What one span is.
    role: for<'a> fn(&'a Span) -> Role<'a>,
    /// What the framework's own ids say across spans.
    join: Option<Join>,
}

/// What a framework's own ids join.
struct Join {
    /// Spans of the traces that are here.
    spans: fn(&mut Forest<'_>, tracer: u8),
    /// What joins the trace of a span to others; none where `spans` never looks beyond one trace.
    traces: Option<Ties>,
}

/// Tells what joins the trace of a span to others.
type Ties = fn(&Span, &mut dyn FnMut(Tie<'_>));

impl Join {
    const fn within_traces(spans: fn(&mut Forest<'_>, tracer: u8)) -> Option<Self> {
        Some(Self { spans, traces: None })
    }
}

/// What joins a trace to others.
pub(super) enum Tie<'a> {
    /// A span names the other.
    Trace(TraceId),
    /// All that bear this id are joined.
    Id(&'a str),
}

/// All dialects; the first that fits a span reads it. Frameworks first, then tracers, then the bare convention.
const DIALECTS: &[Dialect] = &[
    adk::NATIVE,
    adk::OPENINFERENCE,
    adk::TRACEAI,
    openai_agents::OPENINFERENCE,
    openai_agents::TRACEAI,
    openai_agents::OTEL,
    openai_agents::LOGFIRE,
    agent_framework::DIALECT,
    agno::DIALECT,
    ai_sdk::DIALECT,
    autogen::NATIVE,
    autogen::OPENINFERENCE,
    claude::NATIVE,
    claude::OPENINFERENCE,
    claude::TRACEAI,
    crewai::OPENINFERENCE,
    crewai::TRACEAI,
    crewai::TRACELOOP,
    langgraph::OPENINFERENCE,
    langgraph::TRACEAI,
    langgraph::TRACELOOP,
    langgraph::LANGSMITH,
    llama_index::DIALECT,
    smolagents::DIALECT,
    strands::DIALECT,
    openinference::DIALECT,
    traceai::DIALECT,
    traceloop::DIALECT,
    logfire::DIALECT,
    genai::DIALECT,
];

/// What `span` is in the dialect `tracer`.
pub(super) fn role(tracer: u8, span: &Span) -> Role<'_> {
    DIALECTS.get(usize::from(tracer)).map_or(Role::Blank, |dialect| (dialect.role)(span))
}

/// Lets every dialect join what its ids join.
pub(super) fn join(forest: &mut Forest<'_>) {
    for (tracer, dialect) in DIALECTS.iter().enumerate() {
        if let Some(join) = &dialect.join {
            (join.spans)(forest, tracer as u8);
        }
    }
}

/// What joins the trace of a span to others in the dialect `tracer`.
pub(super) fn ties(tracer: u8, span: &Span, tell: &mut dyn FnMut(Tie<'_>)) {
    let join = DIALECTS.get(usize::from(tracer)).and_then(|dialect| dialect.join.as_ref());
    if let Some(traces) = join.and_then(|join| join.traces) {
        traces(span, tell);
    }
}

/// Finds the dialect of a span; remembers the last scope, since a batch shares one.
#[derive(Default)]
pub(super) struct Chooser {
    last: Option<(Arc<Scope>, Option<u8>)>,
}

impl Chooser {
    /// The dialect of `span`: by its scope, else by the attributes it carries, else the bare convention.
    pub fn of(&mut self, span: &Span) -> u8 {
        let known = match &self.last {
            Some((scope, known)) if Arc::ptr_eq(scope, &span.scope) => *known,
            _ => {
                let known = by_scope(&span.scope.name);
                self.last = Some((Arc::clone(&span.scope), known));
                known
            }
        };
        known.unwrap_or_else(|| by_marks(span))
    }
}

fn by_scope(name: &str) -> Option<u8> {
    let fits = |dialect: &Dialect| dialect.scopes.iter().any(|scope| name.starts_with(scope));
    DIALECTS.iter().position(fits).map(|at| at as u8)
}

fn by_marks(span: &Span) -> u8 {
    let carries = |mark: &&str| span.attributes.0.iter().any(|(key, _)| &**key == *mark);
    let fits = |dialect: &Dialect| dialect.marks.iter().any(&carries);
    DIALECTS.iter().position(fits).unwrap_or(DIALECTS.len() - 1) as u8
}
