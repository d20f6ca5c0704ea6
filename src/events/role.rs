//! What one span is, in the reader's terms: the words a dialect answers in.
//!
//! A role is read from one span alone and holds only what that span records. What follows from where spans stand to
//! each other is decided in `structure`, once for all dialects.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::spans::AttrValue;

/// What a span is.
#[derive(Debug, Default)]
pub enum Role<'a> {
    /// Nothing that acts: it only links its children to its parent.
    #[default]
    Blank,
    /// A place in which agents run one after the other: a workflow, a task, a team.
    Group(Group),
    /// One run of one agent.
    Run(Run<'a>),
    /// One call of a tool.
    Call(Call<'a>),
    /// A framework's own span of a pass of control, which is no tool call.
    Pass(Pass),
    /// A part of a run of the named agent: tells whose calls these are, should the run itself never come.
    Step(Arc<str>),
}

impl Role<'_> {
    /// The agent, of a run that names one.
    pub fn agent(&self) -> Option<&str> {
        match self {
            Self::Run(run) => run.name.as_deref(),
            _ => None,
        }
    }
}

/// A place in which agents run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The framework runs its agents side by side (graph, team), so that none of them needs a cause of its own.
    /// Otherwise only the first is known to be started by the group.
    pub side_by_side: bool,
    /// Nothing says that it starts agents at all: what runs in it has no cause by being there.
    pub starts_none: bool,
}

/// One run of one agent.
#[derive(Debug, Default)]
pub struct Run<'a> {
    /// The agent; none where it is not recorded.
    pub name: Option<Arc<str>>,
    /// The agent's own id, where another span can name it.
    pub id: Option<Arc<str>>,
    /// Who handed it control, where the run itself says so.
    pub handed_by: Option<Arc<str>>,
    /// The framework's own record that this run is a hand-off (a task, a graph's node).
    pub task: Option<Task<'a>>,
    /// The span closed only because its parent did, or never: the agent's own end is not on record.
    pub end_unrecorded: bool,
    /// When the run ended (Unix nanoseconds), where its span covers only its beginning.
    pub end: Option<u64>,
    /// The span may as well be no agent's run: nothing but its kind speaks for it.
    pub unsure: bool,
}

/// A hand-off that the run's own span records.
#[derive(Debug)]
pub struct Task<'a> {
    /// Who handed over, where it is recorded.
    pub from: Option<Arc<str>>,
    /// What was handed over.
    pub arguments: Args<'a>,
    /// The sender's own run lies around this one; else the record holds at the top alone.
    pub nested: bool,
    /// The rule.
    pub basis: &'static str,
}

/// One call of a tool.
#[derive(Debug, Default)]
pub struct Call<'a> {
    /// The tool.
    pub tool: Option<Arc<str>>,
    /// Its arguments.
    pub arguments: Args<'a>,
    /// The calling agent, where the call's own span names it.
    pub caller: Option<Arc<str>>,
    /// What the framework says this call does beyond being a call.
    pub class: Class,
    /// The other side of a call (a server's span): adds nothing where a client's span shows the same call.
    pub far_side: bool,
}

/// What the framework's own record says a call does.
#[derive(Debug, Default)]
pub enum Class {
    /// Nothing more.
    #[default]
    Plain,
    /// It runs an agent: the one named here, whether or not a run of it lies under the call.
    RunsAgent {
        /// The worker, where it is recorded.
        to: Option<Arc<str>>,
        /// The rule.
        basis: &'static str,
    },
    /// It passes control to the named agent, else to the only next one of the same place.
    PassesControl {
        /// The receiver, where it is recorded.
        to: Option<Arc<str>>,
    },
}

/// A framework's own span of a pass of control.
#[derive(Debug, Default)]
pub struct Pass {
    /// Who passed it, where the span says so; else the agent above.
    pub from: Option<Arc<str>>,
    /// Who received it.
    pub to: Option<Arc<str>>,
}

/// Arguments where they stand, read only for the events that are made of them.
#[derive(Debug, Default)]
pub enum Args<'a> {
    /// None recorded, or hidden behind a stand-in.
    #[default]
    None,
    /// A text, JSON or not.
    Text(Cow<'a, str>),
    /// Already data.
    Data(Value),
}

impl<'a> Args<'a> {
    /// What an attribute holds; texts that only say that something is hidden are none.
    pub fn of(value: Option<&'a AttrValue>) -> Self {
        match value {
            Some(AttrValue::Str(text)) => Self::text(text),
            Some(AttrValue::Map(_) | AttrValue::List(_)) => value.map_or(Self::None, |v| Self::Data(data(v))),
            _ => Self::None,
        }
    }

    /// A text as recorded.
    pub fn text(text: &'a str) -> Self {
        const HIDDEN: [&str; 3] = ["", "__REDACTED__", "<redacted>"];
        if HIDDEN.contains(&text) { Self::None } else { Self::Text(Cow::Borrowed(text)) }
    }

    /// As data: JSON text becomes what it holds, other text stays text.
    pub fn value(&self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Data(value) => value.clone(),
            Self::Text(text) => match serde_json::from_str(text) {
                // Of a call without arguments some tracers record the JSON of an empty text.
                Ok(Value::String(empty)) if empty.is_empty() => Value::Null,
                Ok(value) => value,
                Err(_) => Value::String(text.to_string()),
            },
        }
    }
}

/// An attribute as JSON. Depth is bounded by the decoder; bytes, which JSON cannot hold, are null.
fn data(value: &AttrValue) -> Value {
    match value {
        AttrValue::Empty | AttrValue::Bytes(_) => Value::Null,
        AttrValue::Str(text) => Value::String(text.to_string()),
        AttrValue::Bool(b) => Value::Bool(*b),
        AttrValue::Int(i) => Value::from(*i),
        AttrValue::Double(d) => Value::from(*d),
        AttrValue::List(items) => items.iter().map(data).collect(),
        AttrValue::Map(pairs) => Value::Object(pairs.iter().map(|(k, v)| (k.to_string(), data(v))).collect()),
    }
}
