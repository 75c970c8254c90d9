//! How a request of a body fails.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::quoted;

/// The codes with which a request of a body can fail; they reach the body as `error.code`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the contract's own words")]
pub enum CallCode {
    UnknownTool,
    AmbiguousTool,
    Denied,
    ApprovalUnavailable,
    ApprovalDenied,
    ApprovalTimeout,
    HookBlocked,
    HookFailed,
    InvalidArguments,
    InvalidResult,
    ToolError,
    ToolUnavailable,
    ToolTimeout,
    TooLarge,
    CallLimit,
    Cancelled,
}

impl CallCode {
    /// The code as the body reads it.
    pub fn as_str(self) -> &'static str {
        match self {
            CallCode::UnknownTool => "unknown_tool",
            CallCode::AmbiguousTool => "ambiguous_tool",
            CallCode::Denied => "denied",
            CallCode::ApprovalUnavailable => "approval_unavailable",
            CallCode::ApprovalDenied => "approval_denied",
            CallCode::ApprovalTimeout => "approval_timeout",
            CallCode::HookBlocked => "hook_blocked",
            CallCode::HookFailed => "hook_failed",
            CallCode::InvalidArguments => "invalid_arguments",
            CallCode::InvalidResult => "invalid_result",
            CallCode::ToolError => "tool_error",
            CallCode::ToolUnavailable => "tool_unavailable",
            CallCode::ToolTimeout => "tool_timeout",
            CallCode::TooLarge => "too_large",
            CallCode::CallLimit => "call_limit",
            CallCode::Cancelled => "cancelled",
        }
    }

    /// Whether it is the word of policy, approval or hook.
    pub fn is_denial(self) -> bool {
        match self {
            CallCode::Denied
            | CallCode::ApprovalUnavailable
            | CallCode::ApprovalDenied
            | CallCode::ApprovalTimeout
            | CallCode::HookBlocked
            | CallCode::HookFailed => true,
            CallCode::UnknownTool
            | CallCode::AmbiguousTool
            | CallCode::InvalidArguments
            | CallCode::InvalidResult
            | CallCode::ToolError
            | CallCode::ToolUnavailable
            | CallCode::ToolTimeout
            | CallCode::TooLarge
            | CallCode::CallLimit
            | CallCode::Cancelled => false,
        }
    }

    /// The `error.name` of a failure that has no name of its own.
    pub fn error_name(self) -> &'static str {
        match self {
            CallCode::UnknownTool => "UnknownToolError",
            CallCode::AmbiguousTool => "AmbiguousToolError",
            CallCode::Denied => "DeniedError",
            CallCode::ApprovalUnavailable => "ApprovalUnavailableError",
            CallCode::ApprovalDenied => "ApprovalDeniedError",
            CallCode::ApprovalTimeout => "ApprovalTimeoutError",
            CallCode::HookBlocked => "HookBlockedError",
            CallCode::HookFailed => "HookFailedError",
            CallCode::InvalidArguments => "InvalidArgumentsError",
            CallCode::InvalidResult => "InvalidResultError",
            CallCode::ToolError => "ToolError",
            CallCode::ToolUnavailable => "ToolUnavailableError",
            CallCode::ToolTimeout => "ToolTimeoutError",
            CallCode::TooLarge => "TooLargeError",
            CallCode::CallLimit => "CallLimitError",
            CallCode::Cancelled => "CancelledError",
        }
    }
}

/// A request of a body that was refused or failed. It becomes an Error in the guest realm.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFailure {
    /// What kind.
    pub code: CallCode,
    /// `error.name` in the guest, e.g. `ToolError`; a tool may give its own.
    pub name: String,
    /// One line: what, and what to do.
    pub message: String,
    /// Further facts, e.g. JSON pointers of bad arguments, or the tool's own error code.
    pub data: Value,
    /// The tool it is about, as the body named it when it was not resolved; empty: about none. See [`CallFailure::tool`].
    pub tool_id: String,
    /// The tool was asked and has never answered: what it does may have happened.
    pub is_unanswered: bool,
}

impl CallFailure {
    /// A failure with the code's usual name and no further facts.
    pub fn new(code: CallCode, tool_id: impl Into<String>, message: impl Into<String>) -> CallFailure {
        let name = code.error_name().to_owned();
        CallFailure { code, name, message: message.into(), data: Value::Null, tool_id: tool_id.into(), is_unanswered: false }
    }

    /// The refusal of a tool by the name the caller has for it: it says nothing that the caller did not say.
    pub(crate) fn denied(id: &str) -> CallFailure {
        CallFailure::new(CallCode::Denied, id, format!("{} is denied by policy; use another tool", quoted(id)))
    }

    /// The tool it is about, if it is about one: `toolId` of the error that a body or a program gets. An empty id names none.
    pub fn tool(&self) -> Option<&str> {
        Some(&*self.tool_id).filter(|id| !id.is_empty())
    }

    /// The same failure with further facts.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> CallFailure {
        self.data = data;
        self
    }

    /// The same failure of a call that was sent and will have no answer: its state is `unknown`.
    #[must_use]
    pub fn unanswered(mut self) -> CallFailure {
        self.is_unanswered = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_reads_as_it_is_written() {
        for code in [CallCode::UnknownTool, CallCode::ApprovalTimeout, CallCode::TooLarge, CallCode::Cancelled] {
            assert_eq!(serde_json::to_value(code).unwrap(), Value::from(code.as_str()));
        }
    }

    #[test]
    fn an_empty_id_is_about_no_tool() {
        let about = |id: &str| CallFailure::new(CallCode::ToolError, id, "m").tool().map(str::to_owned);
        assert_eq!((about(""), about(" ")), (None, Some(" ".to_owned())));
    }
}
