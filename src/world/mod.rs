//! What the tools act on: an embedded SQLite world, frozen once per run, copied per trial, called with a permit.
//!
//! ```text
//! contract ──Frozen::build──▶ Frozen ──open(seed, case)──▶ World ──call(permit, args)──▶ WorldAnswer
//!                                                           └──tables(), changes()──▶ rows of the record
//! rows of the record ──ClosedTables::new──▶ ClosedTables ──check(sql)──▶ 0 or 1
//! ```
//!
//! Only a [`Permit`](crate::permit::Permit), taken by value, opens the world. A world refusal (the world saying no) and
//! a crash (somebody's defect) are told apart, and leave the world as it was. Upstreams are not here: a service behind
//! a tool is reached by whoever holds the channel.

mod answer;
mod arguments;
mod base_rows;
mod call;
mod cell;
mod change;
mod check_scenario;
mod closed;
mod connection;
mod fault;
mod freeze;
mod functions;
mod guard;
mod prepare;
mod publish;
mod statement;
mod tables;
mod tokens;

#[cfg(test)]
mod tests;

pub use arguments::{BadSchema, Misfit, Schema, coerce};
pub use call::{AnswerKind, World, WorldAnswer, WorldError};
pub use cell::BadCell;
pub use closed::{Action, CheckError, ClosedError, ClosedEvidence, ClosedTables};
pub use fault::WorldFault;
pub use freeze::Frozen;
pub use publish::{mcp_tools, openapi};
