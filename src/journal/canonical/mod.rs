//! RFC 8785 (JSON Canonicalization Scheme): writing it straight from a `Serialize`, and checking stored bytes for it.
//!
//! Numbers are written as ECMAScript does (by `ryu-js`), keys stand in the order of their UTF-16 code units. One
//! deviation, on the safe side: an integer beyond ±2^53 is written as a decimal string, since RFC 8785 would round it
//! to the nearest double and two different rows would get one form.

mod body;
mod check;
mod order;
mod serializer;
mod write;

pub use body::Body;
pub use check::{Entries, NotCanonical, check};
pub use write::{CanonicalError, to_vec};

/// How deep arrays and objects may nest.
pub const DEPTH_LIMIT: usize = 128;
/// The largest integer that a double holds with all smaller ones.
const EXACT: u64 = 1 << 53;

#[cfg(test)]
mod tests;
