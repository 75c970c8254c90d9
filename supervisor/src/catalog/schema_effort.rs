//! How much work a schema and one value make together.
//!
//! [`super::schema_cost`] bounds the checks of one place. A schema can still ask twice for the same member at every level, and then a value
//! forty levels deep is asked about 2^40 times; or a long list meets a long list of branches. So before a value is checked its checks are
//! counted, each pair of schema and place once, which is quick where the checking itself would not be.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::schema_cost::References;

/// Checks of one value at most: a quarter of a second, at the 48 ns each that ten million branches took.
const MAX_EFFORT: u64 = 5_000_000;
/// Pairs of schema and place that are counted at most; more is too much by itself.
const MAX_PAIRS: usize = 1_000_000;
/// Schemas inside schemas, references and members on the way down: the validator calls itself for each, and the stack ends before patience
/// does. A value nests at most 128 levels, a real schema takes two or three steps a level.
const MAX_STEPS: usize = 600;
/// Parts of schema times parts of value up to which a schema without references needs no counting: each pair can meet once at most.
const SURELY_FINE: usize = 1_000_000;

/// What is known of a schema before any value comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    parts: usize,
    refers: bool,
}

impl Scale {
    pub(super) fn of(schema: &Value) -> Scale {
        Scale { parts: parts(schema, usize::MAX), refers: refers(schema) }
    }
}

/// Whether checking the value against the schema is bounded work.
pub(super) fn is_bounded(schema: &Value, scale: Scale, value: &Value) -> bool {
    if !scale.refers && scale.parts.saturating_mul(parts(value, SURELY_FINE)) <= SURELY_FINE {
        return true;
    }
    let mut counter = Counter { references: References::of(schema), known: HashMap::new(), steps: 0 };
    counter.count(schema, value) <= MAX_EFFORT
}

/// The values inside a value and itself; stops counting at `enough`.
fn parts(value: &Value, enough: usize) -> usize {
    let inside = |sum: usize, inner: &Value| {
        if sum >= enough { sum } else { sum.saturating_add(parts(inner, enough - sum)) }
    };
    match value {
        Value::Array(items) => items.iter().fold(1, inside),
        Value::Object(map) => map.values().fold(1, inside),
        _ => 1,
    }
}

fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => {
            ["$ref", "$dynamicRef", "$recursiveRef"].iter().any(|keyword| map.get(*keyword).is_some_and(Value::is_string))
                || map.values().any(refers)
        }
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

struct Counter<'a> {
    references: References<'a>,
    known: HashMap<(*const Value, *const Value), u64>,
    steps: usize,
}

impl<'a> Counter<'a> {
    fn count(&mut self, schema: &'a Value, value: &Value) -> u64 {
        let Value::Object(map) = schema else { return 1 };
        let pair = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        if let Some(known) = self.known.get(&pair) {
            return *known;
        }
        if self.known.len() >= MAX_PAIRS || self.steps >= MAX_STEPS {
            return u64::MAX;
        }
        // A circle in one place is refused before any value comes; should one be left, it ends here.
        self.known.insert(pair, u64::MAX);
        self.steps += 1;
        let sum = self.here(map, value).saturating_add(self.below(map, value));
        self.steps -= 1;
        self.known.insert(pair, sum);
        sum
    }

    /// The schema's other parts for the same place.
    fn here(&mut self, map: &'a Map<String, Value>, value: &Value) -> u64 {
        let mut sum = 1u64;
        for (keyword, inner) in map {
            let more = match (keyword.as_str(), inner) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                    self.references.find(target).map_or(1, |schema| self.count(schema, value))
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => self.each(schemas.iter(), value),
                ("dependentSchemas" | "dependencies", Value::Object(schemas)) => self.each(schemas.values(), value),
                ("not" | "if" | "then" | "else", schema) => self.count(schema, value),
                ("enum", Value::Array(options)) => options.len() as u64,
                _ => 0,
            };
            sum = sum.saturating_add(more);
        }
        sum
    }

    /// The schema's parts for members and items.
    fn below(&mut self, map: &'a Map<String, Value>, value: &Value) -> u64 {
        let mut sum = 0u64;
        match value {
            Value::Object(members) => {
                let properties = map.get("properties");
                let every = ["additionalProperties", "unevaluatedProperties", "propertyNames"].map(|keyword| map.get(keyword));
                let patterns = map.get("patternProperties").and_then(Value::as_object);
                for (key, member) in members {
                    let own = properties.and_then(|properties| properties.get(key));
                    let schemas = own.into_iter().chain(every.into_iter().flatten()).chain(patterns.into_iter().flat_map(Map::values));
                    sum = sum.saturating_add(1).saturating_add(self.each(schemas, member));
                }
            }
            Value::Array(items) => {
                let every = ["items", "contains", "additionalItems", "unevaluatedItems"].map(|keyword| map.get(keyword));
                let first = ["prefixItems", "items"].map(|keyword| map.get(keyword));
                for (index, item) in items.iter().enumerate() {
                    let own = first.into_iter().flatten().filter_map(|schemas| schemas.get(index));
                    let schemas = own.chain(every.into_iter().flatten());
                    sum = sum.saturating_add(1).saturating_add(self.each(schemas, item));
                }
            }
            _ => {}
        }
        sum
    }

    fn each(&mut self, schemas: impl Iterator<Item = &'a Value>, value: &Value) -> u64 {
        let mut sum = 0u64;
        for schema in schemas {
            sum = sum.saturating_add(self.count(schema, value));
            if sum > MAX_EFFORT {
                break;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bounded(schema: &Value, value: &Value) -> bool {
        is_bounded(schema, Scale::of(schema), value)
    }

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!({}), |inner, _| json!({"a": inner}))
    }

    #[test]
    fn asking_twice_at_every_level_is_not_bounded() {
        let twice = json!({"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]});
        assert!(bounded(&twice, &nested(3)));
        assert!(!bounded(&twice, &nested(60)));
        let patterns = json!({"patternProperties": {"a": {"$ref": "#"}, "^a": {"$ref": "#"}, "a$": {"$ref": "#"}}});
        assert!(!bounded(&patterns, &nested(60)));
    }

    #[test]
    fn a_recursive_schema_that_asks_once_is_bounded_at_any_depth() {
        let once = json!({"$defs": {"n": {"properties": {"a": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"});
        assert!(bounded(&once, &nested(100)));
    }

    #[test]
    fn a_long_way_down_is_not_bounded() {
        let mut defs = serde_json::Map::new();
        for step in 0..100 {
            defs.insert(format!("d{step}"), json!({"$ref": format!("#/$defs/d{}", step + 1)}));
        }
        defs.insert("d100".to_owned(), json!({"properties": {"a": {"$ref": "#"}}}));
        let schema = json!({"$defs": defs, "$ref": "#/$defs/d0"});
        assert!(bounded(&schema, &nested(3)));
        assert!(!bounded(&schema, &nested(100)));
    }

    #[test]
    fn a_long_list_and_many_branches_are_not_bounded() {
        let branches: Vec<Value> = (0..2000).map(|number| json!({"const": number})).collect();
        let schema = json!({"items": {"anyOf": branches}});
        assert!(bounded(&schema, &json!(vec![1; 100])));
        assert!(!bounded(&schema, &json!(vec![1; 100_000])));
    }

    #[test]
    fn a_large_plain_value_is_bounded() {
        let schema =
            json!({"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}}});
        assert!(bounded(&schema, &json!({"rows": vec![vec![1; 100]; 3000]})));
    }
}
