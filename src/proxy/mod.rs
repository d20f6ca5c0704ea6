//! Channels: one address per worker, and on it what the worker may do and nothing else.
//!
//! ```text
//! Door ── one listener            Channels::open(door, spec) ── one trial's addresses
//!  └─ registry: token -> channel -> lane
//!      └─ http: route and arguments ─┬─▶ gate (the order of checks, attempt row) -> fault -> world or upstream -> outcome
//!         mcp: message and tool ─────┘
//! ```
//!
//! A channel is transparent for what is allowed and final for what is not. It concludes nothing: what happened is in
//! the rows. Services behind it are started by whoever opens it.

mod arguments;
mod body;
mod channel;
mod channels;
mod door;
mod faults;
mod gate;
mod http;
mod json;
mod mcp;
mod passage;
mod refusal;
mod registry;
mod routes;
mod said;

pub use self::http::BadBase;
pub use channel::LANE_HEADER;
pub use channels::{Channels, ChannelsError, ChannelsSpec, Started, Tokens, rules};
pub use door::{Door, LateCalls};
pub use mcp::{Bridge, PipeFace, Pipes};
pub use refusal::{REFUSAL_HEADER, REFUSAL_META};
