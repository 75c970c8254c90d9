//! From a page of `tools/list` to tools. One that cannot be used does not take the others with it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::{Source, Tool, ToolPage, json_bytes, quoted};
use super::chatter::Chatter;

/// Bytes of JSON of one tool at most. The largest of 747 known ones has 88 KB.
const TOOL_BYTES: usize = 1 << 20;

/// Reads a page.
///
/// # Errors
/// It is none.
pub(super) fn page(server: &str, result: Value, chatter: &Chatter) -> Result<ToolPage, String> {
    let Value::Object(mut result) = result else { return Err("its list of tools is not an object".to_owned()) };
    let Some(Value::Array(listed)) = result.remove("tools") else { return Err("its list has no array of tools".to_owned()) };
    let tools = listed.into_iter().filter_map(|listed| match tool(server, listed) {
        Ok(tool) => Some(Arc::new(tool)),
        Err(why) => {
            chatter.note(format!("a tool was left out: {why}"));
            None
        }
    });
    let tools = tools.collect();
    let next = match result.remove("nextCursor") {
        None | Some(Value::Null) => None,
        // Some servers write the end of a list so.
        Some(Value::String(cursor)) if cursor.is_empty() => None,
        Some(Value::String(cursor)) => Some(cursor),
        Some(_) => return Err("its list has a cursor that is no text".to_owned()),
    };
    Ok(ToolPage { tools, next })
}

fn tool(server: &str, listed: Value) -> Result<Tool, String> {
    let bytes = json_bytes(&listed);
    let Value::Object(mut listed) = listed else { return Err("it is not an object".to_owned()) };
    let Some(Value::String(name)) = listed.remove("name") else { return Err("it has no name".to_owned()) };
    if bytes > TOOL_BYTES {
        return Err(format!("{} has {bytes} bytes where {TOOL_BYTES} are the limit", quoted(&name)));
    }
    let mut text = |key: &str| match listed.remove(key) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let (description, title) = (text("description"), text("title"));
    let description = if description.trim().is_empty() { title } else { description };
    let parameters = match listed.remove("inputSchema") {
        Some(schema @ Value::Object(_)) => schema,
        // Nothing is said of its arguments.
        None | Some(Value::Null) => json!({"type": "object"}),
        Some(_) => return Err(format!("the inputSchema of {} is not an object", quoted(&name))),
    };
    let tool = Tool::new(Source::Mcp, server, name, description, parameters);
    match listed.remove("outputSchema") {
        None | Some(Value::Null) => Ok(tool),
        Some(schema @ Value::Object(_)) => Ok(tool.with_output_schema(schema)),
        Some(_) => Err(format!("the outputSchema of {} is not an object", quoted(&tool.name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_tool_does_not_take_the_others_with_it() {
        let chatter = Chatter::of("srv");
        let listed = json!({"tools": [
            {"name": "a/b", "description": "", "title": "Title", "inputSchema": {"type": "object", "x": [1]}, "outputSchema": {"type": "string"}},
            {"name": 1}, "x", {"name": "no-schema"}, {"name": "bad", "inputSchema": []}, {"name": "huge", "inputSchema": {"d": "x".repeat(TOOL_BYTES)}},
        ], "nextCursor": "c"});
        let page = page("srv", listed, &chatter).unwrap();
        let seen: Vec<_> =
            page.tools.iter().map(|tool| (tool.id.as_str(), tool.description.as_str(), tool.parameters.value().clone())).collect();
        assert_eq!(
            seen,
            [("mcp:srv:a/b", "Title", json!({"type": "object", "x": [1]})), ("mcp:srv:no-schema", "", json!({"type": "object"}))]
        );
        assert_eq!(page.next.as_deref(), Some("c"));
        assert_eq!(chatter.lines().len(), 4, "{:?}", chatter.lines());
    }

    #[test]
    fn what_is_no_page_is_said() {
        let chatter = Chatter::of("srv");
        for bad in [json!([]), json!({}), json!({"tools": {}}), json!({"tools": [], "nextCursor": 1})] {
            assert!(page("srv", bad, &chatter).is_err());
        }
        assert_eq!(page("srv", json!({"tools": [], "nextCursor": ""}), &chatter).unwrap().next, None);
    }
}
