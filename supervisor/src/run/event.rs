//! What a run tells while it goes on.

use codemode_protocol::{JsonText, ValueType};
use serde::Serialize;

use super::answer::Answer;
use super::console::LogEntry;
use super::ledger::{CallEntry, Method};
use super::report::{ErrorCode, RunError};
use crate::gate::StepTaken;
use crate::launch::Isolation;

/// A step of a run. Steps are told in the order in which they happened; `Ended` is the last.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunEvent {
    /// A child is asked for.
    Started,
    /// It has proved its walls; the body is sent now.
    Confined(Isolation),
    /// The body wrote to its console. Only as much is told as the report keeps: after that, see the report.
    Log(LogEntry),
    /// A request came.
    CallQueued {
        /// Its number in the ledger.
        seq: u64,
        /// What was asked for.
        method: Method,
        /// The tool, as the body named it.
        id: Option<String>,
    },
    /// A call waits for a person.
    ApprovalStarted {
        /// Its number in the ledger.
        seq: u64,
    },
    /// It waits no longer.
    ApprovalEnded {
        /// Its number in the ledger.
        seq: u64,
    },
    /// A step of the gate is over. Each call has each step once, in the order of [`Step::ALL`](crate::gate::Step::ALL), and none after the one that stopped
    /// it; those of different calls may lie between each other.
    Gate {
        /// The call's number in the ledger.
        seq: u64,
        /// The step.
        #[serde(flatten)]
        taken: StepTaken,
    },
    /// The backend is asked.
    CallSent {
        /// Its number in the ledger.
        seq: u64,
        /// The tool.
        id: String,
    },
    /// A request has its final state.
    CallEnded(CallEntry),
    /// What the run came to, as the report will have it: this never changes any more, and every request has its final state. The child's end, its reaping and the
    /// rest of the report follow. For a caller who need not wait for them.
    #[serde(rename_all = "camelCase")]
    Concluded {
        /// As in the report.
        value: JsonText,
        /// As in the report.
        value_type: ValueType,
        /// As in the report.
        error: Option<Box<RunError>>,
    },
    /// The child is gone and the report is there.
    Ended {
        /// The class of the error, if there is one.
        code: Option<ErrorCode>,
    },
}

impl RunEvent {
    pub(crate) fn of_answer(answer: &Answer) -> RunEvent {
        let Answer { value, value_type, error } = answer;
        RunEvent::Concluded { value: value.clone(), value_type: *value_type, error: error.clone().map(Box::new) }
    }
}
