//! What a child may say.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{ChildVerdict, Level, ValueType};
use super::{ERROR_NUMBER, Envelope, METHODS, RequestId, error_fields, no_id, optional_json, optional_string, part, request_id};
use crate::fields::{Fields, any, integer, object, string};
use crate::json::{Entry, JsonText, Outline, outline};
use crate::violation::{Violation, ViolationKind as Kind};

/// The longest version text that a Node has any use for.
const MAX_NODE_BYTES: usize = 64;

/// A message from the child, well-formed and claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromChild {
    /// It is there.
    Hello(Hello),
    /// A console entry.
    Console(Console),
    /// A request that wants a reply.
    Request(Request),
    /// The answer to `run`.
    Answer {
        /// The request that it answers.
        id: RequestId,
        /// How the body ended.
        answer: RunAnswer,
    },
}

/// The child's first message. Its protocol is [`crate::PROTOCOL`]: another one is refused in reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The version that the child claims its Node has, such as `v24.22.3`; at most 64 bytes.
    pub node: String,
}

/// A console entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Console {
    /// Which function the body called.
    pub level: Level,
    /// What it printed, cut to the entry limit by an honest child.
    pub text: String,
    /// Bytes that the child cut from this entry.
    pub dropped: u64,
}

/// A request of the child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The id that its reply has to bear.
    pub id: RequestId,
    /// What it wants.
    pub ask: Ask,
}

/// What a request wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// `openclaw.tools.search`
    Search {
        /// Words to look for.
        query: String,
        /// How many rows are wanted; the configuration clamps it.
        limit: Option<u64>,
    },
    /// `openclaw.tools.describe`
    Describe {
        /// An id or a bare name.
        id: String,
    },
    /// `openclaw.tools.call`
    Call {
        /// An id or a bare name.
        id: String,
        /// The arguments: the text of a JSON object.
        args: JsonText,
    },
}

impl Ask {
    /// The method of the wire.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match self {
            Self::Search { .. } => "openclaw.tools.search",
            Self::Describe { .. } => "openclaw.tools.describe",
            Self::Call { .. } => "openclaw.tools.call",
        }
    }
}

/// How the body ended, as the child claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunAnswer {
    /// It returned.
    Returned(Returned),
    /// It failed. Boxed: it is the larger and the rarer one.
    Failed(Box<RunError>),
}

/// What a body returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    /// The value as JSON, with the marks for what JSON does not have.
    pub value: JsonText,
    /// What it was in JavaScript.
    pub value_type: ValueType,
}

/// How a body failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunError {
    /// The verdict that the child claims.
    pub code: ChildVerdict,
    /// The name of the error, such as `ReferenceError`.
    pub name: String,
    /// Its message.
    pub message: String,
    /// The line of the caller's own text, from 1.
    pub line: Option<u64>,
    /// The column of it, from 1.
    pub column: Option<u64>,
    /// The guest's frames of the stack.
    pub stack: Option<String>,
    /// The `data` of the error that was thrown.
    pub data: Option<JsonText>,
    /// What the body had returned when the run failed after it.
    pub returned: Option<Returned>,
}

impl FromChild {
    /// Reads the text of a frame. This says nothing about whether the message may come now; [`crate::SupervisorSession`] does.
    ///
    /// # Errors
    ///
    /// The first rule of the wire that the text breaks.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        let outline = outline(text)?;
        match Envelope::read(&outline, &METHODS)? {
            Envelope::Call { method, id, params } => Self::call(&outline, method, id, params),
            Envelope::Result { id, result } => {
                let mut fields = Fields::inside(&outline, result, "result")?;
                let value = any(fields.required("value", "result.value")?, "result.value")?;
                let value_type = ValueType::read(fields.required("valueType", "result.valueType")?, "result.valueType")?;
                fields.finish()?;
                Ok(Self::Answer { id, answer: RunAnswer::Returned(Returned { value, value_type }) })
            }
            Envelope::Error { id, error } => {
                let (message, data) = error_fields(&outline, error)?;
                let error = RunError::read(message, data)?;
                Ok(Self::Answer { id, answer: RunAnswer::Failed(Box::new(error)) })
            }
        }
    }

    fn call<'a>(outline: &Outline<'a>, method: &str, id: Option<RequestId>, params: Entry<'a>) -> Result<Self, Violation> {
        let fields = |place| Fields::inside(outline, params, place);
        match method {
            "hello" => {
                no_id(id)?;
                Hello::read(fields("hello params")?).map(Self::Hello)
            }
            "console" => {
                no_id(id)?;
                Console::read(fields("console params")?).map(Self::Console)
            }
            "openclaw.tools.search" => {
                let id = request_id(id)?;
                let mut fields = fields("search params")?;
                let query = string(fields.required("query", "params.query")?, "params.query")?;
                let limit = fields.optional("limit").map(|limit| integer(limit, 0, "params.limit")).transpose()?;
                fields.finish()?;
                Ok(Self::Request(Request { id, ask: Ask::Search { query, limit } }))
            }
            "openclaw.tools.describe" => {
                let id = request_id(id)?;
                let mut fields = fields("describe params")?;
                let tool = string(fields.required("id", "params.id")?, "params.id")?;
                fields.finish()?;
                Ok(Self::Request(Request { id, ask: Ask::Describe { id: tool } }))
            }
            "openclaw.tools.call" => {
                let id = request_id(id)?;
                let mut fields = fields("call params")?;
                let tool = string(fields.required("id", "params.id")?, "params.id")?;
                let args = object(fields.required("args", "params.args")?, "params.args")?;
                fields.finish()?;
                Ok(Self::Request(Request { id, ask: Ask::Call { id: tool, args } }))
            }
            // `run`: only the supervisor has it.
            _ => Err(Violation::new(Kind::UnknownMethod, "method")),
        }
    }
}

