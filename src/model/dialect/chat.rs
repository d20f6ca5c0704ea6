//! OpenAI Chat Completions: `POST /v1/chat/completions`.

use serde_json::{Map, Value, json};

use super::{Event, arguments, join, list, text_at, text_of};
use crate::model::answer::{Answer, CREATED, Refused};
use crate::model::asked::{Asked, Called, Message};
use crate::scenario::{Finish, ModelApi};

pub(super) fn read(body: Map<String, Value>) -> Result<Asked, String> {
    let (mut system, mut messages) = (String::new(), Vec::new());
    for message in list(&body, "messages")? {
        let message = message.as_object().ok_or("a message is no object")?;
        let text = message.get("content").map_or_else(String::new, text_of);
        match text_at(message, "role") {
            Some("system" | "developer") => join(&mut system, &text),
            Some("user") => messages.push(Message::User(text)),
            Some("assistant") => {
                let calls = message.get("tool_calls").and_then(Value::as_array);
                let calls = calls.into_iter().flatten().map(called).collect();
                messages.push(Message::Model { text, calls });
            }
            Some("tool" | "function") => {
                let id = text_at(message, "tool_call_id").unwrap_or_default();
                messages.push(Asked::result_of(&messages, id, text));
            }
            role => return Err(format!("a message has the role {role:?}")),
        }
    }
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    let tools = tools.filter_map(|tool| {
        let function = tool.get("function")?;
        Some((function.get("name")?.as_str()?.to_owned(), function.clone()))
    });
    Ok(Asked {
        api: ModelApi::OpenAiChat,
        model: text_at(&body, "model").unwrap_or_default().to_owned(),
        stream: body.get("stream") == Some(&Value::Bool(true)),
        usage: body.get("stream_options").and_then(|options| options.get("include_usage"))
            == Some(&Value::Bool(true)),
        system,
        messages,
        tools: tools.collect(),
        settings: Asked::settings(body, &["model", "messages", "tools"]),
    })
}

fn called(call: &Value) -> Called {
    let text = |pointer| call.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    Called {
        id: text("/id").to_owned(),
        tool: text("/function/name").to_owned(),
        arguments: arguments(text("/function/arguments")),
    }
}

fn finish(answer: &Answer) -> &'static str {
    match answer.finish {
        Finish::Length => "length",
        Finish::Filtered => "content_filter",
        Finish::Stop if answer.calls.is_empty() => "stop",
        Finish::Stop => "tool_calls",
    }
}

fn usage(answer: &Answer) -> Value {
    json!({
        "prompt_tokens": answer.input,
        "completion_tokens": answer.output,
        "total_tokens": answer.input + answer.output,
        "prompt_tokens_details": { "cached_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": 0 },
    })
}

pub(super) fn whole(answer: &Answer) -> Value {
    let mut message = json!({ "role": "assistant", "content": answer.text, "refusal": null });
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().map(|call| {
            let function = json!({ "name": call.tool, "arguments": call.arguments.to_string() });
            json!({ "id": call.id, "type": "function", "function": function })
        });
        message["tool_calls"] = calls.collect();
    }
    json!({
        "id": format!("chatcmpl-{}", answer.id),
        "object": "chat.completion",
        "created": CREATED,
        "model": answer.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish(answer) }],
        "usage": usage(answer),
    })
}

pub(super) fn events(answer: &Answer, with_usage: bool) -> Vec<Event> {
    let chunk = |choices: Value| {
        let mut chunk = json!({
            "id": format!("chatcmpl-{}", answer.id),
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": answer.model,
            "choices": choices,
        });
        if with_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    };
    let part = |delta: Value, finish: Option<&str>| {
        Event::plain(chunk(
            json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]),
        ))
    };
    let mut events = vec![part(json!({ "role": "assistant", "content": "" }), None)];
    events.extend(answer.pieces().into_iter().map(|piece| part(json!({ "content": piece }), None)));
    for (index, call) in answer.calls.iter().enumerate() {
        // Id and name stand in the first part alone; the index joins the rest to it.
        let function = json!({ "name": call.tool, "arguments": "" });
        let first = json!({ "index": index, "id": call.id, "type": "function", "function": function });
        let rest = json!({ "index": index, "function": { "arguments": call.arguments.to_string() } });
        events.extend([first, rest].map(|call| part(json!({ "tool_calls": [call] }), None)));
    }
    events.push(part(json!({}), Some(finish(answer))));
    if with_usage {
        let mut last = chunk(json!([]));
        last["usage"] = usage(answer);
        events.push(Event::plain(last));
    }
    events.push(Event::plain("[DONE]".into()));
    events
}

pub(super) fn error(refused: &Refused) -> Value {
    let kind = match refused.status {
        429 => "rate_limit_error",
        401 => "authentication_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let code = refused.code.or((refused.status == 429).then_some("rate_limit_exceeded"));
    json!({ "error": { "message": refused.message, "type": kind, "param": null, "code": code } })
}
