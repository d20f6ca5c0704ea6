//! The MCP face of channels: both eras, the same gate as over HTTP, and nothing that could be read in two ways.

mod desk;
mod support;

#[path = "mcp/clients.rs"]
mod clients;
#[path = "mcp/hand.rs"]
mod hand;
#[path = "mcp/official.rs"]
mod official;
#[path = "mcp/servers.rs"]
mod servers;
