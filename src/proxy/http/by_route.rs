//! A tool of an HTTP service called by a caller that speaks no HTTP: its route and arguments make the request.

use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request};
use http_body_util::{BodyExt, Limited};
use hyper::body::Bytes;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::client::{Base, RequestBody};
use super::headers::to_upstream;
use super::received::Taken;
use crate::journal::OutcomeKind;
use crate::permit::Permit;
use crate::proxy::body::{recorded, verdict_of};
use crate::proxy::channel::Site;
use crate::proxy::door::Shared;
use crate::proxy::passage::Verdict;
use crate::proxy::routes::is_one_value;
use crate::proxy::said::Answer;
use crate::scenario::{Route, Segment, Tool};

/// Everything but the unreserved characters of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Method, target and body.
type Parts = (Method, String, Option<Value>);

/// Asks a service for a tool. The error is the code of a crash.
pub async fn ask(
    shared: &Shared,
    site: &Site,
    _permit: Permit,
    base: &Base,
    tool: &Tool,
    given: &Value,
    headers: &HeaderMap,
) -> Result<(Answer, Verdict), &'static str> {
    let route = tool.route.as_ref().ok_or("no_route")?;
    let (method, target, body) = match parts(route, given) {
        Ok(parts) => parts,
        Err(why) => {
            let code = "invalid_arguments";
            let body = json!({ "error": { "code": code, "message": why } });
            let answer = Answer::json(400, &Default::default(), Some(&body));
            let kind = OutcomeKind::WorldRefused;
            return Ok((answer, Verdict { kind, code: Some(code.to_owned()), result: body }));
        }
    };
    let uri = base.at(&target).ok_or("upstream_unavailable")?;
    let mut request = Request::new(RequestBody::from(match &body {
        None => Taken::None,
        Some(body) => Taken::Whole { bytes: Bytes::from(body.to_string()), trailers: None },
    }));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = passed_on(headers);
    if body.is_some() {
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    let limit = usize::try_from(site.body_at_most).unwrap_or(usize::MAX);
    let answered = async {
        let response = shared.client.send(request).await.map_err(|_| "upstream_unavailable")?;
        let (mut head, body) = response.into_parts();
        super::headers::to_app(&mut head.headers);
        let body = Limited::new(body, limit).collect().await.map_err(|_| "upstream_cut")?.to_bytes();
        Ok::<_, &'static str>(Answer { status: head.status, headers: head.headers, body })
    };
    let answer = tokio::select! {
        answered = answered => answered?,
        () = site.state.sealed.cancelled() => return Err("trial_closed"),
    };
    let (kind, code) = verdict_of(answer.status.as_u16());
    let result = recorded(&answer.body);
    Ok((answer, Verdict { kind, code, result }))
}

/// The caller's headers without those that are about its own message.
fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    to_upstream(&mut headers);
    for name in [ACCEPT, CONTENT_TYPE, CONTENT_LENGTH] {
        headers.remove(name);
    }
    let own: Vec<_> = headers.keys().filter(|name| name.as_str().starts_with("mcp-")).cloned().collect();
    for name in own {
        headers.remove(name);
    }
    headers
}

/// The request of a route; why there is none.
fn parts(route: &Route, given: &Value) -> Result<Parts, String> {
    let mut rest = match given {
        Value::Object(fields) => fields.clone(),
        Value::Null => Map::new(),
        _ => return Err("an object is wanted".to_owned()),
    };
    let mut target = String::new();
    for segment in &route.path {
        target.push('/');
        match segment {
            Segment::Literal(text) => target.push_str(text),
            Segment::Variable(name) => {
                let value = rest.remove(name).ok_or_else(|| format!("`{name}` is wanted"))?;
                let value = escaped(&value);
                if !is_one_value(&value) {
                    return Err(format!("`{name}` cannot be part of a path"));
                }
                target.push_str(&value);
            }
        }
    }
    let method = Method::from_bytes(route.method.as_bytes()).map_err(|error| error.to_string())?;
    if matches!(method, Method::POST | Method::PUT | Method::PATCH) {
        return Ok((method, target, Some(Value::Object(rest))));
    }
    let mut mark = '?';
    for (name, value) in &rest {
        let values = match value {
            Value::Array(items) => items.iter().collect(),
            one => vec![one],
        };
        for value in values {
            target.push(mark);
            mark = '&';
            target.push_str(&format!("{}={}", utf8_percent_encode(name, ESCAPED), escaped(value)));
        }
    }
    Ok((method, target, None))
}

fn escaped(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    utf8_percent_encode(&text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(method: &str) -> Route {
        let path = vec![Segment::Literal("orders".into()), Segment::Variable("id".into())];
        Route { method: method.into(), path }
    }

    #[test]
    fn arguments_go_where_the_route_has_them() {
        let given = json!({"id": "a b", "n": 1, "tag": ["x", "y&z"]});
        let (method, target, body) = parts(&route("GET"), &given).expect("a request");
        assert_eq!((method.as_str(), target.as_str()), ("GET", "/orders/a%20b?n=1&tag=x&tag=y%26z"));
        assert_eq!(body, None);
        let (_, target, body) = parts(&route("POST"), &given).expect("a request");
        assert_eq!((target.as_str(), body), ("/orders/a%20b", Some(json!({"n": 1, "tag": ["x", "y&z"]}))));
    }

    #[test]
    fn an_argument_never_leads_to_another_route() {
        for bad in ["..", ".", "a/b", "", "a\\b", "%2e%2e/x", "..;x"] {
            let built = parts(&route("GET"), &json!({"id": bad}));
            assert!(built.is_err(), "{bad}: {built:?}");
        }
        assert!(parts(&route("GET"), &json!({})).is_err());
    }
}
