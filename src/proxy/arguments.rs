//! What a call's arguments are: path variables, query parameters and the body, as one JSON object.
//!
//! Reading only: what is forwarded is what was received. A body that is no object, that cannot be read, or whose keys
//! clash with the path's or the query's stands whole under `body`, so that nothing is recorded that was not said.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::body::KEPT_OF_LONGER;
use super::json;
use crate::scenario::Tool;
use crate::world::coerce;

/// Arguments are recorded as they came up to this many bytes.
pub const RECORDED: usize = 64 << 10;

/// How a body carries arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyForm {
    /// One JSON value.
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// Nothing that is read.
    Opaque,
}

impl BodyForm {
    /// By `Content-Type`; a body under a `Content-Encoding` is opaque, and passes as it is.
    pub fn of(headers: &HeaderMap) -> Self {
        let text = |value: &HeaderValue| value.to_str().ok().map(str::to_ascii_lowercase);
        let encoded = headers.get(CONTENT_ENCODING).and_then(text);
        if encoded.is_some_and(|coding| coding != "identity") {
            return Self::Opaque;
        }
        let Some(kind) = headers.get(CONTENT_TYPE).and_then(text) else {
            return Self::Opaque;
        };
        match kind.split(';').next().unwrap_or_default().trim() {
            "application/json" => Self::Json,
            "application/x-www-form-urlencoded" => Self::Form,
            other if other.ends_with("+json") => Self::Json,
            _ => Self::Opaque,
        }
    }
}

/// The arguments of one call, and what was wrong with its body.
#[derive(Debug, Default, PartialEq)]
pub struct Arguments {
    /// An object; null where there were none.
    pub value: Value,
    /// Why the body could not be read as what it says it is.
    pub unreadable: Option<String>,
}

/// Reads the arguments. `body` is `None` where there is none, or where it is not kept.
pub fn read(
    tool: Option<&Tool>,
    variables: &[(&str, &str)],
    query: Option<&str>,
    form: BodyForm,
    body: Option<&[u8]>,
) -> Arguments {
    let mut texts = Map::new();
    for (key, value) in query.into_iter().flat_map(pairs) {
        add(&mut texts, key, value);
    }
    for (name, value) in variables {
        texts.insert((*name).to_owned(), Value::String(percent_decoded(value)));
    }
    let mut unreadable = None;
    let mut given = None;
    if let Some(body) = body.filter(|body| !body.is_empty()) {
        match form {
            BodyForm::Json => match json::parse(body) {
                Ok(value) => given = Some(value),
                Err(error) => {
                    unreadable = Some(error.to_string());
                    given = Some(opaque(body));
                }
            },
            BodyForm::Form => {
                let mut fields = Map::new();
                for (key, value) in pairs(&String::from_utf8_lossy(body)) {
                    add(&mut fields, key, value);
                }
                given = Some(Value::Object(typed(tool, fields)));
            }
            BodyForm::Opaque => given = Some(opaque(body)),
        }
    }
    let mut all = typed(tool, texts);
    match given {
        Some(Value::Object(fields))
            if unreadable.is_none()
                && form != BodyForm::Opaque
                && !fields.keys().any(|key| all.contains_key(key)) =>
        {
            if all.is_empty() {
                all = fields;
            } else {
                all.extend(fields);
            }
        }
        Some(other) => {
            all.insert("body".to_owned(), other);
        }
        None => {}
    }
    let value = if all.is_empty() && body.is_none() { Value::Null } else { Value::Object(all) };
    Arguments { value, unreadable }
}

fn typed(tool: Option<&Tool>, texts: Map<String, Value>) -> Map<String, Value> {
    match tool {
        Some(tool) if !texts.is_empty() => coerce(tool, &texts),
        _ => texts,
    }
}

/// Text as text; other bytes as base64, in the form that blobs have in a record.
pub fn opaque(body: &[u8]) -> Value {
    match std::str::from_utf8(body) {
        Ok(text) => Value::String(text.to_owned()),
        Err(_) => json!({ "b": STANDARD.encode(body) }),
    }
}

