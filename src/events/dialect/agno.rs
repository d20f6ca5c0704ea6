//! Agno, under OpenInference.
//!
//! A team's delegating call and the member's run stand side by side; the call names the member by id, and the run
//! bears that id.

use serde_json::Value;

use super::Dialect;
use super::convention::name;
use super::openinference;
use crate::events::basis;
use crate::events::forest::{Forest, Id};
use crate::events::role::{Args, Role};
use crate::spans::Span;

pub(super) const DIALECT: Dialect = Dialect {
    scopes: &["openinference.instrumentation.agno"],
    marks: &["agno.run.id"],
    role,
    join: Some(join),
};

fn role(span: &Span) -> Role<'_> {
    let mut role = openinference::CONVENTION.role(span);
    match &mut role {
        Role::Run(run) => {
            run.id = name(&span.attributes, "agno.agent.id")
                .or_else(|| name(&span.attributes, "agno.team.id"));
        }
        // In this package these are the arguments.
        Role::Call(call) if matches!(call.arguments, Args::None) => {
            call.arguments = Args::of(span.attributes.get("tool.parameters"));
        }
        _ => {}
    }
    role
}

/// The framework's own tools for handing work to a member.
const DELEGATING: &str = "delegate_task_to_member";

fn join(forest: &mut Forest<'_>, tracer: u8) {
    let mut runs: std::collections::HashMap<_, Vec<Id>> = std::collections::HashMap::new();
    let mut calls = Vec::new();
    for id in 0..forest.nodes.len() as Id {
        let node = forest.node(id);
        if node.tracer != tracer {
            continue;
        }
        let beside = (node.span.trace_id, node.span.parent);
        match &node.role {
            Role::Run(run) => {
                if let Some(member) = &run.id {
                    runs.entry((beside, member.to_string()))
                        .or_default()
                        .push(id);
                }
            }
            Role::Call(call) if call.tool.as_deref() == Some(DELEGATING) => {
                if let Value::Object(fields) = call.arguments.value() {
                    if let Some(member) = fields.get("member_id").and_then(Value::as_str) {
                        calls.push((id, (beside, member.to_owned())));
                    }
                }
            }
            _ => {}
        }
    }
    // One member asked twice at once: each call takes the first run in its time that no other call has.
    for (call, key) in calls {
        let span = forest.node(call).span;
        let Some(runs) = runs.get_mut(&key) else {
            continue;
        };
        let inside = |&run: &Id| {
            let run = forest.node(run).span;
            run.start >= span.start && run.start <= span.end
        };
        if let Some(at) = runs.iter().position(inside) {
            let run = runs.remove(at);
            forest.adopt(run, call, basis::MEMBER_NAMED);
        }
    }
}
