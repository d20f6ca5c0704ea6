//! Anthropic Messages: `POST /v1/messages`. Streams carry `event:` lines, without which the official client breaks.

use serde_json::{Map, Value, json};

use super::{Event, list, text_at, text_of};
use crate::model::answer::{Answer, Refused};
use crate::model::asked::{Asked, Called, Message};
use crate::scenario::{Finish, ModelApi};

pub(super) fn read(body: Map<String, Value>) -> Result<Asked, String> {
    let mut messages = Vec::new();
    for message in list(&body, "messages")? {
        let message = message.as_object().ok_or("a message is no object")?;
        let content = message.get("content").ok_or("a message has no content")?;
        match text_at(message, "role") {
            Some("user") => user(content, &mut messages),
            Some("assistant") => messages.push(model(content)),
            role => return Err(format!("a message has the role {role:?}")),
        }
    }
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    let tools = tools.filter_map(|tool| Some((tool.get("name")?.as_str()?.to_owned(), tool.clone())));
    Ok(Asked {
        api: ModelApi::Anthropic,
        model: text_at(&body, "model").unwrap_or_default().to_owned(),
        stream: body.get("stream") == Some(&Value::Bool(true)),
        usage: true,
        system: body.get("system").map_or_else(String::new, text_of),
        messages,
        tools: tools.collect(),
        settings: Asked::settings(body, &["model", "messages", "system", "tools"]),
    })
}

/// Results come as blocks of a user's message, before what the user says.
fn user(content: &Value, messages: &mut Vec<Message>) {
    let Value::Array(blocks) = content else {
        return messages.push(Message::User(text_of(content)));
    };
    let (results, rest): (Vec<_>, Vec<_>) =
        blocks.iter().cloned().partition(|block| block.get("type") == Some(&"tool_result".into()));
    let only_results = !results.is_empty() && rest.is_empty();
    for block in results {
        let id = block.get("tool_use_id").and_then(Value::as_str).unwrap_or_default();
        let text = block.get("content").map_or_else(String::new, text_of);
        messages.push(Asked::result_of(messages, id, text));
    }
    if !only_results {
        messages.push(Message::User(text_of(&Value::Array(rest))));
    }
}

fn model(content: &Value) -> Message {
    let Value::Array(blocks) = content else {
        return Message::Model { text: text_of(content), calls: Vec::new() };
    };
    let of = |kind: &'static str| {
        blocks.iter().filter(move |block| block.get("type").and_then(Value::as_str) == Some(kind))
    };
    let calls = of("tool_use").map(|block| {
        let text = |key| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        Called {
            id: text("id"),
            tool: text("name"),
            arguments: block.get("input").cloned().unwrap_or(Value::Null),
        }
    });
    Message::Model { text: text_of(&of("text").cloned().collect()), calls: calls.collect() }
}

fn stop_reason(answer: &Answer) -> &'static str {
    match answer.finish {
        Finish::Length => "max_tokens",
        Finish::Filtered => "refusal",
        Finish::Stop if answer.calls.is_empty() => "end_turn",
        Finish::Stop => "tool_use",
    }
}

fn message(answer: &Answer, content: Vec<Value>, stop: Option<&str>, output: u64) -> Value {
    json!({
        "id": format!("msg_{}", answer.id), "type": "message", "role": "assistant", "model": answer.model,
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": {
            "input_tokens": answer.input, "output_tokens": output,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        },
    })
}

fn tool_use(call: &crate::model::answer::Call, input: Value) -> Value {
    json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": input })
}

pub(super) fn whole(answer: &Answer) -> Value {
    let text = answer.text.iter().map(|text| json!({ "type": "text", "text": text }));
    let calls = answer.calls.iter().map(|call| tool_use(call, call.arguments.clone()));
    message(answer, text.chain(calls).collect(), Some(stop_reason(answer)), answer.output)
}

pub(super) fn events(answer: &Answer) -> Vec<Event> {
    let mut events = Vec::new();
    let mut send = |name: &'static str, mut data: Value| {
        data["type"] = name.into();
        events.push(Event { name: Some(name), data });
    };
    send("message_start", json!({ "message": message(answer, Vec::new(), None, 0) }));
    let mut index = 0;
    if answer.text.is_some() {
        let block = json!({ "type": "text", "text": "" });
        send("content_block_start", json!({ "index": 0, "content_block": block }));
        send("ping", json!({}));
        for piece in answer.pieces() {
            let delta = json!({ "type": "text_delta", "text": piece });
            send("content_block_delta", json!({ "index": 0, "delta": delta }));
        }
        send("content_block_stop", json!({ "index": 0 }));
        index = 1;
    }
    for (call, index) in answer.calls.iter().zip(index..) {
        send("content_block_start", json!({ "index": index, "content_block": tool_use(call, json!({})) }));
        let delta = json!({ "type": "input_json_delta", "partial_json": call.arguments.to_string() });
        send("content_block_delta", json!({ "index": index, "delta": delta }));
        send("content_block_stop", json!({ "index": index }));
    }
    let delta = json!({ "stop_reason": stop_reason(answer), "stop_sequence": null });
    send("message_delta", json!({ "delta": delta, "usage": { "output_tokens": answer.output } }));
    send("message_stop", json!({}));
    events
}

pub(super) fn error(refused: &Refused) -> Value {
    let kind = match refused.status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": refused.message } })
}
