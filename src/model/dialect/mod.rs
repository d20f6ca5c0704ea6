//! The APIs, a file each: what of a request is asked, and an answer, a stream or an error in the API's form.
//!
//! Shapes are the providers' own as official clients read them; `tests/models.rs` drives those clients.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Map, Value, json};

use super::answer::{Answer, Refused};
use super::asked::Asked;
use crate::scenario::{ModelApi, ModelFamily};

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its name, where the API names events.
    pub name: Option<&'static str>,
    /// What it says; a text is sent as it is.
    pub data: Value,
}

impl Event {
    fn plain(data: Value) -> Self {
        Self { name: None, data }
    }

    /// As server-sent event.
    pub fn bytes(&self) -> Vec<u8> {
        let data = match &self.data {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match self.name {
            Some(name) => format!("event: {name}\ndata: {data}\n\n").into_bytes(),
            None => format!("data: {data}\n\n").into_bytes(),
        }
    }
}

/// What a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// An answer.
    Answer {
        /// By which API.
        api: ModelApi,
        /// The model, where the path names it.
        model: Option<String>,
        /// Whether the path asks for a stream.
        stream: bool,
    },
    /// The list of models.
    Models,
    /// One model.
    Model(String),
}

/// What `path` (without its token) asks for at an address of `family`. The version in front may be left out.
pub fn wanted(family: ModelFamily, method: &http::Method, path: &str) -> Option<Wanted> {
    let path = path.trim_matches('/');
    let rest = ["v1beta", "v1alpha", "v1"]
        .into_iter()
        .find_map(|version| path.strip_prefix(version)?.strip_prefix('/'))
        .unwrap_or(path);
    if method == http::Method::GET {
        return match rest.strip_prefix("models") {
            Some("") => Some(Wanted::Models),
            Some(id) => Some(Wanted::Model(id.strip_prefix('/')?.to_owned())),
            None => None,
        };
    }
    if method != http::Method::POST {
        return None;
    }
    let answer = |api| Some(Wanted::Answer { api, model: None, stream: false });
    match (family, rest) {
        (ModelFamily::OpenAi, "chat/completions") => answer(ModelApi::OpenAiChat),
        (ModelFamily::OpenAi, "responses") => answer(ModelApi::OpenAiResponses),
        (ModelFamily::Anthropic, "messages") => answer(ModelApi::Anthropic),
        (ModelFamily::Gemini, _) => {
            let (model, verb) = rest.strip_prefix("models/")?.rsplit_once(':')?;
            let stream = match verb {
                "generateContent" => false,
                "streamGenerateContent" => true,
                _ => return None,
            };
            Some(Wanted::Answer { api: ModelApi::Gemini, model: Some(model.to_owned()), stream })
        }
        _ => None,
    }
}

/// Reads a request's body. An error says what is wrong with it.
pub fn read(api: ModelApi, model: Option<String>, stream: bool, body: &[u8]) -> Result<Asked, String> {
    let body: Value =
        serde_json::from_slice(body).map_err(|error| format!("the body is no JSON: {error}"))?;
    let Value::Object(body) = body else {
        return Err("the body is no JSON object".to_owned());
    };
    match api {
        ModelApi::OpenAiChat => chat::read(body),
        ModelApi::OpenAiResponses => responses::read(body),
        ModelApi::Anthropic => anthropic::read(body),
        ModelApi::Gemini => gemini::read(body, model.unwrap_or_default(), stream),
    }
}

/// The answer as one body.
pub fn whole(asked: &Asked, answer: &Answer) -> Value {
    match asked.api {
        ModelApi::OpenAiChat => chat::whole(answer),
        ModelApi::OpenAiResponses => responses::whole(answer),
        ModelApi::Anthropic => anthropic::whole(answer),
        ModelApi::Gemini => gemini::whole(answer),
    }
}

/// The answer as a stream.
pub fn events(asked: &Asked, answer: &Answer) -> Vec<Event> {
    match asked.api {
        ModelApi::OpenAiChat => chat::events(answer, asked.usage),
        ModelApi::OpenAiResponses => responses::events(answer),
        ModelApi::Anthropic => anthropic::events(answer),
        ModelApi::Gemini => gemini::events(answer),
    }
}

/// The status of a provider that is overloaded.
pub fn overloaded(family: ModelFamily) -> u16 {
    if family == ModelFamily::Anthropic { 529 } else { 503 }
}

/// An error's body.
pub fn error(family: ModelFamily, refused: &Refused) -> Value {
    match family {
        ModelFamily::OpenAi => chat::error(refused),
        ModelFamily::Anthropic => anthropic::error(refused),
        ModelFamily::Gemini => gemini::error(refused),
    }
}

/// The list of models.
pub fn models(family: ModelFamily, ids: &[String]) -> Value {
    let all: Vec<Value> = ids.iter().map(|id| model(family, id)).collect();
    match family {
        ModelFamily::OpenAi => json!({ "object": "list", "data": all }),
        ModelFamily::Anthropic => {
            json!({ "data": all, "has_more": false, "first_id": ids.first(), "last_id": ids.last() })
        }
        ModelFamily::Gemini => json!({ "models": all }),
    }
}

/// One model.
pub fn model(family: ModelFamily, id: &str) -> Value {
    match family {
        ModelFamily::OpenAi => {
            json!({ "id": id, "object": "model", "created": super::answer::CREATED, "owned_by": "mocktrial" })
        }
        ModelFamily::Anthropic => {
            json!({ "type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z" })
        }
        ModelFamily::Gemini => json!({
            "name": format!("models/{id}"), "version": "1", "displayName": id,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }),
    }
}

/// The text of a content that is a text or a list of parts; a part that is no text stands as its type in brackets.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match (part, part.get("text").and_then(Value::as_str)) {
                (_, Some(text)) => text.to_owned(),
                (Value::String(text), None) => text.clone(),
                (part, None) => match part.get("refusal").and_then(Value::as_str) {
                    Some(refusal) => refusal.to_owned(),
                    None => format!("[{}]", part.get("type").and_then(Value::as_str).unwrap_or("part")),
                },
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn text_at<'b>(object: &'b Map<String, Value>, key: &str) -> Option<&'b str> {
    object.get(key).and_then(Value::as_str)
}

/// Arguments as the model wrote them: JSON where they are.
fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn list<'b>(body: &'b Map<String, Value>, key: &str) -> Result<&'b [Value], String> {
    match body.get(key) {
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(format!("`{key}` is no list")),
        None => Err(format!("`{key}` is missing")),
    }
}

/// Several texts of one kind, joined by blank lines.
fn join(into: &mut String, text: &str) {
    if !into.is_empty() && !text.is_empty() {
        into.push_str("\n\n");
    }
    into.push_str(text);
}
