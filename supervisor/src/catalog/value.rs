//! From an MCP `CallToolResult` to the value that `call` gives.
//!
//! The rule depends on the shape of the result alone, never on what a text looks like: a text that happens to be JSON
//! stays a text.

use serde_json::Value;

use super::failure::{CallCode, CallFailure};
use super::text::{Lines, cleaned};

/// Characters of an error's text that reach the body: what a person would read, not a dump.
const ERROR_CHARS: usize = 8 * 1024;

/// The tool's value: `structuredContent` if present and not empty beside text, else the text of a lone text block, else the content array.
///
/// # Errors
/// `tool_error` with the result's text when it has `isError`; `invalid_result` when it is not a CallToolResult.
pub fn tool_value(tool_id: &str, result: Value) -> Result<Value, CallFailure> {
    let Value::Object(mut result) = result else {
        return Err(malformed(tool_id, "it is not an object"));
    };
    let content = match result.remove("content") {
        Some(Value::Array(content)) => content,
        None => Vec::new(),
        Some(_) => return Err(malformed(tool_id, "its content is not an array")),
    };
    let structured = result.remove("structuredContent").filter(|value| !value.is_null());
    match result.get("isError") {
        Some(Value::Bool(true)) => return Err(tool_error(tool_id, &content, structured)),
        None | Some(Value::Bool(false) | Value::Null) => {}
        Some(_) => return Err(malformed(tool_id, "its isError is neither true nor false")),
    }
    let has_text = content.iter().any(|block| text_of(block).is_some());
    match structured {
        Some(value) if !(is_empty(&value) && has_text) => Ok(value),
        _ => Ok(lone_text_or_blocks(content)),
    }
}

fn lone_text_or_blocks(content: Vec<Value>) -> Value {
    match content.as_slice() {
        [block] if text_of(block).is_some() => Value::from(text_of(block).unwrap_or_default()),
        _ => Value::Array(content),
    }
}

fn tool_error(tool_id: &str, content: &[Value], structured: Option<Value>) -> CallFailure {
    let text = content.iter().filter_map(text_of).collect::<Vec<_>>().join("\n");
    let message = if text.trim().is_empty() { "the tool reported an error without a text" } else { &text };
    CallFailure::new(CallCode::ToolError, tool_id, cleaned(message, ERROR_CHARS, Lines::Keep)).with_data(structured.unwrap_or(Value::Null))
}

fn malformed(tool_id: &str, why: &str) -> CallFailure {
    CallFailure::new(CallCode::InvalidResult, tool_id, format!("the tool's result is not an MCP CallToolResult: {why}"))
}

fn text_of(block: &Value) -> Option<&str> {
    if block.get("type")? == "text" { block.get("text")?.as_str() } else { None }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn value(result: Value) -> Value {
        tool_value("mcp:x:y", result).unwrap()
    }

    #[test]
    fn structured_content_comes_first() {
        assert_eq!(value(json!({"content": [text("{\"a\":1}")], "structuredContent": {"a": 1}})), json!({"a": 1}));
        assert_eq!(value(json!({"content": [], "structuredContent": {}})), json!({}));
    }

    #[test]
    fn empty_structured_content_beside_text_gives_way_to_the_text() {
        assert_eq!(value(json!({"content": [text("hi")], "structuredContent": {}})), json!("hi"));
        assert_eq!(value(json!({"content": [text("hi")], "structuredContent": null})), json!("hi"));
    }

    #[test]
    fn a_lone_text_stays_a_text_whatever_it_looks_like() {
        assert_eq!(value(json!({"content": [text("{\"a\":1}")]})), json!("{\"a\":1}"));
        assert_eq!(value(json!({"content": [text("42")]})), json!("42"));
    }

    #[test]
    fn several_blocks_or_another_kind_give_the_array() {
        let two = json!([text("a"), text("b")]);
        assert_eq!(value(json!({"content": two})), two);
        let image = json!([{"type": "image", "data": "", "mimeType": "image/png"}]);
        assert_eq!(value(json!({"content": image})), image);
        assert_eq!(value(json!({"content": []})), json!([]));
    }

    #[test]
    fn is_error_throws_the_text() {
        let failure = tool_value("mcp:x:y", json!({"content": [text("bad input")], "isError": true})).unwrap_err();
        assert_eq!((failure.code, failure.message.as_str(), failure.tool_id.as_str()), (CallCode::ToolError, "bad input", "mcp:x:y"));
    }

    #[test]
    fn what_is_no_result_is_an_invalid_result() {
        for bad in [json!(1), json!({"content": "x"}), json!({"content": [], "isError": "yes"})] {
            assert_eq!(tool_value("t", bad).unwrap_err().code, CallCode::InvalidResult);
        }
    }
}
