//! How a call of a server's tool fails, in the words of a call.

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::json;

use super::super::text::{Lines, cleaned};
use super::super::{CallCode, CallFailure, MOST_WEIGHT, Tool, quoted};
use super::lines::LINE_BYTES;

/// The transport's own word for an answer above the limit; its message is the number of bytes.
pub(super) const TOO_LONG: ErrorCode = ErrorCode(-32_990);
/// The transport's own word for an answer that cannot be read.
pub(super) const UNREADABLE: ErrorCode = ErrorCode(-32_991);

/// The transport's own word for an answer whose value would take too much memory; its message is the number of bytes.
pub(super) const TOO_HEAVY: ErrorCode = ErrorCode(-32_992);

/// Characters of a server's message that reach the body.
const MESSAGE_CHARS: usize = 8 * 1024;

/// Why a request has no result.
#[derive(Debug)]
pub(super) enum Failed {
    /// It was not sent: nothing has happened.
    NotSent(String),
    /// It was sent, and there will be no answer.
    Lost(String),
    /// The server answered with an error.
    Refused(ErrorData),
}

impl Failed {
    /// For a list: one line.
    pub(super) fn words(self) -> String {
        match self {
            Failed::NotSent(why) | Failed::Lost(why) => why,
            Failed::Refused(error) => match error.code {
                TOO_LONG => format!("its answer is longer than {} MiB", LINE_BYTES >> 20),
                TOO_HEAVY => format!("its answer has so many values that it would take more than {} MiB", MOST_WEIGHT >> 20),
                UNREADABLE => "its answer cannot be read".to_owned(),
                _ => format!("it answered with an error: {}", cleaned(&error.message, 300, Lines::Join)),
            },
        }
    }

    /// For a call.
    pub(super) fn of_call(self, tool: &Tool) -> CallFailure {
        let server = quoted(&tool.source_name);
        match self {
            Failed::NotSent(why) => {
                let message = format!("the MCP server {server} is not there: {why}; {} was not called", quoted(&tool.name));
                CallFailure::new(CallCode::ToolUnavailable, &tool.id, message)
            }
            Failed::Lost(why) => {
                let message = format!(
                    "the MCP server {server} was asked and gave no answer: {why}; what {} does may have happened, and it is not called again",
                    quoted(&tool.name)
                );
                CallFailure::new(CallCode::ToolUnavailable, &tool.id, message).unanswered()
            }
            Failed::Refused(error) => match error.code {
                TOO_LONG => {
                    let message = format!(
                        "the answer of {server} has {} bytes where {LINE_BYTES} are the limit; ask it for less at a time",
                        error.message
                    );
                    CallFailure::new(CallCode::TooLarge, &tool.id, message)
                        .with_data(json!({"bytes": error.message.parse::<u64>().ok(), "limit": LINE_BYTES}))
                }
                TOO_HEAVY => {
                    let message = format!(
                        "the answer of {server} has so many values that it would take {} bytes of memory where {MOST_WEIGHT} are the limit; ask it for less at a time",
                        error.message
                    );
                    CallFailure::new(CallCode::TooLarge, &tool.id, message)
                        .with_data(json!({"memoryBytes": error.message.parse::<u64>().ok(), "limit": MOST_WEIGHT}))
                }
                UNREADABLE => {
                    let message = format!("the answer of {server} cannot be read: {}", cleaned(&error.message, 300, Lines::Join));
                    CallFailure::new(CallCode::InvalidResult, &tool.id, message)
                }
                code => CallFailure::new(CallCode::ToolError, &tool.id, cleaned(&error.message, MESSAGE_CHARS, Lines::Keep))
                    .with_data(json!({"code": code.0, "data": error.data})),
            },
        }
    }
}
