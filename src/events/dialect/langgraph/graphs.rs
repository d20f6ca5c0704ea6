//! Graphs, their nodes, and the agents that run in them, by checkpoint namespace.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::{Meta, Tracer};
use crate::events::basis;
use crate::events::forest::{Forest, Id, Passed, Up};
use crate::events::role::{Args, Group, Role, Run, Task};
use crate::spans::{Span, TraceId};

/// A graph nobody named.
const NAMELESS: &str = "LangGraph";
/// The function by which langgraph-swarm's graphs enter at whoever is active.
const SWARM_ENTRY: &str = "route_to_active_agent";
/// How far up a span's own node is looked for: wrappers between a node and what it runs are few.
const WRAPPERS: usize = 8;

struct Graphs<'t> {
    tracer: &'t Tracer,
    metas: HashMap<Id, Meta>,
    names: HashMap<Id, Arc<str>>,
}

/// An agent's run in a node of a plain graph.
struct Member {
    graph: Id,
    node: Id,
    run: Id,
}

pub(super) fn join(forest: &mut Forest<'_>, tracer_id: u8, tracer: &Tracer) {
    let mut graphs = Graphs { tracer, metas: HashMap::new(), names: HashMap::new() };
    for (id, node) in forest.nodes.iter().enumerate().filter(|(_, node)| node.tracer == tracer_id) {
        graphs.metas.insert(id as Id, tracer.meta(node.span));
        graphs.names.insert(id as Id, tracer.own_name(node.span));
    }
    let mut ids: Vec<Id> = graphs.metas.keys().copied().collect();
    ids.sort_unstable();
    if ids.is_empty() {
        return;
    }
    graphs.mark(forest, &ids);
    graphs.jobs(forest, &ids);
    let members = graphs.members(forest, &ids);
    graphs.pass(forest, &ids, &members);
}

