//! OpenTelemetry's GenAI conventions: `gen_ai.operation.name`, and the open drafts for hand-offs.
//!
//! The drafts (`gen_ai.transfer.*`, `gen_ai.caller.*`) refine an `execute_tool` span: a mode says whether control comes
//! back, a target says who gets it. A target that is no agent makes no hand-off.

use super::Dialect;
use super::convention::{Convention, first, name};
use crate::events::basis;
use crate::events::role::{Class, Group, Role};
use crate::spans::Span;

pub(super) const CONVENTION: Convention = Convention {
    kind: "gen_ai.operation.name",
    agent: &["invoke_agent"],
    tool: &["execute_tool"],
    agent_name: &["gen_ai.agent.name"],
    tool_name: &["gen_ai.tool.name"],
    arguments: &["gen_ai.tool.call.arguments"],
    caller: &["gen_ai.caller.name", "gen_ai.agent.name"],
};

/// OTLP `SpanKind` of a server's span: the other side of a call.
const SERVER: i32 = 2;

pub(super) const DIALECT: Dialect =
    Dialect { scopes: &[], marks: &["gen_ai.operation.name"], role, join: None };

/// What the convention and the drafts say of a span.
pub(super) fn role(span: &Span) -> Role<'_> {
    let mut role = CONVENTION.role(span);
    match &mut role {
        Role::Call(call) => {
            call.far_side = span.kind == SERVER;
            call.class = transfer(span);
        }
        Role::Blank if CONVENTION.is(span, "invoke_workflow") => {
            return Role::Group(Group::default());
        }
        _ => {}
    }
    role
}

/// The draft's refinement of a tool call.
fn transfer(span: &Span) -> Class {
    let attributes = &span.attributes;
    if attributes.text("gen_ai.transfer.target.type").is_some_and(|kind| kind != "agent") {
        return Class::Plain;
    }
    let to = first(attributes, &["gen_ai.transfer.target.name", "gen_ai.agent.handoff.target.name"]);
    match attributes.text("gen_ai.transfer.mode") {
        Some("pass_control") => Class::PassesControl { to },
        Some("return_to_caller") => Class::RunsAgent { to, basis: basis::CALL_SAYS_DELEGATED },
        _ => match name(attributes, "gen_ai.agent.handoff.target.name") {
            Some(to) => Class::PassesControl { to: Some(to) },
            None => Class::Plain,
        },
    }
}
