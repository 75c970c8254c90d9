//! MCP servers as sources of tools: fakes that misbehave, the recorded lists of real servers, and real servers.

mod bounds;
mod cases;
mod ends;
mod schemas;
mod stage;
