//! What every run ends with, whatever ended it.
//!
//! The JSON of these types is a contract: names and order of fields are what other programs read.

use std::borrow::Cow;
use std::fmt;

use codemode_protocol::{JsonText, RunLimits, ValueType};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::console::LogEntry;
use super::ledger::CallEntry;
use super::limits;
use super::timing::Timing;
use crate::launch::Isolation;
use crate::telemetry::Telemetry;

/// The result of a run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunReport {
    /// Whether the body gave a value and nothing went wrong.
    pub ok: bool,
    /// The body's value as JSON text: guest text. Kept beside an error when the body had returned before it.
    pub value: JsonText,
    /// What the value was in JavaScript.
    #[serde(deserialize_with = "value_type")]
    pub value_type: ValueType,
    /// What the body wrote, first part and last.
    pub logs: Vec<LogEntry>,
    /// Bytes that are not in `logs`.
    pub logs_dropped: u64,
    /// Why there is no value.
    pub error: Option<RunError>,
    /// Every request of the body, in order.
    pub calls: Vec<CallEntry>,
    /// How the body used the catalog.
    pub telemetry: Telemetry,
    /// Where the time went.
    pub timing: Timing,
    /// What the child used, and might have.
    pub resources: Resources,
    /// What stood around the child; `null` when there was none.
    pub isolation: Option<Isolation>,
}

/// What the child used, and might have.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resources {
    /// Peak resident set; 0 when there was no child.
    pub peak_rss_bytes: u64,
    /// The limits of the run.
    #[serde(serialize_with = "limits::serialize", deserialize_with = "limits::deserialize")]
    pub limits: RunLimits,
}

fn value_type<'de, D: Deserializer<'de>>(from: D) -> Result<ValueType, D::Error> {
    let word = Cow::<str>::deserialize(from)?;
    ValueType::from_word(&word).ok_or_else(|| D::Error::custom("no type of a value"))
}

/// Why a run gave no value.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RunError {
    /// The class.
    pub code: ErrorCode,
    /// `error.name` of what the body threw, or the name that goes with the code.
    pub name: String,
    /// The message of what the body threw; else one line what happened, one line what to do.
    pub message: String,
    /// Line of the caller's own text, from 1.
    pub line: Option<u64>,
    /// Column of the caller's own text, from 1.
    pub column: Option<u64>,
    /// Guest stack frames.
    pub stack: Option<String>,
    /// Further facts, any JSON.
    pub data: Option<JsonText>,
}

impl RunError {
    /// An error that the supervisor found.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        RunError { code, name: code.error_name().to_owned(), message: message.into(), line: None, column: None, stack: None, data: None }
    }

    /// A bug of ours. `what` must not hold text of a body.
    pub(crate) fn internal(what: &str) -> Self {
        RunError::new(ErrorCode::InternalError, format!("{what}\nthis is a bug in codemode; please report it"))
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident $code:literal $name:literal,)*) => {
        /// The classes of ends without a value.
        #[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorCode {
            $($(#[$doc])* $variant,)*
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// The code in reports.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$variant => $code,)*
                }
            }

            /// `error.name` when the body threw nothing itself.
            pub fn error_name(self) -> &'static str {
                match self {
                    $(ErrorCode::$variant => $name,)*
                }
            }
        }
    };
}

error_codes! {
    /// The body threw.
    BodyError "body_error" "Error",
    /// A promise of the body was rejected and nobody handled it.
    UnhandledRejection "unhandled_rejection" "UnhandledRejection",
    /// The body waits for something that nothing can bring.
    NeverSettles "never_settles" "NeverSettles",
    /// The body does not parse.
    SyntaxError "syntax_error" "SyntaxError",
    /// The body is empty, too long, not UTF-8, or several fences.
    InvalidBody "invalid_body" "InvalidBody",
    /// The wall clock ran out.
    Timeout "timeout" "TimeoutError",
    /// The memory ran out.
    MemoryLimit "memory_limit" "MemoryLimitError",
    /// The CPU time ran out.
    CpuLimit "cpu_limit" "CpuLimitError",
    /// The value or the console is above its limit.
    OutputLimit "output_limit" "OutputLimitError",
    /// The body went on making requests above the limit on them.
    CallLimit "call_limit" "CallLimitError",
    /// A required wall cannot be raised on this host.
    IsolationUnavailable "isolation_unavailable" "IsolationUnavailable",
    /// There is no Node that can be used.
    NodeUnavailable "node_unavailable" "NodeUnavailable",
    /// As many runs as are let in go on or wait already; this one was not begun.
    Busy "busy" "Busy",
    /// The child broke the wire.
    ProtocolViolation "protocol_violation" "ProtocolViolation",
    /// The child tried a system call that it may not make.
    IsolationViolation "isolation_violation" "IsolationViolation",
    /// The child ended without an answer.
    ChildCrashed "child_crashed" "ChildCrashed",
    /// The worker that had the run went silent, or the way to it did. A call that is `unknown` may have happened, no other one did.
    WorkerLost "worker_lost" "WorkerLost",
    /// The caller cancelled the run.
    Cancelled "cancelled" "Cancelled",
    /// A bug of ours.
    InternalError "internal_error" "InternalError",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_of_a_code_is_its_name() {
        for code in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
        assert_eq!(ErrorCode::ALL.len(), 19);
    }

    #[test]
    fn a_report_reads_as_the_contract_says() {
        let report = RunReport {
            ok: false,
            value: JsonText::null(),
            value_type: ValueType::Undefined,
            logs: vec![],
            logs_dropped: 0,
            error: Some(RunError::new(ErrorCode::Timeout, "m")),
            calls: vec![],
            telemetry: Telemetry::default(),
            timing: Timing::default(),
            resources: Resources { peak_rss_bytes: 0, limits: RunLimits::default() },
            isolation: None,
        };
        let json = serde_json::to_string(&report).unwrap();
        let start = r#"{"ok":false,"value":null,"valueType":"undefined","logs":[],"logsDropped":0,"error":{"code":"timeout","name":"TimeoutError","message":"m","line":null,"column":null,"stack":null,"data":null},"calls":[],"telemetry":{"catalogSize":0,"sources":{"openclaw":0,"plugin":0,"mcp":0,"client":0},"searchCount":0,"describeCount":0,"callCount":0,"selected":[],"unavailable":[]},"timing":{"totalMs":0.0,"launchMs":0.0,"bodyMs":0.0,"toolMs":0.0,"approvalMs":0.0,"childCpuMs":0.0},"resources":{"peakRssBytes":0,"limits":{"#;
        assert!(json.starts_with(start), "{json}");
        assert!(json.ends_with(r#"}},"isolation":null}"#), "{json}");
        let read: RunReport = serde_json::from_str(&json).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json, "and is read as it was written");
        assert!(serde_json::from_str::<RunReport>(&json.replacen('{', r#"{"more":1,"#, 1)).is_err());
    }
}
