//! How much work one value can make of a schema.
//!
//! A schema comes from a stranger and may be a bomb: `{"$ref": "#"}` never ends, and thirty definitions that each ask for the next one twice
//! ask for the last one a billion times. Both are found before the schema is compiled, by counting the checks that can apply to *one* place
//! in a value. What the way down into members and items adds depends on the value, and is counted with it (`schema_effort`).

use std::collections::{HashMap, HashSet};

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

/// The first reference whose target is not found exactly, as it stands in the schema.
pub(super) fn lost_reference(schema: &Value) -> Option<&str> {
    fn inside<'a>(part: &'a Value, references: &References<'a>) -> Option<&'a str> {
        match part {
            Value::Object(map) => {
                let text = |keyword| map.get(keyword).and_then(Value::as_str);
                let lost = [text("$ref"), text("$dynamicRef")].into_iter().flatten().find(|target| references.find(target).is_none());
                let lost = lost.or_else(|| text("$recursiveRef").filter(|target| *target != "#"));
                lost.or_else(|| map.values().find_map(|value| inside(value, references)))
            }
            Value::Array(items) => items.iter().find_map(|value| inside(value, references)),
            _ => None,
        }
    }
    inside(schema, &References::of(schema))
}

/// Finds what the references of a schema point at.
pub(super) struct References<'a> {
    root: &'a Value,
    /// Parts by name; `None` for a name that two parts have, be one of them mere data.
    anchors: HashMap<&'a str, Option<&'a Value>>,
}

impl<'a> References<'a> {
    pub(super) fn of(root: &'a Value) -> References<'a> {
        let mut anchors = HashMap::new();
        gather_anchors(root, &mut anchors);
        References { root, anchors }
    }

    /// The schema a local reference points at; `None` for another document, for a place that is not there, and wherever the validator could
    /// come to another place than this does: a name given twice, an index such as `00`, a stray `~`.
    pub(super) fn find(&self, target: &str) -> Option<&'a Value> {
        if target.is_empty() || target == "#" {
            return Some(self.root);
        }
        let fragment = target.strip_prefix('#')?;
        if !fragment.starts_with('/') {
            return self.anchors.get(fragment).copied().flatten();
        }
        let pointer = percent_decoded(fragment);
        let is_exact = pointer.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        // The lookup itself takes no index but the plain one.
        if is_exact { self.root.pointer(&pointer) } else { None }
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
        // What is not found here the validator may find all the same, so its cost is unknown.
        let Some(inner) = self.references.find(target) else { return u64::MAX };
        let checks = self.checks(inner, depth);
        self.known.insert(target, Some(checks));
        checks
    }
}

/// Different places that a schema may refer to. The compiler of schemas does work for each of them times each that it has not come to yet: a chain of 40,000
/// took 8 s. The largest number in a real one is below 100.
const MAX_TARGETS: usize = 500;
/// Patterns that a schema may have: 20,000 took a second to compile. The largest number in a real one is below 50.
const MAX_PATTERNS: usize = 1_000;

/// Whether compiling it could take long.
pub(super) fn is_too_large(schema: &Value) -> bool {
    fn gather<'a>(part: &'a Value, targets: &mut HashSet<&'a str>, patterns: &mut usize) {
        match part {
            Value::Object(map) => {
                targets.extend(["$ref", "$dynamicRef", "$recursiveRef"].iter().filter_map(|keyword| map.get(*keyword)?.as_str()));
                *patterns += usize::from(map.get("pattern").is_some_and(Value::is_string));
                *patterns += map.get("patternProperties").and_then(Value::as_object).map_or(0, serde_json::Map::len);
                map.values().for_each(|value| gather(value, targets, patterns));
            }
            Value::Array(items) => items.iter().for_each(|value| gather(value, targets, patterns)),
            _ => {}
        }
    }
    let (mut targets, mut patterns) = (HashSet::new(), 0);
    gather(schema, &mut targets, &mut patterns);
    targets.len() > MAX_TARGETS || patterns > MAX_PATTERNS
}

