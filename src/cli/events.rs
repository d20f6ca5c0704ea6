//! `mocktrial events FILE`: spans to events, one JSON object a line.

use std::io::Read;
use std::sync::Arc;

use serde_json::Value;

use crate::events;
use crate::journal::EventRow;
use crate::spans::{AttrValue, Attributes, Link, Scope, Span, SpanEvent, SpanId, Status, TraceId};

/// Reads the file (`-` is standard input) and prints its events.
pub fn run(file: &str) -> std::io::Result<()> {
    let mut text = String::new();
    if file == "-" {
        std::io::stdin().read_to_string(&mut text)?;
    } else {
        text = std::fs::read_to_string(file)?;
    }
    for event in &events::read(&load(&text)) {
        println!("{}", serde_json::to_string(&EventRow::from(event)).map_err(std::io::Error::other)?);
    }
    Ok(())
}

/// A stand-in for the decoder in `spans`, to be replaced by it.
pub fn load(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Ok(body) = serde_json::from_str::<Value>(line) else { continue };
        for resource in list(&body["resourceSpans"]) {
            let of = Arc::new(attributes(&resource["resource"]["attributes"]));
            for scoped in list(&resource["scopeSpans"]) {
                let scope = Arc::new(Scope {
                    name: string(&scoped["scope"]["name"]),
                    version: string(&scoped["scope"]["version"]),
                    attributes: attributes(&scoped["scope"]["attributes"]),
                });
                spans.extend(list(&scoped["spans"]).iter().map(|s| span(s, &scope, &of)));
            }
        }
    }
    spans
}

fn span(s: &Value, scope: &Arc<Scope>, resource: &Arc<Attributes>) -> Span {
    let parent = SpanId(hex(&s["parentSpanId"]));
    Span {
        trace_id: TraceId(hex(&s["traceId"])),
        span_id: SpanId(hex(&s["spanId"])),
        parent: (parent != SpanId::default()).then_some(parent),
        name: string(&s["name"]),
        kind: s["kind"].as_i64().unwrap_or(0) as i32,
        start: number(&s["startTimeUnixNano"]),
        end: number(&s["endTimeUnixNano"]),
        status: match s["status"]["code"].as_i64() {
            Some(1) => Status::Ok,
            Some(2) => Status::Error,
            _ => Status::Unset,
        },
        status_message: string(&s["status"]["message"]),
        trace_state: string(&s["traceState"]),
        flags: 0,
        attributes: attributes(&s["attributes"]),
        events: list(&s["events"])
            .iter()
            .map(|e| SpanEvent {
                name: string(&e["name"]),
                at: number(&e["timeUnixNano"]),
                attributes: attributes(&e["attributes"]),
            })
            .collect(),
        links: list(&s["links"])
            .iter()
            .map(|l| Link {
                trace_id: TraceId(hex(&l["traceId"])),
                span_id: SpanId(hex(&l["spanId"])),
                attributes: attributes(&l["attributes"]),
            })
            .collect(),
        scope: Arc::clone(scope),
        resource: Arc::clone(resource),
        cut: false,
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> Arc<str> {
    value.as_str().unwrap_or_default().into()
}

fn number(value: &Value) -> u64 {
    value.as_str().and_then(|text| text.parse().ok()).or_else(|| value.as_u64()).unwrap_or(0)
}

fn hex<const N: usize>(value: &Value) -> [u8; N] {
    let text = value.as_str().unwrap_or_default();
    let mut out = [0; N];
    if text.len() == 2 * N && text.is_ascii() {
        for (at, byte) in out.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap_or(0);
        }
    }
    out
}

fn attributes(value: &Value) -> Attributes {
    Attributes(list(value).iter().map(|pair| (string(&pair["key"]), any(&pair["value"]))).collect())
}

fn any(value: &Value) -> AttrValue {
    let Some((kind, value)) = value.as_object().and_then(|fields| fields.iter().next()) else {
        return AttrValue::Empty;
    };
    match kind.as_str() {
        "stringValue" => AttrValue::Str(string(value)),
        "boolValue" => AttrValue::Bool(value.as_bool().unwrap_or(false)),
        "intValue" => AttrValue::Int(
            value.as_str().and_then(|text| text.parse().ok()).or_else(|| value.as_i64()).unwrap_or(0),
        ),
        "doubleValue" => AttrValue::Double(value.as_f64().unwrap_or(0.0)),
        "arrayValue" => AttrValue::List(list(&value["values"]).iter().map(any).collect()),
        "kvlistValue" => {
            AttrValue::Map(list(&value["values"]).iter().map(|p| (string(&p["key"]), any(&p["value"]))).collect())
        }
        _ => AttrValue::Empty,
    }
}
