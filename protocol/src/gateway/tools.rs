//! A tool, whole, as a gateway describes it.

use serde::Serialize;

use super::ToolSource;
use super::hello::{array, object};
use crate::fields::{Fields, object as any_object, string};
use crate::json::{Entry, JsonText};
use crate::violation::{Violation, ViolationKind as Kind};

/// Tools of one list. The largest known catalogs have 16,000.
pub const MOST_TOOLS: usize = 20_000;
/// Bytes of a name and a source's name: the MCP specification asks for 128 characters at most.
const MOST_NAME: usize = 256;
/// Bytes of an id: a source's name and a name, and some.
const MOST_ID: usize = 1_024;

/// A tool. Its texts and schemas are its origin's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolText {
    /// `source:sourceName:name` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The kind of its source.
    pub source: ToolSource,
    /// Which server, plug-in or app of that kind.
    pub source_name: String,
    /// Its own name.
    pub name: String,
    /// What it does. May be empty.
    pub description: String,
    /// The JSON Schema of its arguments: the text of an object.
    pub parameters: JsonText,
    /// The JSON Schema of its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<JsonText>,
}

impl ToolText {
    /// Reads one tool: the result of `catalog.describe`.
    ///
    /// # Errors
    ///
    /// The first rule that it breaks.
    pub fn read(text: &str) -> Result<Self, Violation> {
        let outline = object(text, "tool")?;
        let mut fields = Fields::root(&outline, "tool")?;
        let id = fields.optional("id").map(|id| usable(id, MOST_ID, "tool.id")).transpose()?;
        let source = ToolSource::read(fields.required("source", "tool.source")?, "tool.source")?;
        let source_name = usable(fields.required("sourceName", "tool.sourceName")?, MOST_NAME, "tool.sourceName")?;
        let name = usable(fields.required("name", "tool.name")?, MOST_NAME, "tool.name")?;
        let description = string(fields.required("description", "tool.description")?, "tool.description")?;
        let parameters = any_object(fields.required("parameters", "tool.parameters")?, "tool.parameters")?;
        let output_schema = fields.optional("outputSchema").map(|schema| any_object(schema, "tool.outputSchema")).transpose()?;
        fields.finish()?;
        Ok(Self { id, source, source_name, name, description, parameters, output_schema })
    }

    /// Reads a list of at most `most` tools: the result of `catalog.search`, or a static catalog.
    ///
    /// # Errors
    ///
    /// The first rule that one of them breaks.
    pub fn list(text: &str, most: usize) -> Result<Vec<Self>, Violation> {
        let parts = array(text, "tools")?;
        if parts.len() > most {
            return Err(Violation::new(Kind::BadValue, "tools").with_numbers(parts.len() as u64, most as u64));
        }
        parts.into_iter().map(|part| Self::read(part.get())).collect()
    }
}

/// Names are strangers' own and stay as they are; only what could not be called or would forge a line is refused.
fn usable(entry: Entry<'_>, most: usize, place: &'static str) -> Result<String, Violation> {
    let text = super::hello::line(entry, most, place)?;
    if text.trim() == text { Ok(text) } else { Err(Violation::new(Kind::BadValue, place)) }
}
