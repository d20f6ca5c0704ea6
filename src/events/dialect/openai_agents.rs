//! OpenAI Agents SDK, under the instrumentations that know it.
//!
//! The SDK runs agents inside tasks: the receiver of a hand-off is a sibling of the sender. Its hand-off span says who
//! and (with most) to whom; that a run came from it is known only where the run names its sender.

use std::sync::Arc;

use super::Dialect;
use super::convention::{Convention, name};
use super::{genai, openinference, traceai, traceloop};
use crate::events::role::{Args, Call, Group, Pass, Role, Run};
use crate::spans::Span;

pub(super) const OPENINFERENCE: Dialect = Dialect {
    scopes: &["openinference.instrumentation.openai_agents"],
    marks: &[],
    role: |span| by_kind(&openinference::CONVENTION, span),
    join: None,
};

pub(super) const TRACEAI: Dialect = Dialect {
    scopes: &["traceai_openai_agents"],
    marks: &[],
    role: |span| by_kind(&traceai::CONVENTION, span),
    join: None,
};

/// Two packages share this scope; Traceloop's has its own kind attribute.
pub(super) const OTEL: Dialect = Dialect {
    scopes: &["opentelemetry.instrumentation.openai_agents"],
    marks: &[],
    role: |span| {
        if span.attributes.get("traceloop.span.kind").is_some() { traceloop(span) } else { otel(span) }
    },
    join: None,
};

pub(super) const LOGFIRE: Dialect =
    Dialect { scopes: &["logfire.openai_agents"], marks: &[], role: logfire, join: None };

/// OpenInference and traceAI: an agent has a node id; a tool span without a tool name is a hand-off.
fn by_kind<'a>(keys: &Convention, span: &'a Span) -> Role<'a> {
    match span.attributes.text(keys.kind) {
        Some("AGENT") => match name(&span.attributes, "graph.node.id") {
            Some(agent) => Role::Run(Run {
                name: Some(agent),
                handed_by: name(&span.attributes, "graph.node.parent_id"),
                ..Run::default()
            }),
            // The root is of this kind as well; it bears the workflow's name.
            None => Role::Group(Group::default()),
        },
        Some("CHAIN") => Role::Group(Group::default()),
        Some("TOOL") => {
            let call = keys.call(span);
            if call.tool.is_some() { Role::Call(call) } else { Role::Pass(pass(span)) }
        }
        _ => Role::Blank,
    }
}

/// Both ends stand in input and output, as bare texts; hidden contents leave the receiver in the span's own name, which
/// the SDK writes.
fn pass(span: &Span) -> Pass {
    let text =
        |key: &str| name(&span.attributes, key).filter(|text| !matches!(&**text, "__REDACTED__" | "{}"));
    let named = || span.name.strip_prefix("handoff to ").filter(|to| !to.is_empty()).map(Arc::from);
    Pass { from: text("input.value"), to: text("output.value").or_else(named) }
}

/// The agent name on anything but an agent's span is a stand-in.
fn otel(span: &Span) -> Role<'_> {
    match span.attributes.text("gen_ai.operation.name") {
        Some("invoke_agent") => match name(&span.attributes, "gen_ai.agent.name") {
            Some(agent) => Role::Run(Run { name: Some(agent), ..Run::default() }),
            None => Role::Group(Group::default()),
        },
        Some("execute_tool") => Role::Call(Call { caller: None, ..genai::CONVENTION.call(span) }),
        Some("agent_handoff") => Role::Pass(handoff(span)),
        Some("unknown") => Role::Group(Group::default()),
        _ => Role::Blank,
    }
}

/// Every agent hangs flat under the root; the hand-off's receiver is read before it is known.
fn traceloop(span: &Span) -> Role<'_> {
    match span.attributes.text("traceloop.span.kind") {
        Some("workflow") => Role::Group(Group::default()),
        Some("handoff") => Role::Pass(handoff(span)),
        _ => traceloop::CONVENTION.role(span),
    }
}

fn handoff(span: &Span) -> Pass {
    let real = |key| name(&span.attributes, key).filter(|name| &**name != "unknown");
    Pass { from: real("gen_ai.handoff.from_agent"), to: real("gen_ai.handoff.to_agent") }
}

/// The span's name is a template, and says what the span is.
fn logfire(span: &Span) -> Role<'_> {
    let attributes = &span.attributes;
    let template = attributes.text("logfire.msg_template").unwrap_or(&span.name);
    if template.starts_with("Agent run:") {
        Role::Run(Run { name: name(attributes, "name"), ..Run::default() })
    } else if template.starts_with("Function:") {
        Role::Call(Call {
            tool: name(attributes, "name"),
            arguments: Args::of(attributes.get("input")),
            ..Call::default()
        })
    } else if template.starts_with("Handoff:") {
        Role::Pass(Pass { from: name(attributes, "from_agent"), to: name(attributes, "to_agent") })
    } else if let Some(agent) = name(attributes, "agent_name") {
        Role::Step(agent)
    } else if attributes.text("sdk_span_type") == Some("task") || template.starts_with("OpenAI Agents trace:")
    {
        Role::Group(Group::default())
    } else {
        Role::Blank
    }
}
