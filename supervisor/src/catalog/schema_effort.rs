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
/// The same for listing what is wrong: each check may leave an error of some hundred bytes.
const MAX_LISTED: u64 = 50_000;
/// States of one compiled pattern at most, by the limit of its compiled size.
const MAX_STATES: u64 = 1_400;
/// Visits of a pattern's state that take the time of one check.
const STATES_PER_CHECK: u64 = 4;
/// Bytes of text in a schema or a key that take the time of one check, to compare or to copy.
const BYTES_PER_CHECK: usize = 64;
/// Pairs of schema and place that are counted at most; more is too much by itself. Each takes some 50 bytes while they are counted.
const MAX_PAIRS: usize = 500_000;
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
    matches: bool,
}

impl Scale {
    pub(super) fn of(schema: &Value) -> Scale {
        Scale { parts: parts(schema, usize::MAX), refers: has_any(schema, &REFERENCES), matches: has_any(schema, &PATTERNS) }
    }
}

/// Whether checking the value against the schema is bounded work.
pub(super) fn is_bounded(schema: &Value, scale: Scale, value: &Value) -> bool {
    if !scale.refers && !scale.matches && scale.parts.saturating_mul(parts(value, SURELY_FINE)) <= SURELY_FINE {
        return true;
    }
    Counter::of(schema).count(schema, Place::Value(value)) <= MAX_EFFORT
}

/// Whether a list of all that is wrong with the value stays short enough to be made.
pub(super) fn is_listable(schema: &Value, value: &Value) -> bool {
    Counter::of(schema).count(schema, Place::Value(value)) <= MAX_LISTED
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

const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
const PATTERNS: [&str; 2] = ["pattern", "patternProperties"];

fn has_any(schema: &Value, keywords: &[&str]) -> bool {
    match schema {
        Value::Object(map) => {
            keywords.iter().any(|keyword| map.contains_key(*keyword)) || map.values().any(|inner| has_any(inner, keywords))
        }
        Value::Array(items) => items.iter().any(|inner| has_any(inner, keywords)),
        _ => false,
    }
}

/// States that a pattern has at most when compiled; [`MAX_STATES`] where that is not plain to see.
fn states(pattern: &str) -> u64 {
    counted_states(pattern).map_or(MAX_STATES, |states| states.min(MAX_STATES))
}

fn counted_states(pattern: &str) -> Option<u64> {
    let mut groups = vec![0u64];
    let mut last = 0u64;
    let mut rest = pattern;
    while let Some(sign) = rest.chars().next() {
        rest = &rest[sign.len_utf8()..];
        let own = match sign {
            '\\' => {
                let escaped = rest.chars().next()?;
                rest = &rest[escaped.len_utf8()..];
                if matches!(escaped, 'p' | 'P' | 'x' | 'u') && rest.starts_with('{') {
                    rest = rest.split_once('}')?.1;
                }
                8
            }
            '[' => {
                // Up to the first `]`; what dialects read in different ways is not counted.
                let mut escaped = false;
                let end = rest.find(|sign| {
                    let ends = sign == ']' && !escaped;
                    escaped = sign == '\\' && !escaped;
                    ends
                })?;
                let class = &rest[..end];
                if class.is_empty() || class == "^" || class.contains('[') {
                    return None;
                }
                rest = &rest[end + 1..];
                4
            }
            '(' => {
                if let Some(kind) = rest.strip_prefix('?') {
                    rest = kind.strip_prefix([':', '=', '!', '<'])?;
                }
                groups.push(2);
                0
            }
            ')' => {
                let group = groups.pop()?;
                last = group;
                let outer = groups.last_mut()?;
                *outer = outer.saturating_add(group);
                continue;
            }
            '{' => {
                let (counts, after) = rest.split_once('}')?;
                rest = after;
                let (least, most) = counts.split_once(',').unwrap_or((counts, counts));
                let least: u64 = least.parse().ok()?;
                let times = if most.is_empty() { least.saturating_add(1) } else { most.parse().ok()? };
                let outer = groups.last_mut()?;
                let more = last.saturating_add(1).saturating_mul(times);
                *outer = outer.saturating_add(more);
                last = last.saturating_add(more);
                continue;
            }
            '*' | '+' | '?' | '|' => {
                *groups.last_mut()? += 2;
                last = last.saturating_add(2);
                continue;
            }
            '.' => 4,
            sign => sign.len_utf8() as u64,
        };
        last = own;
        let group = groups.last_mut()?;
        *group = group.saturating_add(own);
    }
    // A group that is still open is one that this has misread.
    if groups.len() == 1 { groups.pop() } else { None }
}

/// Checks that matching so many bytes against the pattern takes.
fn matching(pattern: &str, bytes: usize) -> u64 {
    1 + states(pattern).saturating_mul(bytes as u64) / STATES_PER_CHECK
}

/// What a schema is asked about: a value, or the name of a member.
#[derive(Clone, Copy)]
enum Place<'v> {
    Value(&'v Value),
    Name(&'v String),
}

impl<'v> Place<'v> {
    fn address(self) -> usize {
        match self {
            Place::Value(value) => std::ptr::from_ref(value).addr(),
            Place::Name(name) => std::ptr::from_ref(name).addr(),
        }
    }

    fn text(self) -> Option<&'v str> {
        match self {
            Place::Value(value) => value.as_str(),
            Place::Name(name) => Some(name),
        }
    }
}

struct Counter<'a> {
    references: References<'a>,
    root: &'a Value,
    known: HashMap<(*const Value, usize), u64>,
    /// Checks by keywords that name or list things, for each schema.
    listed: HashMap<*const Value, u64>,
    steps: usize,
}

