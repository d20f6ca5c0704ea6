//! Jaeger's JSON export (`/api/traces`, the UI's download): `{"data": [{"spans": […], "processes": {…}}]}`.
//!
//! Tags and references are turned back into what they were in OpenTelemetry, by the mapping of the OpenTelemetry
//! specification ("Jaeger Transformation"). A list that became text on the way stays text. Reads a tree of values:
//! exports are of one trace or a few, so this is not the fast path.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::bounds::Allowance;
use super::json::hex;
use super::{
    AttrValue, Attributes, Batch, Decoder, Link, Malformed, Reject, Scope, Span, SpanEvent, SpanId, Status,
    TraceId,
};

pub(super) fn decode(decoder: &mut Decoder, text: &[u8]) -> Result<Batch, Malformed> {
    let document: Value = serde_json::from_slice(text).map_err(|why| Malformed::Json(why.to_string()))?;
    let traces = document["data"].as_array().ok_or(Malformed::NoSpans)?;
    let mut batch = Batch::default();
    for trace in traces {
        let processes = processes(decoder, &trace["processes"]);
        for span in list(&trace["spans"]) {
            match read(decoder, span, &processes) {
                Ok(span) => batch.spans.push(span),
                Err(reason) => batch.rejected.add(reason),
            }
        }
    }
    Ok(batch)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn processes(decoder: &mut Decoder, from: &Value) -> HashMap<String, Arc<Attributes>> {
    let mut processes = HashMap::new();
    for (id, process) in from.as_object().into_iter().flatten() {
        let mut allowance = Allowance::new(&mut decoder.texts, decoder.attribute);
        let mut resource = Attributes::default();
        if let Some(name) = process["serviceName"].as_str() {
            let key = allowance.own_text(b"service.name");
            let name = AttrValue::Str(allowance.own_text(name.as_bytes()));
            resource.0.push((key, name));
        }
        tags(&process["tags"], &mut allowance, &mut resource);
        processes.insert(id.clone(), Arc::new(resource));
    }
    processes
}

fn read(
    decoder: &mut Decoder,
    from: &Value,
    processes: &HashMap<String, Arc<Attributes>>,
) -> Result<Span, Reject> {
    if !from.is_object() {
        return Err(Reject::Malformed);
    }
    let mut allowance = Allowance::new(&mut decoder.texts, decoder.attribute);
    let resource = from["processID"].as_str().and_then(|id| processes.get(id));
    let resource = resource.map(Arc::clone).unwrap_or_default();
    let mut span = Span::empty(Arc::default(), resource);
    span.trace_id = TraceId(id(&from["traceID"])?);
    span.span_id = SpanId(id(&from["spanID"])?);
    span.name = allowance.own_text(from["operationName"].as_str().unwrap_or("").as_bytes());
    span.start = nanos(&from["startTime"])?;
    span.end = span.start.saturating_add(nanos(&from["duration"])?);
    references(from, &mut span)?;
    let mut attributes = Attributes::default();
    tags(&from["tags"], &mut allowance, &mut attributes);
    from_tags(attributes, &mut span);
    for log in list(&from["logs"]) {
        if allowance.element() {
            let mut attributes = Attributes::default();
            tags(&log["fields"], &mut allowance, &mut attributes);
            let name = attributes.text("event").unwrap_or_default().into();
            attributes.0.retain(|(key, _)| &**key != "event");
            span.events.push(SpanEvent { name, at: nanos(&log["timestamp"])?, attributes });
        }
    }
    span.cut = allowance.cut;
    span.checked()
}

/// Hex, with the leading zeros that Jaeger leaves out; all zero where absent.
fn id<const N: usize>(value: &Value) -> Result<[u8; N], Reject> {
    match value {
        Value::Null => Ok([0; N]),
        Value::String(text) if text.len() <= 2 * N => {
            let full = format!("{text:0>width$}", width = 2 * N);
            hex(full.as_bytes()).ok_or(Reject::BadId)
        }
        _ => Err(Reject::BadId),
    }
}

/// Microseconds.
fn nanos(value: &Value) -> Result<u64, Reject> {
    match value {
        Value::Null => Ok(0),
        value => value.as_u64().map(|micros| micros.saturating_mul(1000)).ok_or(Reject::BadTime),
    }
}

/// The first `CHILD_OF` in the same trace is the parent; every other reference is a link.
fn references(from: &Value, span: &mut Span) -> Result<(), Reject> {
    if from["parentSpanID"].is_string() {
        span.parent = Some(SpanId(id(&from["parentSpanID"])?)).filter(|id| !id.is_zero());
    }
    for reference in list(&from["references"]) {
        let link = Link {
            trace_id: TraceId(id(&reference["traceID"])?),
            span_id: SpanId(id(&reference["spanID"])?),
            attributes: Attributes::default(),
        };
        let child = reference["refType"] == "CHILD_OF" && link.trace_id == span.trace_id;
        if child && (span.parent.is_none() || span.parent == Some(link.span_id)) {
            span.parent = Some(link.span_id).filter(|id| !id.is_zero());
        } else {
            span.links.push(link);
        }
    }
    Ok(())
}

fn tags(from: &Value, allowance: &mut Allowance<'_>, into: &mut Attributes) {
    for tag in list(from) {
        let (Some(key), true) = (tag["key"].as_str(), allowance.element()) else {
            continue;
        };
        let key = allowance.own_text(key.as_bytes());
        allowance.next();
        let value = &tag["value"];
        let value = match (tag["type"].as_str(), value) {
            (Some("binary"), Value::String(text)) => match STANDARD.decode(text) {
                Ok(bytes) => AttrValue::Bytes(allowance.bytes(&bytes)),
                Err(_) => AttrValue::Str(allowance.text(text.as_bytes())),
            },
            (Some("int64"), Value::String(text)) => {
                text.parse().map_or_else(|_| AttrValue::Str(allowance.text(text.as_bytes())), AttrValue::Int)
            }
            (Some("float64"), Value::Number(number)) => {
                number.as_f64().map_or(AttrValue::Empty, AttrValue::Double)
            }
            (_, Value::String(text)) => AttrValue::Str(allowance.text(text.as_bytes())),
            (_, Value::Bool(flag)) => AttrValue::Bool(*flag),
            (_, Value::Number(number)) => match number.as_i64() {
                Some(number) => AttrValue::Int(number),
                None => number.as_f64().map_or(AttrValue::Empty, AttrValue::Double),
            },
            _ => {
                allowance.cut = true;
                AttrValue::Empty
            }
        };
        into.0.push((key, value));
    }
}

/// Takes out what Jaeger made a tag of and OpenTelemetry has as a field.
fn from_tags(tags: Attributes, span: &mut Span) {
    let mut scope = Scope::default();
    for (key, value) in tags.0 {
        match (&*key, value) {
            ("span.kind", AttrValue::Str(kind)) => {
                let kinds = ["internal", "server", "client", "producer", "consumer"];
                let number = kinds.iter().position(|known| *known == &*kind);
                span.kind = number.map_or(0, |at| at as i32 + 1);
            }
            ("otel.status_code", AttrValue::Str(code)) => {
                span.status = match &*code {
                    "ERROR" => Status::Error,
                    "OK" => Status::Ok,
                    _ => Status::Unset,
                };
            }
            ("otel.status_description", AttrValue::Str(text)) => span.status_message = text,
            ("otel.scope.name" | "otel.library.name", AttrValue::Str(name)) => scope.name = name,
            ("otel.scope.version" | "otel.library.version", AttrValue::Str(version)) => {
                scope.version = version;
            }
            ("w3c.tracestate", AttrValue::Str(state)) => span.trace_state = state,
            ("error", AttrValue::Bool(true)) => {
                if span.status == Status::Unset {
                    span.status = Status::Error;
                }
            }
            ("internal.span.format", _) => {}
            (_, value) => span.attributes.0.push((key, value)),
        }
    }
    span.scope = Arc::new(scope);
}
