//! Traceloop (OpenLLMetry): `traceloop.span.kind`.

use super::Dialect;
use super::convention::Convention;

pub(super) const CONVENTION: Convention = Convention {
    kind: "traceloop.span.kind",
    agent: &["agent"],
    tool: &["tool"],
    agent_name: &["gen_ai.agent.name", "traceloop.entity.name"],
    tool_name: &["gen_ai.tool.name", "traceloop.entity.name"],
    arguments: &["gen_ai.tool.call.arguments", "traceloop.entity.input"],
    caller: &[],
};

pub(super) const DIALECT: Dialect =
    Dialect { scopes: &[], marks: &["traceloop.span.kind"], role: |span| CONVENTION.role(span), join: None };
