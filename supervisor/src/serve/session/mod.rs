//! One gateway's runs, whatever carries the messages.
//!
//! [`Session`] takes the texts that a gateway sends and runs bodies for it; what it says comes out of an [`Outgoing`](crate::catalog::gateway::Outgoing). All sessions
//! of a program share a [`Host`]: the supervisor, the log, and [`Admission`], which lets runs of different gateways begin in turn. A rule of the wire that a
//! gateway breaks ends its session, with its runs cancelled and reaped, and nobody else's.

mod admission;
mod context;
mod host;
mod intake;
mod person;
mod run;
mod told;

pub use admission::{Admission, Line, Slot, Turn};
pub use host::{Host, HostLimits};
pub use intake::{Goodbye, Session};