impl Hello {
    fn read(mut fields: Fields<'_>) -> Result<Self, Violation> {
        let protocol = integer(fields.required("protocol", "params.protocol")?, 1, "params.protocol")?;
        if protocol != crate::PROTOCOL {
            return Err(Violation::new(Kind::BadValue, "params.protocol").with_numbers(protocol, crate::PROTOCOL));
        }
        let node = string(fields.required("node", "params.node")?, "params.node")?;
        if node.len() > MAX_NODE_BYTES {
            return Err(Violation::new(Kind::BadValue, "params.node").with_numbers(node.len() as u64, MAX_NODE_BYTES as u64));
        }
        fields.finish()?;
        Ok(Self { node })
    }
}

impl Console {
    fn read(mut fields: Fields<'_>) -> Result<Self, Violation> {
        let level = Level::read(fields.required("level", "params.level")?, "params.level")?;
        let text = string(fields.required("text", "params.text")?, "params.text")?;
        let dropped = fields.optional("dropped").map_or(Ok(0), |dropped| integer(dropped, 0, "params.dropped"))?;
        fields.finish()?;
        Ok(Self { level, text, dropped })
    }
}

impl RunError {
    fn read(message: String, data: &str) -> Result<Self, Violation> {
        let outline = part(data)?;
        let mut fields = Fields::root(&outline, "error.data")?;
        let code = ChildVerdict::read(fields.required("code", "data.code")?, "data.code")?;
        let name = string(fields.required("name", "data.name")?, "data.name")?;
        let line = fields.optional("line").map(|line| integer(line, 1, "data.line")).transpose()?;
        let column = fields.optional("column").map(|column| integer(column, 1, "data.column")).transpose()?;
        let stack = optional_string(&mut fields, "stack", "data.stack")?;
        let data = optional_json(&mut fields, "data", "data.data")?;
        // The two say one thing together, so one without the other says nothing.
        let returned = if fields.has("value") || fields.has("valueType") {
            let value = any(fields.required("value", "data.value")?, "data.value")?;
            let value_type = ValueType::read(fields.required("valueType", "data.valueType")?, "data.valueType")?;
            Some(Returned { value, value_type })
        } else {
            None
        };
        fields.finish()?;
        Ok(Self { code, name, message, line, column, stack, data, returned })
    }
}

impl Serialize for FromChild {
    /// As an honest child writes it; the stand-in for a child needs it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", "2.0")?;
        match self {
            Self::Hello(Hello { node }) => {
                map.serialize_entry("method", "hello")?;
                map.serialize_entry("params", &HelloText { protocol: crate::PROTOCOL, node })?;
            }
            Self::Console(Console { level, text, dropped }) => {
                map.serialize_entry("method", "console")?;
                let dropped = (*dropped > 0).then_some(*dropped);
                map.serialize_entry("params", &ConsoleText { level: *level, text, dropped })?;
            }
            Self::Request(Request { id, ask }) => {
                map.serialize_entry("id", &id.get())?;
                map.serialize_entry("method", ask.method())?;
                match ask {
                    Ask::Search { query, limit } => map.serialize_entry("params", &SearchText { query, limit: *limit })?,
                    Ask::Describe { id } => map.serialize_entry("params", &DescribeText { id })?,
                    Ask::Call { id, args } => map.serialize_entry("params", &CallText { id, args })?,
                }
            }
            Self::Answer { id, answer: RunAnswer::Returned(Returned { value, value_type }) } => {
                map.serialize_entry("id", &id.get())?;
                map.serialize_entry("result", &ReturnedText { value, value_type: *value_type })?;
            }
            Self::Answer { id, answer: RunAnswer::Failed(error) } => {
                map.serialize_entry("id", &id.get())?;
                let data = ErrorData {
                    code: error.code,
                    name: &error.name,
                    line: error.line,
                    column: error.column,
                    stack: error.stack.as_deref(),
                    data: error.data.as_ref(),
                    value: error.returned.as_ref().map(|returned| &returned.value),
                    value_type: error.returned.as_ref().map(|returned| returned.value_type),
                };
                map.serialize_entry("error", &ErrorText { code: ERROR_NUMBER, message: &error.message, data })?;
            }
        }
        map.end()
    }
}

#[derive(Serialize)]
struct HelloText<'a> {
    protocol: u64,
    node: &'a str,
}

#[derive(Serialize)]
struct ConsoleText<'a> {
    level: Level,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<u64>,
}

#[derive(Serialize)]
struct SearchText<'a> {
    query: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
}

#[derive(Serialize)]
struct DescribeText<'a> {
    id: &'a str,
}

#[derive(Serialize)]
struct CallText<'a> {
    id: &'a str,
    args: &'a JsonText,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReturnedText<'a> {
    value: &'a JsonText,
    value_type: ValueType,
}

#[derive(Serialize)]
struct ErrorText<'a> {
    code: i64,
    message: &'a str,
    data: ErrorData<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorData<'a> {
    code: ChildVerdict,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a JsonText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a JsonText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_type: Option<ValueType>,
}
