//! A tool as a provider is told of it.

use serde::Serialize;
use serde_json::{Value, json};

use crate::catalog::Tool;

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

/// The bytes of a value's JSON text, without making it.
pub(super) fn json_bytes(value: &impl Serialize) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail, and these values all have JSON.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}
