//! What the app said about itself: OpenTelemetry spans, from any of the encodings exporters use.
//!
//! A span is a claim, not a fact: late, duplicate and orphan spans are legal here, and nothing is concluded. What
//! decides structure (ids, parent, times) is taken exactly or the span is rejected with a reason; what only describes
//! is cut at a bound and the span marked `cut`. Either way the rest of the batch is kept, and nothing vanishes uncounted.

mod bounds;
mod decode;
pub mod file;
mod intake;
mod jaeger;
mod json;
mod model;
mod protobuf;
mod receiver;
mod spool;
mod trace_parent;
mod written;

pub use bounds::weight;
pub use decode::{Batch, Decoder, Ids, Malformed, Reject, Rejected};
pub use intake::{Intake, Protocol, Received, SpanLimits};
pub use model::*;
pub use protobuf::to_protobuf;
pub use receiver::Receiver;
pub use spool::Spool;
pub use trace_parent::TraceParent;
pub use written::{
    attributes_to_json, resource_from_json, resource_to_json, scope_from_json, scope_to_json, span_from_json,
    to_otlp_json,
};

#[cfg(test)]
mod tests;
