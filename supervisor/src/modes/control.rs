//! The tools that stand for a catalog, in words that a model can follow at first reading.

use serde_json::{Value, json};

use super::definition::ToolDefinition;
use crate::catalog::SearchLimits;

/// A tool of ours.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Control {
    /// Runs JavaScript with `openclaw.tools`.
    Code,
    /// Finds tools.
    Search,
    /// Gives the schema of one.
    Describe,
    /// Calls one.
    Call,
}

impl Control {
    /// Every control.
    pub const ALL: [Control; 4] = [Control::Code, Control::Search, Control::Describe, Control::Call];
    /// The three without code.
    pub(super) const STRUCTURED: [Control; 3] = [Control::Search, Control::Describe, Control::Call];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Control::Code => "tool_search_code",
            Control::Search => "tool_search",
            Control::Describe => "tool_describe",
            Control::Call => "tool_call",
        }
    }

    /// The control of this name.
    pub fn named(name: &str) -> Option<Control> {
        Control::ALL.into_iter().find(|control| control.as_str() == name)
    }

    /// What a model is told of it, in front of a catalog of so many tools.
    pub fn definition(self, tools: usize, limits: SearchLimits) -> ToolDefinition {
        ToolDefinition { name: self.as_str().to_owned(), description: self.description(tools, limits), parameters: self.parameters(limits) }
    }

    fn description(self, tools: usize, limits: SearchLimits) -> String {
        let SearchLimits { usual, most } = limits;
        match self {
            Control::Code => format!(
                "Runs a JavaScript body that finds and calls tools. {tools} tools can be reached this way and no other. In the body:\n\
                 - await openclaw.tools.search(\"what it should do\", {{limit: {usual}}}) gives rows {{id, source, sourceName, name, description, input}}, best first (at most {most}).\n\
                 - await openclaw.tools.describe(id) gives the row with `parameters`, the exact JSON Schema of the arguments.\n\
                 - await openclaw.tools.call(id, args) runs the tool and gives its own value. A failure throws an Error with `code` and `message`.\n\
                 Write top-level await, and `return` what you want to see: it comes back as JSON. Independent calls may run at once with Promise.all. \
                 Filter and shorten large results in the body. There are no timers, files, network, require or import: only the globals of \
                 the language, console.log, and openclaw.tools. Use only ids that search gave.\n\
                 Example: const [tool] = await openclaw.tools.search(\"current weather\"); const {{parameters}} = await \
                 openclaw.tools.describe(tool.id); console.log(JSON.stringify(parameters)); return await openclaw.tools.call(tool.id, {{city: \"Oslo\"}});"
            ),
            Control::Search => format!(
                "Finds tools by what they do. {tools} tools can be found; none of their schemas is shown to you before. Gives rows {{id, source, sourceName, name, \
                 description, input}}, best first: {usual} of them, or as many as `limit` says (at most {most}). Then read the schema with \
                 tool_describe, and call with tool_call."
            ),
            Control::Describe => "Gives one tool whole: its description and `parameters`, the exact JSON Schema of its arguments. Takes an id that tool_search gave, or a \
                 name that only one tool has. Do this before the first tool_call of a tool."
                .to_owned(),
            Control::Call => "Calls a tool and gives its own value. `id` is one that tool_search gave, or a name that only one tool has; `args` is an object that fits the \
                 tool's `parameters`. A failure has a `code` and says what to do."
                .to_owned(),
        }
    }

    /// The JSON Schema of its arguments.
    pub fn parameters(self, limits: SearchLimits) -> Value {
        let text = |description: &str| json!({"type": "string", "description": description});
        let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        match self {
            Control::Code => {
                object(json!({"code": text("The JavaScript body: statements with await and return. No Markdown.")}), &["code"])
            }
            Control::Search => object(
                json!({
                    "query": text("What the tool should do, in a few words, or its exact name."),
                    "limit": {"type": "integer", "minimum": 1, "maximum": limits.most, "description": format!("Rows at most; {} if not given.", limits.usual)},
                }),
                &["query"],
            ),
            Control::Describe => object(json!({"id": text("The tool's id.")}), &["id"]),
            Control::Call => object(
                json!({
                    "id": text("The tool's id."),
                    "args": {"type": "object", "description": "The tool's arguments; {} if it takes none."},
                }),
                &["id"],
            ),
        }
    }
}
