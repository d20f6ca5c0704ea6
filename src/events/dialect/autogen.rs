//! AutoGen: its own spans, and those of OpenInference.
//!
//! A team's turns are no hand-offs. A pass of control is a `HandoffMessage` whose text is the result of the call that
//! made it, and whose target then runs. AutoGen's own spans of one chat are many traces, joined by the chat's id; what
//! a call's arguments were stands in the messages alone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::convention::name;
use super::{Dialect, Join, Tie, genai, openinference};
use crate::events::basis;
use crate::events::forest::{Forest, Id, Passed, Up};
use crate::events::role::{Args, Class, Group, Role, Run};
use crate::spans::Span;

pub(super) const NATIVE: Dialect = Dialect {
    scopes: &["autogen-core", "autogen "],
    marks: &["recipient_agent_class"],
    role: genai::role,
    join: Some(Join { spans: native, traces: Some(of_chat) }),
};

pub(super) const OPENINFERENCE: Dialect = Dialect {
    scopes: &["openinference.instrumentation.autogen"],
    marks: &[],
    role: traced,
    join: Join::within_traces(handed_in_output),
};

/// What a chat's messages record, each message once, in the order they were made.
#[derive(Default)]
struct Talk(BTreeMap<(String, String), Value>);

/// A `HandoffMessage`, and the call whose result its text is.
struct Handed {
    source: String,
    target: String,
    call: String,
    tool: String,
}

impl Talk {
    fn hear(&mut self, message: &Value) {
        if let (Some(id), Some(at)) = (text(message, "id"), text(message, "created_at")) {
            self.0.entry((at, id)).or_insert_with(|| message.clone());
        }
    }

