//! The scripted reply of a tool.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use serde_json::{Value, json};

use super::super::failure::{CallCode, CallFailure};
use super::super::text::quoted;
use super::super::value::tool_value;
use super::super::{Tool, example};
use super::error::CatalogFileProblem;

/// The longest delay: a run's absolute ceiling.
const MAX_DELAY: Duration = Duration::from_secs(600);
/// Letters of a `repeat` at most: the hard cap of a tool's result.
const MAX_REPEAT: u64 = 16 << 20;
/// The key that stands for an argument.
const ARG: &str = "$arg";

#[derive(Debug)]
pub(super) struct Reply {
    answer: Answer,
    delay: Option<Delay>,
}

#[derive(Debug)]
enum Answer {
    Value(Template),
    Error { message: String, code: Value },
    Echo,
    Mcp(Template),
    Count(AtomicU64),
    Repeat(String),
    Example,
}

/// A value with places for arguments.
#[derive(Debug)]
struct Template {
    value: Value,
    has_places: bool,
}

#[derive(Debug)]
enum Delay {
    Fixed(Duration),
    Argument(String),
}

impl Reply {
    /// The reply of a tool that has none in the file.
    pub(super) fn example() -> Reply {
        Reply { answer: Answer::Example, delay: None }
    }

    /// How long this call waits: an argument that is missing or no number means not at all.
    pub(super) fn delay(&self, args: &Value) -> Duration {
        match &self.delay {
            None => Duration::ZERO,
            Some(Delay::Fixed(delay)) => *delay,
            Some(Delay::Argument(name)) => args.get(name).and_then(Value::as_f64).map_or(Duration::ZERO, bounded_delay),
        }
    }

    /// What this call answers.
    pub(super) fn answer(&self, tool: &Tool, args: Value) -> Result<Value, CallFailure> {
        match &self.answer {
            Answer::Value(template) => Ok(template.filled(&args)),
            Answer::Error { message, code } => {
                let data = if code.is_null() { Value::Null } else { json!({"code": code}) };
                Err(CallFailure::new(CallCode::ToolError, &tool.id, message).with_data(data))
            }
            Answer::Echo => Ok(args),
            Answer::Mcp(template) => tool_value(&tool.id, template.filled(&args)),
            Answer::Count(calls) => Ok(Value::from(calls.fetch_add(1, Ordering::Relaxed) + 1)),
            Answer::Repeat(name) => repeated(&tool.id, name, &args),
            Answer::Example => {
                let value = tool.output_schema.as_ref().map_or(Value::Null, |schema| example::fitting(schema.value()));
                Ok(json!({"$example": true, "value": value}))
            }
        }
    }
}

fn repeated(tool_id: &str, name: &str, args: &Value) -> Result<Value, CallFailure> {
    match args.get(name).and_then(Value::as_u64) {
        Some(letters) if letters <= MAX_REPEAT => Ok(Value::from("x".repeat(usize::try_from(letters).unwrap_or(0)))),
        Some(letters) => Err(CallFailure::new(
            CallCode::TooLarge,
            tool_id,
            format!("{} asks for {letters} letters; this tool gives at most {MAX_REPEAT}", quoted(name)),
        )),
        None => {
            Err(CallFailure::new(CallCode::ToolError, tool_id, format!("{} must be a whole number of letters, 0 or more", quoted(name))))
        }
    }
}

fn bounded_delay(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1000.0).map_or(if ms > 0.0 { MAX_DELAY } else { Duration::ZERO }, |delay| delay.min(MAX_DELAY))
}

impl Template {
    fn new(value: Value) -> Template {
        let has_places = has_places(&value);
        Template { value, has_places }
    }

    fn filled(&self, args: &Value) -> Value {
        if self.has_places { fill(&self.value, args) } else { self.value.clone() }
    }
}

/// The argument's name if the value is a place for one.
fn place(value: &Value) -> Option<&str> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    map.get(ARG)?.as_str()
}

fn has_places(value: &Value) -> bool {
    place(value).is_some()
        || match value {
            Value::Array(items) => items.iter().any(has_places),
            Value::Object(map) => map.values().any(has_places),
            _ => false,
        }
}

fn fill(value: &Value, args: &Value) -> Value {
    if let Some(name) = place(value) {
        return args.get(name).cloned().unwrap_or(Value::Null);
    }
    match value {
        Value::Array(items) => items.iter().map(|item| fill(item, args)).collect(),
        Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), fill(item, args))).collect(),
        other => other.clone(),
    }
}

/// `reply` as it stands in the file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ReplyMirror {
    #[serde(default, deserialize_with = "given")]
    value: Option<Value>,
    error: Option<ErrorMirror>,
    echo: Option<bool>,
    mcp: Option<Value>,
    count: Option<bool>,
    repeat: Option<String>,
    delay_ms: Option<DelayMirror>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorMirror {
    message: String,
    #[serde(default)]
    code: Value,
}

enum DelayMirror {
    Ms(f64),
    Argument(String),
}

impl TryFrom<ReplyMirror> for Reply {
    type Error = CatalogFileProblem;

