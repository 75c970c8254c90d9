//! What a line of a server is, seen from its outside: nothing below the outermost object is looked at, so that no depth and no size can matter yet.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A message, its parts as their text.
#[derive(Debug)]
pub(super) enum Message<'a> {
    /// An answer to the request of ours with this id.
    Answer { id: i64, outcome: Result<&'a RawValue, &'a RawValue> },
    /// The server asks something.
    Request { id: &'a RawValue, method: Cow<'a, str> },
    /// The server tells something.
    Notification { method: Cow<'a, str> },
}

/// A line that is no message, in words.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Stray {
    #[error("a blank line")]
    Blank,
    #[error("a line that is not UTF-8")]
    NotUtf8,
    #[error("a line that is no JSON")]
    NotJson,
    #[error("JSON that is no message")]
    NotAMessage,
    #[error("an answer to no open request")]
    NotAsked,
    #[error("a line of more bytes than allowed")]
    TooLong,
    #[error("a request beyond those that it may have open")]
    TooManyRequests,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "even_null")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// A result of null is a result.
fn even_null<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Says what a line is. `is_open` knows the ids of our requests.
pub(super) fn message<'a>(line: &'a [u8], is_open: impl Fn(i64) -> bool) -> Result<Message<'a>, Stray> {
    let text = std::str::from_utf8(line).map_err(|_| Stray::NotUtf8)?.trim();
    if text.is_empty() {
        return Err(Stray::Blank);
    }
    if !text.starts_with('{') {
        return Err(if serde_json::from_str::<&RawValue>(text).is_ok() { Stray::NotAMessage } else { Stray::NotJson });
    }
    let envelope: Envelope<'a> =
        serde_json::from_str(text).map_err(|error| if error.is_data() { Stray::NotAMessage } else { Stray::NotJson })?;
    match (envelope.id, envelope.method) {
        (Some(id), Some(method)) => Ok(Message::Request { id, method }),
        (None, Some(method)) => Ok(Message::Notification { method }),
        (Some(id), None) => {
            let outcome = match (envelope.result, envelope.error) {
                (Some(result), None) => Ok(result),
                (None, Some(error)) => Err(error),
                _ => return Err(Stray::NotAMessage),
            };
            let id = number(id).filter(|id| is_open(*id)).ok_or(Stray::NotAsked)?;
            Ok(Message::Answer { id, outcome })
        }
        (None, None) => Err(Stray::NotAMessage),
    }
}

/// The number that an id means: all ids of ours are whole numbers, and some servers give them back as text or as `3.0`.
fn number(id: &RawValue) -> Option<i64> {
    match serde_json::from_str(id.get()).ok()? {
        serde_json::Value::String(text) => text.trim().parse().ok(),
        serde_json::Value::Number(number) => number.as_i64().or_else(|| {
            let float = number.as_f64()?;
            // Beyond this a float is no exact number any more; no counter of ours gets there.
            (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64)
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(line: &str) -> String {
        match message(line.as_bytes(), |id| id == 3) {
            Ok(Message::Answer { id, outcome: Ok(result) }) => format!("{id} = {}", result.get()),
            Ok(Message::Answer { id, outcome: Err(error) }) => format!("{id} ! {}", error.get()),
            Ok(Message::Request { id, method }) => format!("{method}? {}", id.get()),
            Ok(Message::Notification { method }) => format!("{method}."),
            Err(stray) => stray.to_string(),
        }
    }

    #[test]
    fn a_line_is_what_it_is() {
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","id":3,"result":{"a":[1]}}"#, r#"3 = {"a":[1]}"#),
            (r#" {"result":null,"id":"3"} "#, "3 = null"),
            (r#"{"id":3.0,"error":{"code":1}}"#, r#"3 ! {"code":1}"#),
            (r#"{"id":3,"result":{},"error":null}"#, "3 = {}"),
            (r#"{"id":4,"result":1}"#, "an answer to no open request"),
            (r#"{"id":"x","result":1}"#, "an answer to no open request"),
            (r#"{"id":0,"method":"ping"}"#, "ping? 0"),
            (r#"{"id":null,"method":"notifications/message","params":{}}"#, "notifications/message."),
            (r#"{"id":3,"result":1,"error":{}}"#, "JSON that is no message"),
            (r#"{"id":3}"#, "JSON that is no message"),
            (r#"{"id":3,"id":3,"result":1}"#, "JSON that is no message"),
            (r#"[{"id":3,"result":1}]"#, "JSON that is no message"),
            ("42", "JSON that is no message"),
            ("Server v1.2 ready ✓", "a line that is no JSON"),
            (r#"{"id":3,"result":"#, "a line that is no JSON"),
            ("  ", "a blank line"),
        ] {
            assert_eq!(seen(line), expected, "{line}");
        }
        assert_eq!(message(b"\xff{}", |_| true).unwrap_err(), Stray::NotUtf8);
    }

    #[test]
    fn no_depth_is_too_deep_to_see_whose_answer_it_is() {
        let deep = format!(r#"{{"result":{}{},"id":3}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(message(deep.as_bytes(), |_| true), Ok(Message::Answer { id: 3, .. })));
    }
}
