//! One run: from a request to a report.
//!
//! *Machine* (`state`): what follows from what happened, pure. *Driver*: the one loop that does the I/O. *Ledger*: the run's requests and their
//! honest states. Everything that can end a run is an event of the machine; nothing ends one by returning early.

mod admission;
mod answer;
mod console;
mod cut;
mod driver;
mod event;
mod ledger;
mod limits;
mod manners;
mod report;
mod request;
mod requests;
mod runner;
pub(crate) mod state;
mod supervisor;
mod timing;
mod trace;
mod verdict;
mod waiting;
mod work;

pub use admission::Admission;
pub use console::LogEntry;
pub(crate) use driver::{summary_of, wire_error};
pub use event::RunEvent;
pub use ledger::{CallEntry, CallState, Method};
pub use report::{ErrorCode, Resources, RunError, RunReport};
pub use request::{InvalidBody, RunRequest};
pub use runner::Runner;
pub use supervisor::{Ahead, Builder, RunHandle, Supervisor};
pub(crate) use supervisor::{never_begun, unavailable, without_child};
pub use timing::Timing;
pub use trace::TraceParent;
pub(crate) use work::text as answer_text;
