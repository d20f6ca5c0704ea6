//! A request for an answer, whatever API it came by: what was said, which tools are offered, which results are there.

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::dialect;
use crate::journal::canonical;
use crate::scenario::ModelApi;

/// A request, normalised: ids of calls are places in the conversation, and what changes from run to run without
/// changing what is asked is left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// How it came.
    pub api: ModelApi,
    /// The model asked for.
    pub model: String,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// Whether a stream is to end with its usage (OpenAI Chat Completions alone leaves it out).
    pub usage: bool,
    /// System prompt, developer messages included.
    pub system: String,
    /// In order.
    pub messages: Vec<Message>,
    /// Offered tools: name, and whatever else is said of them.
    pub tools: Vec<(String, Value)>,
    /// Temperature and the like, as sent.
    pub settings: Map<String, Value>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The user, or the app in its place.
    User(String),
    /// The model, earlier.
    Model {
        /// What it said.
        text: String,
        /// What it called.
        calls: Vec<Called>,
    },
    /// What a tool gave back.
    Result {
        /// Which; none where the call it answers is not in the conversation.
        tool: Option<String>,
        /// With which arguments it was called.
        arguments: Value,
        /// As sent.
        text: String,
    },
}

/// A call that the model made earlier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Called {
    /// Joins it with its result; random, so it is no part of what is asked.
    #[serde(skip)]
    pub id: String,
    /// Which tool.
    pub tool: String,
    /// Parsed where they are JSON.
    pub arguments: Value,
}

/// Settings that change from run to run, or that only concern how an answer is sent.
const VOLATILE: &[&str] = &[
    "stream",
    "stream_options",
    "user",
    "metadata",
    "store",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "include",
];

impl Asked {
    /// From a body of `api`. `model` and `stream` are what the path says, where it does (Gemini). An error says what is
    /// wrong with the body.
    pub fn read(api: ModelApi, model: Option<String>, stream: bool, body: &[u8]) -> Result<Self, String> {
        dialect::read(api, model, stream, body)
    }

    /// What is left of a body once everything above was taken out of it.
    pub(super) fn settings(mut body: Map<String, Value>, taken: &[&str]) -> Map<String, Value> {
        body.retain(|key, value| {
            !taken.contains(&key.as_str()) && !VOLATILE.contains(&key.as_str()) && !value.is_null()
        });
        body
    }

    /// `sha256:…` of what is asked: the same for a retry, for a stream and no stream, and whatever ids calls have.
    pub fn digest(&self) -> String {
        use std::fmt::Write;
        let form = (self.api.word(), &self.model, &self.system, &self.messages, &self.tools, &self.settings);
        // A conversation nested too deep for a canonical form is still told apart by its own text.
        let bytes = canonical::to_vec(&form, None).unwrap_or_else(|_| format!("{form:?}").into_bytes());
        let mut text = String::from("sha256:");
        for byte in Sha256::digest(&bytes) {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// The last thing a user said.
    pub fn user(&self) -> &str {
        let said = self.messages.iter().rev().find_map(|message| match message {
            Message::User(text) => Some(text.as_str()),
            _ => None,
        });
        said.unwrap_or_default()
    }

    /// The text of the last message.
    pub fn last(&self) -> &str {
        match self.messages.last() {
            Some(Message::User(text) | Message::Model { text, .. } | Message::Result { text, .. }) => text,
            None => "",
        }
    }

    /// Results that have come since the last thing a user said: tool, arguments, text.
    pub fn results(&self) -> impl Iterator<Item = (Option<&str>, &Value, &str)> {
        let since = self.messages.iter().rposition(|message| matches!(message, Message::User(_)));
        self.messages[since.map_or(0, |at| at + 1)..].iter().filter_map(|message| match message {
            Message::Result { tool, arguments, text } => Some((tool.as_deref(), arguments, text.as_str())),
            _ => None,
        })
    }

    /// A result, joined with the call of that id.
    pub(super) fn result_of(messages: &[Message], id: &str, text: String) -> Message {
        let calls = messages.iter().rev().filter_map(|message| match message {
            Message::Model { calls, .. } => Some(calls),
            _ => None,
        });
        let call = calls.flatten().find(|call| call.id == id);
        Message::Result {
            tool: call.map(|call| call.tool.clone()),
            arguments: call.map_or(Value::Null, |call| call.arguments.clone()),
            text,
        }
    }
}

/// What a result says: JSON where it is JSON, and what an SDK wrapped into `{"result": …}` or `{"output": …}` unwrapped.
pub(super) fn said(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(mut object)) if object.len() == 1 => {
            match object.remove("result").or_else(|| object.remove("output")) {
                Some(Value::String(inner)) => said(&inner),
                Some(inner) => inner,
                None => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
            }
        }
        Ok(value) => value,
        Err(_) => text.into(),
    }
}
