//! Append-only rows and their chain: how a row becomes one stored line, and how the lines hang together.
//!
//! A stored line is the row's own RFC 8785 form ([`canonical`]), redacted before anything is hashed ([`redact`]), with
//! the four fields `seq`, `at`, `row` and `prev` beside the row's own. The journal ([`Journal`]) gives every row its
//! place. It concludes nothing, and it does not seal: see `record`.

pub mod canonical;
mod redact;
mod rows;
mod writer;

pub use redact::{RedactionKey, Redactor, StreamRedactor};
pub use rows::*;
pub use writer::{Head, Journal, JournalError, Place, Storage};

/// Format version of the record that this program writes.
pub const FORMAT: u32 = 1;

/// The longest line a journal writes and a reader takes, in bytes without the newline.
pub const LINE_LIMIT: usize = 64 << 20;

/// `prev` of the first row.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[cfg(test)]
pub(crate) mod tests;
