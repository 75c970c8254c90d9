//! Bodies of many gateways on many machines, with NATS between.
//!
//! A run is *offered* to all workers, *claimed* by one that has a free place, and then goes to that worker's inbox for it. A [`FleetExecutor`] is a gateway's end of it
//! and takes the place of a [`Supervisor`](crate::Supervisor); a [`Worker`] is the other one. Between the two go the messages of the wire between codemode and a gateway
//! ([`codemode_protocol::gateway`]) in parcels that are counted and bear a token of their run.
//!
//! Tools, rules, approvals and hooks stay at the gateway: the whole gate stands there, and the ledger of a report says what the gateway saw. A worker has no tools and
//! no secrets; what it says is a claim. Either end that hears nothing of the other for a second ends the run. Nothing is ever tried again once it was handed over.
//!
//! *Pure*: `wire`, `subjects`, `offering`, the parts of `link`, `gateway::book` and `gateway::clock`; the time is an argument. *I/O*: the rest.

mod error;
mod gateway;
mod id;
mod link;
mod offering;
mod post;
mod settings;
mod subjects;
mod wire;
mod worker;

#[cfg(any(test, feature = "danger"))]
pub(crate) use link::property;

pub use error::FleetError;
pub use gateway::FleetExecutor;
pub use settings::{ClientCertificate, FleetSettings};
pub use worker::{Doctor, Drained, Worker, WorkerLimits, WorkerStatus};