    fn parts<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        let said = self.0.values().filter(move |message| message["type"] == kind);
        said.flat_map(|message| message["content"].as_array().map_or(&[][..], Vec::as_slice))
    }

    /// Arguments by call id.
    fn arguments(&self) -> impl Iterator<Item = (String, Value)> + '_ {
        self.parts("ToolCallRequestEvent").filter_map(|call| {
            Some((text(call, "id")?, serde_json::from_str(&text(call, "arguments")?).ok()?))
        })
    }

    /// Every pass of control: the text of the message is the result of the sender's latest such call.
    fn handed(&self) -> Vec<Handed> {
        let mut results: HashMap<(String, String), (String, String)> = HashMap::new();
        let mut handed = Vec::new();
        for message in self.0.values() {
            let Some(source) = text(message, "source") else {
                continue;
            };
            match message["type"].as_str() {
                Some("ToolCallExecutionEvent") => {
                    for result in message["content"].as_array().into_iter().flatten() {
                        if let (Some(said), Some(call), Some(tool)) =
                            (text(result, "content"), text(result, "call_id"), text(result, "name"))
                        {
                            results.insert((source.clone(), said), (call, tool));
                        }
                    }
                }
                Some("HandoffMessage") => {
                    if let (Some(target), Some(said)) = (text(message, "target"), text(message, "content"))
                        && let Some((call, tool)) = results.remove(&(source.clone(), said))
                    {
                        handed.push(Handed { source, target, call, tool });
                    }
                }
                _ => {}
            }
        }
        handed
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// The chat an agent or a message belongs to: `NAME_CHAT/CHAT`, or `NAME_CHAT`.
fn chat_of(span: &Span) -> Option<&str> {
    let attributes = &span.attributes;
    let id = attributes.text("gen_ai.agent.id").or_else(|| attributes.text("recipient_agent_type"))?;
    let id = id.split_once('/').map_or(id, |(id, _)| id);
    id.rsplit_once('_').map(|(_, chat)| chat)
}

/// The chat's spans are joined, whichever traces they stand in.
fn of_chat(span: &Span, tell: &mut dyn FnMut(Tie<'_>)) {
    chat_of(span).into_iter().for_each(|chat| tell(Tie::Id(chat)));
}

fn native(forest: &mut Forest<'_>, tracer: u8) {
    let mut talks: HashMap<&str, Talk> = HashMap::new();
    let mut runs: HashMap<&str, Vec<Id>> = HashMap::new();
    for (id, node) in forest.nodes.iter().enumerate().filter(|(_, node)| node.tracer == tracer) {
        let Some(chat) = chat_of(node.span) else {
            continue;
        };
        if matches!(node.role, Role::Run(_)) {
            runs.entry(chat).or_default().push(id as Id);
        } else if let Some(text) = node.span.attributes.text("message") {
            let Ok(said) = serde_json::from_str::<Value>(text) else {
                continue;
            };
            let talk = talks.entry(chat).or_default();
            said.get("message").into_iter().for_each(|message| talk.hear(message));
        }
    }
    let mut calls: HashMap<(&str, &str), (Id, Id)> = HashMap::new();
    for (id, node) in forest.nodes.iter().enumerate().filter(|(_, node)| node.tracer == tracer) {
        let (Role::Call(_), Up::Node(run)) = (&node.role, node.parent) else {
            continue;
        };
        if let (Some(chat), Some(call)) =
            (chat_of(forest.node(run).span), node.span.attributes.text("gen_ai.tool.call.id"))
        {
            calls.insert((chat, call), (id as Id, run));
        }
    }
    let mut passed = Vec::new();
    let mut arguments = Vec::new();
    for (chat, talk) in &talks {
        arguments.extend(
            talk.arguments().filter_map(|(call, value)| Some((calls.get(&(*chat, call.as_str()))?.0, value))),
        );
        let Some(runs) = runs.get_mut(chat) else {
            continue;
        };
        runs.sort_by_key(|&id| (forest.node(id).span.start, id));
        for handed in talk.handed() {
            let Some(&(on, sender)) = calls.get(&(*chat, handed.call.as_str())) else {
                continue;
            };
            let ended = forest.node(on).span.end;
            let next = runs.get(runs.partition_point(|&run| forest.node(run).span.start < ended)).copied();
            let named = |run: Id, agent: &str| forest.node(run).role.agent() == Some(agent);
            let Some(receiver) =
                next.filter(|&run| named(run, &handed.target) && named(sender, &handed.source))
            else {
                continue;
            };
            passed.push(Passed { on, sender, receiver, basis: basis::HANDOFF_MESSAGE });
        }
    }
    passed.sort_by_key(|passed| passed.on);
    forest.passed.extend(passed);
    for (call, value) in arguments {
        if let Role::Call(call) = &mut forest.nodes[call as usize].role {
            call.arguments = Args::Data(value);
        }
    }
}

fn traced(span: &Span) -> Role<'_> {
    // A team's run lists who takes part.
    if span.attributes.get("participant_names").is_some() {
        return Role::Group(Group { side_by_side: true, ..Group::default() });
    }
    match openinference::CONVENTION.role(span) {
        // A custom agent is named in its span's name alone.
        Role::Run(run) => {
            Role::Run(Run { name: run.name.or_else(|| name_before(span, ".on_messages")), ..run })
        }
        role => role,
    }
}

fn name_before(span: &Span, mark: &str) -> Option<Arc<str>> {
    span.name.split_once(mark).map(|(agent, _)| agent.into())
}

/// The team's output lists the chat's messages; its calls are known by agent and tool.
fn handed_in_output(forest: &mut Forest<'_>, tracer: u8) {
    let mut calls: HashMap<(Id, String, String), Vec<Id>> = HashMap::new();
    for (id, node) in forest.nodes.iter().enumerate().filter(|(_, node)| node.tracer == tracer) {
        let (Role::Call(call), Up::Node(run)) = (&node.role, node.parent) else {
            continue;
        };
        let (Some(agent), Some(tool), Up::Node(team)) =
            (forest.node(run).role.agent(), &call.tool, forest.node(run).parent)
        else {
            continue;
        };
        calls.entry((team, agent.to_owned(), tool.to_string())).or_default().push(id as Id);
    }
    let mut passes: Vec<(Id, Arc<str>)> = Vec::new();
    for (id, node) in forest.nodes.iter().enumerate().filter(|(_, node)| node.tracer == tracer) {
        if !matches!(node.role, Role::Group(_)) {
            continue;
        }
        let Some(output) = name(&node.span.attributes, "output.value") else {
            continue;
        };
        let Ok(said) = serde_json::from_str::<Value>(&output) else {
            continue;
        };
        let mut talk = Talk::default();
        for message in said.get("messages").and_then(Value::as_array).into_iter().flatten() {
            talk.hear(message);
        }
        let mut used: HashMap<(String, String), usize> = HashMap::new();
        for handed in talk.handed() {
            let place = used.entry((handed.source.clone(), handed.tool.clone())).or_default();
            let made = calls.get(&(id as Id, handed.source, handed.tool));
            if let Some(&call) = made.and_then(|made| made.get(*place)) {
                passes.push((call, handed.target.as_str().into()));
            }
            *place += 1;
        }
    }
    for (call, to) in passes {
        if let Role::Call(call) = &mut forest.nodes[call as usize].role {
            call.class = Class::PassesControl { to: Some(to) };
        }
    }
}
