//! A schema as a TypeScript type in one line: what a model reads fastest.
//!
//! Compact, not complete: what TypeScript cannot say (patterns, ranges) is left to `parameters`, which `describe` gives exactly.

use serde_json::{Map, Value};

use super::Tool;
use super::schema_cost::percent_decoded;
use super::text::cleaned_line;

/// Bytes after which the type of a row says `unknown` for the rest: a row is read among twenty.
const INPUT_BYTES: usize = 400;
/// The same for a signature, which is read alone.
const SIGNATURE_BYTES: usize = 2_000;
/// Levels of types inside types; below, `unknown`. A recursive definition ends here.
const MAX_DEPTH: usize = 5;
/// References followed for one type.
const MAX_HOPS: usize = 8;
/// Options of an `enum` that are spelled out; more are their common type.
const MAX_OPTIONS: usize = 16;

/// Characters of a field's description in a signature; the whole of it is in the schema.
const DOC_CHARS: usize = 80;

/// The arguments' type.
pub(super) fn input_type(parameters: &Value) -> String {
    written(parameters, INPUT_BYTES, false)
}

/// `(args: { /** Where it is. */ path: string }) => Promise<unknown>`.
pub(super) fn signature(tool: &Tool) -> String {
    let value = tool.output_schema.as_ref().map_or_else(|| "unknown".to_owned(), |schema| written(schema.value(), SIGNATURE_BYTES, true));
    let parameters = tool.parameters.value();
    let no_need = parameters.get("required").and_then(Value::as_array).is_none_or(Vec::is_empty);
    format!("(args{}: {}) => Promise<{value}>", if no_need { "?" } else { "" }, written(parameters, SIGNATURE_BYTES, true))
}

fn written(schema: &Value, max: usize, docs: bool) -> String {
    let mut writer = Writer { root: schema, out: String::new(), max, docs };
    writer.write(schema, 0, 0);
    writer.out
}

struct Writer<'a> {
    root: &'a Value,
    out: String,
    max: usize,
    docs: bool,
}

