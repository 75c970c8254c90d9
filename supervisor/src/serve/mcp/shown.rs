//! What a client lists, and what its model is told first.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::answer;
use crate::modes::{Control, Plan, Shown, Target, ToolDefinition};

/// The tools of a plan, all of them.
pub(super) fn tools(plan: &Plan) -> Vec<Tool> {
    plan.surface.definitions.iter().map(|definition| tool(plan, definition)).collect()
}

fn tool(plan: &Plan, definition: &ToolDefinition) -> Tool {
    let control = control(plan, &definition.name);
    let (title, annotations) = match control {
        Some(Control::Code) => ("Run JavaScript over the tools", does_things()),
        Some(Control::Search) => ("Find tools", only_looks()),
        Some(Control::Describe) => ("Read a tool's schema", only_looks()),
        Some(Control::Call) => ("Call a tool", does_things()),
        None => ("", does_things()),
    };
    let mut tool =
        Tool::new(definition.name.clone(), definition.description.clone(), taken(&definition.parameters)).with_annotations(annotations);
    if let Some(control) = control {
        tool = tool.with_title(title);
        tool.output_schema = answer::schema(control).map(Arc::new);
    }
    tool
}

/// The control of this name, if it is shown.
pub(super) fn control(plan: &Plan, name: &str) -> Option<Control> {
    match plan.surface.target(name) {
        Some(Target::Control(control)) => Some(*control),
        _ => None,
    }
}

/// What a call does is not known before; so a client has to expect anything.
fn does_things() -> ToolAnnotations {
    ToolAnnotations::new().read_only(false).destructive(true).idempotent(false).open_world(true)
}

fn only_looks() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false)
}

/// A schema that every client takes. Clients read a whole list or nothing, and want `type: "object"` and objects as properties; some tools of other
/// people's have `true` there, which means the same as `{}`.
fn taken(parameters: &Value) -> JsonObject {
    let mut schema = parameters.as_object().cloned().unwrap_or_default();
    schema.insert("type".to_owned(), "object".into());
    match schema.get_mut("properties") {
        Some(Value::Object(properties)) => {
            for property in properties.values_mut() {
                match property {
                    Value::Object(_) => {}
                    Value::Bool(false) => *property = json!({"not": {}}),
                    _ => *property = json!({}),
                }
            }
        }
        Some(_) => drop(schema.remove("properties")),
        None => {}
    }
    if schema.get("required").is_some_and(|required| !required.as_array().is_some_and(|names| names.iter().all(Value::is_string))) {
        schema.remove("required");
    }
    schema
}

/// What a model should know before its first request.
pub(super) fn instructions(plan: &Plan) -> String {
    let size = plan.catalog.tools().tools().len();
    let mut text = match plan.surface.shown {
        Shown::Code => format!(
            "{size} tools stand behind the one tool tool_search_code. Give it a JavaScript body that (1) finds tools with openclaw.tools.search(\"what it should do\"), \
             (2) reads the schema of one with openclaw.tools.describe(id), and (3) calls it with openclaw.tools.call(id, args); await each, and return what you want to see. \
             One body may call many tools, also at once with Promise.all, and shorten what they give: prefer one body over many requests. The result is {{ok, value, logs, \
             telemetry}}; when ok is false, error says what to mend, and calls says which calls had gone out."
        ),
        Shown::Directory => format!(
            "{size} tools can be used. Those that are not listed with a schema are found with tool_search or in the directory below; read a schema with tool_describe, then call \
             with tool_call."
        ),
        _ => format!(
            "{size} tools stand behind three: find one with tool_search, read its schema with tool_describe, call it with tool_call."
        ),
    };
    if let Some(reason) = &plan.surface.reason {
        text.push_str(&format!("\nNote: {reason}."));
    }
    if let Some(directory) = &plan.surface.directory {
        text.push_str("\n\n");
        text.push_str(directory);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strange_schema_does_not_cost_a_client_the_whole_list() {
        for (given, wanted) in [
            (json!(true), json!({"type": "object"})),
            (json!({"type": ["object", "null"]}), json!({"type": "object"})),
            (
                json!({"properties": {"a": true, "b": false, "c": {"type": "string"}}}),
                json!({"type": "object", "properties": {"a": {}, "b": {"not": {}}, "c": {"type": "string"}}}),
            ),
            (json!({"type": "object", "properties": [], "required": "a"}), json!({"type": "object"})),
        ] {
            assert_eq!(Value::Object(taken(&given)), wanted, "{given}");
        }
    }
}
