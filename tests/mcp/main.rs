//! MCP servers as sources of tools: fakes that misbehave, the recorded lists of real servers, and real servers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod cases;
mod ends;
mod http;
mod program;
mod real;
mod schemas;
mod stage;
mod streams;
