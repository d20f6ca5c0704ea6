//! The two eras of MCP: a handshake and a session (up to 2025-11-25), or an envelope on every request (2026-07-28).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use serde_json::{Value, json};

use super::message::{Failure, HEADER_MISMATCH, INVALID_PARAMS, Request, UNSUPPORTED_VERSION};

/// Versions with a handshake, the latest first.
pub const HANDSHAKE: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The version without.
pub const STATELESS: &str = "2026-07-28";
/// Says which version is spoken.
pub const VERSION_HEADER: &str = "mcp-protocol-version";
/// Says which session is meant.
pub const SESSION_HEADER: &str = "mcp-session-id";

/// The version, in `_meta` of every request without a handshake.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What the client can do, there as well.
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Who the client is, there as well.
pub const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// Who the server is, in `_meta` of every result without a handshake.
pub const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// Which of the two is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize`, then a session.
    Handshake,
    /// Every request for itself.
    Stateless,
}

impl Era {
    /// Of a request over HTTP: any version that is none of the handshake's is of the later era.
    pub fn of(headers: &HeaderMap) -> Self {
        match headers.get(VERSION_HEADER) {
            Some(version) if !HANDSHAKE.iter().any(|known| version == known) => Self::Stateless,
            _ => Self::Handshake,
        }
    }

    /// Of a request on a pipe, which has no headers.
    pub fn on_pipe(request: &Request) -> Self {
        match request.meta(META_VERSION) {
            Some(_) => Self::Stateless,
            None => Self::Handshake,
        }
    }

    /// The HTTP status of an error.
    pub fn status(self, failure: &Failure) -> u16 {
        use super::message::{INTERNAL_ERROR, METHOD_NOT_FOUND};
        match (self, failure.code) {
            (Self::Handshake, _) | (_, INTERNAL_ERROR) => 200,
            (Self::Stateless, METHOD_NOT_FOUND) => 404,
            (Self::Stateless, _) => 400,
        }
    }
}

/// What the later era asks of every request: the envelope, and headers (none on a pipe) that say the same.
pub fn envelope(request: &Request, headers: Option<&HeaderMap>) -> Result<(), Failure> {
    let missing: Vec<&str> = [META_VERSION, META_CAPABILITIES]
        .into_iter()
        .filter(|name| !matches!(request.meta(name), Some(Value::String(_) | Value::Object(_))))
        .collect();
    if !missing.is_empty() {
        let message = format!("params._meta lacks {}", missing.join(", "));
        return Err(Failure::new(INVALID_PARAMS, message));
    }
    let version = request.meta(META_VERSION).and_then(Value::as_str).unwrap_or_default();
    if let Some(headers) = headers {
        agree(headers, VERSION_HEADER, version)?;
        agree(headers, "mcp-method", &request.method)?;
        let named = match request.method.as_str() {
            "tools/call" | "prompts/get" => request.text("name"),
            "resources/read" => request.text("uri"),
            _ => None,
        };
        if let Some(name) = named {
            agree(headers, "mcp-name", name)?;
        }
    }
    if version == STATELESS {
        return Ok(());
    }
    let supported: Vec<&str> = [STATELESS].into_iter().chain(HANDSHAKE).collect();
    Err(Failure {
        code: UNSUPPORTED_VERSION,
        message: "Unsupported protocol version".to_owned(),
        data: Some(json!({ "supported": supported, "requested": version })),
    })
}

/// Whether the header stands there once and says what the message says.
fn agree(headers: &HeaderMap, name: &'static str, said: &str) -> Result<(), Failure> {
    let mut all = headers.get_all(name).iter();
    let only = all.next().filter(|_| all.next().is_none());
    let agrees = only.is_some_and(|value| decoded(value.as_bytes()).is_some_and(|value| value == said));
    if agrees {
        return Ok(());
    }
    Err(Failure::new(HEADER_MISMATCH, format!("the header `{name}` does not say what the message says")))
}

/// A header's text; `=?base64?…?=` holds what a header cannot.
fn decoded(value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?;
    let Some(inner) = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(text.to_owned());
    };
    String::from_utf8(STANDARD.decode(inner).ok()?).ok()
}

/// A text as a header can hold it.
pub fn encoded(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && text.trim() == text
        && !text.starts_with("=?base64?");
    if plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

/// Our name, for clients.
pub fn server_info() -> Value {
    json!({ "name": "mocktrial", "version": env!("CARGO_PKG_VERSION") })
}

/// Adds what the later era wants of every result and what is not there yet.
pub fn dress(method: &str, result: &mut Value) {
    let Value::Object(fields) = result else { return };
    fields.entry("resultType").or_insert_with(|| json!("complete"));
    // The list hangs on the trial and the worker: nobody may keep it.
    if method.ends_with("/list") || matches!(method, "server/discover" | "resources/read") {
        fields.entry("ttlMs").or_insert_with(|| json!(0));
        fields.entry("cacheScope").or_insert_with(|| json!("private"));
    }
    let meta = fields.entry("_meta").or_insert_with(|| json!({}));
    if let Value::Object(meta) = meta {
        meta.entry(META_SERVER).or_insert_with(server_info);
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn request(version: &str) -> Request {
        let meta = json!({ META_VERSION: version, META_CAPABILITIES: {} });
        let params = json!({ "name": "größe", "_meta": meta });
        let Value::Object(params) = params else { unreachable!() };
        Request { id: json!(1), method: "tools/call".to_owned(), params }
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).expect("a value"));
        }
        headers
    }

    #[test]
    fn headers_and_message_say_the_same_or_the_request_is_none() {
        let name = encoded("größe");
        let good = [(VERSION_HEADER, STATELESS), ("mcp-method", "tools/call"), ("mcp-name", name.as_str())];
        assert_eq!(envelope(&request(STATELESS), Some(&headers(&good))), Ok(()));
        for at in 0..good.len() {
            let mut wrong = good;
            wrong[at].1 = "other";
            let mut doubled = good.to_vec();
            doubled.push(good[at]);
            let mut missing = good.to_vec();
            missing.remove(at);
            for bad in [wrong.to_vec(), doubled, missing] {
                let failure = envelope(&request(STATELESS), Some(&headers(&bad))).expect_err("bad");
                assert_eq!(failure.code, HEADER_MISMATCH, "{bad:?}");
            }
        }
    }

    #[test]
    fn a_version_not_spoken_is_told_which_are() {
        let failure = envelope(&request("2099-01-01"), None).expect_err("not spoken");
        assert_eq!(failure.code, UNSUPPORTED_VERSION);
        assert_eq!(failure.data.expect("data")["supported"][0], STATELESS);
        let bare = Request { id: json!(1), method: "tools/list".to_owned(), params: Default::default() };
        assert_eq!(envelope(&bare, None).expect_err("no envelope").code, INVALID_PARAMS);
    }

    #[test]
    fn the_version_decides_the_era() {
        assert_eq!(Era::of(&HeaderMap::new()), Era::Handshake);
        assert_eq!(Era::of(&headers(&[(VERSION_HEADER, "2025-06-18")])), Era::Handshake);
        assert_eq!(Era::of(&headers(&[(VERSION_HEADER, "2099-01-01")])), Era::Stateless);
    }
}
