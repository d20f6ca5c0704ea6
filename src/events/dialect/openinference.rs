//! OpenInference: `openinference.span.kind`.

use super::Dialect;
use super::convention::Convention;

pub(super) const CONVENTION: Convention = Convention {
    kind: "openinference.span.kind",
    agent: &["AGENT"],
    tool: &["TOOL"],
    agent_name: &["agent.name", "graph.node.id"],
    tool_name: &["tool.name"],
    // `tool.parameters` is the schema in some packages and the arguments in others, so it is no one's default.
    arguments: &["input.value"],
    caller: &[],
};

pub(super) const DIALECT: Dialect = Dialect {
    scopes: &["openinference."],
    marks: &["openinference.span.kind"],
    role: |span| CONVENTION.role(span),
    join: None,
};