/// Cuts long strings, so that the other arguments stay.
pub fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > KEPT_OF_LONGER => {
            text.truncate(text.floor_char_boundary(KEPT_OF_LONGER))
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// What a row is to hold instead of arguments that are too long for it, and whether it holds less.
pub fn shorter(value: &Value) -> (Option<Value>, bool) {
    if weight(value) <= RECORDED {
        return (None, false);
    }
    let mut shorter = value.clone();
    shorten(&mut shorter);
    if weight(&shorter) > RECORDED {
        let text = value.to_string();
        let head = &text[..text.floor_char_boundary(KEPT_OF_LONGER)];
        shorter = json!({ "body": head });
    }
    (Some(shorter), true)
}

/// About how many bytes a value takes as text.
pub fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 3,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 2,
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + 4 + weight(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

/// A name that comes several times becomes a list.
fn add(fields: &mut Map<String, Value>, key: String, value: String) {
    let value = Value::String(value);
    match fields.get_mut(&key) {
        None => {
            fields.insert(key, value);
        }
        Some(Value::Array(list)) => list.push(value),
        Some(one) => *one = Value::Array(vec![one.take(), value]),
    }
}

/// Keys and values of a query or form, decoded for reading.
pub fn pairs(text: &str) -> impl Iterator<Item = (String, String)> {
    let decoded = |text: &str| percent_decoded(&text.replace('+', " "));
    text.split('&').filter(|pair| !pair.is_empty()).map(move |pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(key), decoded(value))
    })
}

/// Bytes that are no UTF-8 leave the text as it was received.
fn percent_decoded(text: &str) -> String {
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) => decoded.into_owned(),
        Err(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(query: &str, form: BodyForm, body: &[u8]) -> Value {
        read(None, &[("id", "a%20b")], Some(query), form, Some(body)).value
    }

    #[test]
    fn path_query_and_body_are_one_object() {
        assert_eq!(
            plain("expand=1&tag=x&tag=y+z", BodyForm::Json, br#"{"n":1}"#),
            json!({"id": "a b", "expand": "1", "tag": ["x", "y z"], "n": 1})
        );
        assert_eq!(plain("", BodyForm::Form, b"n=1&m=%C3%A9"), json!({"id": "a b", "n": "1", "m": "é"}));
    }

    #[test]
    fn a_body_that_clashes_or_is_no_object_stands_apart() {
        assert_eq!(plain("", BodyForm::Json, br#"{"id":"9"}"#), json!({"id": "a b", "body": {"id": "9"}}));
        assert_eq!(plain("", BodyForm::Json, b"[1]"), json!({"id": "a b", "body": [1]}));
        assert_eq!(plain("", BodyForm::Opaque, b"hi"), json!({"id": "a b", "body": "hi"}));
        assert_eq!(plain("", BodyForm::Opaque, &[0xff]), json!({"id": "a b", "body": {"b": "/w=="}}));
    }

    #[test]
    fn a_body_that_reads_in_two_ways_is_not_read() {
        let body = br#"{"amount":1,"amount":100}"#;
        let read = read(None, &[], None, BodyForm::Json, Some(body));
        assert!(read.unreadable.is_some());
        assert_eq!(read.value, json!({"body": r#"{"amount":1,"amount":100}"#}));
    }

    #[test]
    fn no_arguments_are_null_and_an_empty_object_is_one() {
        assert_eq!(read(None, &[], None, BodyForm::Json, None).value, Value::Null);
        assert_eq!(read(None, &[], None, BodyForm::Json, Some(b"{}")).value, json!({}));
    }

    #[test]
    fn an_encoded_body_is_opaque() {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("Application/JSON; charset=utf-8"));
        assert_eq!(BodyForm::of(&headers), BodyForm::Json);
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert_eq!(BodyForm::of(&headers), BodyForm::Opaque);
        headers.clear();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        assert_eq!(BodyForm::of(&headers), BodyForm::Json);
    }
}
