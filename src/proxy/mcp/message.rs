//! JSON-RPC messages as MCP uses them: one at a time, each value read in the only way it can be read.

use serde_json::{Map, Value, json};

use crate::proxy::json;

/// The text is no JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The value is no message.
pub const INVALID_REQUEST: i64 = -32600;
/// No such method here.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Such a method, and not with these parameters.
pub const INVALID_PARAMS: i64 = -32602;
/// Somebody's defect.
pub const INTERNAL_ERROR: i64 = -32603;
/// The connection ended before there was an answer (as the official SDKs number it).
pub const CONNECTION_CLOSED: i64 = -32000;
/// Headers and message disagree (2026-07-28).
pub const HEADER_MISMATCH: i64 = -32020;
/// The version is not spoken here (2026-07-28).
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// Wants an answer.
    Request(Request),
    /// Wants none.
    Notification(Notification),
    /// Is one, to a request of the other side: the whole of it.
    Response(Map<String, Value>),
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Text or number.
    pub id: Value,
    /// The method.
    pub method: String,
    /// Empty where there were none.
    pub params: Map<String, Value>,
}

/// A notification.
#[derive(Clone, Debug, PartialEq)]
pub struct Notification {
    /// The method.
    pub method: String,
    /// Empty where there were none.
    pub params: Map<String, Value>,
}

/// Why a text is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// No JSON, or JSON that two readers could read in two ways.
    #[error("no JSON: {0}")]
    Json(String),
    /// Several messages at once (MCP 2025-06-18 took them out).
    #[error("a batch is not taken: send one message at a time")]
    Batch,
    /// Something else.
    #[error("no JSON-RPC message: {0}")]
    Shape(&'static str),
}

impl Unread {
    /// As an error of JSON-RPC.
    pub fn failure(&self) -> Failure {
        let code = match self {
            Self::Json(_) => PARSE_ERROR,
            Self::Batch | Self::Shape(_) => INVALID_REQUEST,
        };
        Failure::new(code, self.to_string())
    }
}

/// Reads one message.
pub fn read(bytes: &[u8]) -> Result<Message, Unread> {
    let mut fields = match json::parse(bytes) {
        Ok(Value::Object(fields)) => fields,
        Ok(Value::Array(_)) => return Err(Unread::Batch),
        Ok(_) => return Err(Unread::Shape("an object is wanted")),
        Err(error) => return Err(Unread::Json(error.to_string())),
    };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(Unread::Shape("`jsonrpc` is to be \"2.0\""));
    }
    let Some(method) = fields.get("method") else {
        let answers = fields.contains_key("result") != fields.contains_key("error");
        return match answers && fields.contains_key("id") {
            true => Ok(Message::Response(fields)),
            false => Err(Unread::Shape("neither a method nor an answer")),
        };
    };
    let Some(method) = method.as_str().map(str::to_owned) else {
        return Err(Unread::Shape("`method` is to be a text"));
    };
    let params = match fields.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(Unread::Shape("`params` is to be an object")),
    };
    match fields.remove("id") {
        None => Ok(Message::Notification(Notification { method, params })),
        Some(id @ (Value::String(_) | Value::Number(_))) => {
            Ok(Message::Request(Request { id, method, params }))
        }
        Some(_) => Err(Unread::Shape("`id` is to be a text or a number")),
    }
}

impl Request {
    /// A text among the parameters.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.params.get(name)?.as_str()
    }

    /// One field of `_meta`.
    pub fn meta(&self, name: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(name)
    }
}

impl Notification {
    /// The message again.
    pub fn to_value(&self) -> Value {
        json!({ "jsonrpc": "2.0", "method": self.method, "params": self.params })
    }
}

/// An error of JSON-RPC.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Its number.
    pub code: i64,
    /// For people.
    pub message: String,
    /// For programs.
    pub data: Option<Value>,
}

impl Failure {
    /// Without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The answer that tells it.
    pub fn to_response(&self, id: &Value) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    }
}

/// The answer that gives a result.
pub fn response(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let read = |text: &str| read(text.as_bytes());
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#),
            Ok(Message::Request(Request { params, .. })) if params.is_empty()
        ));
        assert!(matches!(read(r#"{"jsonrpc":"2.0","method":"m"}"#), Ok(Message::Notification(_))));
        assert!(matches!(read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Ok(Message::Response(_))));
        assert_eq!(read("[]"), Err(Unread::Batch));
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_no_message() {
        for bad in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"a"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            "null",
            "",
        ] {
            assert!(read(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