impl Graphs<'_> {
    fn name(&self, id: Id) -> &str {
        self.names.get(&id).map_or("", |name| name)
    }

    /// Whether a span is a graph's node: of the node's own name, and one graph deeper than its parent.
    fn is_node(&self, forest: &Forest<'_>, id: Id) -> bool {
        let (Some(meta), Up::Node(parent)) = (self.metas.get(&id), forest.node(id).parent) else {
            return false;
        };
        let Some(above) = self.metas.get(&parent) else {
            return false;
        };
        meta.node.as_deref() == Some(self.name(id)) && meta.depth() == above.depth() + 1
    }

    /// The node a span runs in, through wrappers of the same task.
    fn node_of(&self, forest: &Forest<'_>, mut id: Id) -> Option<Id> {
        for _ in 0..WRAPPERS {
            let Up::Node(parent) = forest.node(id).parent else {
                return None;
            };
            if self.is_node(forest, parent) {
                return Some(parent);
            }
            if !matches!(forest.node(parent).role, Role::Blank) {
                return None;
            }
            id = parent;
        }
        None
    }

    /// Runs, plain graphs and callers.
    fn mark(&self, forest: &mut Forest<'_>, ids: &[Id]) {
        let mut asked = HashMap::new();
        for &id in ids {
            let (meta, span) = (&self.metas[&id], forest.node(id).span);
            if let Role::Call(_) = forest.node(id).role {
                let arguments = self.arguments(forest, id, &mut asked);
                let Role::Call(call) = &mut forest.nodes[id as usize].role else {
                    continue;
                };
                call.caller.clone_from(&meta.agent);
                if let Some(arguments) = arguments {
                    call.arguments = arguments;
                }
            } else if meta.agent.as_deref() == Some(self.name(id)) && !self.tracer.is_model(span) {
                forest.nodes[id as usize].role = Role::Run(Run {
                    name: meta.agent.clone(),
                    end_unrecorded: self.tracer.end_unrecorded(span),
                    ..Run::default()
                });
            }
        }
        // Agents of the older prebuilt kind carry no name of their own: a graph whose node `agent` calls a model.
        for &id in ids {
            if self.metas[&id].agent.is_some() || !self.tracer.is_model(forest.node(id).span) {
                continue;
            }
            let Some(node) = self.node_of(forest, id).filter(|&node| self.name(node) == "agent") else {
                continue;
            };
            let Up::Node(graph) = forest.node(node).parent else {
                continue;
            };
            if matches!(forest.node(graph).role, Role::Blank) {
                let name = self.names.get(&graph).filter(|name| &***name != NAMELESS).cloned();
                forest.nodes[graph as usize].role = Role::Run(Run { name, ..Run::default() });
            }
        }
        for &id in ids {
            if !self.is_node(forest, id) {
                continue;
            }
            let Up::Node(graph) = forest.node(id).parent else {
                continue;
            };
            let graph = &mut forest.nodes[graph as usize];
            if matches!(graph.role, Role::Blank) {
                graph.role = Role::Group(Group::default());
            }
        }
    }

    /// OpenInference records of a tool with one argument its bare value; the whole call stands at the node around.
    fn arguments(&self, forest: &Forest<'_>, id: Id, asked: &mut Asked) -> Option<Args<'static>> {
        if self.tracer.prefix.is_some() {
            return None;
        }
        let Role::Call(call) = &forest.node(id).role else {
            return None;
        };
        let output = forest.node(id).span.attributes.text(self.tracer.output).unwrap_or_default();
        let mut at = id;
        for _ in 0..WRAPPERS {
            let Up::Node(parent) = forest.node(at).parent else {
                break;
            };
            let requests = asked.entry(parent).or_insert_with(|| requests(forest.node(parent).span));
            let named =
                call.tool.as_deref().and_then(|tool| requests.get(tool)).map_or(&[][..], Vec::as_slice);
            let request = match named {
                [one] => Some(one),
                // The result of a call bears its request's id.
                many => answered(output).and_then(|id| many.iter().find(|request| request.id == id)),
            };
            if let Some(request) = request {
                return Some(Args::Data(request.args.clone()));
            }
            if self.is_node(forest, parent) {
                break;
            }
            at = parent;
        }
        // A bare value says what it is worth, not which argument it is.
        Some(match call.arguments.value() {
            Value::Object(fields) => Args::Data(Value::Object(fields)),
            _ => Args::None,
        })
    }

    /// Jobs that outlive the call that started them: their own run is not here yet, but what ran in it carries the
    /// namespace of the task in which that call, and no other, was made.
    fn jobs(&self, forest: &mut Forest<'_>, ids: &[Id]) {
        let mut calls: HashMap<(TraceId, &str), Vec<Id>> = HashMap::new();
        for &id in ids {
            let node = forest.node(id);
            if let (Role::Call(_), Some(space)) = (&node.role, &self.metas[&id].space) {
                calls.entry((node.span.trace_id, space)).or_default().push(id);
            }
        }
        let busy = self.calls_with_runs(forest, ids);
        let mut jobs: HashMap<Id, Id> = HashMap::new();
        let mut by_start = ids.to_vec();
        by_start.sort_by_key(|&id| (forest.node(id).span.start, id));
        let mut orphan_calls = Vec::new();
        for id in by_start {
            let (meta, node) = (&self.metas[&id], forest.node(id));
            if node.parent != Up::Missing {
                continue;
            }
            let around = meta.outer().and_then(|outer| calls.get(&(node.span.trace_id, outer)));
            let Some(&[call]) = around.map(Vec::as_slice) else {
                continue;
            };
            let other = meta.agent.is_some() && meta.agent != self.metas[&call].agent;
            if !other || busy.contains(&call) {
                continue;
            }
            if matches!(node.role, Role::Call(_)) {
                orphan_calls.push((id, call));
            } else if let Some(&job) = jobs.get(&call) {
                forest.adopt(id, job, basis::JOB_NAMESPACE);
            } else {
                jobs.insert(call, id);
                forest.adopt(id, call, basis::JOB_NAMESPACE);
                forest.nodes[id as usize].role =
                    Role::Run(Run { name: meta.agent.clone(), end_unrecorded: true, ..Run::default() });
            }
        }
        for (id, call) in orphan_calls {
            if let Some(&job) = jobs.get(&call) {
                forest.adopt(id, job, basis::JOB_NAMESPACE);
            }
        }
    }

    /// Calls below which an agent's run is here.
    fn calls_with_runs(&self, forest: &Forest<'_>, ids: &[Id]) -> HashSet<Id> {
        let above = |mut id: Id| {
            for _ in 0..WRAPPERS {
                let Up::Node(parent) = forest.node(id).parent else {
                    return None;
                };
                match forest.node(parent).role {
                    Role::Call(_) => return Some(parent),
                    Role::Run(_) => return None,
                    _ => id = parent,
                }
            }
            None
        };
        ids.iter()
            .filter(|&&id| matches!(forest.node(id).role, Role::Run(_)))
            .filter_map(|&id| above(id))
            .collect()
    }

    /// Agents that run in nodes of plain graphs. A node of another name may be a function that happens to call an
    /// agent, so that being the first in it is nothing; it starts no agent.
    fn members(&self, forest: &mut Forest<'_>, ids: &[Id]) -> Vec<Member> {
        let mut members = Vec::new();
        for &run in ids {
            let Role::Run(Run { name: agent, .. }) = &forest.node(run).role else {
                continue;
            };
            let Some(node) = self.node_of(forest, run) else {
                continue;
            };
            let Up::Node(graph) = forest.node(node).parent else {
                continue;
            };
            if !matches!(forest.node(graph).role, Role::Group(_)) {
                continue;
            }
            if agent.as_deref() == Some(self.name(node)) {
                members.push(Member { graph, node, run });
            } else {
                forest.nodes[node as usize].role =
                    Role::Group(Group { starts_none: true, ..Group::default() });
            }
        }
        members
    }

    /// Passes of control, and the nodes to which a graph itself gave work.
    fn pass(&self, forest: &mut Forest<'_>, ids: &[Id], members: &[Member]) {
        let by_run: HashMap<Id, &Member> = members.iter().map(|member| (member.run, member)).collect();
        let mut by_step: HashMap<(Id, &str, Option<i64>), Vec<Id>> = HashMap::new();
        for member in members {
            let step = self.metas[&member.node].step;
            by_step.entry((member.graph, self.name(member.node), step)).or_default().push(member.run);
        }
        // A graph with a way of its own to enter, or with passes of control, gives its nodes no work itself.
        let mut passing: HashSet<Id> = HashSet::new();
        for &id in ids.iter().filter(|&&id| self.name(id) == SWARM_ENTRY) {
            let graph = self.node_of(forest, id).map(|node| forest.node(node).parent);
            if let Some(Up::Node(graph)) = graph {
                passing.insert(graph);
            }
        }
        for &on in ids {
            if !matches!(forest.node(on).role, Role::Call(_)) {
                continue;
            }
            let Some(destination) = self.destination(forest, on) else {
                continue;
            };
            let Some(sender) = self.run_of(forest, on).and_then(|run| by_run.get(&run)) else {
                continue;
            };
            passing.insert(sender.graph);
            let next = self.metas[&sender.node].step.map(|step| step + 1);
            if next.is_none() {
                continue;
            }
            if let Some(&[receiver]) = by_step.get(&(sender.graph, &*destination, next)).map(Vec::as_slice) {
                forest.passed.push(Passed { on, sender: sender.run, receiver, basis: basis::COMMAND_GOTO });
            }
        }
        for member in members {
            let graph = self.names.get(&member.graph).filter(|name| &***name != NAMELESS);
            let (Some(graph), false) = (graph, passing.contains(&member.graph)) else {
                continue;
            };
            let from = Some(Arc::clone(graph));
            if let Role::Run(run) = &mut forest.nodes[member.run as usize].role {
                run.task =
                    Some(Task { from, arguments: Args::None, nested: false, basis: basis::GRAPH_NODE });
            }
        }
    }

    /// The run a call was made in.
    fn run_of(&self, forest: &Forest<'_>, mut id: Id) -> Option<Id> {
        for _ in 0..WRAPPERS {
            let Up::Node(parent) = forest.node(id).parent else {
                return None;
            };
            match forest.node(parent).role {
                Role::Run(_) => return Some(parent),
                Role::Call(_) => return None,
                _ => id = parent,
            }
        }
        None
    }

    /// The node to which a call passes control: the mark of a tool made for it, or the `Command` it gave back.
    fn destination(&self, forest: &Forest<'_>, id: Id) -> Option<Arc<str>> {
        if let Some(destination) = &self.metas[&id].destination {
            return Some(Arc::clone(destination));
        }
        let output = forest.node(id).span.attributes.text(self.tracer.output)?;
        if !output.contains("__parent__") {
            return None;
        }
        let output: Value = serde_json::from_str(output).ok()?;
        let command = output.get("output").unwrap_or(&output);
        if let Value::String(printed) = command {
            // traceAI records the printed form of the object.
            let (_, goto) = printed.strip_prefix("Command(graph='__parent__'")?.rsplit_once("goto='")?;
            return goto.strip_suffix("')").map(Arc::from);
        }
        let parent = command.get("graph").and_then(Value::as_str) == Some("__parent__");
        command.get("goto").and_then(Value::as_str).filter(|_| parent).map(Arc::from)
    }
}

/// What nodes were asked to call, by node and tool.
type Asked = HashMap<Id, HashMap<String, Vec<Request>>>;

fn requests(span: &Span) -> HashMap<String, Vec<Request>> {
    let input = span.attributes.text("input.value").unwrap_or_default();
    let requests = match serde_json::from_str(input) {
        Ok(Requests::Many(requests)) => requests,
        Ok(Requests::One { tool_call }) => vec![tool_call],
        Err(_) => Vec::new(),
    };
    let mut by_tool: HashMap<String, Vec<Request>> = HashMap::new();
    for request in requests {
        by_tool.entry(request.name.clone()).or_default().push(request);
    }
    by_tool
}

/// The id of the request that a tool's recorded result answers.
fn answered(output: &str) -> Option<&str> {
    let (_, rest) = output.rsplit_once("\"tool_call_id\": \"")?;
    rest.split_once('"').map(|(id, _)| id)
}

/// The calls a `tools` node was given.
#[derive(Deserialize)]
#[serde(untagged)]
enum Requests {
    Many(Vec<Request>),
    One { tool_call: Request },
}

#[derive(Deserialize)]
struct Request {
    name: String,
    args: Value,
    #[serde(default)]
    id: String,
}
