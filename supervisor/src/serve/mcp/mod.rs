//! An MCP server in front of a catalog: any MCP client can search, describe and call its tools, or have bodies run over them.
//!
//! # Vocabulary
//!
//! A *connection* is one client: a process at the other end of standard input and output, or an HTTP session. A connection may have several *requests* open at
//! once. Each of them has a *line* (`line.rs`) to its connection: when the client goes, or cuts the stream on which it waits, the line ends, and everything
//! that was done for it ends with it.
//!
//! # The rules of this folder
//!
//! The client may be hostile. A message is bounded before it is read, and so are the requests in flight, the sessions, the connections and the runs. Standard output
//! carries the protocol and nothing else. What a client is shown and may do is [`modes`](crate::modes)' business: this folder only translates. It is the only
//! one beside `catalog/mcp` that knows `rmcp`, and the only one that knows `axum`.

mod address;
mod answer;
mod error;
mod framing;
mod fresh;
mod http;
mod line;
mod listener;
mod news;
mod question;
mod server;
mod session;
mod sessions;
mod shown;
mod stdio;

pub use address::{HttpAddress, HttpAddressError};
pub use error::ServeError;
pub use http::Http;
pub use server::{McpServer, McpServerSetup};
