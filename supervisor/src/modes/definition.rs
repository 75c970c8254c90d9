//! A tool as a provider is told of it.

use serde::Serialize;
use serde_json::{Value, json};

use crate::catalog::{Tool, json_bytes};

/// A tool definition. The name fits `[A-Za-z0-9_-]{1,64}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolDefinition {
    /// The name by which the model calls it.
    pub name: String,
    /// What the model reads of it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

impl ToolDefinition {
    pub(super) fn of(name: String, tool: &Tool) -> ToolDefinition {
        ToolDefinition { name, description: tool.full_description().into_owned(), parameters: parameters(tool) }
    }

    /// In the shape of the OpenAI-compatible providers.
    pub fn as_function(&self) -> Value {
        json!({"type": "function", "function": self})
    }

    /// Its JSON text in bytes.
    pub fn bytes(&self) -> usize {
        json_bytes(self)
    }
}

/// Providers want an object's schema; a schema that says nothing of a type means one.
fn parameters(tool: &Tool) -> Value {
    let mut schema = tool.parameters.value().clone();
    if let Value::Object(map) = &mut schema
        && !map.contains_key("type")
    {
        map.insert("type".to_owned(), "object".into());
    }
    schema
}
