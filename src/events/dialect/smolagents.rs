//! smolagents, under OpenInference.
//!
//! A managed agent's call has no tool span: its run lies in the manager's step, and the manager's span lists it by
//! name. An agent's name stands in its span's name alone.

use super::Dialect;
use super::openinference;
use crate::events::basis;
use crate::events::forest::{Forest, Id, Up};
use crate::events::role::{Args, Role, Task};
use crate::spans::{AttrValue, Span};

pub(super) const DIALECT: Dialect = Dialect {
    scopes: &["openinference.instrumentation.smolagents"],
    marks: &["smolagents.max_steps"],
    role,
    join: Some(join),
};

fn role(span: &Span) -> Role<'_> {
    let mut role = openinference::CONVENTION.role(span);
    match &mut role {
        Role::Run(run) => {
            run.name = span
                .name
                .strip_suffix(".run")
                .filter(|name| !name.is_empty())
                .map(Into::into)
        }
        Role::Call(call) => {
            if let serde_json::Value::Object(mut fields) = call.arguments.value() {
                call.arguments = match fields.remove("kwargs") {
                    // Called by position, the values alone are on record, and not what they are called.
                    Some(named) if named.as_object().is_some_and(|named| !named.is_empty()) => {
                        Args::Data(named)
                    }
                    _ => Args::None,
                };
            }
        }
        _ => {}
    }
    role
}

fn join(forest: &mut Forest<'_>, tracer: u8) {
    for id in 0..forest.nodes.len() as Id {
        let node = forest.node(id);
        let Role::Run(run) = &node.role else { continue };
        if node.tracer != tracer {
            continue;
        }
        let Up::Node(step) = node.parent else {
            continue;
        };
        let Up::Node(manager) = forest.node(step).parent else {
            continue;
        };
        let manager = forest.node(manager);
        let listed = |(key, value): &(std::sync::Arc<str>, AttrValue)| {
            key.starts_with("smolagents.managed_agents.")
                && key.ends_with(".name")
                && matches!((value, &run.name), (AttrValue::Str(listed), Some(name)) if listed == name)
        };
        if matches!(manager.role, Role::Run(_)) && manager.span.attributes.0.iter().any(listed) {
            let task = Task {
                from: None,
                arguments: Args::None,
                nested: true,
                basis: basis::MANAGED_AGENT,
            };
            if let Role::Run(run) = &mut forest.nodes[id as usize].role {
                run.task = Some(task);
            }
        }
    }
}
