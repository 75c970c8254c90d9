//! Ways in for who is not a Rust program.
//!
//! [`mcp`]: an MCP server in front of a catalog. [`session`]: one gateway's runs, whatever carries the messages.

pub mod mcp;
pub mod session;
