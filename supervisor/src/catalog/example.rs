//! A value that fits a schema, for tools whose reply nobody has scripted.
//!
//! What the schema offers comes first (`const`, `default`, `examples`, `enum`), then the plainest value of its type with what is required and
//! nothing else. Best effort: a `pattern` or a `not` is not solved.

use serde_json::{Map, Value, json};

use super::schema_cost::percent_decoded;

/// Levels of an example; below, everything is `null`. A definition that requires itself ends here.
const MAX_DEPTH: usize = 12;
/// Parts of an example: a schema may require much, and each part of it much again.
const MAX_PARTS: usize = 2_000;
/// References and branches followed for one place.
const MAX_HOPS: usize = 32;
/// Letters that a `minLength` may ask for, and items a `minItems`.
const MAX_FILL: u64 = 64;

/// An example that fits the schema.
pub(crate) fn fitting(schema: &Value) -> Value {
    Maker { root: schema, parts: 0 }.value(schema, 0, 0)
}

struct Maker<'a> {
    root: &'a Value,
    parts: usize,
}

impl<'a> Maker<'a> {
    fn value(&mut self, schema: &'a Value, depth: usize, hops: usize) -> Value {
        self.parts += 1;
        let Value::Object(map) = schema else {
            return Value::Null;
        };
        if depth > MAX_DEPTH || self.parts > MAX_PARTS || hops > MAX_HOPS {
            return Value::Null;
        }
        let offered = map
            .get("const")
            .or_else(|| map.get("default"))
            .or_else(|| map.get("examples").and_then(|examples| examples.get(0)))
            .or_else(|| map.get("enum").and_then(|options| options.get(0)));
        if let Some(value) = offered {
            return value.clone();
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#')) {
            return self.root.pointer(&percent_decoded(target)).map_or(Value::Null, |schema| self.value(schema, depth, hops + 1));
        }
        for branches in ["oneOf", "anyOf"] {
            if let Some(branch) = map.get(branches).and_then(|branches| branches.get(0)) {
                let chosen = self.value(branch, depth, hops + 1);
                // `anyOf` beside `properties` usually only says which of them are required together.
                if !map.contains_key("properties") {
                    return chosen;
                }
            }
        }
        if let Some(Value::Array(all)) = map.get("allOf") {
            return self.merged(map, all, depth, hops);
        }
        self.of_type(map, depth)
    }

    /// Objects from all parts laid over each other; without one, the first part's value.
    fn merged(&mut self, map: &'a Map<String, Value>, all: &'a [Value], depth: usize, hops: usize) -> Value {
        let mut parts: Vec<Value> = all.iter().map(|part| self.value(part, depth, hops + 1)).collect();
        if map.contains_key("properties") || map.contains_key("type") {
            parts.push(self.of_type(map, depth));
        }
        if !parts.iter().any(Value::is_object) {
            return parts.into_iter().next().unwrap_or(Value::Null);
        }
        let mut merged = Map::new();
        for part in parts {
            if let Value::Object(part) = part {
                merged.extend(part);
            }
        }
        Value::Object(merged)
    }

    fn of_type(&mut self, map: &'a Map<String, Value>, depth: usize) -> Value {
        let name = match map.get("type") {
            Some(Value::String(name)) => name.as_str(),
            Some(Value::Array(names)) => names.first().and_then(Value::as_str).unwrap_or("null"),
            _ if map.contains_key("properties") => "object",
            _ if map.contains_key("items") => "array",
            _ => "null",
        };
        match name {
            "object" => self.object(map, depth),
            "array" => self.array(map, depth),
            "string" => Value::from(string(map)),
            "boolean" => Value::Bool(false),
            "integer" => Value::from(number(map, 1.0).ceil() as i64),
            "number" => json!(number(map, 0.5)),
            _ => Value::Null,
        }
    }

    fn object(&mut self, map: &'a Map<String, Value>, depth: usize) -> Value {
        let properties = map.get("properties").and_then(Value::as_object);
        let required = map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let mut object = Map::new();
        for key in required {
            if self.parts > MAX_PARTS {
                break;
            }
            let value =
                properties.and_then(|properties| properties.get(key)).map_or(Value::Null, |schema| self.value(schema, depth + 1, 0));
            object.insert(key.to_owned(), value);
        }
        Value::Object(object)
    }

