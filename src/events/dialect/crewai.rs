//! CrewAI under OpenInference (wrappers and event listener), traceAI and Traceloop.
//!
//! A crew hands its tasks to agents, so that an agent at the top of a crew has a hand-off of its own, from nobody. What
//! the tracers say of an agent's predecessor (`graph.node.parent_id`) is the one that ran before it, and no evidence.

use serde_json::{Value, json};

use super::convention::{Convention, name};
use super::{Dialect, openinference, traceai, traceloop};
use crate::events::basis;
use crate::events::role::{Args, Role, Run, Task};
use crate::spans::Span;

pub(super) const OPENINFERENCE: Dialect = Dialect {
    scopes: &["openinference.instrumentation.crewai"],
    marks: &[],
    role: |span| role(&openinference::CONVENTION, span),
    join: None,
};

pub(super) const TRACEAI: Dialect = Dialect {
    scopes: &["traceai_crewai"],
    marks: &[],
    role: |span| role(&traceai::CONVENTION, span),
    join: None,
};

pub(super) const TRACELOOP: Dialect = Dialect {
    scopes: &["opentelemetry.instrumentation.crewai"],
    marks: &["crewai.agent.role"],
    role: |span| role(&traceloop::CONVENTION, span),
    join: None,
};

fn role<'a>(keys: &Convention, span: &'a Span) -> Role<'a> {
    let attributes = &span.attributes;
    match keys.role(span) {
        Role::Run(run) => {
            let described =
                attributes.text("task_description").map(str::to_owned).or_else(|| kicked_off(span));
            let arguments = described.map_or(Args::None, |text| Args::Data(json!({ "task": text })));
            Role::Run(Run {
                name: run.name.or_else(|| given_to(span)),
                task: Some(Task { from: None, arguments, nested: false, basis: basis::TASK_GIVEN }),
                ..run
            })
        }
        Role::Call(mut call) => {
            call.caller = name(attributes, "tool.agent_role");
            if let Value::Object(mut fields) = call.arguments.value() {
                // traceAI records the call of the wrapped method, in which the tool's own call is an argument.
                if let Some(Value::Object(mut calling)) = fields.remove("calling") {
                    call.arguments = calling.remove("arguments").map_or(Args::None, Args::Data);
                }
            }
            Role::Call(call)
        }
        role => role,
    }
}

/// An agent that is kicked off alone has no task but what it was told.
fn kicked_off(span: &Span) -> Option<String> {
    let input = span.attributes.text("input.value").filter(|_| span.name.ends_with(".kickoff"))?;
    let input: Value = serde_json::from_str(input).ok()?;
    input.get("messages").and_then(Value::as_str).map(str::to_owned)
}

/// traceAI names the agent only as the first argument of the wrapped method.
fn given_to(span: &Span) -> Option<std::sync::Arc<str>> {
    let input: Value = serde_json::from_str(span.attributes.text("input.value")?).ok()?;
    input.pointer("/args/0/role").and_then(Value::as_str).map(Into::into)
}