impl<'a> Counter<'a> {
    fn of(root: &'a Value) -> Counter<'a> {
        Counter { references: References::of(root), root, known: HashMap::new(), listed: HashMap::new(), steps: 0 }
    }

    fn count(&mut self, schema: &'a Value, place: Place<'_>) -> u64 {
        let Value::Object(map) = schema else { return 1 };
        let pair = (std::ptr::from_ref(schema), place.address());
        if let Some(known) = self.known.get(&pair) {
            return *known;
        }
        if self.known.len() >= MAX_PAIRS || self.steps >= MAX_STEPS {
            return u64::MAX;
        }
        // A circle in one place is refused before any value comes; should one be left, it ends here.
        self.known.insert(pair, u64::MAX);
        self.steps += 1;
        let listed = *self.listed.entry(pair.0).or_insert_with(|| listed(map));
        let below = if let Place::Value(value) = place { self.below(map, value) } else { 0 };
        let sum = listed.saturating_add(self.here(map, place)).saturating_add(below);
        self.steps -= 1;
        self.known.insert(pair, sum);
        sum
    }

    /// The schema's other parts for the same place.
    fn here(&mut self, map: &'a Map<String, Value>, place: Place<'_>) -> u64 {
        let mut sum = 1u64;
        for (keyword, inner) in map {
            let more = match (keyword.as_str(), inner) {
                ("$ref" | "$dynamicRef", Value::String(target)) => {
                    self.references.find(target).map_or(u64::MAX, |schema| self.count(schema, place))
                }
                ("$recursiveRef", _) => self.count(self.root, place),
                ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => self.each(schemas.iter(), place),
                ("dependentSchemas" | "dependencies", Value::Object(schemas)) => self.each(schemas.values(), place),
                ("not" | "if" | "then" | "else", schema) => self.count(schema, place),
                ("pattern", Value::String(pattern)) => place.text().map_or(0, |text| matching(pattern, text.len())),
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
                let every = ["additionalProperties", "unevaluatedProperties"].map(|keyword| map.get(keyword));
                let patterns = map.get("patternProperties").and_then(Value::as_object);
                for (key, member) in members {
                    let own = properties.and_then(|properties| properties.get(key));
                    let schemas = own.into_iter().chain(every.into_iter().flatten()).chain(patterns.into_iter().flat_map(Map::values));
                    let mut more = self.each(schemas, Place::Value(member)).saturating_add(1);
                    if let Some(names) = map.get("propertyNames") {
                        more = more.saturating_add(self.count(names, Place::Name(key)));
                    }
                    for pattern in patterns.into_iter().flat_map(Map::keys) {
                        more = more.saturating_add(matching(pattern, key.len()));
                    }
                    // An error has the whole way to its place with it.
                    sum = sum.saturating_add(more.saturating_mul(1 + (key.len() / (4 * BYTES_PER_CHECK)) as u64));
                    if sum > MAX_EFFORT {
                        break;
                    }
                }
            }
            Value::Array(items) => {
                let every = ["items", "contains", "additionalItems", "unevaluatedItems"].map(|keyword| map.get(keyword));
                let first = ["prefixItems", "items"].map(|keyword| map.get(keyword));
                for (index, item) in items.iter().enumerate() {
                    let own = first.into_iter().flatten().filter_map(|schemas| schemas.get(index));
                    let schemas = own.chain(every.into_iter().flatten());
                    sum = sum.saturating_add(1).saturating_add(self.each(schemas, Place::Value(item)));
                    if sum > MAX_EFFORT {
                        break;
                    }
                }
            }
            _ => {}
        }
        sum
    }

    fn each(&mut self, schemas: impl Iterator<Item = &'a Value>, place: Place<'_>) -> u64 {
        let mut sum = 0u64;
        for schema in schemas {
            sum = sum.saturating_add(self.count(schema, place));
            if sum > MAX_EFFORT {
                break;
            }
        }
        sum
    }
}

/// Checks by keywords that name or list things: each entry is looked up or compared, and may be copied into an error.
fn listed(map: &Map<String, Value>) -> u64 {
    let mut entries = 0;
    let mut bytes = 0;
    for keyword in ["required", "dependentRequired", "dependencies", "enum", "const", "pattern"] {
        let Some(inner) = map.get(keyword) else { continue };
        entries += parts(inner, usize::MAX) - 1;
        bytes += text_bytes(inner);
    }
    entries += map.get("properties").and_then(Value::as_object).map_or(0, |properties| properties.len() / 4);
    (entries + bytes / BYTES_PER_CHECK) as u64
}

fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(map) => map.iter().map(|(key, inner)| key.len() + text_bytes(inner)).sum(),
        _ => 0,
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

