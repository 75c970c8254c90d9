//! The end of a run where its child is.
//!
//! [`Worker`] claims what is offered while it has a free place; each run is a session of one gateway's with one run (`run`), behind the wire of [`crate::serve::session`].
//! `status` is what it publishes of itself.

mod run;
mod serving;
mod status;

pub use serving::{Doctor, Drained, Worker, WorkerLimits};
pub use status::WorkerStatus;
