//! LlamaIndex agents, under OpenInference.
//!
//! No span is an agent's: a workflow's run holds steps, and a step names its agent only in the printed form of its
//! event. A call lies beside the step that asked for it, joined by the id of the model's request.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Dialect, Join, openinference};
use crate::events::basis;
use crate::events::forest::{Forest, Id, Up};
use crate::events::role::{Args, Class, Group, Role, Run};
use crate::spans::{AttrValue, Span, SpanId, TraceId};

pub(super) const DIALECT: Dialect = Dialect {
    scopes: &["openinference.instrumentation.llama_index"],
    marks: &[],
    role,
    join: Join::within_traces(join),
};

/// `AgentWorkflow`'s own tool; in its workflow alone does another agent run after it.
const HANDOFF: &str = "handoff";
/// How far below a step its model's answer lies at most.
const DEEPEST: usize = 4;

fn role(span: &Span) -> Role<'_> {
    match openinference::CONVENTION.role(span) {
        Role::Call(mut call) => {
            if let Value::Object(mut fields) = call.arguments.value()
                && let Some(Value::Object(mut named)) = fields.remove("kwargs")
            {
                // The framework's own argument, printed.
                named.remove("ctx");
                if let (Some(HANDOFF), Some(Value::String(to))) =
                    (call.tool.as_deref(), named.get("to_agent"))
                {
                    call.class = Class::PassesControl { to: Some(to.as_str().into()) };
                }
                call.arguments = Args::Data(Value::Object(named));
            }
            Role::Call(call)
        }
        Role::Blank if openinference::CONVENTION.is(span, "CHAIN") && span.name.ends_with(".run") => {
            Role::Group(Group::default())
        }
        Role::Blank if span.name.ends_with(".run_agent_step") => {
            match printed(span, "current_agent_name='", "')") {
                Some(agent) => Role::Step(agent),
                None => Role::Blank,
            }
        }
        role => role,
    }
}

/// The last field of the printed event.
fn printed(span: &Span, field: &str, end: &str) -> Option<Arc<str>> {
    let (_, rest) = span.attributes.text("input.value")?.rsplit_once(field)?;
    rest.split_once(end).map(|(value, _)| value.into())
}

type Workflow = (TraceId, Option<SpanId>);

fn join(forest: &mut Forest<'_>, tracer: u8) {
    let mut steps: HashMap<Workflow, Vec<Id>> = HashMap::new();
    let mut asked: HashMap<(Workflow, Arc<str>), Id> = HashMap::new();
    for id in 0..forest.nodes.len() as Id {
        let node = forest.node(id);
        if node.tracer != tracer {
            continue;
        }
        if matches!(node.role, Role::Step(_)) {
            steps.entry(workflow(node.span)).or_default().push(id);
        }
        for request in requests(node.span) {
            if let Some(step) = step_above(forest, id) {
                asked.insert((workflow(forest.node(step).span), request), step);
            }
        }
    }
    let mut lead: HashMap<Id, Id> = HashMap::new();
    for steps in steps.values_mut() {
        steps.sort_by_key(|&id| (forest.node(id).span.start, id));
        settle(forest, steps, &mut lead);
    }
    for id in 0..forest.nodes.len() as Id {
        let node = forest.node(id);
        if node.tracer != tracer || !node.span.name.ends_with(".call_tool") {
            continue;
        }
        let Some(request) = printed(node.span, "tool_id='", "'") else {
            continue;
        };
        if let Some(step) = asked.get(&(workflow(node.span), request)) {
            forest.adopt(id, lead.get(step).copied().unwrap_or(*step), basis::TOOL_REQUEST);
        }
    }
}

/// Steps of one agent in a row are one run, which its first step stands for. Where the workflow never came, they only
/// name the agent.
fn settle(forest: &mut Forest<'_>, steps: &[Id], lead: &mut HashMap<Id, Id>) {
    let mut current: Option<(Id, Arc<str>)> = None;
    for &id in steps {
        let node = forest.node(id);
        let (Role::Step(agent), Up::Node(_)) = (&node.role, node.parent) else {
            continue;
        };
        let (agent, end) = (Arc::clone(agent), node.span.end);
        if let Some((first, _)) = current.as_ref().filter(|(_, going)| *going == agent) {
            lead.insert(id, *first);
            forest.nodes[id as usize].role = Role::Blank;
            if let Role::Run(run) = &mut forest.nodes[*first as usize].role {
                run.end = run.end.max(Some(end));
            }
        } else {
            let run = Run { name: Some(Arc::clone(&agent)), end: Some(end), ..Run::default() };
            forest.nodes[id as usize].role = Role::Run(run);
            current = Some((id, agent));
        }
    }
}

fn workflow(span: &Span) -> Workflow {
    (span.trace_id, span.parent)
}

/// Ids of the calls a model asked for.
fn requests(span: &Span) -> impl Iterator<Item = Arc<str>> + '_ {
    span.attributes.0.iter().filter_map(|(key, value)| match value {
        AttrValue::Str(id) if key.starts_with("llm.output_messages.") && key.ends_with(".tool_call.id") => {
            Some(Arc::clone(id))
        }
        _ => None,
    })
}

fn step_above(forest: &Forest<'_>, mut id: Id) -> Option<Id> {
    for _ in 0..DEEPEST {
        let Up::Node(parent) = forest.node(id).parent else {
            return None;
        };
        if matches!(forest.node(parent).role, Role::Step(_)) {
            return Some(parent);
        }
        id = parent;
    }
    None
}
