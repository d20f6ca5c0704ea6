//! An answer before it is put into an API's form.

use serde_json::Value;

use crate::scenario::Finish;

/// Seconds since 1970 that every answer says it was made at: a retry gets the same bytes.
pub const CREATED: u64 = 1_767_225_600;

/// What the model says.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// From the request's digest, so that a retry gets the same.
    pub id: String,
    /// The model that says so.
    pub model: String,
    /// What is said; none for calls alone.
    pub text: Option<String>,
    /// Tools called, all at once.
    pub calls: Vec<Call>,
    /// Why it ends.
    pub finish: Finish,
    /// Tokens of the request.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
}

/// A tool called.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Unique in the conversation.
    pub id: String,
    /// Which.
    pub tool: String,
    /// An object.
    pub arguments: Value,
}

impl Answer {
    /// The text in the pieces a stream sends: at white space, none short.
    pub fn pieces(&self) -> Vec<&str> {
        let Some(text) = self.text.as_deref() else { return Vec::new() };
        let mut pieces = Vec::new();
        let mut start = 0;
        for (at, space) in text.char_indices().filter(|(_, c)| c.is_whitespace()) {
            let end = at + space.len_utf8();
            if end - start >= 16 {
                pieces.push(&text[start..end]);
                start = end;
            }
        }
        if start < text.len() || text.is_empty() {
            pieces.push(&text[start..]);
        }
        pieces
    }
}

/// About one token for four characters: for scripts that do not say.
pub fn estimate(characters: usize) -> u64 {
    u64::try_from(characters.div_ceil(4)).unwrap_or(u64::MAX)
}

/// An error told to the app, in no API's form yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// HTTP status.
    pub status: u16,
    /// For people.
    pub message: String,
    /// A word for programs; the API's own for this status where there is none.
    pub code: Option<&'static str>,
    /// Seconds.
    pub retry_after: Option<u64>,
    /// Whether the client may try again.
    pub retry: bool,
}

impl Refused {
    /// An error that stays one.
    pub fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), code: Some(code), retry_after: None, retry: false }
    }
}
