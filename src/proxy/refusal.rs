//! A refusal as an HTTP answer: 403, the code in a header and in the body.

use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use hyper::body::Bytes;
use serde_json::json;

use super::body::ChannelBody;
use crate::permit::Refusal;

/// The header that names a refusal's code.
pub const REFUSAL_HEADER: &str = "mocktrial-refusal";

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
