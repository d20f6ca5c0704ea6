//! Vercel AI SDK 6 (`experimental_telemetry`). Version 7 writes GenAI operations and is read as those.
//!
//! The only identity is the function id an app may give. A nested generation without one may be an agent or a plain
//! model call: nothing says which.

use super::Dialect;
use super::convention::name;
use crate::events::role::{Args, Call, Role, Run};
use crate::spans::Span;

pub(super) const DIALECT: Dialect = Dialect { scopes: &[], marks: &["ai.operationId"], role, join: None };

const FUNCTION: &str = "ai.telemetry.functionId";

fn role(span: &Span) -> Role<'_> {
    let attributes = &span.attributes;
    match attributes.text("ai.operationId") {
        Some("ai.generateText" | "ai.streamText" | "ai.generateObject" | "ai.streamObject") => {
            let function = name(attributes, FUNCTION);
            Role::Run(Run { unsure: function.is_none(), name: function, ..Run::default() })
        }
        Some("ai.toolCall") => Role::Call(Call {
            tool: name(attributes, "ai.toolCall.name"),
            arguments: Args::of(attributes.get("ai.toolCall.args")),
            caller: name(attributes, FUNCTION),
            ..Call::default()
        }),
        _ => Role::Blank,
    }
}
