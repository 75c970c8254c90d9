//! Tools as a gateway tells them.

use std::sync::Arc;

use codemode_protocol::gateway::{ToolSource, ToolText};
use codemode_protocol::{JsonText, Violation};

use super::super::{DuplicateId, MOST_WEIGHT, Schema, Source, Tool, ToolSet, weight};

/// A list of tools that cannot be a catalog.
#[derive(Debug, thiserror::Error)]
pub enum UnusableTools {
    /// Two with one id.
    #[error(transparent)]
    Duplicate(#[from] DuplicateId),
    /// A schema that cannot be built.
    #[error("a schema cannot be read: {0}")]
    Schema(#[from] Violation),
    /// Schemas that would take too much memory.
    #[error("the schemas have so many values that they would take {0} bytes of memory where {MOST_WEIGHT} are the limit")]
    TooLarge(usize),
}

/// The tool that a text tells of.
///
/// # Errors
/// When one of its schemas cannot be built.
pub fn tool(text: ToolText) -> Result<Arc<Tool>, Violation> {
    let schema = |text: &JsonText| text.to_value().map(Schema::from);
    let mut tool = Tool::new(source(text.source), text.source_name, text.name, text.description, schema(&text.parameters)?);
    if let Some(id) = text.id {
        tool = tool.with_id(id);
    }
    tool.output_schema = text.output_schema.as_ref().map(schema).transpose()?;
    Ok(Arc::new(tool))
}

/// The static catalog that a list makes.
///
/// # Errors
/// When two tools have one id, or a schema cannot be built, or all of them together would take too much memory.
pub fn tool_set(texts: Vec<ToolText>) -> Result<ToolSet, UnusableTools> {
    let schemas = texts.iter().flat_map(|text| std::iter::once(&text.parameters).chain(&text.output_schema));
    let weight = schemas.map(|schema| weight(schema.text())).sum();
    if weight > MOST_WEIGHT {
        return Err(UnusableTools::TooLarge(weight));
    }
    let tools = texts.into_iter().map(tool).collect::<Result<_, _>>()?;
    Ok(ToolSet::new(tools)?)
}

fn source(word: ToolSource) -> Source {
    match word {
        ToolSource::Openclaw => Source::Openclaw,
        ToolSource::Plugin => Source::Plugin,
        ToolSource::Mcp => Source::Mcp,
        ToolSource::Client => Source::Client,
    }
}
