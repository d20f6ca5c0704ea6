//! The sealed record of a trial: sealing it, reading it again, and whether it still holds.
//!
//! [`seal`] ends a journal, [`read()`] goes through a record row by row, [`verify()`] says what a record can be trusted
//! for and what not. Nothing is graded here.

mod keys;
mod read;
mod seal;
mod verify;

pub use keys::{KeyError, SigningKey, VerifyingKey, keygen};
pub use read::{ReadError, Record, Row, read};
pub use seal::{SealError, Sealed, seal};
pub use verify::{Anchor, Broken, Flaw, Options, VerifyError, Vouched, verify};
