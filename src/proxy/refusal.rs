//! A refusal as an HTTP answer: 403, the code in a header and in the body.

use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::body::ChannelBody;
use crate::permit::Refusal;

/// The header that names a refusal's code.
pub const REFUSAL_HEADER: &str = "mocktrial-refusal";

/// The key in `_meta` of a tool's result, and in the data of an error, that names a refusal.
pub const REFUSAL_META: &str = "mocktrial/refusal";

/// The result of a tool that was refused: one that a model reads, since SDKs raise errors of the protocol as exceptions.
pub fn tool_result(refusal: &Refusal, tool: Option<&str>, worker: Option<&str>) -> Value {
    let code = refusal.code.code();
    json!({
        "content": [{ "type": "text", "text": format!("{code}: {}", refusal.reason) }],
        "isError": true,
        "_meta": { REFUSAL_META: {
            "code": code,
            "message": refusal.reason,
            "tool": tool,
            "worker": worker,
            "retryable": false,
        } },
    })
}

/// The answer. 403 for every code: a deadline is no time-out that a client should try again after.
pub fn response(
    refusal: &Refusal,
    tool: Option<&str>,
    worker: Option<&str>,
    allow: &[&str],
) -> Response<ChannelBody> {
    let body = json!({ "error": {
        "code": refusal.code.code(),
        "message": refusal.reason,
        "tool": tool,
        "worker": worker,
        "retryable": false,
    }});
    let mut response = Response::new(ChannelBody::whole(Bytes::from(body.to_string())));
    *response.status_mut() = StatusCode::FORBIDDEN;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(REFUSAL_HEADER, HeaderValue::from_static(refusal.code.code()));
    if let Ok(allow) = HeaderValue::from_str(&allow.join(", "))
        && !allow.is_empty()
    {
        headers.insert(ALLOW, allow);
    }
    response
}
