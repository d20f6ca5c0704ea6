//! Microsoft Agent Framework: GenAI operations, and workflows whose executors are joined by span links.
//!
//! A hand-off has no tool span. The sender's executor sends a message addressed to an executor, and that executor's
//! span links to this very message; messages without an address are broadcasts and hand over nothing.

use super::genai;
use super::{Dialect, Join, Tie};
use crate::events::basis;
use crate::events::forest::{Forest, Id, Passed, Up};
use crate::events::role::{Group, Role};
use crate::spans::Span;

pub(super) const DIALECT: Dialect = Dialect {
    scopes: &["agent_framework"],
    marks: &["executor.id", "message.destination_executor_id"],
    role,
    join: Some(Join { spans: join, traces: Some(linked) }),
};

const ADDRESS: &str = "message.destination_executor_id";

fn role(span: &Span) -> Role<'_> {
    if &*span.name == "workflow.run" {
        Role::Group(Group { side_by_side: true, ..Group::default() })
    } else {
        genai::role(span)
    }
}

/// Messages may come from another trace.
fn linked(span: &Span, tell: &mut dyn FnMut(Tie<'_>)) {
    let others = span.links.iter().filter(|link| link.trace_id != span.trace_id);
    others.for_each(|link| tell(Tie::Trace(link.trace_id)));
}

fn join(forest: &mut Forest<'_>, tracer: u8) {
    let mut runs: std::collections::HashMap<Id, Id> = std::collections::HashMap::new();
    for id in 0..forest.nodes.len() as Id {
        let node = forest.node(id);
        if let (true, Role::Run(_), Up::Node(executor)) = (node.tracer == tracer, &node.role, node.parent) {
            runs.entry(executor).or_insert(id);
        }
    }
    let mut passed = Vec::new();
    for id in 0..forest.nodes.len() as Id {
        let node = forest.node(id);
        let attributes = &node.span.attributes;
        let (Some(&receiver), Some(executor)) = (runs.get(&id), attributes.text("executor.id")) else {
            continue;
        };
        if attributes.text("executor.type") != Some("HandoffAgentExecutor") {
            continue;
        }
        let message = node.span.links.iter().find_map(|link| {
            let message = forest.find(link.trace_id, link.span_id)?;
            let addressed = forest.node(message).span.attributes.text(ADDRESS) == Some(executor);
            addressed.then_some(message)
        });
        let Some(on) = message else { continue };
        let Up::Node(from) = forest.node(on).parent else {
            continue;
        };
        if let Some(&sender) = runs.get(&from) {
            passed.push(Passed { on, sender, receiver, basis: basis::MESSAGE_ADDRESSED });
        }
    }
    forest.passed.extend(passed);
}
