//! LangGraph and LangChain agents, under OpenInference, traceAI, Traceloop and LangSmith's OpenTelemetry export.
//!
//! Every span inside an agent inherits its metadata, so that `lc_agent_name` alone says little: a run is that agent's
//! only where the span bears the same name itself. Checkpoint namespaces say what lies in which graph and call.

mod graphs;

use std::sync::Arc;

use serde::Deserialize;

use super::convention::{Convention, name};
use super::{Dialect, Join, openinference, traceai, traceloop};
use crate::events::role::{Args, Role};
use crate::spans::{AttrValue, Span, Status};

/// How one tracer writes what LangGraph tells it.
struct Tracer {
    keys: &'static Convention,
    /// Values of the kind attribute for model calls.
    model: &'static [&'static str],
    /// Before metadata keys; none where all metadata is one JSON text.
    prefix: Option<&'static str>,
    /// Where a call's result stands.
    output: &'static str,
    /// The runnable's own name, where it is not the span's.
    own_name: Option<&'static str>,
    /// Children are closed with their parent: only a status or an output says that a run itself ended.
    closes_children: bool,
}

const UNDER_OPENINFERENCE: Tracer = Tracer {
    keys: &openinference::CONVENTION,
    model: &["LLM"],
    prefix: None,
    output: "output.value",
    own_name: None,
    closes_children: false,
};

const UNDER_TRACEAI: Tracer = Tracer { keys: &traceai::CONVENTION, prefix: Some(""), ..UNDER_OPENINFERENCE };

const UNDER_TRACELOOP: Tracer = Tracer {
    keys: &traceloop::CONVENTION,
    model: &[],
    prefix: Some("traceloop.association.properties."),
    output: "traceloop.entity.output",
    own_name: Some("traceloop.entity.name"),
    closes_children: true,
};

const LANGSMITH_KEYS: Convention = Convention {
    kind: "langsmith.span.kind",
    agent: &[],
    tool: &["tool"],
    agent_name: &[],
    tool_name: &["gen_ai.tool.name", "langsmith.trace.name"],
    arguments: &["gen_ai.prompt"],
    caller: &[],
};

const UNDER_LANGSMITH: Tracer = Tracer {
    keys: &LANGSMITH_KEYS,
    model: &["llm"],
    prefix: Some("langsmith.metadata."),
    output: "gen_ai.completion",
    own_name: None,
    closes_children: false,
};

pub(super) const OPENINFERENCE: Dialect = Dialect {
    scopes: &["openinference.instrumentation.langchain"],
    marks: &[],
    role: |span| UNDER_OPENINFERENCE.role(span),
    join: Join::within_traces(|forest, tracer| graphs::join(forest, tracer, &UNDER_OPENINFERENCE)),
};

pub(super) const TRACEAI: Dialect = Dialect {
    scopes: &["traceai_langchain"],
    marks: &[],
    role: |span| UNDER_TRACEAI.role(span),
    join: Join::within_traces(|forest, tracer| graphs::join(forest, tracer, &UNDER_TRACEAI)),
};

pub(super) const TRACELOOP: Dialect = Dialect {
    scopes: &["opentelemetry.instrumentation.langchain"],
    marks: &["traceloop.association.properties.langgraph_node"],
    role: |span| UNDER_TRACELOOP.role(span),
    join: Join::within_traces(|forest, tracer| graphs::join(forest, tracer, &UNDER_TRACELOOP)),
};

pub(super) const LANGSMITH: Dialect = Dialect {
    scopes: &["langsmith"],
    marks: &["langsmith.span.kind"],
    role: |span| UNDER_LANGSMITH.role(span),
    join: Join::within_traces(|forest, tracer| graphs::join(forest, tracer, &UNDER_LANGSMITH)),
};

