//! Spans as an OTLP protobuf body: for a file that keeps what came as JSON beside what came as protobuf.
//!
//! The inverse of the reader. Spans of one scope and resource that stand side by side share them, as in what came.

use std::sync::Arc;

use crate::spans::{AttrValue, Attributes, Link, Span, SpanEvent};

/// One `ExportTraceServiceRequest`, in protobuf.
pub fn to_protobuf(spans: &[Span]) -> Vec<u8> {
    let mut body = Vec::new();
    for of_resource in spans.chunk_by(|a, b| Arc::ptr_eq(&a.resource, &b.resource)) {
        message(0x0a, &mut body, |into| {
            message(0x0a, into, |into| attributes(0x0a, &of_resource[0].resource, into));
            for of_scope in of_resource.chunk_by(|a, b| Arc::ptr_eq(&a.scope, &b.scope)) {
                message(0x12, into, |into| scope_spans(of_scope, into));
            }
        });
    }
    body
}

/// One record of a length-delimited file.
pub(in crate::spans) fn delimited(body: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(body.len() + 10);
    varint(body.len() as u64, &mut record);
    record.extend_from_slice(body);
    record
}

fn scope_spans(spans: &[Span], into: &mut Vec<u8>) {
    let scope = &spans[0].scope;
    message(0x0a, into, |into| {
        text(0x0a, &scope.name, into);
        text(0x12, &scope.version, into);
        attributes(0x1a, &scope.attributes, into);
    });
    for one in spans {
        message(0x12, into, |into| span(one, into));
    }
}

fn span(span: &Span, into: &mut Vec<u8>) {
    bytes_field(0x0a, &span.trace_id.0, into);
    bytes_field(0x12, &span.span_id.0, into);
    text(0x1a, &span.trace_state, into);
    if let Some(parent) = span.parent {
        bytes_field(0x22, &parent.0, into);
    }
    text(0x2a, &span.name, into);
    number(0x30, i64::from(span.kind).cast_unsigned(), into);
    fixed64(0x39, span.start, into);
    fixed64(0x41, span.end, into);
    attributes(0x4a, &span.attributes, into);
    for one in &span.events {
        message(0x5a, into, |into| event(one, into));
    }
    for one in &span.links {
        message(0x6a, into, |into| link(one, into));
    }
    message(0x7a, into, |into| {
        text(0x12, &span.status_message, into);
        number(0x18, span.status as u64, into);
    });
    // Field 16, the first whose tag takes two bytes; fixed32.
    into.extend_from_slice(&[0x85, 0x01]);
    into.extend_from_slice(&span.flags.to_le_bytes());
}

fn event(event: &SpanEvent, into: &mut Vec<u8>) {
    fixed64(0x09, event.at, into);
    text(0x12, &event.name, into);
    attributes(0x1a, &event.attributes, into);
}

fn link(link: &Link, into: &mut Vec<u8>) {
    bytes_field(0x0a, &link.trace_id.0, into);
    bytes_field(0x12, &link.span_id.0, into);
    attributes(0x22, &link.attributes, into);
}

fn attributes(tag: u8, attributes: &Attributes, into: &mut Vec<u8>) {
    pairs(tag, &attributes.0, into);
}

fn pairs(tag: u8, pairs: &[(Arc<str>, AttrValue)], into: &mut Vec<u8>) {
    for (key, value) in pairs {
        message(tag, into, |into| {
            text(0x0a, key, into);
            message(0x12, into, |into| any_value(value, into));
        });
    }
}

/// A `oneof`: also a zero or an empty text is written, since its presence says which it is.
fn any_value(value: &AttrValue, into: &mut Vec<u8>) {
    match value {
        AttrValue::Empty => {}
        AttrValue::Str(text) => bytes_field(0x0a, text.as_bytes(), into),
        AttrValue::Bool(flag) => number_always(0x10, u64::from(*flag), into),
        AttrValue::Int(number) => number_always(0x18, number.cast_unsigned(), into),
        AttrValue::Double(number) => fixed64(0x21, number.to_bits(), into),
        AttrValue::List(values) => message(0x2a, into, |into| {
            for value in values {
                message(0x0a, into, |into| any_value(value, into));
            }
        }),
        AttrValue::Map(entries) => message(0x32, into, |into| pairs(0x0a, entries, into)),
        AttrValue::Bytes(bytes) => bytes_field(0x3a, bytes, into),
    }
}

/// A message within a message: written first, then its length put before it.
fn message(tag: u8, into: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    into.push(tag);
    let start = into.len();
    write(into);
    let mut length = Vec::with_capacity(10);
    varint((into.len() - start) as u64, &mut length);
    into.splice(start..start, length);
}

fn text(tag: u8, text: &str, into: &mut Vec<u8>) {
    if !text.is_empty() {
        bytes_field(tag, text.as_bytes(), into);
    }
}

fn number(tag: u8, number: u64, into: &mut Vec<u8>) {
    if number != 0 {
        number_always(tag, number, into);
    }
}

pub(in crate::spans) fn number_always(tag: u8, number: u64, into: &mut Vec<u8>) {
    into.push(tag);
    varint(number, into);
}

pub(in crate::spans) fn bytes_field(tag: u8, bytes: &[u8], into: &mut Vec<u8>) {
    into.push(tag);
    varint(bytes.len() as u64, into);
    into.extend_from_slice(bytes);
}

fn fixed64(tag: u8, number: u64, into: &mut Vec<u8>) {
    into.push(tag);
    into.extend_from_slice(&number.to_le_bytes());
}

fn varint(mut number: u64, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}
