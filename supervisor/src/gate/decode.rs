//! Objects and arrays that were sent as JSON text.
//!
//! A text is decoded only where the schema takes an object or array and **no** text: there the text was wrong anyway, so decoding can turn a
//! bad call into a good one but never change the meaning of a good one.

use codemode_protocol::MAX_DEPTH;
use serde_json::{Map, Value};

use super::faults::below;
use crate::catalog::{ARGS_WEIGHT, weight, within_depth};

/// Schemas looked at for one set of arguments. A schema may branch without end; when this is used up, nothing more is decoded.
const MAX_LOOKS: usize = 20_000;
/// References and branches followed for one place.
const MAX_HOPS: usize = 16;
/// Arrays and objects in each other, with all that was decoded in them: a frame may have one more, for what lies in the innermost. Each text begins a reading of its own, so the reader's bound on
/// depth is no bound on texts inside texts.
const MAX_LEVELS: u32 = MAX_DEPTH - 1;
/// Texts inside texts. A model may encode twice by mistake; each text is read again with all that is in it.
const MAX_TEXTS_DEEP: usize = 3;
/// Bytes of memory that all decoded texts of one set of arguments may take: as much as arguments of the usual length (1 MiB) may when they are no texts.
const MAX_WEIGHT: usize = ARGS_WEIGHT << 20;

/// Types that a schema takes, as bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Types(u8);

impl Types {
    const NONE: Types = Types(0);
    const OBJECT: Types = Types(1);
    const ARRAY: Types = Types(2);
    const TEXT: Types = Types(4);
    const REST: Types = Types(8);
    const ALL: Types = Types(15);

    fn of_name(name: &str) -> Types {
        match name {
            "object" => Types::OBJECT,
            "array" => Types::ARRAY,
            "string" => Types::TEXT,
            _ => Types::REST,
        }
    }

    fn of_value(value: &Value) -> Types {
        match value {
            Value::Object(_) => Types::OBJECT,
            Value::Array(_) => Types::ARRAY,
            Value::String(_) => Types::TEXT,
            _ => Types::REST,
        }
    }

    fn and(self, other: Types) -> Types {
        Types(self.0 & other.0)
    }

    fn or(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    fn has(self, other: Types) -> bool {
        self.0 & other.0 != 0
    }
}

/// Decodes in place; gives the JSON pointers of what was decoded.
pub(super) fn decode_texts(schema: &Value, args: &mut Value) -> Vec<String> {
    let mut decoder = Decoder { root: schema, looks: 0, weight: 0, decoded: Vec::new() };
    decoder.at(&[schema], args, "", Below::default());
    decoder.decoded
}

/// How far below the root a place is.
#[derive(Clone, Copy, Default)]
struct Below {
    levels: u32,
    texts: usize,
}

impl Below {
    fn deeper(self) -> Below {
        Below { levels: self.levels + 1, ..self }
    }
}

struct Decoder<'a> {
    root: &'a Value,
    looks: usize,
    weight: usize,
    decoded: Vec<String>,
}

impl<'a> Decoder<'a> {
    /// Whether what the text would become may still be kept; then it counts.
    fn has_room(&mut self, text: &str) -> bool {
        let weight = self.weight.saturating_add(weight(text));
        let fits = weight <= MAX_WEIGHT;
        if fits {
            self.weight = weight;
        }
        fits
    }

