//! What can go wrong before or beside a protocol.

use std::io;
use std::net::SocketAddr;

/// Why there is no server, or none any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be listened at.
    #[error("cannot listen at {address}: {source}\nname another with `--http ADDR`; port 0 takes a free one")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The host's reason.
        source: io::Error,
    },
    /// Connections are no longer taken.
    #[error("the HTTP server broke down: {0}\nstart it again")]
    Http(#[source] io::Error),
    /// The client does not speak the protocol.
    #[error("the client did not open an MCP session: {reason}\nstart this as the server of an MCP client; `codemode mcp --help` shows how")]
    Handshake {
        /// What was wrong, in words.
        reason: String,
    },
}
