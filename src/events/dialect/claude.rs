//! Claude Code's own traces, and the Claude Agent SDK under OpenInference and traceAI.
//!
//! A sub-agent is started by the built-in Agent tool, which says what kind of agent it runs. Claude's own traces have no
//! span for the sub-agent but the execution below that call; the main agent is never named.

use std::sync::Arc;

use serde_json::Value;

use super::convention::name;
use super::{Dialect, Join, genai, openinference};
use crate::events::basis;
use crate::events::forest::{Forest, Id, Up};
use crate::events::role::{Args, Call, Class, Role, Run};
use crate::spans::Span;

pub(super) const NATIVE: Dialect = Dialect {
    scopes: &["com.anthropic.claude_code"],
    marks: &[],
    role: native,
    join: Join::within_traces(executions),
};

pub(super) const OPENINFERENCE: Dialect = Dialect {
    scopes: &["openinference.instrumentation.claude_agent_sdk"],
    marks: &[],
    role: traced,
    join: None,
};

pub(super) const TRACEAI: Dialect = Dialect {
    scopes: &["traceai_claude_agent_sdk"],
    marks: &["claude_agent.span_kind"],
    role: flat,
    join: None,
};

/// The built-in tool that runs a sub-agent, by its names over time. Tools of others bear their server's name.
const AGENT_TOOL: [&str; 2] = ["Agent", "Task"];

fn native(span: &Span) -> Role<'_> {
    let attributes = &span.attributes;
    match attributes.text("span.type") {
        Some("interaction") => Role::Run(Run::default()),
        Some("tool") => {
            let mut call = genai::CONVENTION.call(span);
            call.caller = None;
            let built_in = attributes.get("anthropic.mcp.server.name").is_none();
            if built_in && call.tool.as_deref().is_some_and(|tool| AGENT_TOOL.contains(&tool)) {
                call.class =
                    Class::RunsAgent { to: name(attributes, "subagent_type"), basis: basis::AGENT_TOOL };
            }
            Role::Call(call)
        }
        _ => Role::Blank,
    }
}

/// What the Agent tool executes is the sub-agent's run.
fn executions(forest: &mut Forest<'_>, tracer: u8) {
    for id in 0..forest.nodes.len() as Id {
        let node = forest.node(id);
        let Up::Node(call) = node.parent else {
            continue;
        };
        let runs = matches!(&forest.node(call).role, Role::Call(Call { class: Class::RunsAgent { .. }, .. }));
        let executes = node.span.attributes.text("span.type") == Some("tool.execution");
        if node.tracer == tracer && runs && executes {
            forest.nodes[id as usize].role = Role::Run(Run::default());
        }
    }
}

/// Every run is of kind AGENT; a sub-agent's is named after the tool, which is not its name, and ends only with the
/// session.
fn traced(span: &Span) -> Role<'_> {
    match openinference::CONVENTION.role(span) {
        Role::Run(_) => Role::Run(Run { end_unrecorded: true, ..Run::default() }),
        Role::Call(mut call) => {
            if matches!(call.arguments, Args::None) {
                call.arguments = Args::of(span.attributes.get("tool.parameters"));
            }
            call.class = sub_agent(&call);
            Role::Call(call)
        }
        role => role,
    }
}

/// Calls lie flat below the conversation, whoever made them, so that the conversation is nobody's run.
fn flat(span: &Span) -> Role<'_> {
    if span.attributes.text("claude_agent.span_kind") != Some("tool_execution") {
        return Role::Blank;
    }
    let mut call = Call {
        tool: name(&span.attributes, "claude_agent.tool.name"),
        arguments: Args::of(span.attributes.get("claude_agent.tool.input")),
        ..Call::default()
    };
    call.class = sub_agent(&call);
    Role::Call(call)
}

fn sub_agent(call: &Call<'_>) -> Class {
    let built_in = call.tool.as_deref().is_some_and(|tool| AGENT_TOOL.contains(&tool));
    let to = match call.arguments.value() {
        Value::Object(fields) if built_in => {
            fields.get("subagent_type").and_then(Value::as_str).map(Arc::from)
        }
        _ => None,
    };
    if to.is_some() { Class::RunsAgent { to, basis: basis::AGENT_TOOL } } else { Class::Plain }
}
