//! The report of a run, from what its worker says of it and what the gateway knows.

use std::time::Duration;

use codemode_protocol::{JsonText, RunLimits};

use super::book::{Book, Untrue};
use crate::catalog::CatalogSummary;
use crate::run::{CallEntry, ErrorCode, LogEntry, Method, RunError, RunReport};
use crate::telemetry::Telemetry;

/// Refusals above the limit on requests that a session grants, each with an entry of the ledger.
const MOST_REFUSALS: u64 = 1_024;

/// Bytes of markup that an entry of the console, or a marked value, has beyond what the limits count: a report of an honest worker is far below.
const SLACK_BYTES: u64 = 64 << 10;

/// What a worker says and cannot be.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("the report is none: {0}")]
    NoReport(String),
    #[error("the report has {bytes} bytes of {what}, the limit is {limit}")]
    TooMuch { what: &'static str, bytes: u64, limit: u64 },
    #[error("the report has {0} requests, more than a run may make")]
    TooMany(usize),
    #[error("the report is both well and not")]
    Contradiction,
    #[error("the report says {0}, which is said of runs that were not begun, and this one has made calls")]
    Begun(ErrorCode),
    #[error(transparent)]
    Untrue(#[from] Untrue),
}

/// Reads the report of a worker.
pub(super) fn read(text: &JsonText, limits: &RunLimits, book: &Book, summary: CatalogSummary) -> Result<RunReport, Unreadable> {
    // What serde says of a text may quote it; its place is enough.
    let unreadable = |error: serde_json::Error| Unreadable::NoReport(format!("line {} column {}", error.line(), error.column()));
    let mut report: RunReport = serde_json::from_str(text.text()).map_err(unreadable)?;
    let logs = report.logs.iter().map(|entry| entry.text.len() as u64).sum();
    for (what, bytes, limit) in [("value", report.value.bytes() as u64, limits.value_bytes()), ("console", logs, limits.console_bytes())] {
        if bytes > limit + SLACK_BYTES {
            return Err(Unreadable::TooMuch { what, bytes, limit });
        }
    }
    if report.calls.len() as u64 > limits.requests() + MOST_REFUSALS + 1 {
        return Err(Unreadable::TooMany(report.calls.len()));
    }
    if report.ok != report.error.is_none() {
        return Err(Unreadable::Contradiction);
    }
    // Who reads one of these runs the body again.
    if let Some(code) = report.error.as_ref().map(|error| error.code)
        && matches!(code, ErrorCode::Busy | ErrorCode::InvalidBody | ErrorCode::NodeUnavailable | ErrorCode::IsolationUnavailable)
        && !book.is_empty()
    {
        return Err(Unreadable::Begun(code));
    }
    report.calls = book.merged(std::mem::take(&mut report.calls))?;
    report.telemetry = telemetry(summary, &report.calls);
    report.resources.limits = *limits;
    Ok(report)
}

/// The report of a run whose worker gives none: what was printed and called so far.
pub(super) fn without(mut report: RunReport, logs: Vec<LogEntry>, book: &Book, summary: CatalogSummary, total: Duration) -> RunReport {
    report.logs = logs;
    // Without a worker's word there is nothing to hold against what came here.
    report.calls = book.merged(Vec::new()).unwrap_or_default();
    report.telemetry = telemetry(summary, &report.calls);
    report.timing.total = total;
    report
}

/// A worker that had to go cancels its runs: for the caller, who has not cancelled, it is lost.
pub(super) fn renamed(report: &mut RunReport, was_cancelled: bool) {
    if let Some(error) = &mut report.error
        && error.code == ErrorCode::Cancelled
        && !was_cancelled
    {
        *error = RunError::new(
            ErrorCode::WorkerLost,
            "the worker that had the run had to go and ended it\nwhat the calls of the report say is so; decide by it whether to run the body again",
        );
    }
}

fn telemetry(summary: CatalogSummary, calls: &[CallEntry]) -> Telemetry {
    let mut telemetry = Telemetry::of_catalog(summary);
    for entry in calls {
        match entry.method {
            Method::Search => telemetry.search_count += 1,
            Method::Describe => telemetry.describe_count += 1,
            Method::Call => {
                telemetry.call_count += 1;
                if let (Some(id), Some(source)) = (&entry.id, entry.source) {
                    telemetry.select(id, source);
                }
            }
        }
    }
    telemetry
}
