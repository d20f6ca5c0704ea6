//! smolagents, under OpenInference.
//!
//! A managed agent's call has no tool span: its run lies in the manager's step, and the manager's span lists it by
//! name. An agent's name stands in its span's name alone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::openinference;
use super::{Dialect, Join};
use crate::events::basis;
use crate::events::forest::{Forest, Id, Up};
use crate::events::role::{Args, Role, Task};
use crate::spans::{AttrValue, Span};

pub(super) const DIALECT: Dialect = Dialect {
    scopes: &["openinference.instrumentation.smolagents"],
    marks: &["smolagents.max_steps"],
    role,
    join: Join::within_traces(join),
};

fn role(span: &Span) -> Role<'_> {
    let mut role = openinference::CONVENTION.role(span);
    match &mut role {
        Role::Run(run) => {
            run.name = span.name.strip_suffix(".run").filter(|name| !name.is_empty()).map(Into::into)
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
    let mut managed: HashMap<Id, HashSet<Arc<str>>> = HashMap::new();
    for (id, node) in forest.nodes.iter().enumerate().filter(|(_, node)| node.tracer == tracer) {
        if let Role::Run(_) = node.role {
            managed.insert(id as Id, listed(node.span).collect());
        }
    }
    for id in 0..forest.nodes.len() as Id {
        let node = forest.node(id);
        let (true, Role::Run(run), Up::Node(step)) = (node.tracer == tracer, &node.role, node.parent) else {
            continue;
        };
        let Up::Node(manager) = forest.node(step).parent else {
            continue;
        };
        let (Some(agents), Some(name)) = (managed.get(&manager), &run.name) else {
            continue;
        };
        if agents.contains(name) {
            let task = Task { from: None, arguments: Args::None, nested: true, basis: basis::MANAGED_AGENT };
            if let Role::Run(run) = &mut forest.nodes[id as usize].role {
                run.task = Some(task);
            }
        }
    }
}

/// The agents a manager says it manages.
fn listed(span: &Span) -> impl Iterator<Item = Arc<str>> + '_ {
    span.attributes.0.iter().filter_map(|(key, value)| match value {
        AttrValue::Str(name) if key.starts_with("smolagents.managed_agents.") && key.ends_with(".name") => {
            Some(Arc::clone(name))
        }
        _ => None,
    })
}
