//! Why somebody is not part of a fleet.

use std::path::PathBuf;

/// Why somebody is not part of a fleet.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The subject has letters that a subject must not have, or too many.
    #[error("`{0}` is no subject\nuse letters, digits, `-` and `_`, with dots between, at most 128 bytes")]
    Subject(String),
    /// The same for a name.
    #[error("`{0}` is no name\nuse letters, digits, `-` and `_`, at most 64 bytes")]
    Name(String),
    /// The credentials cannot be read.
    #[error("the credentials in {} cannot be used: {source}\nname a file as `nsc generate creds` writes it", .path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// There is no way to NATS.
    #[error("no connection to NATS: {reason}\ncheck the address, the credentials, and that the server runs")]
    Connect {
        /// Why, in the words of the client.
        reason: String,
    },
    /// This server carries messages that are too small.
    #[error("this NATS carries messages of at most {max_payload} bytes\nset `max_payload` to {least} or more")]
    SmallPayload {
        /// What it carries.
        max_payload: usize,
        /// What is needed.
        least: usize,
    },
    /// The server does not let this end hear what it has to.
    #[error("NATS refuses: {reason}\ngive this user the permissions of supervisor/docs/fleet.md")]
    NotPermitted {
        /// In the words of the server.
        reason: String,
    },
    /// The connection is over for good.
    #[error("the connection to NATS is over\nstart again")]
    Closed,
    /// There are no random bits.
    #[error("the host gives no random bits\ncheck `getrandom` on this host")]
    Random,
}
