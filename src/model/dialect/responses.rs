//! OpenAI Responses: `POST /v1/responses`. The official client accumulates a stream in a strict state machine: one id
//! for the response, one id per item, and nothing missing from an item that is said to be done.

use serde_json::{Map, Value, json};

use super::{Event, arguments, join, list, text_at, text_of};
use crate::model::answer::{Answer, CREATED};
use crate::model::asked::{Asked, Called, Message};
use crate::scenario::{Finish, ModelApi};

pub(super) fn read(body: Map<String, Value>) -> Result<Asked, String> {
    for key in ["previous_response_id", "conversation"] {
        if body.get(key).is_some_and(|value| !value.is_null()) {
            return Err(format!(
                "`{key}` leaves out what was said before, and nothing is kept here: send all of it"
            ));
        }
    }
    let mut system = text_at(&body, "instructions").unwrap_or_default().to_owned();
    let mut messages = Vec::new();
    match body.get("input") {
        Some(Value::String(text)) => messages.push(Message::User(text.clone())),
        Some(_) => {
            for item in list(&body, "input")? {
                take(item, &mut system, &mut messages)?;
            }
        }
        None => return Err("`input` is missing".to_owned()),
    }
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    let tools = tools.filter_map(|tool| {
        let name = tool.get("name").or_else(|| tool.get("type"))?.as_str()?;
        Some((name.to_owned(), tool.clone()))
    });
    Ok(Asked {
        api: ModelApi::OpenAiResponses,
        model: text_at(&body, "model").unwrap_or_default().to_owned(),
        stream: body.get("stream") == Some(&Value::Bool(true)),
        usage: true,
        system,
        messages,
        tools: tools.collect(),
        settings: Asked::settings(body, &["model", "input", "instructions", "tools"]),
    })
}

fn take(item: &Value, system: &mut String, messages: &mut Vec<Message>) -> Result<(), String> {
    let item = item.as_object().ok_or("an item of `input` is no object")?;
    let text = |key| item.get(key).map_or_else(String::new, text_of);
    match (text_at(item, "type"), text_at(item, "role")) {
        (None | Some("message"), Some("system" | "developer")) => join(system, &text("content")),
        (None | Some("message"), Some("user")) => messages.push(Message::User(text("content"))),
        (None | Some("message"), Some("assistant")) => {
            messages.push(Message::Model { text: text("content"), calls: Vec::new() });
        }
        (Some("function_call"), _) => {
            let call = Called {
                id: text("call_id"),
                tool: text("name"),
                arguments: arguments(text_at(item, "arguments").unwrap_or_default()),
            };
            // Calls made at once are items of their own, as is what was said with them.
            match messages.last_mut() {
                Some(Message::Model { calls, .. }) => calls.push(call),
                _ => messages.push(Message::Model { text: String::new(), calls: vec![call] }),
            }
        }
        (Some("function_call_output"), _) => {
            messages.push(Asked::result_of(messages, &text("call_id"), text("output")));
        }
        // What the model thought is no part of what it is asked.
        (Some("reasoning"), _) => {}
        (kind, role) => {
            return Err(format!("an item of `input` has the type {kind:?} and the role {role:?}"));
        }
    }
    Ok(())
}

fn message(answer: &Answer, text: &str, done: bool) -> Value {
    let content = if done { json!([part(text)]) } else { json!([]) };
    json!({
        "type": "message", "id": format!("msg_{}", answer.id), "role": "assistant",
        "status": if done { "completed" } else { "in_progress" }, "content": content,
    })
}

fn part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

fn item_id(call: &crate::model::answer::Call) -> String {
    format!("fc_{}", call.id.trim_start_matches("call_"))
}

fn call_item(call: &crate::model::answer::Call, done: bool) -> Value {
    json!({
        "type": "function_call", "id": item_id(call), "call_id": call.id, "name": call.tool,
        "arguments": if done { call.arguments.to_string() } else { String::new() },
        "status": if done { "completed" } else { "in_progress" },
    })
}