    #[test]
    fn names_that_are_required_of_every_row_count() {
        let names: Vec<String> = (0..60).map(|number| format!("field{number}")).collect();
        let rows = json!(vec![json!({}); 100_000]);
        assert!(!bounded(&json!({"items": {"required": names}}), &rows));
        assert!(!bounded(&json!({"items": {"dependentRequired": {"a": names}}}), &rows));
        let few = json!({"items": {"required": ["a", "b"]}});
        assert!(bounded(&few, &rows) && !is_listable(&few, &rows));
        assert!(is_listable(&few, &json!(vec![json!({}); 1000])));
    }

    #[test]
    fn the_size_of_a_pattern_counts_with_the_length_of_its_text() {
        let costly = "[01]*1[01]{300}";
        let text = "0".repeat(100_000);
        for (schema, value) in [
            (json!({"pattern": costly}), json!(text)),
            (json!({"patternProperties": {costly: {}}}), json!({text.as_str(): 1})),
            (json!({"propertyNames": {"anyOf": [{"pattern": costly}]}}), json!({text.as_str(): 1})),
        ] {
            assert!(!bounded(&schema, &value), "{schema}");
        }
        assert!(bounded(&json!({"pattern": costly}), &json!("0".repeat(1000))));
        assert!(bounded(&json!({"pattern": "^\\S+$"}), &json!("x".repeat(1_000_000))));
        assert!(bounded(&json!({"propertyNames": {"pattern": "^[a-z_]+$"}}), &json!({"a": text})));
    }

    #[test]
    fn states_are_never_counted_too_low() {
        for (pattern, least) in [("a{300}", 300), ("(ab{10}){20}", 200), ("[x]{5,90}", 90), ("((a{9}){9}){9}", 729), ("a{40,}", 40)] {
            assert!((least..=MAX_STATES).contains(&states(pattern)), "{pattern}: {}", states(pattern));
        }
        for unclear in ["[[]a{8000}", "[]]a{8000}", "(?x)a {800}", "a{ 5 }", "(a", "a)", "\\"] {
            assert_eq!(states(unclear), MAX_STATES, "{unclear}");
        }
        assert!(states("^[a-z]+$") < 20);
    }
}