impl Tracer {
    /// Calls alone: what is a run shows in the metadata, which is read once, when spans are joined.
    fn role<'a>(&self, span: &'a Span) -> Role<'a> {
        match span.attributes.text(self.keys.kind) {
            Some(kind) if self.keys.tool.contains(&kind) => {
                let mut call = self.keys.call(span);
                call.arguments = self.arguments(call.arguments);
                Role::Call(call)
            }
            _ => Role::Blank,
        }
    }

    /// Traceloop records the callback's own arguments, of which the tool's are one.
    fn arguments<'a>(&self, recorded: Args<'a>) -> Args<'a> {
        if !self.closes_children {
            return recorded;
        }
        match recorded.value() {
            serde_json::Value::Object(mut fields) => {
                match (fields.remove("inputs"), fields.remove("input_str")) {
                    (Some(inputs), _) => Args::Data(inputs),
                    // The printed form of a Python object, JSON only by chance.
                    (None, Some(serde_json::Value::String(text))) => {
                        serde_json::from_str(&text).map_or(Args::None, Args::Data)
                    }
                    _ => Args::None,
                }
            }
            _ => Args::None,
        }
    }

    fn own_name(&self, span: &Span) -> Arc<str> {
        self.own_name.and_then(|key| name(&span.attributes, key)).unwrap_or_else(|| Arc::clone(&span.name))
    }

    fn is_model(&self, span: &Span) -> bool {
        match span.attributes.text(self.keys.kind) {
            Some(kind) => self.model.contains(&kind),
            None => span.attributes.text("gen_ai.operation.name") == Some("chat"),
        }
    }

    /// Whether nothing says that the run of this span itself came to an end.
    fn end_unrecorded(&self, span: &Span) -> bool {
        let said = |key| span.attributes.get(key).is_some();
        self.closes_children
            && span.status != Status::Error
            && !said("gen_ai.task.status")
            && !said(self.output)
    }

    fn meta(&self, span: &Span) -> Meta {
        let Some(prefix) = self.prefix else {
            let text = span.attributes.text("metadata");
            return text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        };
        let mut meta = Meta::default();
        for (key, value) in &span.attributes.0 {
            let Some(key) = key.strip_prefix(prefix) else {
                continue;
            };
            match (key, value) {
                ("lc_agent_name", AttrValue::Str(text)) => meta.agent = Some(Arc::clone(text)),
                ("langgraph_node", AttrValue::Str(text)) => meta.node = Some(Arc::clone(text)),
                ("langgraph_checkpoint_ns", AttrValue::Str(text)) => meta.space = Some(Arc::clone(text)),
                ("__handoff_destination", AttrValue::Str(text)) => meta.destination = Some(Arc::clone(text)),
                ("langgraph_step", AttrValue::Int(step)) => meta.step = Some(*step),
                ("langgraph_step", AttrValue::Str(text)) => meta.step = text.parse().ok(),
                _ => {}
            }
        }
        meta
    }
}

/// What LangGraph attaches to every span.
#[derive(Debug, Default, Deserialize)]
struct Meta {
    /// The agent around, inherited.
    #[serde(rename = "lc_agent_name")]
    agent: Option<Arc<str>>,
    /// The graph's node around.
    #[serde(rename = "langgraph_node")]
    node: Option<Arc<str>>,
    /// The task around: `node:id`, one for every graph it lies in, joined by `|`.
    #[serde(rename = "langgraph_checkpoint_ns")]
    space: Option<Arc<str>>,
    /// The graph's step.
    #[serde(rename = "langgraph_step")]
    step: Option<i64>,
    /// Set on tools made to pass control.
    #[serde(rename = "__handoff_destination")]
    destination: Option<Arc<str>>,
}

impl Meta {
    /// How many graphs it lies in.
    fn depth(&self) -> usize {
        self.space.as_ref().map_or(0, |space| space.split('|').count())
    }

    /// The task that the whole graph around lies in.
    fn outer(&self) -> Option<&str> {
        self.space.as_ref()?.rsplit_once('|').map(|(outer, _)| outer)
    }
}
