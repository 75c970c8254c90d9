//! What codemode tells a gateway without waiting for an answer.

use serde::Serialize;

use super::{GoodbyeCode, RequestMethod, RequestState, RunName};
use crate::fields::{Fields, integer, object, string};
use crate::json::{Entry, JsonText, Outline};
use crate::message::{Level, RequestId, optional_string};
use crate::violation::{Violation, ViolationKind as Kind};

/// A notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Notice {
    /// `run.log`: the body printed. As much as the report keeps.
    Log {
        /// The run.
        run: RunName,
        /// Which function the body called.
        level: Level,
        /// What it printed.
        text: String,
    },
    /// `run.call`: a request of the body came one step further.
    Call(CallNotice),
    /// `run.finished`: the child is gone. The last of a run.
    Finished {
        /// The run.
        run: RunName,
        /// The report: the text of an object.
        report: JsonText,
    },
    /// `request.cancel`: nobody waits for the answer to this request any more. It is to be answered all the same.
    Cancel {
        /// The request.
        #[serde(serialize_with = "number")]
        id: RequestId,
    },
    /// `goodbye`: this end closes the connection behind it.
    Goodbye {
        /// Why, as a word.
        code: GoodbyeCode,
        /// Why, for people.
        message: String,
    },
}

/// The params of `run.call`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallNotice {
    /// The run.
    pub run: RunName,
    /// The number in the run's ledger.
    pub seq: u64,
    /// What was asked for.
    pub method: RequestMethod,
    /// How far it has come.
    pub state: RequestState,
    /// The tool: as the body named it while it is queued, then its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The entry of the ledger, once the state is final.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<JsonText>,
}

impl Notice {
    pub(super) const METHODS: [&str; 5] = ["run.log", "run.call", "run.finished", "request.cancel", "goodbye"];

    /// The method of the wire.
    #[must_use]
    pub fn method(&self) -> &'static str {
        let [log, call, finished, cancel, goodbye] = Self::METHODS;
        match self {
            Self::Log { .. } => log,
            Self::Call(_) => call,
            Self::Finished { .. } => finished,
            Self::Cancel { .. } => cancel,
            Self::Goodbye { .. } => goodbye,
        }
    }

    pub(super) fn read(method: &str, outline: &Outline<'_>, params: Entry<'_>) -> Result<Self, Violation> {
        let mut fields = Fields::inside(outline, params, "params")?;
        let notice = match method {
            "run.log" => {
                let run = RunName::read(&mut fields)?;
                let level = Level::read(fields.required("level", "params.level")?, "params.level")?;
                Self::Log { run, level, text: string(fields.required("text", "params.text")?, "params.text")? }
            }
            "run.call" => Self::Call(CallNotice::read(&mut fields)?),
            "run.finished" => {
                let run = RunName::read(&mut fields)?;
                Self::Finished { run, report: object(fields.required("report", "params.report")?, "params.report")? }
            }
            "request.cancel" => {
                let id = integer(fields.required("id", "params.id")?, 1, "params.id")?;
                Self::Cancel { id: RequestId::new(id).ok_or(Violation::new(Kind::BadValue, "params.id"))? }
            }
            "goodbye" => {
                let code = GoodbyeCode::read(fields.required("code", "params.code")?, "params.code")?;
                Self::Goodbye { code, message: string(fields.required("message", "params.message")?, "params.message")? }
            }
            _ => return Err(Violation::new(Kind::UnknownMethod, "method")),
        };
        fields.finish()?;
        Ok(notice)
    }
}

impl CallNotice {
    fn read(fields: &mut Fields<'_>) -> Result<Self, Violation> {
        let run = RunName::read(fields)?;
        let seq = integer(fields.required("seq", "params.seq")?, 1, "params.seq")?;
        let method = RequestMethod::read(fields.required("method", "params.method")?, "params.method")?;
        let state = RequestState::read(fields.required("state", "params.state")?, "params.state")?;
        let id = optional_string(fields, "id", "params.id")?;
        let entry = fields.optional("entry").map(|entry| object(entry, "params.entry")).transpose()?;
        if entry.is_some() != state.is_final() {
            let kind = if entry.is_some() { Kind::UnknownField } else { Kind::MissingField };
            return Err(Violation::new(kind, "params.entry"));
        }
        Ok(Self { run, seq, method, state, id, entry })
    }
}

fn number<S: serde::Serializer>(id: &RequestId, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(id.get())
}
