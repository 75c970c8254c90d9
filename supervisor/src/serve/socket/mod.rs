//! `codemode serve`: sessions of gateways over a local socket.
//!
//! The socket's file belongs to this process alone: made with mode 0600 in one step, taken over only from a server that is gone, removed at the end. Who
//! connects has to be the same user, or root. Each connection is a [`Session`](super::session::Session) of its own, in frames; what one of them does wrong ends that one.

mod claim;
mod connection;
mod server;

pub use claim::SocketError;
pub use server::{Server, ServerLimits};
