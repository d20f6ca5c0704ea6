//! Agno, under OpenInference.
//!
//! A team's delegating call and the member's run stand side by side; the call names the member by id, and the run
//! bears that id.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::convention::name;
use super::openinference;
use super::{Dialect, Join};
use crate::events::basis;
use crate::events::forest::{Forest, Id};
use crate::events::role::{Args, Role};
use crate::spans::{Span, SpanId, TraceId};

pub(super) const DIALECT: Dialect = Dialect {
    scopes: &["openinference.instrumentation.agno"],
    marks: &["agno.run.id"],
    role,
    join: Join::within_traces(join),
};

fn role(span: &Span) -> Role<'_> {
    let mut role = openinference::CONVENTION.role(span);
    match &mut role {
        Role::Run(run) => {
            run.id =
                name(&span.attributes, "agno.agent.id").or_else(|| name(&span.attributes, "agno.team.id"));
        }
        // In this package these are the arguments.
        Role::Call(call) if matches!(call.arguments, Args::None) => {
            call.arguments = Args::of(span.attributes.get("tool.parameters"));
        }
        _ => {}
    }
    role
}

/// The framework's own tool for handing work to a member.
const DELEGATING: &str = "delegate_task_to_member";

fn join(forest: &mut Forest<'_>, tracer: u8) {
    let mut runs: HashMap<Handed, VecDeque<Id>> = HashMap::new();
    let mut calls = Vec::new();
    for id in 0..forest.nodes.len() as Id {
        let node = forest.node(id);
        if node.tracer != tracer {
            continue;
        }
        let beside = (node.span.trace_id, node.span.parent);
        let told = |text: Option<&str>| text.map(str::to_owned);
        match &node.role {
            Role::Run(run) => {
                if let Some(member) = &run.id {
                    let task = told(node.span.attributes.text("input.value"));
                    runs.entry((beside, member.to_string(), task)).or_default().push_back(id);
                }
            }
            Role::Call(call) if call.tool.as_deref() == Some(DELEGATING) => {
                if let Value::Object(fields) = call.arguments.value()
                    && let Some(member) = fields.get("member_id").and_then(Value::as_str)
                {
                    let task = told(fields.get("task").and_then(Value::as_str));
                    calls.push((id, (beside, member.to_owned(), task)));
                }
            }
            _ => {}
        }
    }
    // One member told the same twice at once: each call takes the first run in its time that no other call has.
    for (call, key) in calls {
        let span = forest.node(call).span;
        let Some(runs) = runs.get_mut(&key) else {
            continue;
        };
        while let Some(&run) = runs.front() {
            let start = forest.node(run).span.start;
            if start > span.end {
                break;
            }
            runs.pop_front();
            if start >= span.start {
                forest.adopt(run, call, basis::MEMBER_NAMED);
                break;
            }
        }
    }
}

/// Beside what, to which member, and what it was told.
type Handed = ((TraceId, Option<SpanId>), String, Option<String>);
