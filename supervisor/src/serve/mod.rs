//! Ways in for who is not a Rust program.
//!
//! [`mcp`]: an MCP server in front of a catalog. [`session`]: one gateway's runs, whatever carries the messages. [`socket`]: sessions over a local socket.

pub mod mcp;
pub mod session;
pub mod socket;
