//! Spans as they stand in a record: one OTLP/JSON `Span` a row, scope and resource beside it, and the way back.
//!
//! What is written reads back equal, also doubles that JSON has no number for. 64-bit integers are decimal strings and
//! ids hex, as OTLP/JSON has it. `cut` is ours: it stands only where the span was cut.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{AttrValue, Attributes, Decoder, Ids, Link, Reject, Scope, Span, SpanEvent, Status, json};

/// One OTLP/JSON `Span` object. Empty fields are left out.
pub fn to_otlp_json(span: &Span) -> Value {
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("traceId", span.trace_id.to_string().into());
    put("spanId", span.span_id.to_string().into());
    if let Some(parent) = span.parent {
        put("parentSpanId", parent.to_string().into());
    }
    if !span.trace_state.is_empty() {
        put("traceState", (&*span.trace_state).into());
    }
    put("name", (&*span.name).into());
    put("kind", span.kind.into());
    put("startTimeUnixNano", span.start.to_string().into());
    put("endTimeUnixNano", span.end.to_string().into());
    if !span.attributes.0.is_empty() {
        put("attributes", attributes_to_json(&span.attributes));
    }
    if !span.events.is_empty() {
        put("events", span.events.iter().map(event).collect());
    }
    if !span.links.is_empty() {
        put("links", span.links.iter().map(link).collect());
    }
    let status = status(span);
    if !status.is_empty() {
        put("status", status.into());
    }
    if span.flags != 0 {
        put("flags", span.flags.into());
    }
    if span.cut {
        put("cut", true.into());
    }
    object.into()
}

fn status(span: &Span) -> Map<String, Value> {
    let mut status = Map::new();
    let code = match span.status {
        Status::Unset => 0,
        Status::Ok => 1,
        Status::Error => 2,
    };
    if code != 0 {
        status.insert("code".to_owned(), code.into());
    }
    if !span.status_message.is_empty() {
        status.insert("message".to_owned(), (&*span.status_message).into());
    }
    status
}

fn event(event: &SpanEvent) -> Value {
    json!({
        "timeUnixNano": event.at.to_string(),
        "name": &*event.name,
        "attributes": attributes_to_json(&event.attributes),
    })
}

fn link(link: &Link) -> Value {
    json!({
        "traceId": link.trace_id.to_string(),
        "spanId": link.span_id.to_string(),
        "attributes": attributes_to_json(&link.attributes),
    })
}

/// A list of OTLP/JSON `KeyValue` objects.
pub fn attributes_to_json(attributes: &Attributes) -> Value {
    pairs(&attributes.0)
}

fn pairs(pairs: &[(Arc<str>, AttrValue)]) -> Value {
    let pair = |(key, value): &(Arc<str>, AttrValue)| json!({"key": &**key, "value": any(value)});
    pairs.iter().map(pair).collect()
}

/// One OTLP/JSON `AnyValue`.
fn any(value: &AttrValue) -> Value {
    match value {
        AttrValue::Empty => json!({}),
        AttrValue::Str(text) => json!({"stringValue": &**text}),
        AttrValue::Bool(flag) => json!({"boolValue": flag}),
        AttrValue::Int(number) => json!({"intValue": number.to_string()}),
        AttrValue::Double(number) => json!({"doubleValue": double(*number)}),
        AttrValue::Bytes(bytes) => json!({"bytesValue": STANDARD.encode(bytes)}),
        AttrValue::List(values) => {
            json!({"arrayValue": {"values": values.iter().map(any).collect::<Value>()}})
        }
        AttrValue::Map(entries) => json!({"kvlistValue": {"values": pairs(entries)}}),
    }
}

/// JSON has no NaN and no infinities; protobuf's JSON writes these three as text.
fn double(number: f64) -> Value {
    if number.is_nan() {
        "NaN".into()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.into()
    } else {
        number.into()
    }
}

/// OTLP/JSON `InstrumentationScope`. Empty fields are left out.
pub fn scope_to_json(scope: &Scope) -> Value {
    let mut object = Map::new();
    if !scope.name.is_empty() {
        object.insert("name".to_owned(), (&*scope.name).into());
    }
    if !scope.version.is_empty() {
        object.insert("version".to_owned(), (&*scope.version).into());
    }
    if !scope.attributes.0.is_empty() {
        let attributes = attributes_to_json(&scope.attributes);
        object.insert("attributes".to_owned(), attributes);
    }
    object.into()
}

/// OTLP/JSON `Resource`.
pub fn resource_to_json(resource: &Attributes) -> Value {
    json!({"attributes": attributes_to_json(resource)})
}

/// The inverse of [`to_otlp_json`]. What was written within the bounds comes back whole: none is applied again.
pub fn span_from_json(span: &Value, scope: &Arc<Scope>, resource: &Arc<Attributes>) -> Result<Span, Reject> {
    json::decode_span(&mut unbounded(), span, scope, resource).unwrap_or(Err(Reject::Malformed))
}

/// The inverse of [`scope_to_json`]; what is no scope reads as an empty one.
pub fn scope_from_json(scope: &Value) -> Scope {
    json::decode_scope(&mut unbounded(), scope).unwrap_or_default()
}

/// The inverse of [`resource_to_json`]; what is no resource reads as an empty one.
pub fn resource_from_json(resource: &Value) -> Attributes {
    json::decode_resource(&mut unbounded(), resource).unwrap_or_default()
}

fn unbounded() -> Decoder {
    Decoder::new(usize::MAX, Ids::Hex)
}
