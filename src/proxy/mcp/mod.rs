//! The MCP face: the tools of a channel at its address + `/mcp`, in both eras of the protocol.
//!
//! ```text
//! HTTP request ─┐
//!               ├─▶ message ─▶ Caller ─▶ tools/call ─▶ gate ─▶ fault ─▶ world, HTTP service, or MCP server
//! line of stdin ┘                    └─▶ tools/list, initialize, … : told, and no action
//! ```
//!
//! A message is read strictly (a batch or a doubled key is none), a tool is named byte for byte, and one call is one
//! action however many requests it takes. Servers behind the channel are in [`server`];
//! [`bridge`] puts a pipe in front of a channel that is elsewhere.

mod bridge;
mod caller;
mod era;
mod message;
mod parked;
mod pipe;
mod server;
mod session;
mod sse;
mod streamable;
mod tools;

pub use bridge::Bridge;
pub use caller::Caller;
pub use era::Era;
pub use parked::Parked;
pub use pipe::PipeFace;
pub use server::{Pipes, Server};
pub use session::Sessions;
pub use streamable::serve;
pub use tools::ask_for_http;

/// Where it is, below a channel's address.
pub const PATH: &str = "/mcp";
