//! What the body came to: the child's claim, bounded.

use codemode_protocol::{ChildVerdict, JsonText, Returned, RunAnswer, RunLimits, ValueType};

use super::cut;
use super::report::{ErrorCode, RunError};

/// Names of JavaScript errors have a word or two.
const NAME_BYTES: usize = 256;

/// A message or a stack goes into a model's context beside the value; 16 KiB hold hundreds of frames.
const TEXT_BYTES: usize = 16 * 1024;

/// What a run has as its result.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) value: JsonText,
    pub(crate) value_type: ValueType,
    pub(crate) error: Option<RunError>,
}

impl Answer {
    /// No value.
    pub(crate) fn failed(error: RunError) -> Self {
        Answer { value: JsonText::null(), value_type: ValueType::Undefined, error: Some(error) }
    }

    /// The child's answer within the limits of the run, which the child should have kept by itself.
    pub(crate) fn of_child(answer: RunAnswer, limits: &RunLimits) -> Self {
        let limit = limits.value_bytes();
        let (returned, error) = match answer {
            RunAnswer::Returned(returned) => (Some(returned), None),
            RunAnswer::Failed(error) => {
                let error = *error;
                let data = error.data.filter(|data| data.bytes() as u64 <= limit);
                let told = RunError {
                    code: code(error.code),
                    name: cut::middle(error.name, NAME_BYTES).0,
                    message: cut::middle(error.message, TEXT_BYTES).0,
                    line: error.line,
                    column: error.column,
                    stack: error.stack.map(|stack| cut::middle(stack, TEXT_BYTES).0),
                    data,
                };
                (error.returned, Some(told))
            }
        };
        match returned {
            None => Answer { value: JsonText::null(), value_type: ValueType::Undefined, error },
            Some(Returned { value, .. }) if value.bytes() as u64 > limit => {
                Answer::failed(error.unwrap_or_else(|| too_large(&value, limit)))
            }
            Some(Returned { value, value_type }) => Answer { value, value_type, error },
        }
    }
}

fn too_large(value: &JsonText, limit: u64) -> RunError {
    let message = format!(
        "the value has {} bytes of JSON text, the limit is {limit}\nreturn less: filter or summarise it in the body",
        value.bytes()
    );
    RunError::new(ErrorCode::OutputLimit, message)
}

fn code(claimed: ChildVerdict) -> ErrorCode {
    match claimed {
        ChildVerdict::BodyError => ErrorCode::BodyError,
        ChildVerdict::UnhandledRejection => ErrorCode::UnhandledRejection,
        ChildVerdict::NeverSettles => ErrorCode::NeverSettles,
        ChildVerdict::SyntaxError => ErrorCode::SyntaxError,
        ChildVerdict::InvalidBody => ErrorCode::InvalidBody,
        ChildVerdict::MemoryLimit => ErrorCode::MemoryLimit,
        ChildVerdict::OutputLimit => ErrorCode::OutputLimit,
        ChildVerdict::CallLimit => ErrorCode::CallLimit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(letters: usize) -> Returned {
        Returned { value: JsonText::of(&"x".repeat(letters)).unwrap(), value_type: ValueType::String }
    }

    #[test]
    fn a_value_above_the_limit_is_an_output_limit_naming_both_sizes() {
        let limits = RunLimits::default();
        let exact = Answer::of_child(RunAnswer::Returned(text(1024 * 1024 - 2)), &limits);
        assert!(exact.error.is_none());
        let over = Answer::of_child(RunAnswer::Returned(text(1024 * 1024 - 1)), &limits);
        let error = over.error.unwrap();
        assert_eq!(error.code, ErrorCode::OutputLimit);
        assert!(error.message.contains("1048577") && error.message.contains("1048576"), "{}", error.message);
        assert_eq!(over.value.text(), "null");
    }

    #[test]
    fn a_failure_keeps_what_was_returned_and_is_bounded() {
        let failed = codemode_protocol::RunError {
            code: ChildVerdict::UnhandledRejection,
            name: "n".repeat(10_000),
            message: "m".repeat(1_000_000),
            line: Some(4),
            column: None,
            stack: Some("s".repeat(1_000_000)),
            data: None,
            returned: Some(text(1)),
        };
        let answer = Answer::of_child(RunAnswer::Failed(Box::new(failed)), &RunLimits::default());
        assert_eq!(answer.value.text(), "\"x\"");
        let error = answer.error.unwrap();
        assert_eq!((error.code, error.line), (ErrorCode::UnhandledRejection, Some(4)));
        assert!(error.name.len() <= NAME_BYTES && error.message.len() <= TEXT_BYTES && error.stack.unwrap().len() <= TEXT_BYTES);
    }
}
