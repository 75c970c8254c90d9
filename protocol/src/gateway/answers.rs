//! Results that are read by whoever asked.

use serde::Serialize;

use super::hello::object;
use crate::fields::{Fields, object as any_object, string};
use crate::json::JsonText;
use crate::message::optional_string;
use crate::violation::{Violation, ViolationKind as Kind};

/// The result of `approval.request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "answer", rename_all = "lowercase")]
pub enum ApprovalWord {
    /// The call may go, this once.
    Granted,
    /// It may not.
    Refused {
        /// Why.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Nobody can be asked now.
    Unavailable {
        /// Why.
        reason: String,
    },
}

impl ApprovalWord {
    /// Reads a result.
    ///
    /// # Errors
    ///
    /// The first rule that it breaks.
    pub fn read(text: &JsonText) -> Result<Self, Violation> {
        let outline = object(text.text(), "result")?;
        let mut fields = Fields::root(&outline, "result")?;
        let word = match string(fields.required("answer", "result.answer")?, "result.answer")?.as_str() {
            "granted" => Self::Granted,
            "refused" => Self::Refused { reason: optional_string(&mut fields, "reason", "result.reason")? },
            "unavailable" => Self::Unavailable { reason: string(fields.required("reason", "result.reason")?, "result.reason")? },
            _ => return Err(Violation::new(Kind::BadValue, "result.answer")),
        };
        fields.finish()?;
        Ok(word)
    }
}

/// The result of `hook.beforeToolCall`: what a hook that is a program says, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
pub enum HookWord {
    /// The call may go on, with these arguments where there are some.
    Allow {
        /// The text of an object.
        #[serde(skip_serializing_if = "Option::is_none")]
        args: Option<JsonText>,
    },
    /// It must not go.
    Block {
        /// Why.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

impl HookWord {
    /// Reads a result.
    ///
    /// # Errors
    ///
    /// The first rule that it breaks.
    pub fn read(text: &JsonText) -> Result<Self, Violation> {
        let outline = object(text.text(), "result")?;
        let mut fields = Fields::root(&outline, "result")?;
        let word = match string(fields.required("decision", "result.decision")?, "result.decision")?.as_str() {
            "allow" => Self::Allow { args: fields.optional("args").map(|args| any_object(args, "result.args")).transpose()? },
            "block" => Self::Block { reason: optional_string(&mut fields, "reason", "result.reason")? },
            _ => return Err(Violation::new(Kind::BadValue, "result.decision")),
        };
        fields.finish()?;
        Ok(word)
    }
}

/// The result of `run.cancel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Cancelled {
    /// Whether a run with this name goes on. One that has just ended is not an error.
    pub known: bool,
}
