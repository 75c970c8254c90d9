//! Exit codes. Nothing below the command line knows them.

use std::process::ExitCode;

use crate::run::{ErrorCode, RunReport};

/// A request of a body, or one made by hand, that failed.
pub(super) const FAILED: u8 = 1;

/// Usage, configuration and catalog files.
pub(super) const USAGE: u8 = 2;

/// A bug of ours.
pub(super) const INTERNAL: u8 = 70;

/// As a shell shows a program that SIGINT ended.
pub(super) const CANCELLED: u8 = 130;

/// The exit code of a run.
pub(super) fn of(report: &RunReport) -> ExitCode {
    ExitCode::from(report.error.as_ref().map_or(0, |error| number(error.code)))
}

fn number(code: ErrorCode) -> u8 {
    match code {
        ErrorCode::BodyError
        | ErrorCode::UnhandledRejection
        | ErrorCode::NeverSettles
        | ErrorCode::SyntaxError
        | ErrorCode::InvalidBody => FAILED,
        ErrorCode::Timeout | ErrorCode::MemoryLimit | ErrorCode::CpuLimit | ErrorCode::OutputLimit | ErrorCode::CallLimit => 3,
        ErrorCode::IsolationUnavailable | ErrorCode::NodeUnavailable | ErrorCode::Busy | ErrorCode::WorkerLost => 4,
        ErrorCode::ProtocolViolation | ErrorCode::IsolationViolation | ErrorCode::ChildCrashed => 5,
        ErrorCode::InternalError => INTERNAL,
        ErrorCode::Cancelled => CANCELLED,
    }
}