    fn try_from(mirror: ReplyMirror) -> Result<Reply, CatalogFileProblem> {
        let wrong = |message| Err(CatalogFileProblem::Reply { message });
        if mirror.echo == Some(false) || mirror.count == Some(false) {
            return wrong("says false to what it should do");
        }
        let mut answers = [
            mirror.value.map(|value| Answer::Value(Template::new(value))),
            mirror.error.map(|error| Answer::Error { message: error.message, code: error.code }),
            mirror.echo.map(|_| Answer::Echo),
            mirror.mcp.map(|result| Answer::Mcp(Template::new(result))),
            mirror.count.map(|_| Answer::Count(AtomicU64::new(0))),
            mirror.repeat.map(Answer::Repeat),
        ]
        .into_iter()
        .flatten();
        let Some(answer) = answers.next() else {
            return wrong("has no answer");
        };
        if answers.next().is_some() {
            return wrong("has more than one answer");
        }
        match &answer {
            Answer::Error { code, .. } if !(code.is_null() || code.is_string() || code.is_number()) => {
                return wrong("has an error code that is neither a text nor a number");
            }
            Answer::Mcp(result) if !result.value.is_object() => {
                return wrong("has an mcp that is not a CallToolResult object");
            }
            _ => {}
        }
        let delay = match mirror.delay_ms {
            None => None,
            Some(DelayMirror::Ms(ms)) if ms >= 0.0 && ms <= MAX_DELAY.as_millis() as f64 => Some(Delay::Fixed(bounded_delay(ms))),
            Some(DelayMirror::Ms(_)) => return wrong("has a delayMs outside 0 to 600000"),
            Some(DelayMirror::Argument(name)) => Some(Delay::Argument(name)),
        };
        Ok(Reply { answer, delay })
    }
}

/// `"value": null` is an answer; no `value` is none.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl<'de> Deserialize<'de> for DelayMirror {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DelayMirror, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = DelayMirror;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("delayMs as a number of milliseconds or the name of an argument")
            }

            fn visit_f64<E: de::Error>(self, ms: f64) -> Result<DelayMirror, E> {
                Ok(DelayMirror::Ms(ms))
            }

            fn visit_u64<E: de::Error>(self, ms: u64) -> Result<DelayMirror, E> {
                Ok(DelayMirror::Ms(ms as f64))
            }

            fn visit_i64<E: de::Error>(self, ms: i64) -> Result<DelayMirror, E> {
                Ok(DelayMirror::Ms(ms as f64))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<DelayMirror, E> {
                Ok(DelayMirror::Argument(name.to_owned()))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Source;
    use super::*;

    fn reply(value: Value) -> Result<Reply, CatalogFileProblem> {
        serde_json::from_value::<ReplyMirror>(value).unwrap().try_into()
    }

    fn answer(value: Value, args: Value) -> Result<Value, CallFailure> {
        reply(value).unwrap().answer(&Tool::new(Source::Client, "demo", "t", "", json!({})), args)
    }

    #[test]
    fn each_form_answers_as_it_says() {
        assert_eq!(answer(json!({"value": null}), json!({})), Ok(Value::Null));
        assert_eq!(answer(json!({"echo": true}), json!({"a": 1})), Ok(json!({"a": 1})));
        assert_eq!(answer(json!({"repeat": "n"}), json!({"n": 3})), Ok(json!("xxx")));
        assert_eq!(
            answer(json!({"mcp": {"content": [{"type": "text", "text": {"$arg": "text"}}]}}), json!({"text": "hi"})),
            Ok(json!("hi"))
        );
        assert_eq!(
            answer(json!({"value": {"done": {"$arg": "ms"}, "also": [{"$arg": "no"}]}}), json!({"ms": 5})),
            Ok(json!({"done": 5, "also": [null]}))
        );
        let failure = answer(json!({"error": {"message": "boom", "code": "E1"}}), json!({})).unwrap_err();
        assert_eq!((failure.code, failure.message.as_str(), failure.data), (CallCode::ToolError, "boom", json!({"code": "E1"})));
    }

    #[test]
    fn count_counts_its_own_calls() {
        let tool = Tool::new(Source::Client, "demo", "t", "", json!({}));
        let reply = reply(json!({"count": true})).unwrap();
        assert_eq!(reply.answer(&tool, json!({})), Ok(json!(1)));
        assert_eq!(reply.answer(&tool, json!({})), Ok(json!(2)));
    }

    #[test]
    fn repeat_is_bounded() {
        assert_eq!(answer(json!({"repeat": "n"}), json!({"n": MAX_REPEAT + 1})).unwrap_err().code, CallCode::TooLarge);
        for bad in [json!(-1), json!("9"), json!(1.5), Value::Null] {
            assert_eq!(answer(json!({"repeat": "n"}), json!({"n": bad})).unwrap_err().code, CallCode::ToolError);
        }
    }

    #[test]
    fn a_delay_is_a_number_or_an_argument_and_bounded() {
        let delay = |value: Value, args: Value| reply(value).unwrap().delay(&args);
        assert_eq!(delay(json!({"echo": true, "delayMs": 20}), json!({})), Duration::from_millis(20));
        assert_eq!(delay(json!({"echo": true, "delayMs": "ms"}), json!({"ms": 7})), Duration::from_millis(7));
        for (ms, expected) in [(json!(1e300), MAX_DELAY), (json!(-5), Duration::ZERO), (json!("x"), Duration::ZERO)] {
            assert_eq!(delay(json!({"echo": true, "delayMs": "ms"}), json!({"ms": ms})), expected);
        }
    }

    #[test]
    fn a_reply_says_one_thing() {
        for bad in [
            json!({}),
            json!({"delayMs": 5}),
            json!({"echo": false}),
            json!({"echo": true, "count": true}),
            json!({"mcp": 1}),
            json!({"echo": true, "delayMs": -1}),
            json!({"error": {"message": "m", "code": []}}),
        ] {
            assert!(matches!(reply(bad.clone()), Err(CatalogFileProblem::Reply { .. })), "{bad}");
        }
    }
}
