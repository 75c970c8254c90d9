//! How much work one value can make of a schema.
//!
//! A schema comes from a stranger and may be a bomb: `{"$ref": "#"}` never ends, and thirty definitions that each ask for the next one twice
//! ask for the last one a billion times. Both are found before the schema is compiled, by counting the checks that can apply to *one* place
//! in a value. What the way down into members and items adds depends on the value, and is counted with it (`schema_effort`).

use std::collections::HashMap;

use serde_json::Value;

/// The most checks of one place in a value. The most in 2,834 real tools is 13.
pub(super) const MAX_CHECKS: u64 = 20_000;
/// Levels of schemas inside schemas; a parsed schema nests at most 128 levels, references add more.
const MAX_DEPTH: usize = 400;

/// Keywords with one schema for the same place.
const SAME_PLACE: [&str; 7] = ["not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "$recursiveRef"];
/// Keywords with an array of schemas for the same place.
const SAME_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords with schemas by name for the same place.
const SAME_PLACE_MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Whether checking one place of a value against some part of the schema may take more than [`MAX_CHECKS`] checks.
pub(super) fn is_too_costly(schema: &Value) -> bool {
    let mut counter = Counter { references: References::of(schema), known: HashMap::new() };
    counter.any_part_is_too_costly(schema, 0)
}

/// Finds what the references of a schema point at.
pub(super) struct References<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
}

impl<'a> References<'a> {
    pub(super) fn of(root: &'a Value) -> References<'a> {
        let mut anchors = HashMap::new();
        gather_anchors(root, &mut anchors);
        References { root, anchors }
    }

    /// The schema a local reference points at. Other documents are never fetched, so they cost nothing: they fail when compiled.
    pub(super) fn find(&self, target: &str) -> Option<&'a Value> {
        let fragment = target.rsplit_once('#').map_or("", |(_, fragment)| fragment);
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&percent_decoded(fragment));
        }
        self.anchors.get(fragment).copied()
    }
}

struct Counter<'a> {
    references: References<'a>,
    /// Checks for the target of a reference; `None` while it is being counted, so that meeting it again is a circle.
    known: HashMap<&'a str, Option<u64>>,
}

impl<'a> Counter<'a> {
    /// Looks at every object in the schema as if it were a schema: too many are harmless, one left out is not.
    fn any_part_is_too_costly(&mut self, part: &'a Value, depth: usize) -> bool {
        match part {
            Value::Object(map) => {
                self.checks(part, depth) > MAX_CHECKS || map.values().any(|value| self.any_part_is_too_costly(value, depth + 1))
            }
            Value::Array(items) => items.iter().any(|value| self.any_part_is_too_costly(value, depth + 1)),
            _ => false,
        }
    }

    /// Checks that one place takes against this schema.
    fn checks(&mut self, schema: &'a Value, depth: usize) -> u64 {
        let Value::Object(map) = schema else { return 1 };
        if depth > MAX_DEPTH {
            return u64::MAX;
        }
        let mut sum: u64 = 1;
        for keyword in ["$ref", "$dynamicRef"] {
            if let Some(Value::String(target)) = map.get(keyword) {
                sum = sum.saturating_add(self.checks_of_target(target, depth + 1));
            }
        }
        for keyword in SAME_PLACE {
            if let Some(inner) = map.get(keyword) {
                // `$recursiveRef` is always "#": text, counted as the root.
                let inner_checks = if inner.is_string() { self.checks_of_target("#", depth + 1) } else { self.checks(inner, depth + 1) };
                sum = sum.saturating_add(inner_checks);
            }
        }
        for keyword in SAME_PLACE_LISTS {
            for inner in map.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                sum = sum.saturating_add(self.checks(inner, depth + 1));
            }
        }
        for keyword in SAME_PLACE_MAPS {
            for inner in map.get(keyword).and_then(Value::as_object).into_iter().flat_map(|inner| inner.values()) {
                sum = sum.saturating_add(self.checks(inner, depth + 1));
            }
        }
        sum
    }

    fn checks_of_target(&mut self, target: &'a str, depth: usize) -> u64 {
        match self.known.get(target) {
            Some(Some(checks)) => return *checks,
            Some(None) => return u64::MAX,
            None => {}
        }
        self.known.insert(target, None);
        let Some(inner) = self.references.find(target) else {
            self.known.insert(target, Some(1));
            return 1;
        };
        let checks = self.checks(inner, depth);
        self.known.insert(target, Some(checks));
        checks
    }
}

