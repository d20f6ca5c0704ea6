//! What of a message's headers is this hop's own and not passed on, and which headers ask for another action than the
//! method and path do.

use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, TE, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderValue, request::Parts};

use serde_json::Value;

use crate::proxy::LANE_HEADER;
use crate::proxy::arguments::pairs;

/// RFC 9110 7.6.1, and the two names that old clients still send.
fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection" | "proxy-connection" | "keep-alive" | "te" | "transfer-encoding" | "upgrade"
    )
}

/// Takes off what is meant for this hop: the fields above, and those that `Connection` names.
fn strip_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .filter(|name| !is_hop_by_hop(name) && name != "close")
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in [CONNECTION, TE, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    headers.remove("proxy-connection");
    headers.remove("keep-alive");
}

/// A request's headers as an upstream is to see them: `Host` is the upstream's own and set by the client, the lane's
/// token goes no further, and a `100 Continue` was already ours to send.
pub fn to_upstream(headers: &mut HeaderMap) {
    let trailers = headers.get_all(TE).iter().any(|value| {
        value
            .to_str()
            .is_ok_and(|value| value.split(',').any(|one| one.trim().eq_ignore_ascii_case("trailers")))
    });
    strip_hop(headers);
    headers.remove(HOST);
    headers.remove(EXPECT);
    headers.remove(LANE_HEADER);
    if trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
}

/// An answer's headers as the app is to see them.
pub fn to_app(headers: &mut HeaderMap) {
    // A length beside a coding is the coding's to say (RFC 9112 6.3).
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    strip_hop(headers);
}

/// Headers by which frameworks let a request be another one than it says.
const OVERRIDES: [&str; 6] = [
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    "x-original-method",
];

/// Why a request is not the tool call that its method and path say: it asks to be read as another one. What is
/// permitted and recorded is what was named, so a request with two names has none.
pub fn masquerade(parts: &Parts, fields: Option<&Value>) -> Option<String> {
    if let Some(name) = OVERRIDES.iter().find(|name| parts.headers.contains_key(**name)) {
        return Some(format!("the header `{name}` asks for another action than the route"));
    }
    let mut query = parts.uri.query().into_iter().flat_map(pairs);
    let in_form = fields.is_some_and(|fields| fields.get("_method").is_some());
    (in_form || query.any(|(key, _)| key == "_method"))
        .then(|| "the parameter `_method` asks for another action than the route".to_owned())
}

/// The protocol that a request asks to go on in, where it is one that a channel does not carry. `h2c` is an offer that
/// may be ignored (RFC 9110 7.8), and stock clients make it with every first request.
pub fn upgrade(headers: &HeaderMap) -> Option<String> {
    let offered = headers.get_all(UPGRADE).iter().filter_map(|value| value.to_str().ok());
    let mut protocols = offered.flat_map(|value| value.split(',')).map(str::trim);
    protocols
        .find(|protocol| !protocol.eq_ignore_ascii_case("h2c"))
        .map(|protocol| format!("an upgrade to `{protocol}` is not carried by a channel"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn this_hop_keeps_its_own_headers_and_the_rest_passes() {
        let mut headers = map(&[
            ("host", "x"),
            ("connection", "x-own, close"),
            ("connection", "te"),
            ("x-own", "1"),
            ("te", "gzip, Trailers"),
            ("keep-alive", "timeout=5"),
            ("mocktrial-channel", "secret"),
            ("cookie", "a=1"),
            ("cookie", "b=2"),
            ("authorization", "Bearer x"),
            ("expect", "100-continue"),
            ("trailer", "x-sum"),
        ]);
        to_upstream(&mut headers);
        let wanted = map(&[
            ("cookie", "a=1"),
            ("cookie", "b=2"),
            ("authorization", "Bearer x"),
            ("trailer", "x-sum"),
            ("te", "trailers"),
        ]);
        assert_eq!(headers, wanted);
    }

    #[test]
    fn a_request_with_two_names_has_none() {
        let parts = |name: &str, value: &str, uri: &str| {
            let request = Request::builder().uri(uri).header(name, value).body(());
            request.expect("a request").into_parts().0
        };
        assert!(masquerade(&parts("X-HTTP-Method-Override", "DELETE", "/a"), None).is_some());
        assert!(masquerade(&parts("x-original-url", "/admin", "/a"), None).is_some());
        assert!(masquerade(&parts("accept", "*/*", "/a?%5Fmethod=DELETE"), None).is_some());
        let form = serde_json::json!({"_method": "DELETE"});
        assert!(masquerade(&parts("accept", "*/*", "/a"), Some(&form)).is_some());
        assert!(masquerade(&parts("accept", "*/*", "/a?method=1"), None).is_none());
    }

    #[test]
    fn only_h2c_is_an_offer_that_may_be_ignored() {
        for (offer, carried) in
            [("h2c", true), ("H2C", true), ("websocket", false), ("h2c, websocket", false)]
        {
            assert_eq!(upgrade(&map(&[("upgrade", offer)])).is_none(), carried, "{offer}");
        }
    }
}
