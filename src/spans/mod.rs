//! What the app said about itself: OpenTelemetry spans, from any of the encodings exporters use.
//!
//! A span is a claim, not a fact: late, duplicate and orphan spans are legal here, and nothing is concluded.

mod model;

pub use model::*;
