//! A convention as a table: under which keys a tracer keeps kinds, names and arguments.
//!
//! Most dialects are one table; frameworks that need more start from it.

use std::sync::Arc;

use crate::events::role::{Args, Call, Role, Run};
use crate::spans::{AttrValue, Attributes, Span};

/// Keys and values of one convention. Of several keys the first that is there counts.
pub(super) struct Convention {
    /// The attribute that says what a span is.
    pub kind: &'static str,
    /// Its values for an agent's run.
    pub agent: &'static [&'static str],
    /// Its values for a tool's call.
    pub tool: &'static [&'static str],
    /// The agent of a run.
    pub agent_name: &'static [&'static str],
    /// The tool of a call.
    pub tool_name: &'static [&'static str],
    /// The arguments of a call.
    pub arguments: &'static [&'static str],
    /// The calling agent, on the call's own span.
    pub caller: &'static [&'static str],
}

impl Convention {
    /// What the kind attribute and the keys say.
    pub fn role<'a>(&self, span: &'a Span) -> Role<'a> {
        let Some(kind) = span.attributes.text(self.kind) else {
            return Role::Blank;
        };
        if self.agent.contains(&kind) {
            Role::Run(self.run(span))
        } else if self.tool.contains(&kind) {
            Role::Call(self.call(span))
        } else {
            Role::Blank
        }
    }

    /// Whether the kind attribute has this value.
    pub fn is(&self, span: &Span, kind: &str) -> bool {
        span.attributes.text(self.kind) == Some(kind)
    }

    /// The span as an agent's run.
    pub fn run<'a>(&self, span: &Span) -> Run<'a> {
        Run { name: first(&span.attributes, self.agent_name), ..Run::default() }
    }

    /// The span as a tool's call.
    pub fn call<'a>(&self, span: &'a Span) -> Call<'a> {
        let arguments = self.arguments.iter().find_map(|key| span.attributes.get(key));
        Call {
            tool: first(&span.attributes, self.tool_name),
            arguments: Args::of(arguments),
            caller: first(&span.attributes, self.caller),
            ..Call::default()
        }
    }
}

/// The text at the first of these keys that holds one.
pub(super) fn first(attributes: &Attributes, keys: &[&str]) -> Option<Arc<str>> {
    keys.iter().find_map(|key| name(attributes, key))
}

/// The text at `key`, shared; none where it is empty.
pub(super) fn name(attributes: &Attributes, key: &str) -> Option<Arc<str>> {
    match attributes.get(key) {
        Some(AttrValue::Str(text)) if !text.is_empty() => Some(Arc::clone(text)),
        _ => None,
    }
}