/// The parts of a schema that have a name for references: `$anchor`, `$dynamicAnchor`, or an `$id` of a fragment alone.
fn gather_anchors<'a>(part: &'a Value, anchors: &mut HashMap<&'a str, &'a Value>) {
    match part {
        Value::Object(map) => {
            let text = |keyword| map.get(keyword).and_then(Value::as_str);
            let own_id = text("$id").and_then(|id| id.strip_prefix('#'));
            for name in [text("$anchor"), text("$dynamicAnchor"), own_id].into_iter().flatten() {
                anchors.entry(name).or_insert(part);
            }
            map.values().for_each(|value| gather_anchors(value, anchors));
        }
        Value::Array(items) => items.iter().for_each(|value| gather_anchors(value, anchors)),
        _ => {}
    }
}

/// `%24defs` as `$defs`: a pointer in a reference is written as part of a URI.
pub(super) fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let pair = if bytes[at] == b'%' { text.get(at + 1..at + 3) } else { None };
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether a part of the schema other than its root gives itself an address. References inside such a part would start from there, which
/// neither this count nor `describe`'s readers follow; tool schemas have no use for it.
pub(super) fn has_inner_address(schema: &Value) -> bool {
    let draft4 = schema.get("$schema").and_then(Value::as_str).is_some_and(|uri| uri.contains("draft-04"));
    let keyword = if draft4 { "id" } else { "$id" };
    fn inside(part: &Value, keyword: &str, root: bool) -> bool {
        match part {
            Value::Object(map) => {
                let own = !root && map.get(keyword).and_then(Value::as_str).is_some_and(|id| !id.starts_with('#'));
                own || map.values().any(|value| inside(value, keyword, false))
            }
            Value::Array(items) => items.iter().any(|value| inside(value, keyword, false)),
            _ => false,
        }
    }
    inside(schema, keyword, true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn circles_without_a_step_down_are_too_costly() {
        assert!(is_too_costly(&json!({"$ref": "#"})));
        assert!(is_too_costly(&json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/%24defs/a"}]}}})));
        assert!(is_too_costly(&json!({"properties": {"x": {"$anchor": "me", "anyOf": [{"$ref": "#me"}, {}]}}})));
    }

    #[test]
    fn circles_through_properties_and_items_are_fine() {
        let node = json!({"$defs": {"node": {"type": "object", "properties": {
            "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            "all": {"type": "array", "items": {"$ref": "#"}},
        }}}, "$ref": "#/$defs/node"});
        assert!(!is_too_costly(&node));
    }

    #[test]
    fn doublings_are_too_costly() {
        let mut defs = serde_json::Map::new();
        for level in 0..40 {
            let next = format!("#/$defs/d{}", level + 1);
            defs.insert(format!("d{level}"), json!({"allOf": [{"$ref": next}, {"$ref": next}]}));
        }
        defs.insert("d40".to_owned(), json!({"type": "string"}));
        assert!(is_too_costly(&json!({"$defs": defs, "properties": {"a": {"$ref": "#/$defs/d0"}}})));
    }

    #[test]
    fn an_address_inside_is_found() {
        assert!(has_inner_address(&json!({"$id": "a", "properties": {"x": {"$id": "b", "$ref": "#"}}})));
        assert!(!has_inner_address(&json!({"$id": "a", "properties": {"$id": {"type": "string"}}})));
    }
}
