//! What codemode may say to a gateway.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Ask, Notice, RefusalCode};
use crate::fields::{Fields, any};
use crate::json::{JsonText, outline};
use crate::message::{ERROR_NUMBER, Envelope, RequestId, error_fields, no_id, part, request_id};
use crate::violation::Violation;

/// A message to a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToGateway {
    /// A request that wants an answer.
    Request {
        /// The id that its answer has to bear.
        id: RequestId,
        /// What it wants.
        ask: Ask,
    },
    /// A notification.
    Notice(Notice),
    /// The answer to a request of the gateway.
    Answer {
        /// The request that it answers.
        id: RequestId,
        /// The result, or why there is none.
        result: Result<JsonText, Refusal>,
    },
}

/// The text of a request whose id is not known yet: it is given the moment the request goes out, since ids go out in their order.
#[derive(Debug)]
pub struct RequestText(Vec<u8>);

impl RequestText {
    /// What stands before the id.
    const HEAD: &'static [u8] = br#"{"jsonrpc":"2.0","id":"#;

    /// The text of this request.
    ///
    /// # Errors
    ///
    /// Never for what [`Ask`] can hold.
    pub fn new(ask: &Ask) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(&AskText { method: ask.method(), params: ask }).map(Self)
    }

    /// Bytes that the whole text has at most.
    #[must_use]
    pub fn bytes(&self) -> usize {
        /// Digits of 2^53 - 1.
        const DIGITS: usize = 16;
        Self::HEAD.len() + DIGITS + self.0.len()
    }

    /// The whole text.
    #[must_use]
    pub fn with_id(self, id: RequestId) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.bytes());
        text.extend_from_slice(Self::HEAD);
        text.extend_from_slice(id.to_string().as_bytes());
        text.push(b',');
        // Without its opening brace.
        text.extend_from_slice(&self.0[1..]);
        text
    }
}

#[derive(Serialize)]
struct AskText<'a> {
    method: &'static str,
    params: &'a Ask,
}

/// Why a request of the gateway is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason as a word.
    pub code: RefusalCode,
    /// The reason for people.
    pub message: String,
}

impl ToGateway {
    /// Reads the text of a frame, as a gateway does.
    ///
    /// # Errors
    ///
    /// The first rule of the wire that the text breaks.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        let methods = [&Ask::METHODS[..], &Notice::METHODS[..]].concat();
        let outline = outline(text)?;
        match Envelope::read(&outline, &methods)? {
            Envelope::Call { method, id, params } if Ask::METHODS.contains(&method) => {
                Ok(Self::Request { id: request_id(id)?, ask: Ask::read(method, &outline, params)? })
            }
            Envelope::Call { method, id, params } => {
                no_id(id)?;
                Notice::read(method, &outline, params).map(Self::Notice)
            }
            Envelope::Result { id, result } => Ok(Self::Answer { id, result: Ok(any(result, "result")?) }),
            Envelope::Error { id, error } => {
                let (message, data) = error_fields(&outline, error)?;
                let outline = part(data)?;
                let mut fields = Fields::root(&outline, "error.data")?;
                let code = RefusalCode::read(fields.required("code", "data.code")?, "data.code")?;
                fields.finish()?;
                Ok(Self::Answer { id, result: Err(Refusal { code, message }) })
            }
        }
    }
}

impl Serialize for ToGateway {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", "2.0")?;
        match self {
            Self::Request { id, ask } => {
                map.serialize_entry("id", &id.get())?;
                map.serialize_entry("method", ask.method())?;
                map.serialize_entry("params", ask)?;
            }
            Self::Notice(notice) => {
                map.serialize_entry("method", notice.method())?;
                map.serialize_entry("params", notice)?;
            }
            Self::Answer { id, result: Ok(value) } => {
                map.serialize_entry("id", &id.get())?;
                map.serialize_entry("result", value)?;
            }
            Self::Answer { id, result: Err(Refusal { code, message }) } => {
                map.serialize_entry("id", &id.get())?;
                map.serialize_entry("error", &RefusalText { code: ERROR_NUMBER, message, data: RefusalData { code: *code } })?;
            }
        }
        map.end()
    }
}

#[derive(Serialize)]
struct RefusalText<'a> {
    code: i64,
    message: &'a str,
    data: RefusalData,
}

#[derive(Serialize)]
struct RefusalData {
    code: RefusalCode,
}
