//! What every decoder gives: a batch of spans, and what of it was rejected and why.

use std::collections::BTreeMap;

use super::bounds::Texts;
use super::{Span, SpanId, TraceId, json, protobuf};

/// One export request, decoded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// In the order received.
    pub spans: Vec<Span>,
    /// What is missing from `spans`.
    pub rejected: Rejected,
}

/// Spans that could not be taken, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rejected(BTreeMap<Reject, u64>);

impl Rejected {
    /// Counts one span.
    pub fn add(&mut self, reason: Reject) {
        *self.0.entry(reason).or_default() += 1;
    }

    /// Counts what another batch lost.
    pub fn merge(&mut self, other: &Self) {
        for (reason, count) in &other.0 {
            *self.0.entry(*reason).or_default() += count;
        }
    }

    /// How many in all.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Reasons and counts, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = (Reject, u64)> {
        self.0.iter().map(|(reason, count)| (*reason, *count))
    }
}

/// Why one span was rejected while its batch was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Reject {
    /// No trace id, or sixteen zero bytes.
    #[error("traceId is missing or zero")]
    NoTraceId,
    /// No span id, or eight zero bytes.
    #[error("spanId is missing or zero")]
    NoSpanId,
    /// An id of another length, or not hex.
    #[error("an id is not 16 or 8 bytes in hex")]
    BadId,
    /// An id in base64, as plain protobuf JSON has it: OTLP/JSON demands hex.
    #[error("an id is base64; OTLP/JSON ids are hex")]
    Base64Id,
    /// A time that is no unsigned 64-bit number of nanoseconds.
    #[error("a time is no unsigned 64-bit number")]
    BadTime,
    /// `trace_id` and the like: OTLP/JSON keys are lowerCamelCase.
    #[error("keys are in snake_case; OTLP/JSON keys are lowerCamelCase")]
    SnakeCase,
    /// Not a message at all: a JSON value that is no object, or bytes that are no fields.
    #[error("the span is malformed")]
    Malformed,
}

/// Why a whole body was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes are no protobuf `ExportTraceServiceRequest`; says where.
    #[error("no protobuf export request: {0}")]
    Protobuf(&'static str),
    /// The text is no JSON; says where.
    #[error("no JSON: {0}")]
    Json(String),
    /// The text ends inside its JSON.
    #[error("the JSON ends too soon")]
    JsonEnds,
    /// JSON, but without any key of an export request.
    #[error("JSON without `resourceSpans`")]
    NoSpans,
    /// `resource_spans` and the like would read as an empty batch.
    #[error("keys are in snake_case (`{0}`); OTLP/JSON keys are lowerCamelCase")]
    SnakeCase(&'static str),
    /// `resourceSpans` or a part of it is no list or object.
    #[error("`{0}` has the wrong JSON type")]
    WrongType(&'static str),
}

/// How ids may be written in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ids {
    /// OTLP/JSON: hex alone. Base64 is rejected with [`Reject::Base64Id`].
    Hex,
    /// Also base64, as Tempo exports it; the lengths tell them apart.
    HexOrBase64,
}

/// Decodes bodies of either encoding. Reuse one for many bodies: spans then share their short texts.
pub struct Decoder {
    pub(super) texts: Texts,
    pub(super) attribute: usize,
    pub(super) ids: Ids,
}

impl Decoder {
    /// `attribute`: most bytes of one attribute or name; what is longer is cut and its span marked.
    pub fn new(attribute: usize, ids: Ids) -> Self {
        Self { texts: Texts::new(), attribute, ids }
    }

    /// One `ExportTraceServiceRequest` (or `TracesData`) in protobuf.
    pub fn protobuf(&mut self, body: &[u8]) -> Result<Batch, Malformed> {
        protobuf::decode(self, body)
    }

    /// One export request in OTLP/JSON, or a Tempo export with `batches` or `trace`.
    pub fn json(&mut self, body: &[u8]) -> Result<Batch, Malformed> {
        json::decode(self, body)
    }
}

impl TraceId {
    /// Whether all bytes are zero, which means none.
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

impl SpanId {
    /// Whether all bytes are zero, which means none.
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

impl Span {
    /// The span, if it can be told from others.
    pub(super) fn checked(self) -> Result<Self, Reject> {
        if self.trace_id.is_zero() {
            Err(Reject::NoTraceId)
        } else if self.span_id.is_zero() {
            Err(Reject::NoSpanId)
        } else {
            Ok(self)
        }
    }
}