impl<'a> Writer<'a> {
    fn write(&mut self, schema: &'a Value, depth: usize, hops: usize) {
        let map = match schema {
            Value::Object(map) if depth <= MAX_DEPTH && hops <= MAX_HOPS && self.out.len() < self.max => map,
            Value::Bool(false) => return self.out.push_str("never"),
            _ => return self.out.push_str("unknown"),
        };
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(&percent_decoded(pointer)));
            return match found {
                Some(schema) => self.write(schema, depth, hops + 1),
                None => self.out.push_str("unknown"),
            };
        }
        if let Some(value) = map.get("const") {
            return self.literal(value);
        }
        if let Some(Value::Array(options)) = map.get("enum")
            && (1..=MAX_OPTIONS).contains(&options.len())
            && !options.iter().any(|option| option.is_object() || option.is_array())
        {
            return self.separated(options, " | ", |writer, option| writer.literal(option));
        }
        for (keyword, separator) in [("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")] {
            // Beside `properties` they only tell which of them belong together.
            if let Some(Value::Array(branches)) = map.get(keyword).filter(|_| !map.contains_key("properties")) {
                return self.branches(branches, separator, depth, hops);
            }
        }
        match map.get("type") {
            Some(Value::String(name)) => self.named(name, map, depth),
            Some(Value::Array(names)) => {
                let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                self.separated(&names, " | ", |writer, name| writer.named(name, map, depth));
            }
            _ if map.contains_key("properties") => self.object(map, depth),
            _ => self.out.push_str("unknown"),
        }
    }

    fn named(&mut self, name: &str, map: &'a Map<String, Value>, depth: usize) {
        match name {
            "object" => self.object(map, depth),
            "array" => self.array(map, depth),
            "integer" | "number" => self.out.push_str("number"),
            "string" | "boolean" | "null" => self.out.push_str(name),
            _ => self.out.push_str("unknown"),
        }
    }

    fn object(&mut self, map: &'a Map<String, Value>, depth: usize) {
        let properties = map.get("properties").and_then(Value::as_object);
        let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
            return match map.get("additionalProperties") {
                Some(values @ Value::Object(_)) => {
                    self.out.push_str("Record<string, ");
                    self.write(values, depth + 1, 0);
                    self.out.push('>');
                }
                None if properties.is_none() => self.out.push_str("Record<string, unknown>"),
                _ => self.out.push_str("{}"),
            };
        };
        let required: Vec<&str> = map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        // What must be given comes first: it has to be in a type that is cut.
        let (needed, optional): (Vec<_>, Vec<_>) = properties.iter().partition(|(key, _)| required.contains(&key.as_str()));
        self.out.push_str("{ ");
        for (number, (key, schema)) in needed.iter().chain(&optional).enumerate() {
            if number > 0 {
                self.out.push_str("; ");
            }
            if self.out.len() >= self.max {
                self.out.push_str("/* … */");
                break;
            }
            self.doc(schema);
            self.key(key);
            self.out.push_str(if number < needed.len() { ": " } else { "?: " });
            self.write(schema, depth + 1, 0);
        }
        self.out.push_str(" }");
    }

    fn array(&mut self, map: &'a Map<String, Value>, depth: usize) {
        let start = self.out.len();
        self.write(map.get("items").unwrap_or(&Value::Null), depth + 1, 0);
        if self.out[start..].contains([' ']) && !self.out[start..].starts_with('{') {
            self.out.insert(start, '(');
            self.out.push(')');
        }
        self.out.push_str("[]");
    }

    fn branches(&mut self, branches: &'a [Value], separator: &str, depth: usize, hops: usize) {
        let mut seen: Vec<String> = Vec::new();
        let start = self.out.len();
        for branch in branches {
            let before = self.out.len();
            if before >= self.max {
                break;
            }
            self.write(branch, depth + 1, hops + 1);
            let written = self.out.split_off(before);
            // A part that says nothing more is left out of an intersection, and one said twice out of both.
            let says_nothing = separator == " & " && written == "unknown";
            if !says_nothing && !seen.contains(&written) {
                self.out.push_str(if seen.is_empty() { "" } else { separator });
                self.out.push_str(&written);
                seen.push(written);
            }
        }
        if self.out.len() == start {
            self.out.push_str("unknown");
        }
    }

    fn literal(&mut self, value: &Value) {
        let text = value.to_string();
        self.out.push_str(if value.is_object() || value.is_array() || text.len() > 120 { "unknown" } else { &text });
    }

    fn separated<T>(&mut self, items: &[T], separator: &str, mut write: impl FnMut(&mut Self, &T)) {
        for (number, item) in items.iter().enumerate() {
            if number > 0 {
                self.out.push_str(separator);
            }
            write(self, item);
        }
    }

    /// A field's description as a comment, while there is more room than the types themselves may need. It is a stranger's text: it cannot end the comment.
    fn doc(&mut self, schema: &Value) {
        let Some(text) = schema.get("description").and_then(Value::as_str) else { return };
        let text = cleaned_line(text.trim(), DOC_CHARS).replace("*/", "* /");
        if self.docs && !text.is_empty() && self.out.len() < self.max / 2 {
            self.out.push_str("/** ");
            self.out.push_str(&text);
            self.out.push_str(" */ ");
        }
    }

    /// A property's name, in quotes unless it is a plain identifier. JSON's quoting escapes what would break the line.
    fn key(&mut self, key: &str) {
        let plain = !key.is_empty()
            && !key.starts_with(|c: char| c.is_ascii_digit())
            && key.chars().all(|c| c.is_ascii_alphanumeric() || "_$".contains(c));
        if plain && key.len() <= 128 {
            self.out.push_str(key);
        } else {
            let short: String = key.chars().take(64).collect();
            self.out.push_str(&Value::from(short).to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Source;
    use super::*;

    #[test]
    fn types_read_as_typescript() {
        for (schema, expected) in [
            (json!({"type": "object", "properties": {}}), "{}"),
            (json!({"type": "object"}), "Record<string, unknown>"),
            (
                json!({"type": "object", "properties": {"b": {"type": "integer"}, "a-b": {"type": "string"}}, "required": ["a-b"]}),
                "{ \"a-b\": string; b?: number }",
            ),
            (json!({"type": "array", "items": {"type": ["string", "null"]}}), "(string | null)[]"),
            (json!({"type": "array", "items": {"type": "object", "properties": {"x": {"type": "boolean"}}}}), "{ x?: boolean }[]"),
            (json!({"enum": ["a", null, 1]}), "\"a\" | null | 1"),
            (json!({"const": true}), "true"),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}), "string | null"),
            (json!({"type": "object", "additionalProperties": {"type": "number"}}), "Record<string, number>"),
            (json!({"$defs": {"s": {"type": "string"}}, "$ref": "#/$defs/s"}), "string"),
            (json!({"$ref": "http://elsewhere/"}), "unknown"),
        ] {
            assert_eq!(written(&schema, 1000, false), expected, "{schema}");
        }
    }

    #[test]
    fn recursion_and_size_are_bounded() {
        let node = json!({"$defs": {"n": {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}, "b": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"});
        assert!(input_type(&node).len() < INPUT_BYTES * 2, "{}", input_type(&node));
        assert_eq!(input_type(&json!({"$ref": "#"})), "unknown");
        let wide: Map<String, Value> = (0..5000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
        assert!(input_type(&json!({"type": "object", "properties": wide})).len() < INPUT_BYTES * 2);
    }

    #[test]
    fn a_signature_has_descriptions_as_comments_and_a_row_has_none() {
        let schema = json!({"type": "object", "properties": {
            "path": {"type": "string", "description": "Where\nit is."},
            "evil": {"type": "string", "description": format!("*/ }}) => any; /* {}", "x".repeat(500))},
        }, "required": ["path"]});
        let tool = Tool::new(Source::Plugin, "fs", "read", "", schema.clone());
        let text = signature(&tool);
        assert!(text.starts_with("(args: { /** Where it is. */ path: string; /** * / }) => any; /* xxx"), "{text}");
        assert!(text.ends_with("… */ evil?: string }) => Promise<unknown>") && text.matches("*/").count() == 2, "{text}");
        assert_eq!(input_type(&schema), "{ path: string; evil?: string }");
        let wide: Map<String, Value> =
            (0..200).map(|n| (format!("p{n}"), json!({"type": "string", "description": "a word or two"}))).collect();
        let text = written(&json!({"type": "object", "properties": wide}), SIGNATURE_BYTES, true);
        assert!(text.contains("p40?: string") && text.len() < SIGNATURE_BYTES * 2, "{}", text.len());
    }

    #[test]
    fn a_strangers_key_cannot_break_the_line() {
        let schema = json!({"type": "object", "properties": {"a\n}) => evil": {"type": "string"}}});
        assert_eq!(input_type(&schema), "{ \"a\\n}) => evil\"?: string }");
    }
}
