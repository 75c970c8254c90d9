//! What came of a request, in the shape of an MCP result.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::catalog::{CallFailure, Source};
use crate::modes::{Control, Outcome};
use crate::run::{CallEntry, CallState, Method, RunReport};

/// Calls that an envelope tells of. What a model needs to know is which effects may have happened; the session log has all.
const TOLD_CALLS: usize = 64;

/// What a result is of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    /// A control that gives what is codemode's own.
    Own(Control),
    /// A tool of this kind of source, by whatever way.
    Tool(Option<Source>),
}

/// The result for a client. Structured content is always beside a text of the same JSON, for clients that show only texts.
pub(super) fn result(outcome: &Outcome, asked: Asked) -> CallToolResult {
    match (outcome, asked) {
        (Outcome::Ran(report), _) => both(envelope(report), !report.ok),
        (Outcome::Failed(failure), Asked::Own(Control::Code)) => both(envelope_of_failure(failure), true),
        (Outcome::Failed(_), _) => both(outcome.for_model(), true),
        // Rows alone, or beside what is missing.
        (Outcome::Value(rows @ Value::Array(_)), Asked::Own(Control::Search)) => both(json!({"tools": rows}), false),
        // The value of an MCP tool that is a list of content blocks is the content that its server gave: an image stays one.
        (Outcome::Value(value), Asked::Tool(Some(Source::Mcp))) if let Some(content) = content(value) => CallToolResult::success(content),
        (Outcome::Value(value @ Value::Object(_)), _) => both(value.clone(), false),
        // A tool's own value: text as it is, anything else as JSON.
        (Outcome::Value(Value::String(text)), _) => CallToolResult::success(vec![ContentBlock::text(text.clone())]),
        (Outcome::Value(value), _) => CallToolResult::success(vec![ContentBlock::text(value.to_string())]),
    }
}

/// Content blocks, if the value is a list of nothing else.
fn content(value: &Value) -> Option<Vec<ContentBlock>> {
    let blocks = value.as_array().filter(|blocks| !blocks.is_empty())?;
    blocks.iter().map(|block| ContentBlock::deserialize(block).ok()).collect()
}

fn both(value: Value, is_error: bool) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
    result.structured_content = Some(value);
    result.is_error = Some(is_error);
    result
}

/// What a model is told of a run: the report without the parts that are for people who run this. The calls are told when something went wrong: then it matters
/// which of them had gone out.
fn envelope(report: &RunReport) -> Value {
    let mut told = json!({
        "ok": report.ok,
        // A value that is no JSON of ours is none.
        "value": report.value.to_value().unwrap_or_default(),
        "valueType": report.value_type,
        "logs": report.logs,
        "telemetry": report.telemetry,
    });
    if report.logs_dropped > 0 {
        told["logsDropped"] = report.logs_dropped.into();
    }
    if let Some(error) = &report.error {
        told["error"] = json!(error);
        let calls: Vec<&CallEntry> = report.calls.iter().filter(|call| call.method == Method::Call).collect();
        // Those whose effects are in doubt first, if not all can be told.
        let (doubtful, clear): (Vec<&CallEntry>, Vec<&CallEntry>) = calls.iter().partition(|call| call.state == CallState::Unknown);
        let told_calls = doubtful.iter().chain(&clear).take(TOLD_CALLS);
        told["calls"] = told_calls.map(|call| json!({"seq": call.seq, "id": call.id, "state": call.state, "code": call.code})).collect();
        if calls.len() > TOLD_CALLS {
            told["callsDropped"] = (calls.len() - TOLD_CALLS).into();
        }
    }
    told
}

/// The same shape for a body that was never run.
fn envelope_of_failure(failure: &CallFailure) -> Value {
    json!({
        "ok": false, "value": null, "logs": [], "telemetry": {},
        "error": {"code": failure.code, "name": failure.name, "message": failure.message, "data": failure.data},
    })
}

/// The JSON Schema of a control's structured content; none where it is a tool's own value.
pub(super) fn schema(control: Control) -> Option<JsonObject> {
    let error = json!({
        "type": "object",
        "properties": {
            "code": {"type": "string"},
            "name": {"type": "string"},
            "message": {"type": "string"},
            "line": {"type": ["integer", "null"]},
            "column": {"type": ["integer", "null"]},
        },
        "required": ["code", "message"],
    });
    let unavailable = json!({
        "type": "array",
        "description": "Servers that should have been there.",
        "items": {"type": "object", "properties": {"server": {"type": "string"}, "reason": {"type": "string"}}, "required": ["server", "reason"]},
    });
    let schema = match control {
        Control::Code => json!({
            "type": "object",
            "properties": {
                "ok": {"type": "boolean", "description": "Whether the body gave a value and nothing went wrong."},
                "value": {"description": "What the body returned."},
                "valueType": {"type": "string", "description": "What the value was in JavaScript."},
                "logs": {
                    "type": "array",
                    "description": "What the body wrote to its console.",
                    "items": {"type": "object", "properties": {"level": {"type": "string"}, "text": {"type": "string"}}, "required": ["level", "text"]},
                },
                "logsDropped": {"type": "integer", "description": "Bytes that are not in logs."},
                "telemetry": {
                    "type": "object",
                    "description": "How the body used the tools.",
                    "properties": {"catalogSize": {"type": "integer"}, "unavailable": unavailable},
                },
                "error": error,
                "calls": {
                    "type": "array",
                    "description": "When the body failed: its calls and how far each came. Only the effect of one in state unknown is uncertain.",
                    "items": {"type": "object", "properties": {"seq": {"type": "integer"}, "state": {"type": "string"}}, "required": ["seq", "state"]},
                },
                "callsDropped": {"type": "integer", "description": "Calls that are not in calls."},
            },
            "required": ["ok", "value", "logs", "telemetry"],
        }),
        Control::Search => json!({
            "type": "object",
            "properties": {
                "tools": {
                    "type": "array",
                    "description": "Best first.",
                    "items": {
                        "type": "object",
                        "properties": {"id": {"type": "string"}, "name": {"type": "string"}, "description": {"type": "string"}, "input": {"type": "string"}},
                        "required": ["id", "name"],
                    },
                },
                "unavailable": unavailable,
            },
            "required": ["tools"],
        }),
        Control::Describe => json!({
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "name": {"type": "string"},
                "description": {"type": "string"},
                "parameters": {"description": "The JSON Schema of the arguments."},
                "signature": {"type": "string"},
            },
            "required": ["id", "name", "parameters"],
        }),
        Control::Call => return None,
    };
    match schema {
        Value::Object(schema) => Some(schema),
        _ => None,
    }
}