    fn array(&mut self, map: &'a Map<String, Value>, depth: usize) -> Value {
        let first: Vec<&Value> = map.get("prefixItems").and_then(Value::as_array).map_or_else(Vec::new, |items| items.iter().collect());
        let wanted = map.get("minItems").and_then(Value::as_u64).unwrap_or(first.len() as u64).min(MAX_FILL);
        let others = map.get("items");
        let schemas = first.into_iter().chain(std::iter::repeat_with(|| others.unwrap_or(&Value::Null)));
        schemas.take(usize::try_from(wanted).unwrap_or(0)).map(|schema| self.value(schema, depth + 1, 0)).collect()
    }
}

fn string(map: &Map<String, Value>) -> String {
    let known = match map.get("format").and_then(Value::as_str) {
        Some("date-time") => "2024-01-01T00:00:00Z",
        Some("date") => "2024-01-01",
        Some("time") => "00:00:00Z",
        Some("email") => "someone@example.com",
        Some("uri" | "url" | "uri-reference") => "https://example.com/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("ipv4") => "192.0.2.1",
        Some("hostname") => "example.com",
        _ => "text",
    };
    let limit = |key: &str, none: u64| map.get(key).and_then(Value::as_u64).unwrap_or(none).min(MAX_FILL);
    let (least, most) = (limit("minLength", 0), limit("maxLength", MAX_FILL));
    let mut text: String = known.chars().take(usize::try_from(most).unwrap_or(0)).collect();
    while (text.len() as u64) < least {
        text.push('x');
    }
    text
}

/// The number nearest to `usual` between the limits.
fn number(map: &Map<String, Value>, usual: f64) -> f64 {
    let limit = |key: &str| map.get(key).and_then(Value::as_f64);
    let least = limit("minimum").into_iter().chain(limit("exclusiveMinimum").map(|least| least + 1.0)).fold(f64::MIN, f64::max);
    let most = limit("maximum").into_iter().chain(limit("exclusiveMaximum").map(|most| most - 1.0)).fold(f64::MAX, f64::min);
    let step = limit("multipleOf").filter(|step| *step > 0.0);
    let inside = usual.min(most).max(least);
    step.map_or(inside, |step| (inside / step).ceil() * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_schema_offers_comes_first() {
        assert_eq!(fitting(&json!({"type": "string", "const": "c", "default": "d"})), json!("c"));
        assert_eq!(fitting(&json!({"type": "string", "default": "d", "enum": ["e"]})), json!("d"));
        assert_eq!(fitting(&json!({"type": "string", "examples": ["x"], "enum": ["e"]})), json!("x"));
        assert_eq!(fitting(&json!({"enum": [null, "e"]})), json!(null));
    }

    #[test]
    fn examples_fit_their_schemas() {
        for schema in [
            json!({"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "integer", "minimum": 7}, "b": {"type": "array", "minItems": 2, "items": {"type": "string"}}, "c": {}}}),
            json!({"type": "number", "exclusiveMaximum": -3}),
            json!({"type": "string", "minLength": 9}),
            json!({"type": "string", "maxLength": 2}),
            json!({"$defs": {"n": {"type": "object", "required": ["v"], "properties": {"v": {"type": "boolean"}, "next": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"}),
            json!({"allOf": [{"type": "object", "required": ["a"], "properties": {"a": {"type": "null"}}}, {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}}}]}),
            json!({"anyOf": [{"type": "array"}, {"type": "null"}]}),
            json!({"type": ["string", "null"]}),
        ] {
            let example = fitting(&schema);
            assert!(jsonschema::is_valid(&schema, &example), "{example} for {schema}");
        }
    }

    #[test]
    fn circles_and_doublings_end() {
        let itself = json!({"type": "object", "required": ["x", "y"], "properties": {"x": {"$ref": "#"}, "y": {"$ref": "#"}}});
        assert!(fitting(&itself).is_object());
        assert_eq!(fitting(&json!({"$ref": "#"})), json!(null));
    }
}