    /// Looks at one place, for which all of these schemas hold.
    fn at(&mut self, schemas: &[&'a Value], value: &mut Value, path: &str, mut below_root: Below) {
        if let Value::String(text) = &*value {
            let taken = schemas.iter().fold(Types::ALL, |taken, schema| taken.and(self.types(schema, 0)));
            let decodable = !taken.has(Types::TEXT) && taken.has(Types::OBJECT.or(Types::ARRAY)) && self.looks < MAX_LOOKS;
            let decodable = decodable && below_root.texts < MAX_TEXTS_DEEP && self.has_room(text);
            let Some(decoded) = decodable.then(|| serde_json::from_str::<Value>(text).ok()).flatten() else {
                return;
            };
            let fits = within_depth(&decoded, MAX_LEVELS.saturating_sub(below_root.levels));
            if !fits || !taken.and(Types::OBJECT.or(Types::ARRAY)).has(Types::of_value(&decoded)) {
                return;
            }
            *value = decoded;
            below_root.texts += 1;
            self.decoded.push(path.to_owned());
        }
        if !value.is_object() && !value.is_array() {
            return;
        }
        let mut all = Vec::new();
        for schema in schemas {
            self.gather(schema, value, &mut all, 0);
        }
        match value {
            Value::Object(members) => self.members(&all, members, path, below_root.deeper()),
            Value::Array(items) => self.items(&all, items, path, below_root.deeper()),
            _ => {}
        }
    }

    fn members(&mut self, schemas: &[&'a Map<String, Value>], members: &mut Map<String, Value>, path: &str, below_root: Below) {
        for (key, member) in members {
            if !may_hold_text(member) {
                continue;
            }
            let mut below_it: Vec<&Value> = Vec::new();
            for schema in schemas {
                match schema.get("properties").and_then(|properties| properties.get(key)) {
                    Some(property) => below_it.push(property),
                    // With `patternProperties` it is not plain which schema holds.
                    None if !schema.contains_key("patternProperties") => below_it.extend(schema.get("additionalProperties")),
                    None => {}
                }
            }
            if !below_it.is_empty() {
                self.at(&below_it, member, &below(path, key), below_root);
            }
        }
    }

    fn items(&mut self, schemas: &[&'a Map<String, Value>], items: &mut [Value], path: &str, below_root: Below) {
        for (index, item) in items.iter_mut().enumerate() {
            if !may_hold_text(item) {
                continue;
            }
            let mut below_it: Vec<&Value> = Vec::new();
            for schema in schemas {
                let first = schema.get("prefixItems").or_else(|| schema.get("items").filter(|items| items.is_array()));
                match first.and_then(|first| first.get(index)) {
                    Some(own) => below_it.push(own),
                    None => below_it.extend(schema.get("items").filter(|items| items.is_object())),
                }
            }
            if !below_it.is_empty() {
                self.at(&below_it, item, &format!("{path}/{index}"), below_root);
            }
        }
    }

    /// Every schema object that holds for this object or array: the schema, what it refers to, all of `allOf`, and the only branch that takes it.
    fn gather(&mut self, schema: &'a Value, value: &Value, all: &mut Vec<&'a Map<String, Value>>, hops: usize) {
        self.looks += 1;
        let Value::Object(map) = schema else { return };
        if hops > MAX_HOPS || self.looks > MAX_LOOKS {
            return;
        }
        all.push(map);
        if let Some(target) = self.target(map) {
            self.gather(target, value, all, hops + 1);
        }
        for part in list(map, "allOf") {
            self.gather(part, value, all, hops + 1);
        }
        for keyword in ["anyOf", "oneOf"] {
            let wanted = Types::of_value(value);
            let mut fitting = list(map, keyword).filter(|branch| self.types(branch, hops + 1).has(wanted));
            if let (Some(branch), None) = (fitting.next(), fitting.next()) {
                drop(fitting);
                self.gather(branch, value, all, hops + 1);
            }
        }
    }

    /// The types a schema takes; all of them where it does not say, or where it is too deep to tell.
    fn types(&mut self, schema: &'a Value, hops: usize) -> Types {
        self.looks += 1;
        let map = match schema {
            Value::Bool(false) => return Types::NONE,
            Value::Object(map) if hops <= MAX_HOPS && self.looks <= MAX_LOOKS => map,
            _ => return Types::ALL,
        };
        let mut taken = match map.get("type") {
            Some(Value::String(name)) => Types::of_name(name),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).fold(Types::NONE, |taken, name| taken.or(Types::of_name(name)))
            }
            _ => Types::ALL,
        };
        if let Some(value) = map.get("const") {
            taken = taken.and(Types::of_value(value));
        }
        if let Some(Value::Array(options)) = map.get("enum") {
            taken = taken.and(options.iter().fold(Types::NONE, |taken, option| taken.or(Types::of_value(option))));
        }
        if let Some(target) = self.target(map) {
            taken = taken.and(self.types(target, hops + 1));
        }
        for part in list(map, "allOf") {
            taken = taken.and(self.types(part, hops + 1));
        }
        for keyword in ["anyOf", "oneOf"] {
            if map.contains_key(keyword) {
                let branches = list(map, keyword).fold(Types::NONE, |taken, branch| taken.or(self.types(branch, hops + 1)));
                taken = taken.and(branches);
            }
        }
        taken
    }

    fn target(&self, map: &'a Map<String, Value>) -> Option<&'a Value> {
        let target = map.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(target)
    }
}

fn list<'a>(map: &'a Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    map.get(keyword).and_then(Value::as_array).into_iter().flatten()
}

fn may_hold_text(value: &Value) -> bool {
    value.is_string() || value.is_object() || value.is_array()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decoded(schema: Value, mut args: Value) -> (Value, Vec<String>) {
        let pointers = decode_texts(&schema, &mut args);
        (args, pointers)
    }

    #[test]
    fn a_text_is_decoded_where_an_object_or_array_is_wanted() {
        let schema = json!({"properties": {"o": {"type": "object"}, "a/b": {"type": ["array", "null"]}}});
        let (args, pointers) = decoded(schema, json!({"o": "{\"a\":1}", "a/b": "[1]"}));
        assert_eq!(args, json!({"o": {"a": 1}, "a/b": [1]}));
        assert_eq!(pointers, ["/o", "/a~1b"]);
    }

    #[test]
    fn a_text_stays_where_a_text_is_taken_or_nothing_is_said() {
        let schema = json!({"properties": {
            "s": {"type": "string"}, "any": {}, "both": {"type": ["object", "string"]},
            "union": {"anyOf": [{"type": "object"}, {"type": "string"}]}, "options": {"enum": ["{}", {}]},
        }});
        let args = json!({"s": "{}", "any": "{}", "both": "{}", "union": "{}", "options": "{}", "unknown": "{}"});
        assert_eq!(decoded(schema, args.clone()), (args, vec![]));
    }

    #[test]
    fn a_text_of_another_kind_stays() {
        let schema = json!({"properties": {"o": {"type": "object"}, "n": {"type": "integer"}}});
        for args in [json!({"o": "[1]"}), json!({"o": "1"}), json!({"o": "{oops"}), json!({"n": "1"})] {
            assert_eq!(decoded(schema.clone(), args.clone()), (args, vec![]));
        }
    }

    #[test]
    fn decoding_reaches_through_references_items_branches_and_decoded_texts() {
        let schema = json!({
            "$defs": {"row": {"type": "object", "properties": {"inner": {"anyOf": [{"type": "object"}, {"type": "null"}]}}}},
            "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/row"}}},
        });
        let (args, pointers) = decoded(schema, json!({"rows": "[{\"inner\": \"{}\"}, \"{\\\"inner\\\": \\\"{}\\\"}\"]"}));
        assert_eq!(args, json!({"rows": [{"inner": {}}, {"inner": {}}]}));
        assert_eq!(pointers, ["/rows", "/rows/0/inner", "/rows/1", "/rows/1/inner"]);
    }

    #[test]
    fn a_branching_schema_does_not_hold_us_up() {
        let branch = json!({"anyOf": [{"$ref": "#/properties/a"}, {"$ref": "#/properties/a"}, {"$ref": "#/properties/a"}]});
        let started = std::time::Instant::now();
        decoded(json!({"properties": {"a": branch}}), json!({"a": "{}"}));
        assert!(started.elapsed() < std::time::Duration::from_secs(1));
    }

    #[test]
    fn texts_that_are_short_and_large_as_values_stay_texts() {
        let schema = json!({"properties": {"a": {"type": "array"}, "b": {"type": "array"}}});
        let half = MAX_WEIGHT / 2 / weight("[[[0]]]");
        let text = |times: usize| format!("[{}[]]", "[[[0]]],".repeat(times));
        assert_eq!(decoded(schema.clone(), json!({"a": text(half * 3)})).1, Vec::<String>::new());
        assert_eq!(decoded(schema.clone(), json!({"a": text(half * 2 / 3), "b": text(half * 2 / 3)})).1.len(), 2);
        // Two that would do alone do not do together: the second stays.
        assert_eq!(decoded(schema, json!({"a": text(half * 4 / 3), "b": text(half * 4 / 3)})).1, ["/a"]);
    }

    #[test]
    fn texts_inside_texts_are_decoded_no_deeper_than_a_frame_may_be() {
        let schema = json!({"$defs": {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}}, "properties": {"a": {"$ref": "#/$defs/l"}}});
        // Each text is an array of 100 levels around the next text.
        let mut inner = String::from("[]");
        for _ in 0..8 {
            inner = format!("{}{}{}", "[".repeat(100), serde_json::to_string(&inner).unwrap(), "]".repeat(100));
            if inner.len() > 1 << 20 {
                break;
            }
        }
        let mut args = json!({"a": inner});
        decode_texts(&schema, &mut args);
        assert!(within_depth(&args, MAX_LEVELS));
        // Twice encoded is still understood.
        let mut args = json!({"a": "[\"[]\"]"});
        assert_eq!(decode_texts(&schema, &mut args), ["/a", "/a/0"]);
        assert_eq!(args, json!({"a": [[]]}));
    }
}
