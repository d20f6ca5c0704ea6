//! Google ADK: its own spans in both schemas, and the two instrumentations that add to them.
//!
//! The class of a tool is on record (`gen_ai.tool.type`), so a transfer or an agent tool is told by its class and never
//! by its name. Of a transfer the receiver is the next run of the same workflow.

use serde_json::Value;

use super::Dialect;
use super::convention::name;
use super::{genai, openinference, traceai};
use crate::events::basis;
use crate::events::role::{Args, Class, Group, Role, Run};
use crate::spans::{AttrValue, Span};

pub(super) const NATIVE: Dialect =
    Dialect { scopes: &["gcp.vertex.agent"], marks: &[], role: native, join: None };

pub(super) const OPENINFERENCE: Dialect = Dialect {
    scopes: &["openinference.instrumentation.google_adk"],
    marks: &[],
    role: |span| traced(span, openinference::CONVENTION.is(span, "AGENT")),
    join: None,
};

pub(super) const TRACEAI: Dialect = Dialect {
    scopes: &["traceai_google_adk"],
    marks: &[],
    role: |span| traced(span, traceai::CONVENTION.is(span, "AGENT")),
    join: None,
};

/// Calls of several tools at once leave a span of this name beside their own; it is no call.
const MERGED: &str = "execute_tool (merged)";

fn native(span: &Span) -> Role<'_> {
    // OpenInference overwrites the operation on these spans with that of the model's call; the name stays.
    if span.name.starts_with("invoke_agent") {
        return Role::Run(Run { name: name(&span.attributes, "gen_ai.agent.name"), ..Run::default() });
    }
    if &*span.name == MERGED {
        return Role::Blank;
    }
    match span.attributes.text("gen_ai.operation.name") {
        Some("execute_tool") => call(span),
        Some("invoke_workflow") => Role::Group(Group::default()),
        _ if &*span.name == "invocation" => Role::Group(Group::default()),
        _ => Role::Blank,
    }
}

fn traced(span: &Span, agent: bool) -> Role<'_> {
    if agent {
        let named =
            name(&span.attributes, "agent.name").or_else(|| name(&span.attributes, "gen_ai.agent.name"));
        return Role::Run(Run { name: named, ..Run::default() });
    }
    native(span)
}

fn call(span: &Span) -> Role<'_> {
    let mut call = genai::CONVENTION.call(span);
    call.arguments = arguments(span);
    call.class = match span.attributes.text("gen_ai.tool.type") {
        Some("TransferToAgentTool") => Class::PassesControl { to: target(&call.arguments) },
        Some("AgentTool" | "_SingleTurnAgentTool") => {
            Class::RunsAgent { to: call.tool.clone(), basis: basis::AGENT_TOOL_CLASS }
        }
        _ => Class::Plain,
    };
    Role::Call(call)
}

/// Schema 2, then schema 1, then the two instrumentations. Schema 1 writes `{}` where contents are off, which cannot
/// be told from an empty object.
fn arguments(span: &Span) -> Args<'_> {
    ["gen_ai.tool.call.arguments", "gcp.vertex.agent.tool_call_args", "tool.parameters", "input.value"]
        .into_iter()
        .filter_map(|key| span.attributes.get(key))
        .filter(|value| !matches!(value, AttrValue::Str(text) if &**text == "{}"))
        .map(|value| Args::of(Some(value)))
        .find(|arguments| !matches!(arguments, Args::None))
        .unwrap_or_default()
}

/// Whom the transfer's own arguments name.
fn target(arguments: &Args<'_>) -> Option<std::sync::Arc<str>> {
    match arguments.value() {
        Value::Object(fields) => fields.get("agent_name").and_then(Value::as_str).map(Into::into),
        _ => None,
    }
}
