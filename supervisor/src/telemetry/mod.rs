//! What is told of runs and sessions: the `telemetry` of a report, the log of a session, counters, traces, and what a log answers.
//!
//! A [`Recorder`] is handed to whoever does something; it writes events to a [`SessionLog`] and counts in [`Counters`]. A [`History`] is what is read out of a log
//! again. Texts of tools and bodies are a stranger's: they are masked and bounded on their way into a log, and escaped on their way out of it.

mod answers;
mod counters;
mod history;
mod log;
mod mask;
mod page;
mod recorder;
mod summary;

pub use counters::Counters;
pub use history::{History, HistoryError, NotedCall, NotedRun, NotedSearch, NotedSurface};
pub use log::{LogLoss, SessionLog, SessionLogError};
pub use recorder::{Recorder, SurfaceNote};
pub use summary::{Selected, SourceCounts, Telemetry};