/// The response with the items it has so far; `usage` only once it is over.
fn response(answer: &Answer, output: Vec<Value>, over: bool) -> Value {
    let incomplete = match answer.finish {
        Finish::Stop => None,
        Finish::Length => Some("max_output_tokens"),
        Finish::Filtered => Some("content_filter"),
    };
    let status = match (over, incomplete) {
        (false, _) => "in_progress",
        (true, None) => "completed",
        (true, Some(_)) => "incomplete",
    };
    let usage = json!({
        "input_tokens": answer.input, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": answer.output, "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": answer.input + answer.output,
    });
    json!({
        "id": format!("resp_{}", answer.id), "object": "response", "created_at": CREATED, "status": status,
        "model": answer.model, "output": output, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
        "error": null, "instructions": null, "metadata": {}, "temperature": 1.0, "top_p": 1.0,
        "incomplete_details": incomplete.filter(|_| over).map(|reason| json!({ "reason": reason })),
        "usage": if over { usage } else { Value::Null },
    })
}

fn output(answer: &Answer) -> Vec<Value> {
    let text = answer.text.iter().map(|text| message(answer, text, true));
    text.chain(answer.calls.iter().map(|call| call_item(call, true))).collect()
}

pub(super) fn whole(answer: &Answer) -> Value {
    response(answer, output(answer), true)
}

/// Numbers events as it goes.
#[derive(Default)]
struct Stream(Vec<Event>);

impl Stream {
    fn send(&mut self, name: &'static str, fields: Value) {
        let mut data = json!({ "type": name, "sequence_number": self.0.len() });
        if let (Value::Object(data), Value::Object(fields)) = (&mut data, fields) {
            data.extend(fields);
        }
        self.0.push(Event { name: Some(name), data });
    }
}

pub(super) fn events(answer: &Answer) -> Vec<Event> {
    let mut stream = Stream::default();
    let begun = response(answer, Vec::new(), false);
    stream.send("response.created", json!({ "response": begun }));
    stream.send("response.in_progress", json!({ "response": begun }));
    let mut index = 0;
    if let Some(text) = &answer.text {
        let id = format!("msg_{}", answer.id);
        let at = |mut fields: Value| {
            fields["item_id"] = id.as_str().into();
            fields["output_index"] = 0.into();
            fields["content_index"] = 0.into();
            fields
        };
        stream.send(
            "response.output_item.added",
            json!({ "output_index": 0, "item": message(answer, text, false) }),
        );
        stream.send("response.content_part.added", at(json!({ "part": part("") })));
        for piece in answer.pieces() {
            stream.send("response.output_text.delta", at(json!({ "delta": piece, "logprobs": [] })));
        }
        stream.send("response.output_text.done", at(json!({ "text": text, "logprobs": [] })));
        stream.send("response.content_part.done", at(json!({ "part": part(text) })));
        stream.send(
            "response.output_item.done",
            json!({ "output_index": 0, "item": message(answer, text, true) }),
        );
        index = 1;
    }
    for (call, index) in answer.calls.iter().zip(index..) {
        let at = |mut fields: Value| {
            fields["item_id"] = item_id(call).into();
            fields["output_index"] = index.into();
            fields
        };
        let arguments = call.arguments.to_string();
        let item = |done| json!({ "output_index": index, "item": call_item(call, done) });
        stream.send("response.output_item.added", item(false));
        stream.send("response.function_call_arguments.delta", at(json!({ "delta": arguments })));
        let done = at(json!({ "arguments": arguments, "name": call.tool }));
        stream.send("response.function_call_arguments.done", done);
        stream.send("response.output_item.done", item(true));
    }
    let name = if answer.finish == Finish::Stop { "response.completed" } else { "response.incomplete" };
    stream.send(name, json!({ "response": whole(answer) }));
    stream.0
}
