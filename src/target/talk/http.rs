//! `talk: http`: one POST a turn. Also carries `openai_chat`, which is a POST with a body of its own.

use std::collections::BTreeMap;

use http::{Method, Uri};
use http_body_util::Full;
use hyper::body::Bytes;
use serde_json::Value;

use super::super::environment::Fill;
use super::super::http::{self as wire, Answer};
use super::{Question, Trouble, beginning, sse};
use crate::scenario::ReplyAt;

/// Posts the turn and reads the reply from where the contract says it stands.
pub(super) async fn ask(
    question: &Question<'_>,
    url: &str,
    body: &Value,
    headers: &BTreeMap<String, String>,
    reply: &ReplyAt,
) -> Result<String, Trouble> {
    let mut answer = post(question, url, &filled(body, question), headers).await?;
    match reply {
        ReplyAt::Sse(pointer) => joined(&mut answer, question, pointer).await,
        ReplyAt::Body => {
            let bytes = whole(&mut answer, question.limit).await?;
            String::from_utf8(bytes).map_err(|_| Trouble::Bad("the answer is not UTF-8".into()))
        }
        ReplyAt::Pointer(pointer) => {
            let bytes = whole(&mut answer, question.limit).await?;
            let json: Value = serde_json::from_slice(&bytes).map_err(|error| {
                Trouble::Bad(format!("the answer is not JSON ({error}): {}", beginning(&bytes)))
            })?;
            at(&json, pointer)
                .ok_or_else(|| Trouble::Bad(format!("no text at {pointer} in {}", beginning(&bytes))))
        }
    }
}

/// Posts `body` and waits for a head that is a success.
pub(super) async fn post(
    question: &Question<'_>,
    url: &str,
    body: &Value,
    headers: &BTreeMap<String, String>,
) -> Result<Answer, Trouble> {
    let fixed = [("port", question.port), ("trial", question.trial)];
    let fill = Fill(&fixed);
    let url: Uri = fill.text(url).parse().map_err(|_| Trouble::Bad(format!("`{url}` is no URL")))?;
    let address = wire::address(&url).map_err(Trouble::Bad)?;
    let mut request = wire::request(Method::POST, &url);
    for (name, value) in headers {
        request = request.header(name, fill.text(value));
    }
    if request.headers_ref().is_some_and(|headers| !headers.contains_key("content-type")) {
        request = request.header("content-type", "application/json");
    }
    let request = request
        .body(Full::new(Bytes::from(body.to_string())))
        .map_err(|error| Trouble::Bad(format!("the request cannot be made: {error}")))?;
    let broken =
        |error: &dyn std::fmt::Display| Trouble::Broken(format!("{}:{}: {error}", address.0, address.1));
    let stream = wire::connect(&address).await.map_err(|error| broken(&error))?;
    let mut answer = wire::send(stream, request).await.map_err(|error| broken(&error))?;
    if answer.head.status.is_success() {
        return Ok(answer);
    }
    let status = answer.head.status;
    let body = whole(&mut answer, question.limit).await?;
    Err(Trouble::Bad(format!("the app answered {status}: {}", beginning(&body))))
}

/// The whole body, within `limit`.
pub(super) async fn whole(answer: &mut Answer, limit: u64) -> Result<Vec<u8>, Trouble> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await {
        bytes.extend_from_slice(&chunk.map_err(cut_off)?);
        within(bytes.len(), limit)?;
    }
    Ok(bytes)
}

/// Each event's text at `pointer`, joined. An event without one (a start, a usage report) adds nothing; a stream in
/// which no event has one is no reply.
async fn joined(answer: &mut Answer, question: &Question<'_>, pointer: &str) -> Result<String, Trouble> {
    let mut text = None::<String>;
    events(answer, question.limit, |event| {
        if let Some(piece) = at(event, pointer) {
            text.get_or_insert_default().push_str(&piece);
        }
        Ok(())
    })
    .await?;
    text.ok_or_else(|| Trouble::Bad(format!("no event of the stream holds a text at {pointer}")))
}

/// Hands each event's JSON to `each`, until the stream ends or says `[DONE]`; whether it said so.
pub(super) async fn events(
    answer: &mut Answer,
    limit: u64,
    mut each: impl FnMut(&Value) -> Result<(), Trouble>,
) -> Result<bool, Trouble> {
    let mut parser = sse::Parser::default();
    let mut size = 0;
    while let Some(chunk) = answer.chunk().await {
        let chunk = chunk.map_err(cut_off)?;
        size += chunk.len();
        within(size, limit)?;
        for data in parser.push(&chunk) {
            if data == b"[DONE]" {
                return Ok(true);
            }
            let event = serde_json::from_slice(&data).map_err(|error| {
                Trouble::Bad(format!("an event is not JSON ({error}): {}", beginning(&data)))
            })?;
            each(&event)?;
        }
    }
    Ok(false)
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn cut_off(error: hyper::Error) -> Trouble {
    Trouble::Broken(format!("the answer was cut off: {error}"))
}

fn within(size: usize, limit: u64) -> Result<(), Trouble> {
    if size as u64 > limit {
        return Err(Trouble::Bad(format!("the answer is longer than {limit} bytes")));
    }
    Ok(())
}

/// The text at `pointer`; what is no string is given as its JSON, null as nothing.
fn at(json: &Value, pointer: &str) -> Option<String> {
    match json.pointer(pointer)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The contract's body for this turn. A string that is `${history}` and nothing else becomes the list of messages.
fn filled(body: &Value, question: &Question<'_>) -> Value {
    let history = Value::from(question.messages());
    let text = history.to_string();
    let names = [
        ("turn", question.text),
        ("history", text.as_str()),
        ("trial", question.trial),
        ("port", question.port),
    ];
    put_in(body, Fill(&names), &history)
}

fn put_in(body: &Value, fill: Fill<'_>, history: &Value) -> Value {
    match body {
        Value::String(text) if text == "${history}" => history.clone(),
        Value::String(text) => fill.text(text).into(),
        Value::Array(items) => items.iter().map(|item| put_in(item, fill, history)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), put_in(value, fill, history))).collect()
        }
        other => other.clone(),
    }
}
