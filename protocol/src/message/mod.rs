//! Messages: what the text of a frame means.
//!
//! [`FromChild`] and [`ToChild`] are two types on purpose. Reading is strict: every field of the wire page and no other, each once, each of its type.
//!
//! What stands in a [`FromChild`] is *claimed*. It has the right shape; whether it is true (a tool's id, a verdict, the type of a value, a line number) is for
//! whoever uses it to ask. Nothing in it was checked against a limit of the run but the length of its frame.

mod from_child;
mod to_child;
mod words;

pub use from_child::{Ask, Console, FromChild, Hello, Request, Returned, RunAnswer, RunError};
pub(crate) use to_child::{ErrorText, ToChildText};
pub use to_child::{Run, Seed, ToChild, WireError};
pub(crate) use words::words;
pub use words::{CallCode, ChildVerdict, Level, ValueType};

use std::fmt;

use crate::fields::{Fields, MAX_INTEGER, any, integer};
use crate::json::{Entry, JsonText, Outline, outline};
use crate::violation::{Violation, ViolationKind as Kind};

/// The JSON-RPC code of every error; the code that says something is the word in `data`.
pub(crate) const ERROR_NUMBER: i64 = -32_000;

/// The id of a request: an integer from 1 to 2^53 - 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(u64);

impl RequestId {
    /// The id of the first request of each end, and the id of `run`.
    pub const FIRST: Self = Self(1);

    /// `None` for 0 and above 2^53 - 1.
    #[must_use]
    pub const fn new(id: u64) -> Option<Self> {
        if id == 0 || id > MAX_INTEGER { None } else { Some(Self(id)) }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The id after this one; at the end of the range it stays, and so is out of order.
    #[must_use]
    pub(crate) const fn following(self) -> Self {
        if self.0 == MAX_INTEGER { self } else { Self(self.0 + 1) }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A message by its outer fields, before it is known what they hold.
pub(crate) enum Envelope<'a> {
    Call { method: &'a str, id: Option<RequestId>, params: Entry<'a> },
    Result { id: RequestId, result: Entry<'a> },
    Error { id: RequestId, error: Entry<'a> },
}

impl<'a> Envelope<'a> {
    /// `methods` are those that this wire has.
    pub(crate) fn read(outline: &Outline<'a>, methods: &[&str]) -> Result<Self, Violation> {
        let mut fields = Fields::root(outline, "message")?;
        match fields.required("jsonrpc", "jsonrpc")?.value {
            "\"2.0\"" => {}
            _ => return Err(Violation::new(Kind::BadVersion, "jsonrpc")),
        }
        let id = fields.optional("id").map(id).transpose()?;
        let envelope = if let Some(method) = fields.optional("method") {
            // Compared as it stands: a method written with escapes is none of ours.
            let method = method.value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            let method = method.ok_or(Violation::new(Kind::WrongType, "method"))?;
            // An unknown method is the better name for what is wrong, whatever else the message has.
            if !methods.contains(&method) {
                return Err(Violation::new(Kind::UnknownMethod, "method"));
            }
            Self::Call { method, id, params: fields.required("params", "params")? }
        } else if let Some(result) = fields.optional("result") {
            Self::Result { id: id.ok_or(Violation::new(Kind::MissingField, "id"))?, result }
        } else if let Some(error) = fields.optional("error") {
            Self::Error { id: id.ok_or(Violation::new(Kind::MissingField, "id"))?, error }
        } else {
            // Whatever else it has: it has nothing that makes it a message.
            return Err(Violation::new(Kind::MissingField, "method, result or error"));
        };
        fields.finish()?;
        Ok(envelope)
    }
}

/// The methods of both directions.
const METHODS: [&str; 6] = ["hello", "console", "openclaw.tools.search", "openclaw.tools.describe", "openclaw.tools.call", "run"];

fn id(entry: Entry<'_>) -> Result<RequestId, Violation> {
    integer(entry, 1, "id").ok().and_then(RequestId::new).ok_or(Violation::new(Kind::BadId, "id"))
}

pub(crate) fn request_id(id: Option<RequestId>) -> Result<RequestId, Violation> {
    id.ok_or(Violation::new(Kind::MissingField, "id"))
}

pub(crate) fn no_id(id: Option<RequestId>) -> Result<(), Violation> {
    if id.is_some() { Err(Violation::new(Kind::UnknownField, "id of a notification")) } else { Ok(()) }
}

/// The three fields of a JSON-RPC error: the message, and the text of `data`.
pub(crate) fn error_fields<'a>(outline: &Outline<'a>, error: Entry<'a>) -> Result<(String, &'a str), Violation> {
    let mut fields = Fields::inside(outline, error, "error")?;
    let code = fields.required("code", "error.code")?.value;
    if code.parse() != Ok(ERROR_NUMBER) {
        let number = code.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        return Err(Violation::new(if number { Kind::BadValue } else { Kind::WrongType }, "error.code"));
    }
    let message = crate::fields::string(fields.required("message", "error.message")?, "error.message")?;
    let data = fields.required("data", "error.data")?.value;
    fields.finish()?;
    if !data.starts_with('{') {
        return Err(Violation::new(Kind::WrongType, "error.data"));
    }
    Ok((message, data))
}

/// The outline of a part that lies deeper than the outline of its message goes. The part has passed once and so passes again.
pub(crate) fn part(text: &str) -> Result<Outline<'_>, Violation> {
    outline(text)
}

pub(crate) fn optional_json(fields: &mut Fields<'_>, name: &str, place: &'static str) -> Result<Option<JsonText>, Violation> {
    fields.optional(name).map(|entry| any(entry, place)).transpose()
}

pub(crate) fn optional_string(fields: &mut Fields<'_>, name: &str, place: &'static str) -> Result<Option<String>, Violation> {
    fields.optional(name).map(|entry| crate::fields::string(entry, place)).transpose()
}
