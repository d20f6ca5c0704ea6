//! traceAI: OpenInference's kinds under GenAI keys (`gen_ai.span.kind`).

use super::Dialect;
use super::convention::Convention;

pub(super) const CONVENTION: Convention = Convention {
    kind: "gen_ai.span.kind",
    agent: &["AGENT"],
    tool: &["TOOL"],
    agent_name: &["gen_ai.agent.name", "agent.name", "graph.node.id"],
    tool_name: &["gen_ai.tool.name"],
    arguments: &["gen_ai.tool.call.arguments", "input.value"],
    caller: &[],
};

pub(super) const DIALECT: Dialect = Dialect {
    scopes: &["traceai_", "fi_instrumentation"],
    marks: &["gen_ai.span.kind"],
    role: |span| CONVENTION.role(span),
    join: None,
};
