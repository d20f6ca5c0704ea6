//! The captured exchanges of official clients: the same request gets an answer that holds everything the captured one
//! held, event for event.

use serde_json::{Map, Value};

use super::stage::{Trial, contract, endpoint, folder, no_case, post};

/// Ours alone to choose: ids, times, counts, and where a text is cut into pieces.
const FREE: &[&str] = &[
    "id",
    "call_id",
    "item_id",
    "created",
    "created_at",
    "usage",
    "usageMetadata",
    "responseId",
    "sequence_number",
];

/// Where `captured` holds something that `sent` does not.
fn missing(at: &str, captured: &Value, sent: &Value, into: &mut Vec<String>) {
    match (captured, sent) {
        (Value::Object(captured), Value::Object(sent)) => {
            for (key, value) in captured {
                match sent.get(key) {
                    None => into.push(format!("{at}/{key} is not there")),
                    Some(_) if FREE.contains(&key.as_str()) => {}
                    Some(other) => missing(&format!("{at}/{key}"), value, other, into),
                }
            }
        }
        (Value::Array(captured), Value::Array(sent)) if captured.len() == sent.len() => {
            for (n, (value, other)) in captured.iter().zip(sent).enumerate() {
                missing(&format!("{at}/{n}"), value, other, into);
            }
        }
        (captured, sent) if captured == sent => {}
        (captured, sent) => into.push(format!("{at} is {sent}, not {captured}")),
    }
}

fn events(text: &str) -> Value {
    let events = text.split("\n\n").filter(|event| !event.trim().is_empty()).map(|event| {
        let mut entry = Map::new();
        for line in event.lines() {
            let (key, value) = line.split_once(": ").expect("a field");
            let value = match key {
                "data" => serde_json::from_str(value).unwrap_or_else(|_| value.into()),
                _ => value.into(),
            };
            entry.insert(key.to_owned(), value);
        }
        Value::Object(entry)
    });
    events.collect()
}

async fn holds(name: &str) {
    let file =
        std::fs::read_to_string(folder().join("captures").join(format!("{name}.http.json"))).expect("a file");
    let capture: Value = serde_json::from_str(&file).expect("JSON");
    let (endpoint, contract) = (endpoint(), contract("captured.yaml"));
    let trial = Trial::open(&endpoint, &contract, &no_case());
    for exchange in capture["exchanges"].as_array().expect("exchanges") {
        let target = exchange["request"]["target"].as_str().expect("a target");
        let (variable, prefix) = match name.split('-').next() {
            Some("openai") => ("OPENAI_BASE_URL", "/v1"),
            Some("anthropic") => ("ANTHROPIC_BASE_URL", ""),
            _ => ("GEMINI_BASE_URL", ""),
        };
        let rest = target.strip_prefix(prefix).expect("a versioned path");
        let headers = exchange["request"]["headers"]
            .as_array()
            .expect("headers")
            .iter()
            .map(|pair| (pair[0].as_str().expect("a name"), pair[1].as_str().expect("a value")));
        let headers: Vec<_> = headers
            .filter(|(name, _)| {
                !["content-length", "connection", "content-type"].contains(&name.to_lowercase().as_str())
            })
            .collect();
        let url = format!("{}{rest}", trial.address(variable));
        let (head, body) = post(&url, &headers, &exchange["request"]["body"]).await;
        let body = body.expect("a whole body");
        let captured = &exchange["response"];
        assert_eq!(head.status().as_u16(), captured["status"], "{body}");
        let kind = head.headers()["content-type"].to_str().expect("text");
        assert!(kind.starts_with(captured["headers"][0][1].as_str().expect("a type")), "{kind}");
        let mut faults = Vec::new();
        match captured.get("sse") {
            Some(sse) => missing("", sse, &events(&body), &mut faults),
            None => missing("", &captured["body"], &serde_json::from_str(&body).expect("JSON"), &mut faults),
        }
        assert!(faults.is_empty(), "{name}:\n{}\n{body}", faults.join("\n"));
    }
    assert_eq!(trial.rows("model").len(), 1);
    assert_eq!(trial.rows("finding").len(), 0);
}

macro_rules! captured {
    ($($test:ident = $name:literal),* $(,)?) => {$(
        #[tokio::test]
        async fn $test() { holds($name).await; }
    )*};
}
captured! {
    openai_chat = "openai-chat",
    openai_chat_stream = "openai-chat-stream",
    openai_responses = "openai-responses",
    openai_responses_stream = "openai-responses-stream",
    anthropic_messages = "anthropic-messages",
    anthropic_messages_stream = "anthropic-messages-stream",
    gemini_generate = "gemini-generate",
    gemini_stream = "gemini-stream",
}

#[test]
fn what_is_left_out_would_be_seen() {
    let captured = serde_json::json!({ "a": [{ "id": 1, "text": "x" }] });
    for sent in [r#"{"a":[]}"#, r#"{"a":[{"text":"x"}]}"#, r#"{"a":[{"id":2,"text":"y"}]}"#, "{}"] {
        let mut faults = Vec::new();
        missing("", &captured, &serde_json::from_str(sent).expect("JSON"), &mut faults);
        assert_eq!(faults.len(), 1, "{sent}");
    }
}
