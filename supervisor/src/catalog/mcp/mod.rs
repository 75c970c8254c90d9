//! Tools of MCP servers: programs on pipes, and servers on the network.
//!
//! A server is somebody else's program. The official SDK keeps the protocol; what stands in front of it here keeps the server in bounds. From the outside in:
//!
//! - [`source`](self) (`source.rs`): a [`ToolSource`](super::ToolSource) that connects when it is first asked, and again, within limits (`restarts.rs`), when a connection has ended.
//! - `connection.rs`: one connection, its end in words, and the order in which it is taken down.
//! - `stdio.rs` over `lines.rs`, `envelope.rs` and `sorting.rs`: the transport of ours under the SDK. It bounds lines, sorts out what is no message, gives ids back their type, and hands results on as the
//!   JSON that they are.
//! - `http.rs`: the SDK's own transport for the network, over `web.rs`, `events.rs` and `pace.rs`: no redirects to strangers, the bounds and results of `stdio.rs`.
//! - `sorting.rs`: what a server says, sorted, whatever way it comes.
//! - `process.rs`: the program in a process group of its own, with a small environment, and its end.
//! - `host.rs`: what a server may ask us. `tools.rs` and `failures.rs`: what it says, in our words. `chatter.rs`: what it says beside that, for people.

mod chatter;
mod connection;
mod envelope;
mod environment;
mod events;
mod failures;
mod host;
mod http;
mod lines;
mod pace;
mod process;
mod restarts;
mod servers;
mod sorting;
mod source;
mod stdio;
mod tools;
mod web;

pub use chatter::Chatter;
pub use servers::McpConnections;
pub use source::McpSource;
