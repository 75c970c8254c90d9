//! Lines of JSON from a client, bounded before they are read, and what is answered to those that are no message.

use std::io;

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcMessage};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of a message: the arguments of a call (4 MiB at most) twice over, because a text inside JSON is longer than it is.
pub(super) const MOST_MESSAGE_BYTES: usize = 8 << 20;
/// Bytes taken from the client at once.
const READ_BYTES: usize = 64 << 10;

/// What came of a line.
#[derive(Debug)]
pub(super) enum Incoming {
    /// A message.
    Message(Box<ClientJsonRpcMessage>),
    /// No message; this is to be answered.
    Refused(Value),
}

/// Reads lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    /// Bytes of the buffer in which no line end is.
    searched: usize,
    /// The line was too long: its rest is thrown away.
    skipping: bool,
}

impl<R: AsyncRead + Unpin + Send> Lines<R> {
    pub(super) fn new(from: R) -> Lines<R> {
        Lines { from, buffer: Vec::new(), searched: 0, skipping: false }
    }

    /// The next line that is not blank, understood; `None` at the end. A line that the client did not finish is none. Cancel-safe: nothing is
    /// lost when the future is dropped.
    pub(super) async fn next(&mut self) -> io::Result<Option<Incoming>> {
        loop {
            if let Some(end) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=self.searched + end).collect();
                self.searched = 0;
                if std::mem::take(&mut self.skipping) || line.trim_ascii().is_empty() {
                    continue;
                }
                if line.len() > MOST_MESSAGE_BYTES {
                    return Ok(Some(too_long()));
                }
                if let Some(incoming) = understood(&line) {
                    return Ok(Some(incoming));
                }
                continue;
            }
            self.searched = self.buffer.len();
            if self.skipping {
                self.buffer.clear();
                self.searched = 0;
            } else if self.buffer.len() > MOST_MESSAGE_BYTES {
                self.buffer = Vec::new();
                self.searched = 0;
                self.skipping = true;
                return Ok(Some(too_long()));
            }
            self.buffer.reserve(READ_BYTES);
            if self.from.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}

fn too_long() -> Incoming {
    refusal(&Value::Null, INVALID_REQUEST, &format!("a message has more than {MOST_MESSAGE_BYTES} bytes; it was not read"))
}

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;

/// `None`: it is a broken notification, and those are never answered.
fn understood(line: &[u8]) -> Option<Incoming> {
    // The parser stops at a depth of 128.
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return Some(refusal(&Value::Null, PARSE_ERROR, &format!("this is no JSON that can be read: {error}"))),
    };
    if value.is_array() {
        return Some(refusal(&Value::Null, INVALID_REQUEST, "several messages in one are not taken; send each in a line of its own"));
    }
    match ClientJsonRpcMessage::deserialize(&value) {
        Ok(message) => Some(Incoming::Message(Box::new(message))),
        Err(_) if value.get("id").is_none() && value["method"].is_string() => None,
        Err(_) => {
            let id = value.get("id").filter(|id| id.is_string() || id.is_i64()).unwrap_or(&Value::Null);
            Some(refusal(
                id,
                INVALID_REQUEST,
                "this is no JSON-RPC 2.0 message; a request has jsonrpc, id (a text or an integer), method and params",
            ))
        }
    }
}

fn refusal(id: &Value, code: i32, message: &str) -> Incoming {
    Incoming::Refused(refused(id, code, message))
}

/// A JSON-RPC error.
pub(super) fn refused(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// Whether a message begins a session: nothing but a request may come before one that does.
pub(super) fn opens(message: &ClientJsonRpcMessage) -> bool {
    match message {
        JsonRpcMessage::Request(request) => {
            matches!(request.request, ClientRequest::InitializeRequest(_)) || request.request.get_meta().protocol_version().is_some()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(bytes: impl Into<Vec<u8>>) -> Lines<io::Cursor<Vec<u8>>> {
        Lines::new(io::Cursor::new(bytes.into()))
    }

    async fn all(bytes: impl Into<Vec<u8>>) -> Vec<String> {
        let mut lines = reading(bytes);
        let mut seen = Vec::new();
        while let Some(incoming) = lines.next().await.unwrap() {
            seen.push(match incoming {
                Incoming::Message(message) => serde_json::to_value(&message).unwrap()["method"].as_str().unwrap_or("?").to_owned(),
                Incoming::Refused(value) => format!("{} {}", value["error"]["code"], value["id"]),
            });
        }
        seen
    }

    const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

    #[tokio::test]
    async fn blank_and_broken_lines_do_no_harm_to_the_next() {
        let text = format!("\n\r\n{PING}\r\nnonsense\n{{\"id\":\"a\",\"x\":1}}\n[{PING}]\n\u{fffd}\n{PING}\n{PING}");
        assert_eq!(all(text).await, ["ping", "-32700 null", "-32600 \"a\"", "-32600 null", "-32700 null", "ping"], "the last has no end");
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_refused_once_and_skipped_in_bounded_memory() {
        let mut bytes = vec![b'x'; 3 * MOST_MESSAGE_BYTES];
        bytes.extend_from_slice(format!("\n{PING}\n").as_bytes());
        let mut lines = reading(bytes);
        assert!(matches!(lines.next().await.unwrap(), Some(Incoming::Refused(_))));
        assert!(matches!(lines.next().await.unwrap(), Some(Incoming::Message(_))));
        assert!(lines.buffer.capacity() <= MOST_MESSAGE_BYTES + 2 * READ_BYTES, "{}", lines.buffer.capacity());
    }

    #[tokio::test]
    async fn depth_ends_in_an_error_and_not_on_the_stack() {
        for text in
            ["[".repeat(100_000), format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}", "{\"a\":".repeat(100_000))]
        {
            assert_eq!(all(format!("{text}\n{PING}\n")).await, ["-32700 null", "ping"]);
        }
    }

    #[tokio::test]
    async fn a_broken_notification_is_not_answered() {
        assert_eq!(all("{\"method\":\"notifications/x\"}\n").await, Vec::<String>::new());
    }
}
