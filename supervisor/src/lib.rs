//! Runs short, hostile JavaScript against a tool catalog, each body in its own short-lived, locked-down Node process.
//!
//! # Vocabulary
//!
//! - **body**: the JavaScript that a model wrote. **run**: one execution of one body. **child**: the Node process of one run.
//! - **catalog**: the tools that one run may see ([`catalog::Catalog`]).
//! - **gate**: policy, approval and hooks before a call.
//! - **ledger**: the list of a run's requests with their honest states ([`CallEntry`]).
//! - **wall**: one isolation layer ([`launch::Wall`]). **report**: the result of a run ([`RunReport`]).
//!
//! # The rules of this crate
//!
//! No body byte leaves for a child before [`launch::Confined`] says that its walls stand. What a child says is a claim. Every end of a run is a
//! report, not an error, and comes after the child is reaped. No global state: two supervisors can live in one process.
//!
//! The public interface is [`Supervisor`], [`RunRequest`], [`RunHandle`], [`RunReport`], and the modules [`catalog`], [`config`], [`doctor`], [`gate`], [`launch`], [`modes`], [`serve`] and [`telemetry`].

mod bridge;
pub mod catalog;
#[doc(hidden)]
pub mod cli;
pub mod config;
pub mod doctor;
pub mod fleet;
pub mod gate;
pub mod launch;
pub mod modes;
#[cfg(any(test, feature = "danger"))]
#[doc(hidden)]
pub mod property;
mod run;
pub mod serve;
pub mod telemetry;

pub use codemode_protocol::{JsonText, Level, Limit, LimitError, RunLimits, ValueType};
pub use run::{
    Admission, Ahead, Builder, CallEntry, CallState, ErrorCode, InvalidBody, LogEntry, Method, Resources, RunError, RunEvent, RunHandle,
    RunReport, RunRequest, Runner, Supervisor, Timing, TraceParent,
};
pub use telemetry::{Selected, SourceCounts, Telemetry};