/// The parts of a schema that have a name for references: `$anchor`, `$dynamicAnchor`, or the fragment of an `$id` or `id`. Which of them
/// count depends on the draft and on the place (in a `const` they are data), so all are taken, and a name found twice is nobody's.
fn gather_anchors<'a>(part: &'a Value, anchors: &mut HashMap<&'a str, Option<&'a Value>>) {
    match part {
        Value::Object(map) => {
            let text = |keyword| map.get(keyword).and_then(Value::as_str);
            let of_id = |keyword| text(keyword).and_then(|id| id.rsplit_once('#')).map(|(_, name)| name);
            for name in [text("$anchor"), text("$dynamicAnchor"), of_id("$id"), of_id("id")].into_iter().flatten() {
                anchors.entry(name).and_modify(|known| *known = None).or_insert(Some(part));
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
        let pair = pair.filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()));
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
    // A part may name a draft of its own, where `id` is an address; elsewhere `id` is mostly data.
    fn names_draft4(part: &Value) -> bool {
        match part {
            Value::Object(map) => {
                map.get("$schema").and_then(Value::as_str).is_some_and(|uri| uri.contains("draft-04")) || map.values().any(names_draft4)
            }
            Value::Array(items) => items.iter().any(names_draft4),
            _ => false,
        }
    }
    fn inside(part: &Value, keywords: &[&str], root: bool) -> bool {
        match part {
            Value::Object(map) => {
                let is_address = |keyword: &&str| map.get(*keyword).and_then(Value::as_str).is_some_and(|id| !id.starts_with('#'));
                (!root && keywords.iter().any(is_address)) || map.values().any(|value| inside(value, keywords, false))
            }
            Value::Array(items) => items.iter().any(|value| inside(value, keywords, false)),
            _ => false,
        }
    }
    let keywords: &[&str] = if names_draft4(schema) { &["$id", "id"] } else { &["$id"] };
    inside(schema, keywords, true)
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
    fn a_decoy_does_not_hide_what_a_reference_costs() {
        let mut doubling = json!({"$defs": {"d0": {"$anchor": "d0", "type": "string"}}});
        for level in 1..40 {
            let next = format!("#d{}", level - 1);
            doubling["$defs"][format!("d{level}")] = json!({"$anchor": format!("d{level}"), "allOf": [{"$ref": next}, {"$ref": next}]});
        }
        doubling["properties"] = json!({"a": {"$ref": "#d39"}});
        assert!(is_too_costly(&doubling) && lost_reference(&doubling).is_none());
        for (keyword, decoy) in
            [("const", json!({"$anchor": "d39"})), ("enum", json!([{"id": "x#d39"}])), ("default", json!({"$id": "#d39"}))]
        {
            let mut schema = doubling.clone();
            schema["$defs"][".first"] = json!({keyword: decoy});
            assert!(is_too_costly(&schema) && lost_reference(&schema) == Some("#d39"), "{keyword}");
        }
    }

    #[test]
    fn a_reference_that_is_not_exact_is_lost() {
        let part = |target: &str| json!({"allOf": [{"type": "object"}], "a~1": {}, "properties": {"x": {"$ref": target}}});
        for target in
            ["#/allOf/00", "#/allOf/+0", "#/allOf/1", "#/allOf/%2B0", "#/%+1", "#/a~1", "#/a~", "#nobody", "x#/allOf/0", "other.json"]
        {
            let schema = part(target);
            assert_eq!(lost_reference(&schema), Some(target));
            assert!(is_too_costly(&schema), "{target}");
        }
        for target in ["#", "", "#/allOf/0", "#/%61llOf/0", "#/a~01"] {
            assert_eq!(lost_reference(&part(target)), None, "{target}");
        }
        assert_eq!(lost_reference(&json!({"$recursiveRef": "#x"})), Some("#x"));
    }

    #[test]
    fn an_address_inside_is_found() {
        assert!(has_inner_address(&json!({"properties": {"x": {"$schema": "http://json-schema.org/draft-04/schema#", "id": "b"}}})));
        assert!(has_inner_address(&json!({"$id": "a", "properties": {"x": {"$id": "b", "$ref": "#"}}})));
        assert!(!has_inner_address(&json!({"$id": "a", "properties": {"$id": {"type": "string"}}})));
    }

    #[test]
    fn a_schema_with_very_many_places_or_patterns_is_not_compiled() {
        let chain = |links: usize| {
            let link = |i: usize| (format!("d{i}"), json!({"properties": {"a": {"$ref": format!("#/$defs/d{}", (i + 1) % links)}}}));
            json!({"$defs": serde_json::Map::from_iter((0..links).map(link)), "$ref": "#/$defs/d0"})
        };
        assert!(!is_too_large(&chain(MAX_TARGETS)));
        assert!(is_too_large(&chain(MAX_TARGETS + 1)));
        let patterns = |count: usize| json!({"anyOf": vec![json!({"pattern": "a"}); count]});
        assert!(!is_too_large(&patterns(MAX_PATTERNS)));
        assert!(is_too_large(&patterns(MAX_PATTERNS + 1)));
    }
}
