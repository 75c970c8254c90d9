//! Catalogs whose answers come from a gateway at the other end of a connection.
//!
//! A [`Peer`] is that end: requests with their answers, notifications, within bounds, whatever carries the texts. [`RemoteCatalog`] is the catalog of one run made
//! from it, [`Backend`] a connection to a gateway that listens. The wire is [`codemode_protocol::gateway`]; what the other end says is a claim and is read as strictly as a child's.

mod backend;
pub(crate) mod frames;
mod outbox;
mod peer;
mod remote;
mod told;

pub use backend::{Backend, BackendError};
pub use outbox::{Departure, Gone, Outgoing};
pub use peer::{AskFailure, Overdue, Peer};
pub use remote::RemoteCatalog;
pub use told::{UnusableTools, tool, tool_set};
