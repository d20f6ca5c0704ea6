//! Strands Agents: GenAI operations, arguments in a span event, and swarms.
//!
//! A swarm's `handoff_to_agent` is the framework's own tool: it exists only inside a swarm, names the agent, and that
//! agent's run is the swarm's next. The same name outside of a swarm is anybody's tool.

use serde_json::Value;

use super::genai;
use super::{Dialect, Join};
use crate::events::forest::{Forest, Id, Up};
use crate::events::role::{Args, Class, Group, Role};
use crate::spans::{AttrValue, Span};

pub(super) const DIALECT: Dialect =
    Dialect { scopes: &["strands."], marks: &["event_loop.cycle_id"], role, join: Join::within_traces(join) };

fn role(span: &Span) -> Role<'_> {
    match span.attributes.text(genai::CONVENTION.kind) {
        Some("invoke_swarm") => return Role::Group(Group::default()),
        Some("invoke_graph") => {
            return Role::Group(Group { side_by_side: true, ..Group::default() });
        }
        _ => {}
    }
    let mut role = genai::role(span);
    if let Role::Call(call) = &mut role
        && matches!(call.arguments, Args::None)
    {
        let message = span.events.iter().find(|event| &*event.name == "gen_ai.tool.message");
        call.arguments = Args::of(message.and_then(|event| event.attributes.get("content")));
    }
    role
}

fn join(forest: &mut Forest<'_>, tracer: u8) {
    for id in 0..forest.nodes.len() as Id {
        let node = forest.node(id);
        let Role::Call(call) = &node.role else {
            continue;
        };
        if node.tracer != tracer || call.tool.as_deref() != Some("handoff_to_agent") || !in_swarm(forest, id)
        {
            continue;
        }
        let Value::Object(fields) = call.arguments.value() else {
            continue;
        };
        let to = fields.get("agent_name").and_then(Value::as_str).map(Into::into);
        if let (true, Role::Call(call)) = (to.is_some(), &mut forest.nodes[id as usize].role) {
            call.class = Class::PassesControl { to };
        }
    }
}

/// Whether the agent that calls is one of a swarm: call, cycle, agent, swarm.
fn in_swarm(forest: &Forest<'_>, mut id: Id) -> bool {
    let mut agents = 0;
    for _ in 0..16 {
        let Up::Node(above) = forest.node(id).parent else {
            return false;
        };
        let node = forest.node(above);
        match node.role {
            Role::Run(_) => agents += 1,
            Role::Group(_) => {
                let operation = node.span.attributes.get(genai::CONVENTION.kind);
                return agents == 1
                    && matches!(operation, Some(AttrValue::Str(op)) if &**op == "invoke_swarm");
            }
            Role::Call(_) => return false,
            _ => {}
        }
        id = above;
    }
    false
}
