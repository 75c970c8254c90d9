//! Values against the tool's own schema of them.
//!
//! The schema comes from where the tool comes from, and so does the value: both may be hostile. So the schema is read before the call, under the same bounds
//! of cost as one of arguments, and what is wrong with a value is said after the call, with the value: the effect has happened, and the body must know.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Gate;
use super::faults::{Fault, faults};
use crate::catalog::{CallCode, CallFailure, Schema, Tool, quoted};

/// Faults that a message and its data name.
const MAX_FAULTS: usize = 5;

/// Whether the tool's values can be checked: asked before the call.
///
/// # Errors
/// `tool_unavailable` when the tool has a schema for its value, and it is broken or too costly.
pub(super) fn is_checkable(tool: &Tool) -> Result<(), CallFailure> {
    let Some(schema) = &tool.output_schema else { return Ok(()) };
    schema.validator().map(|_| ()).map_err(|problem| {
        let message =
            format!("the schema of what {} returns is broken, so it was not called: {problem}; use another tool", quoted(&tool.id));
        CallFailure::new(CallCode::ToolUnavailable, &tool.id, message)
    })
}

/// Checks what a tool has returned. A tool without a schema for it may return anything.
///
/// # Errors
/// `invalid_result`: the call was made. `data` is `{"called": true, "result": VALUE, "errors": […]}`.
pub(super) async fn check_output(tool: &Arc<Tool>, value: Value, gate: &Gate) -> Result<Value, CallFailure> {
    if tool.output_schema.is_none() {
        return Ok(value);
    }
    let own = Arc::clone(tool);
    // Nobody knows how large the value is without looking, and a look at a large one takes its time.
    let checked = gate.in_turn(move || checked(&own, value)).await;
    checked.unwrap_or_else(|| {
        let message = format!("{} was called, and what it returned could not be checked", quoted(&tool.id));
        Err(CallFailure::new(CallCode::InvalidResult, &tool.id, message).with_data(json!({"called": true})))
    })
}

fn checked(tool: &Tool, value: Value) -> Result<Value, CallFailure> {
    match tool.output_schema.as_ref().map(|schema| wrong_with(schema, &value)) {
        None | Some(None) => Ok(value),
        Some(Some(wrong)) => {
            let list = if wrong.is_empty() {
                "it is too large to say where".to_owned()
            } else {
                wrong.iter().map(Fault::to_string).collect::<Vec<_>>().join("; ")
            };
            let message = format!(
                "{} was called, and what it returned does not fit its own schema: {list}; data.result has the value",
                quoted(&tool.id)
            );
            let errors: Vec<Value> = wrong.iter().map(Fault::as_value).collect();
            let data = json!({"called": true, "result": value, "errors": errors});
            Err(CallFailure::new(CallCode::InvalidResult, &tool.id, message).with_data(data))
        }
    }
}

/// What is wrong with the value; an empty list when that is too much to list, or too much to find out.
fn wrong_with(schema: &Schema, value: &Value) -> Option<Vec<Fault>> {
    let Ok(validator) = schema.validator() else { return Some(Vec::new()) };
    if !schema.is_bounded_for(value) {
        return Some(Vec::new());
    }
    if validator.is_valid(value) {
        return None;
    }
    if !schema.is_listable_for(value) {
        return Some(Vec::new());
    }
    let mut found: Vec<Fault> = validator.iter_errors(value).take(MAX_FAULTS).flat_map(|error| faults(&error)).collect();
    found.truncate(MAX_FAULTS);
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Source;

    fn tool(schema: Value) -> Arc<Tool> {
        Arc::new(Tool::new(Source::Mcp, "demo", "read", "", json!({})).with_id("demo:read").with_output_schema(schema))
    }

    #[tokio::test]
    async fn a_value_that_does_not_fit_comes_back_in_the_failure() {
        let tool = tool(json!({"type": "object", "properties": {"n": {"type": "integer"}}}));
        let gate = Gate::new();
        assert_eq!(check_output(&tool, json!({"n": 1}), &gate).await, Ok(json!({"n": 1})));
        let failure = check_output(&tool, json!({"n": "one"}), &gate).await.unwrap_err();
        assert_eq!(failure.code, CallCode::InvalidResult);
        assert!(
            failure.message.contains("was called") && failure.message.contains("/n must be integer, string given"),
            "{}",
            failure.message
        );
        assert_eq!((&failure.data["called"], &failure.data["result"]), (&json!(true), &json!({"n": "one"})));
    }

    #[tokio::test]
    async fn a_value_that_takes_too_long_to_check_is_not_let_through() {
        let twice = json!({"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]});
        let deep = (0..60).fold(json!({}), |inner, _| json!({"a": inner}));
        let started = std::time::Instant::now();
        let failure = check_output(&tool(twice), deep.clone(), &Gate::new()).await.unwrap_err();
        assert_eq!((failure.code, &failure.data["result"]), (CallCode::InvalidResult, &deep));
        assert!(started.elapsed() < std::time::Duration::from_secs(1), "{:?}", started.elapsed());
    }

    #[test]
    fn a_broken_schema_is_known_before_the_call() {
        for schema in [json!({"type": "strng"}), json!({"$ref": "#"}), json!({"$ref": "http://127.0.0.1:9/"})] {
            assert_eq!(is_checkable(&tool(schema)).unwrap_err().code, CallCode::ToolUnavailable);
        }
    }
}
