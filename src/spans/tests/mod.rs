//! Claims about decoding, checked against the types that the OpenTelemetry project generates from its own protobuf
//! files: what they encode we read, what we write they read.

mod arbitrary;
mod bounded;
mod files;
mod mutated;
mod read;
mod tolerant;

use std::sync::Arc;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList, any_value::Value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1 as otlp;

use super::*;

/// Large enough to cut nothing.
const NO_BOUND: usize = usize::MAX;

fn decoder() -> Decoder {
    Decoder::new(NO_BOUND, Ids::Hex)
}

/// The spans as one request, each with a resource and a scope of its own.
fn request(spans: &[Span]) -> ExportTraceServiceRequest {
    let resource_spans = |span: &Span| otlp::ResourceSpans {
        resource: Some(Resource { attributes: key_values(&span.resource.0), ..Resource::default() }),
        scope_spans: vec![otlp::ScopeSpans {
            scope: Some(InstrumentationScope {
                name: span.scope.name.to_string(),
                version: span.scope.version.to_string(),
                attributes: key_values(&span.scope.attributes.0),
                ..InstrumentationScope::default()
            }),
            spans: vec![message(span)],
            schema_url: String::new(),
        }],
        schema_url: String::new(),
    };
    ExportTraceServiceRequest { resource_spans: spans.iter().map(resource_spans).collect() }
}

fn message(span: &Span) -> otlp::Span {
    otlp::Span {
        trace_id: span.trace_id.0.to_vec(),
        span_id: span.span_id.0.to_vec(),
        trace_state: span.trace_state.to_string(),
        parent_span_id: span.parent.map_or(Vec::new(), |id| id.0.to_vec()),
        flags: span.flags,
        name: span.name.to_string(),
        kind: span.kind,
        start_time_unix_nano: span.start,
        end_time_unix_nano: span.end,
        attributes: key_values(&span.attributes.0),
        events: span.events.iter().map(event).collect(),
        links: span.links.iter().map(link).collect(),
        status: Some(otlp::Status { message: span.status_message.to_string(), code: span.status as i32 }),
        ..otlp::Span::default()
    }
}

fn event(event: &SpanEvent) -> otlp::span::Event {
    otlp::span::Event {
        time_unix_nano: event.at,
        name: event.name.to_string(),
        attributes: key_values(&event.attributes.0),
        dropped_attributes_count: 0,
    }
}

fn link(link: &Link) -> otlp::span::Link {
    otlp::span::Link {
        trace_id: link.trace_id.0.to_vec(),
        span_id: link.span_id.0.to_vec(),
        attributes: key_values(&link.attributes.0),
        ..otlp::span::Link::default()
    }
}

fn key_values(pairs: &[(Arc<str>, AttrValue)]) -> Vec<KeyValue> {
    let pair = |(key, value): &(Arc<str>, AttrValue)| KeyValue {
        key: key.to_string(),
        value: Some(any_value(value)),
        ..KeyValue::default()
    };
    pairs.iter().map(pair).collect()
}

fn any_value(value: &AttrValue) -> AnyValue {
    let value = match value {
        AttrValue::Empty => None,
        AttrValue::Str(text) => Some(Value::StringValue(text.to_string())),
        AttrValue::Bool(flag) => Some(Value::BoolValue(*flag)),
        AttrValue::Int(number) => Some(Value::IntValue(*number)),
        AttrValue::Double(number) => Some(Value::DoubleValue(*number)),
        AttrValue::Bytes(bytes) => Some(Value::BytesValue(bytes.to_vec())),
        AttrValue::List(values) => {
            Some(Value::ArrayValue(ArrayValue { values: values.iter().map(any_value).collect() }))
        }
        AttrValue::Map(pairs) => Some(Value::KvlistValue(KeyValueList { values: key_values(pairs) })),
    };
    AnyValue { value }
}
