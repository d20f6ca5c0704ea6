//! What was answered, before a face gives it its form: an HTTP answer, or the result of an MCP tool. Each face can show
//! both, since the same tools are served over both.

use std::collections::BTreeMap;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::body::recorded;

/// A whole HTTP answer.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    /// JSON, or no body at all.
    pub fn json(status: u16, headers: &BTreeMap<String, String>, body: Option<&Value>) -> Self {
        let mut all = HeaderMap::new();
        if body.is_some() {
            all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, value) in headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value))
                && name != CONTENT_LENGTH
            {
                all.insert(name, value);
            }
        }
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            headers: all,
            body: body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string())),
        }
    }
}

/// What was answered.
#[derive(Clone, Debug)]
pub enum Said {
    /// By the embedded world, an HTTP service or a fault.
    Http(Answer),
    /// By an MCP server: the `result` of a `tools/call`, as it came.
    Tool(Value),
}

impl Said {
    /// As a record holds it.
    pub fn recorded(&self) -> Value {
        match self {
            Self::Http(answer) => recorded(&answer.body),
            Self::Tool(result) => content(result),
        }
    }

    /// For a caller over HTTP. A tool that says it failed is the world saying no.
    pub fn into_http(self) -> Answer {
        match self {
            Self::Http(answer) => answer,
            Self::Tool(result) => {
                let status = if failed(&result) { 400 } else { 200 };
                Answer::json(status, &BTreeMap::new(), Some(&content(&result)))
            }
        }
    }

    /// For a caller over MCP (2025-06-18, Tools, Tool Result): the body as text, and as structure where it is an object.
    pub fn into_tool(self) -> Value {
        let answer = match self {
            Self::Tool(result) => return result,
            Self::Http(answer) => answer,
        };
        let body = recorded(&answer.body);
        let text = match std::str::from_utf8(&answer.body) {
            Ok("") => answer.status.to_string(),
            Ok(text) => text.to_owned(),
            Err(_) => body.to_string(),
        };
        let mut result = json!({
            "content": [{ "type": "text", "text": text }],
            "isError": answer.status.is_client_error() || answer.status.is_server_error(),
        });
        if body.is_object() {
            result["structuredContent"] = body;
        }
        result
    }
}

/// Whether a tool's result says that it failed.
pub fn failed(result: &Value) -> bool {
    result["isError"] == true
}

/// What a tool's result says: its structure, else the JSON or the text of its only block, else all of it.
pub fn content(result: &Value) -> Value {
    if let Some(structure) = result.get("structuredContent").filter(|structure| !structure.is_null()) {
        return structure.clone();
    }
    match result["content"].as_array().map(Vec::as_slice) {
        Some([block]) if block["type"] == "text" => {
            let text = block["text"].as_str().unwrap_or_default();
            recorded(text.as_bytes())
        }
        _ => result.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(status: u16, body: Option<Value>) -> Value {
        Said::Http(Answer::json(status, &BTreeMap::new(), body.as_ref())).into_tool()
    }

    #[test]
    fn an_answer_is_a_tools_result_with_its_text_and_its_structure() {
        assert_eq!(
            tool(200, Some(json!({"id": 7}))),
            json!({"content": [{"type": "text", "text": "{\"id\":7}"}], "isError": false, "structuredContent": {"id": 7}})
        );
        assert_eq!(
            tool(200, Some(json!([1]))),
            json!({"content": [{"type": "text", "text": "[1]"}], "isError": false})
        );
        assert_eq!(tool(204, None)["content"][0]["text"], "204 No Content");
        assert_eq!(tool(409, Some(json!({"error": 1})))["isError"], true);
    }

    #[test]
    fn a_tools_result_is_an_answer_with_what_it_said() {
        let http = |result: Value| {
            let answer = Said::Tool(result).into_http();
            (answer.status.as_u16(), recorded(&answer.body))
        };
        let text = |text: &str| json!([{"type": "text", "text": text}]);
        assert_eq!(http(json!({"content": text("{\"a\":1}")})), (200, json!({"a": 1})));
        assert_eq!(http(json!({"content": text("no"), "isError": true})), (400, json!("no")));
        assert_eq!(http(json!({"content": [], "structuredContent": {"b": 2}})), (200, json!({"b": 2})));
        let two = json!({"content": [{"type": "image"}, {"type": "text", "text": "x"}]});
        assert_eq!(http(two.clone()), (200, two));
    }
}
