//! Gemini: `POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent`; each event of a stream is a whole
//! response, and calls need no id. Keys come in camel case, or in snake case from older clients.

use serde_json::{Map, Value, json};

use super::{Event, list, text_at};
use crate::model::answer::{Answer, Refused};
use crate::model::asked::{Asked, Called, Message};
use crate::scenario::{Finish, ModelApi};

pub(super) fn read(body: Map<String, Value>, model: String, stream: bool) -> Result<Asked, String> {
    let mut messages = Vec::new();
    for content in list(&body, "contents")? {
        let content = content.as_object().ok_or("an entry of `contents` is no object")?;
        let parts = content.get("parts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        match text_at(content, "role") {
            None | Some("user" | "function" | "tool") => user(parts, &mut messages),
            Some("model") => messages.push(said(parts)),
            role => return Err(format!("an entry of `contents` has the role {role:?}")),
        }
    }
    let system = either(&body, "systemInstruction", "system_instruction");
    let tools =
        body.get("tools").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    let tools = tools
        .filter_map(|tool| either(tool, "functionDeclarations", "function_declarations")?.as_array())
        .flatten()
        .filter_map(|tool| Some((tool.get("name")?.as_str()?.to_owned(), tool.clone())));
    Ok(Asked {
        api: ModelApi::Gemini,
        model,
        stream,
        usage: true,
        system: system
            .and_then(|system| system.get("parts"))
            .and_then(Value::as_array)
            .map_or_else(String::new, |parts| text(parts)),
        messages,
        tools: tools.collect(),
        settings: Asked::settings(body, &["contents", "systemInstruction", "system_instruction", "tools"]),
    })
}

fn either<'b>(body: &'b Map<String, Value>, camel: &str, snake: &str) -> Option<&'b Value> {
    body.get(camel).or_else(|| body.get(snake))
}

fn text(parts: &[Value]) -> String {
    let texts = parts.iter().filter(|part| part.get("thought") != Some(&Value::Bool(true)));
    texts.filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
}

fn inner<'b>(part: &'b Value, camel: &str, snake: &str) -> Option<&'b Map<String, Value>> {
    either(part.as_object()?, camel, snake)?.as_object()
}

/// Results come as parts of a user's entry.
fn user(parts: &[Value], messages: &mut Vec<Message>) {
    let results: Vec<_> =
        parts.iter().filter_map(|part| inner(part, "functionResponse", "function_response")).collect();
    for result in &results {
        let text = result.get("response").map_or_else(String::new, Value::to_string);
        let name = text_at(result, "name").unwrap_or_default();
        let id = text_at(result, "id").filter(|id| !id.is_empty());
        let joined = id.map(|id| Asked::result_of(messages, id, text.clone()));
        messages.push(match joined {
            Some(found @ Message::Result { tool: Some(_), .. }) => found,
            // Without an id it answers the first call of that name that is still open.
            _ => Message::Result { tool: Some(name.to_owned()), arguments: open_call(messages, name), text },
        });
    }
    let text = text(parts);
    if results.is_empty() || !text.is_empty() {
        messages.push(Message::User(text));
    }
}

fn open_call(messages: &[Message], name: &str) -> Value {
    let Some(at) = messages.iter().rposition(|message| matches!(message, Message::Model { .. })) else {
        return Value::Null;
    };
    let answered = messages[at..]
        .iter()
        .filter(|message| matches!(message, Message::Result { tool: Some(tool), .. } if tool == name))
        .count();
    let Message::Model { calls, .. } = &messages[at] else { return Value::Null };
    let call = calls.iter().filter(|call| call.tool == name).nth(answered);
    call.map_or(Value::Null, |call| call.arguments.clone())
}

fn said(parts: &[Value]) -> Message {
    let calls =
        parts.iter().filter_map(|part| inner(part, "functionCall", "function_call")).map(|call| Called {
            id: text_at(call, "id").unwrap_or_default().to_owned(),
            tool: text_at(call, "name").unwrap_or_default().to_owned(),
            arguments: call.get("args").cloned().unwrap_or_else(|| json!({})),
        });
    Message::Model { text: text(parts), calls: calls.collect() }
}

fn finish(answer: &Answer) -> &'static str {
    match answer.finish {
        Finish::Stop => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::Filtered => "SAFETY",
    }
}

fn response(answer: &Answer, parts: Vec<Value>, over: bool) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    let mut response = json!({ "modelVersion": answer.model, "responseId": answer.id });
    if over {
        candidate["finishReason"] = finish(answer).into();
        response["usageMetadata"] = json!({
            "promptTokenCount": answer.input,
            "candidatesTokenCount": answer.output,
            "totalTokenCount": answer.input + answer.output,
        });
    }
    response["candidates"] = json!([candidate]);
    response
}

fn calls(answer: &Answer) -> impl Iterator<Item = Value> {
    answer
        .calls
        .iter()
        .map(|call| json!({ "functionCall": { "id": call.id, "name": call.tool, "args": call.arguments } }))
}

pub(super) fn whole(answer: &Answer) -> Value {
    let text = answer.text.iter().map(|text| json!({ "text": text }));
    response(answer, text.chain(calls(answer)).collect(), true)
}

pub(super) fn events(answer: &Answer) -> Vec<Event> {
    let text = answer.pieces().into_iter().map(|piece| vec![json!({ "text": piece })]);
    let mut parts: Vec<_> = text.collect();
    let calls: Vec<_> = calls(answer).collect();
    if !calls.is_empty() {
        parts.push(calls);
    }
    let last = parts.len().saturating_sub(1);
    let chunk = |(at, parts)| Event::plain(response(answer, parts, at == last));
    parts.into_iter().enumerate().map(chunk).collect()
}

pub(super) fn error(refused: &Refused) -> Value {
    let status = match refused.status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        501.. => "UNAVAILABLE",
        _ => "INVALID_ARGUMENT",
    };
    json!({ "error": { "code": refused.status, "message": refused.message, "status": status } })
}
