//! What the supervisor may say.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{CallCode, ERROR_NUMBER, Envelope, METHODS, RequestId, error_fields, optional_json, part, request_id};
use crate::fields::{Fields, any, integer, string};
use crate::json::{JsonText, outline};
use crate::limits::WireLimits;
use crate::violation::{Violation, ViolationKind as Kind};

/// A message to the child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToChild {
    /// The request with the body.
    Run {
        /// Always [`RequestId::FIRST`] in a legal session.
        id: RequestId,
        /// What is to run.
        run: Run,
    },
    /// The answer to a request of the child.
    Reply {
        /// The request that it answers.
        id: RequestId,
        /// The value, or why there is none.
        result: Result<JsonText, WireError>,
    },
}

/// One body and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The caller's own text.
    pub body: String,
    /// For the generator behind `Math.random`.
    pub seed: Seed,
    /// The limits that the child itself keeps.
    pub limits: WireLimits,
}

/// 128 random bits for one run, written as 32 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed([u8; 16]);

impl Seed {
    /// The caller takes the bits from the system; this crate has no randomness.
    #[must_use]
    pub const fn new(bits: [u8; 16]) -> Self {
        Self(bits)
    }

    fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        u128::from_str_radix(text, 16).ok().map(|bits| Self(bits.to_be_bytes()))
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl Serialize for Seed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why a request has no value: the child makes an Error with these fields of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireError {
    /// The reason as a word.
    pub code: CallCode,
    /// The reason for people, and for the model that reads it. The caller bounds it: a frame that does not fit is not sent.
    pub message: String,
    /// The `name` of the Error, `ToolError` unless set.
    pub name: String,
    /// The tool that it is about, when there is one.
    pub tool_id: Option<String>,
    /// What the tool gave along.
    pub data: Option<JsonText>,
}

impl WireError {
    /// An error with no tool and no data.
    #[must_use]
    pub fn new(code: CallCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), name: "ToolError".to_owned(), tool_id: None, data: None }
    }

    /// The tool that it is about.
    #[must_use]
    pub fn about(mut self, tool_id: impl Into<String>) -> Self {
        self.tool_id = Some(tool_id.into());
        self
    }

    /// What the tool gave along.
    #[must_use]
    pub fn with_data(mut self, data: JsonText) -> Self {
        self.data = Some(data);
        self
    }

    pub(crate) fn read(message: String, data: &str) -> Result<Self, Violation> {
        let outline = part(data)?;
        let mut fields = Fields::root(&outline, "error.data")?;
        let code = CallCode::read(fields.required("code", "data.code")?, "data.code")?;
        let name = string(fields.required("name", "data.name")?, "data.name")?;
        let tool_id = match fields.required("toolId", "data.toolId")? {
            entry if entry.value == "null" => None,
            entry => Some(string(entry, "data.toolId")?),
        };
        let data = optional_json(&mut fields, "data", "data.data")?.filter(|data| data.text() != "null");
        fields.finish()?;
        Ok(Self { code, message, name, tool_id, data })
    }
}

impl ToChild {
    /// Reads the text of a frame, as the child does.
    ///
    /// # Errors
    ///
    /// The first rule of the wire that the text breaks.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        let outline = outline(text)?;
        match Envelope::read(&outline, &METHODS)? {
            Envelope::Call { method: "run", id, params } => {
                let id = request_id(id)?;
                let mut fields = Fields::inside(&outline, params, "run params")?;
                let body = string(fields.required("body", "params.body")?, "params.body")?;
                let seed = string(fields.required("seed", "params.seed")?, "params.seed")?;
                let seed = Seed::parse(&seed).ok_or(Violation::new(Kind::BadValue, "params.seed"))?;
                let limits = fields.required("limits", "params.limits")?.value;
                fields.finish()?;
                Ok(Self::Run { id, run: Run { body, seed, limits: read_limits(limits)? } })
            }
            Envelope::Call { .. } => Err(Violation::new(Kind::UnknownMethod, "method")),
            Envelope::Result { id, result } => Ok(Self::Reply { id, result: Ok(any(result, "result")?) }),
            Envelope::Error { id, error } => {
                let (message, data) = error_fields(&outline, error)?;
                Ok(Self::Reply { id, result: Err(WireError::read(message, data)?) })
            }
        }
    }
}

fn read_limits(text: &str) -> Result<WireLimits, Violation> {
    if !text.starts_with('{') {
        return Err(Violation::new(Kind::WrongType, "params.limits"));
    }
    let outline = part(text)?;
    let mut fields = Fields::root(&outline, "params.limits")?;
    let mut take = |name: &str| integer(fields.required(name, "params.limits")?, 0, "params.limits");
    let limits = WireLimits {
        in_flight: take("inFlight")?,
        requests: take("requests")?,
        args_bytes: take("argsBytes")?,
        value_bytes: take("valueBytes")?,
        body_bytes: take("bodyBytes")?,
        console_entry_bytes: take("consoleEntryBytes")?,
        console_flood_bytes: take("consoleFloodBytes")?,
    };
    fields.finish()?;
    Ok(limits)
}

/// How a message is written: from borrowed parts, so that a body or a value is copied once.
pub(crate) struct ToChildText<'a, T: ?Sized> {
    id: RequestId,
    content: Content<'a, T>,
}

enum Content<'a, T: ?Sized> {
    Run(&'a Run),
    Value(&'a T),
    Error(&'a WireError),
}

impl<'a> ToChildText<'a, ()> {
    pub(crate) fn run(run: &'a Run) -> Self {
        Self { id: RequestId::FIRST, content: Content::Run(run) }
    }

    pub(crate) fn error(id: RequestId, error: &'a WireError) -> Self {
        Self { id, content: Content::Error(error) }
    }
}

impl<'a, T: ?Sized> ToChildText<'a, T> {
    pub(crate) fn value(id: RequestId, value: &'a T) -> Self {
        Self { id, content: Content::Value(value) }
    }
}

impl<T: Serialize + ?Sized> Serialize for ToChildText<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", "2.0")?;
        map.serialize_entry("id", &self.id.get())?;
        match self.content {
            Content::Run(run) => {
                map.serialize_entry("method", "run")?;
                map.serialize_entry("params", &RunParams { body: &run.body, seed: run.seed, limits: &run.limits })?;
            }
            Content::Value(value) => map.serialize_entry("result", value)?,
            Content::Error(error) => {
                map.serialize_entry("error", &ErrorText::of(error))?;
            }
        }
        map.end()
    }
}

#[derive(Serialize)]
struct RunParams<'a> {
    body: &'a str,
    seed: Seed,
    limits: &'a WireLimits,
}

/// The `error` of an answer.
#[derive(Serialize)]
pub(crate) struct ErrorText<'a> {
    code: i64,
    message: &'a str,
    data: ErrorData<'a>,
}

impl<'a> ErrorText<'a> {
    pub(crate) fn of(error: &'a WireError) -> Self {
        let data = ErrorData { code: error.code, name: &error.name, tool_id: error.tool_id.as_deref(), data: error.data.as_ref() };
        Self { code: ERROR_NUMBER, message: &error.message, data }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorData<'a> {
    code: CallCode,
    name: &'a str,
    tool_id: Option<&'a str>,
    data: Option<&'a JsonText>,
}
