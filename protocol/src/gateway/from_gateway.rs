//! What a gateway may say.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Hello, RunName, RunStart};
use crate::fields::{Fields, any};
use crate::json::{JsonText, outline};
use crate::message::{Envelope, ErrorText, RequestId, WireError, error_fields, request_id};
use crate::violation::{Violation, ViolationKind as Kind};

/// The methods of this direction.
const METHODS: [&str; 3] = ["hello", "run.start", "run.cancel"];

/// A message from a gateway, well-formed and claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromGateway {
    /// A request that wants an answer.
    Request {
        /// The id that its answer has to bear.
        id: RequestId,
        /// What it wants.
        ask: GatewayAsk,
    },
    /// The answer to a request of codemode.
    Answer {
        /// The request that it answers.
        id: RequestId,
        /// The result, whatever it is, or why there is none.
        result: Result<JsonText, WireError>,
    },
}

/// What a request of a gateway wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayAsk {
    /// `hello`
    Hello(Hello),
    /// `run.start`. Boxed: it is by far the largest.
    Start(Box<RunStart>),
    /// `run.cancel`
    Cancel {
        /// The run.
        run: RunName,
    },
}

impl FromGateway {
    /// Reads the text of a frame. This says nothing about whether the message may come now; [`super::Exchange`] does.
    ///
    /// # Errors
    ///
    /// The first rule of the wire that the text breaks.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        let outline = outline(text)?;
        match Envelope::read(&outline, &METHODS)? {
            Envelope::Call { method, id, params } => {
                let id = request_id(id)?;
                let ask = match method {
                    "hello" => GatewayAsk::Hello(Hello::read(&outline, params)?),
                    "run.start" => GatewayAsk::Start(Box::new(RunStart::read(&outline, params)?)),
                    "run.cancel" => {
                        let mut fields = Fields::inside(&outline, params, "run.cancel params")?;
                        let run = RunName::read(&mut fields)?;
                        fields.finish()?;
                        GatewayAsk::Cancel { run }
                    }
                    _ => return Err(Violation::new(Kind::UnknownMethod, "method")),
                };
                Ok(Self::Request { id, ask })
            }
            Envelope::Result { id, result } => Ok(Self::Answer { id, result: Ok(any(result, "result")?) }),
            Envelope::Error { id, error } => {
                let (message, data) = error_fields(&outline, error)?;
                Ok(Self::Answer { id, result: Err(WireError::read(message, data)?) })
            }
        }
    }
}

impl Serialize for FromGateway {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("jsonrpc", "2.0")?;
        match self {
            Self::Request { id, ask } => {
                map.serialize_entry("id", &id.get())?;
                match ask {
                    GatewayAsk::Hello(hello) => {
                        map.serialize_entry("method", "hello")?;
                        map.serialize_entry("params", hello)?;
                    }
                    GatewayAsk::Start(start) => {
                        map.serialize_entry("method", "run.start")?;
                        map.serialize_entry("params", start)?;
                    }
                    GatewayAsk::Cancel { run } => {
                        map.serialize_entry("method", "run.cancel")?;
                        map.serialize_entry("params", &CancelText { run })?;
                    }
                }
            }
            Self::Answer { id, result } => {
                map.serialize_entry("id", &id.get())?;
                match result {
                    Ok(value) => map.serialize_entry("result", value)?,
                    Err(error) => map.serialize_entry("error", &ErrorText::of(error))?,
                }
            }
        }
        map.end()
    }
}

#[derive(Serialize)]
struct CancelText<'a> {
    run: &'a RunName,
}
