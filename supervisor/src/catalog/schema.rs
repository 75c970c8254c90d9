//! A tool's JSON Schema: read when somebody looks, compiled when somebody calls.
//!
//! A run looks at a handful of the thousands of schemas in its catalog, so a schema from a file stays a slice of the file's text until then.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::extent::fits_in;
use super::schema_cost;
use super::schema_effort::{self, Scale};
use super::text::{Lines, cleaned};

/// Bytes that one compiled pattern may take: each step through a text may visit all of its states, so this bounds time as well as memory.
const PATTERN_BYTES: usize = 32 << 10;
/// Bytes of one pattern's cache of states, which is what makes most patterns quick.
const PATTERN_CACHE_BYTES: usize = 1 << 20;
/// Patterns of one schema that may be left out because the linear engine lacks what they need.
const MAX_LEFT_OUT: usize = 16;
/// Levels of nesting up to which a text is certain to be readable later; the reader's own limit is 128.
const PLAIN_DEPTH: usize = 100;
/// Digits in a row that a number of any type can take; `1` and 400 zeros overflow.
const PLAIN_DIGITS: usize = 300;

/// A JSON Schema, exact as its origin gave it.
pub struct Schema {
    text: Option<(Arc<str>, Range<usize>)>,
    value: OnceLock<Value>,
    validator: OnceLock<Result<Validator, SchemaProblem>>,
    scale: OnceLock<Scale>,
}

/// Why a schema cannot be used to check a value.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SchemaProblem {
    /// It is not a JSON Schema, or needs something that is not in it (references to other documents are never fetched).
    #[error("{message}{}", at(.path))]
    Invalid {
        /// What is wrong, in one line.
        message: String,
        /// JSON pointer of the place in the schema; empty at the root.
        path: String,
    },
    /// A part of it gives itself an address of its own (`$id`).
    #[error("a part of it has its own $id, which is not supported")]
    InnerAddress,
    /// Making it ready could take too long.
    #[error("it refers to too many places in itself, or has too many patterns")]
    TooLarge,
    /// Checking one value against it could take too long.
    #[error("it refers to itself without end, or branches into more than {limit} checks for one value")]
    TooCostly {
        /// The most checks of one value.
        limit: u64,
    },
}

fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" (at {})", cleaned(path, 200, Lines::Join)) }
}

impl Schema {
    /// A schema that is a part of a text whose syntax has been checked.
    ///
    /// # Errors
    /// When that part cannot be read after all, e.g. since it nests too deep.
    pub(super) fn from_text(text: &Arc<str>, range: Range<usize>) -> Result<Schema, serde_json::Error> {
        let part = &text[range.clone()];
        if is_plain(part) {
            return Ok(Schema {
                text: Some((Arc::clone(text), range)),
                value: OnceLock::new(),
                validator: OnceLock::new(),
                scale: OnceLock::new(),
            });
        }
        serde_json::from_str::<Value>(part).map(Schema::from)
    }

    /// Whether it is an object, without reading it.
    pub(super) fn is_object(&self) -> bool {
        match &self.text {
            Some((text, range)) => text[range.clone()].starts_with('{'),
            None => self.value().is_object(),
        }
    }

    /// The schema itself.
    pub fn value(&self) -> &Value {
        self.value.get_or_init(|| match &self.text {
            // `from_text` lets no text through that fails here; should it, `false` is the schema that nothing satisfies.
            Some((text, range)) => serde_json::from_str(&text[range.clone()]).unwrap_or(Value::Bool(false)),
            None => Value::Bool(false),
        })
    }

    /// The compiled form, made on first use.
    ///
    /// Patterns run on the linear-time engine, not on the backtracking one: they come from strangers, and one `(a+)+$` would hold the
    /// supervisor for minutes. A pattern that this engine cannot express (look-around, back-references) is left out, for the tool itself to
    /// check: refusing the whole tool would cost more than a check that is not a wall. So is one that is too large when compiled.
    ///
    /// # Errors
    /// When the schema is broken or too costly. Then no argument can be checked, and no call may go.
    pub fn validator(&self) -> Result<&Validator, &SchemaProblem> {
        self.validator.get_or_init(|| compile(self.value())).as_ref()
    }

    /// Whether [`Schema::validator`] is there already, or made in less time than a change of threads takes.
    pub(crate) fn is_quick(&self) -> bool {
        /// Bytes of a schema that compiles in a fraction of a millisecond.
        const QUICK_BYTES: usize = 8 << 10;
        self.validator.get().is_some()
            || match &self.text {
                Some((_, range)) => range.len() <= QUICK_BYTES,
                None => fits_in(self.value(), QUICK_BYTES),
            }
    }

    /// Whether checking this value with [`Schema::validator`] is bounded work; ask before.
    pub fn is_bounded_for(&self, value: &Value) -> bool {
        let scale = *self.scale.get_or_init(|| Scale::of(self.value()));
        schema_effort::is_bounded(self.value(), scale, value)
    }

    /// Whether listing everything that is wrong with this value is little work; the list is made as a whole, however little of it is used.
    pub fn is_listable_for(&self, value: &Value) -> bool {
        schema_effort::is_listable(self.value(), value)
    }
}

fn compile(schema: &Value) -> Result<Validator, SchemaProblem> {
    if schema_cost::is_too_large(schema) {
        return Err(SchemaProblem::TooLarge);
    }
    if let Some(target) = schema_cost::lost_reference(schema) {
        let target = cleaned(target, 100, Lines::Join);
        let message = format!("it refers to {target:?}, which is not one certain place in it");
        return Err(SchemaProblem::Invalid { message, path: String::new() });
    }
    if schema.get("$id").or_else(|| schema.get("id")).and_then(Value::as_str).is_some_and(|id| id.contains("json-schema.org/")) {
        // Its references could then mean the published schema of that name.
        return Err(SchemaProblem::InnerAddress);
    }
    if schema_cost::is_too_costly(schema) {
        return Err(SchemaProblem::TooCostly { limit: schema_cost::MAX_CHECKS });
    }
    if schema_cost::has_inner_address(schema) {
        return Err(SchemaProblem::InnerAddress);
    }
    let options = || {
        jsonschema::options()
            .offline()
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_CACHE_BYTES))
    };
    let first = match options().build(schema) {
        Ok(validator) => return Ok(validator),
        Err(error) => error,
    };
    // The slow way, taken by few schemas: a copy without the patterns that the engine names one after the other.
    let mut relaxed = schema.clone();
    let mut error = first;
    for _ in 0..MAX_LEFT_OUT {
        if !leave_out_pattern(&mut relaxed, &error) {
            break;
        }
        match options().build(&relaxed) {
            Ok(validator) => return Ok(validator),
            Err(next) => error = next,
        }
    }
    Err(SchemaProblem::Invalid {
        message: cleaned(&error.masked_with("the value given").to_string(), 300, Lines::Join).into_owned(),
        path: error.instance_path().as_str().to_owned(),
    })
}

/// Removes the `pattern` that an error of compilation points at; false when it points at something else.
fn leave_out_pattern(schema: &mut Value, error: &ValidationError<'_>) -> bool {
    let Some((parent, "pattern")) = error.instance_path().as_str().rsplit_once('/') else {
        return false;
    };
    let Some(Value::Object(parent)) = schema.pointer_mut(parent) else {
        return false;
    };
    parent.get("pattern").is_some_and(Value::is_string) && parent.remove("pattern").is_some()
}

/// Whether a text of correct syntax is certain to be readable: no deep nesting, no number that may overflow, no escape that may be half a
/// character. The few others are read at once, so that the file's error has a line and not a call.
fn is_plain(text: &str) -> bool {
    let mut depth = 0usize;
    let mut digits = 0usize;
    let mut in_string = false;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if in_string {
            match byte {
                b'"' => in_string = false,
                b'\\' if bytes.next() == Some(b'u') => return false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'0'..=b'9' => {
                digits += 1;
                if digits > PLAIN_DIGITS {
                    return false;
                }
                continue;
            }
            b'e' | b'E' if digits > 0 => return false,
            _ => {}
        }
        digits = 0;
        if depth > PLAIN_DEPTH {
            return false;
        }
    }
    true
}

impl From<Value> for Schema {
    fn from(value: Value) -> Schema {
        Schema { text: None, value: OnceLock::from(value), validator: OnceLock::new(), scale: OnceLock::new() }
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("read", &self.value.get().is_some()).field("compiled", &self.validator.get().is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem(schema: Value) -> SchemaProblem {
        Schema::from(schema).validator().map(|_| ()).unwrap_err().clone()
    }

    #[test]
    fn a_schema_in_a_text_is_read_when_it_is_looked_at() {
        let text: Arc<str> = "[{\"type\": \"object\"}]".into();
        let schema = Schema::from_text(&text, 1..text.len() - 1).unwrap();
        assert!(schema.value.get().is_none());
        assert_eq!(*schema.value(), json!({"type": "object"}));
    }

    #[test]
    fn what_cannot_be_read_fails_at_once() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for bad in ["{\"a\": 1e999}", "{\"a\": \"\\ud800\"}", &format!("1{}", "0".repeat(400)), &deep] {
            let text: Arc<str> = bad.into();
            assert!(Schema::from_text(&text, 0..text.len()).is_err(), "{bad:.40}");
        }
        let text: Arc<str> = "{\"a\": 1e9, \"b\": \"\\u00e9\"}".into();
        assert_eq!(*Schema::from_text(&text, 0..text.len()).unwrap().value(), json!({"a": 1e9, "b": "é"}));
    }

    #[test]
    fn a_broken_schema_names_what_is_wrong_and_where() {
        let problem = problem(json!({"type": "object", "properties": {"a": {"type": "strng"}}}));
        assert!(matches!(&problem, SchemaProblem::Invalid { path, .. } if path == "/properties/a/type"), "{problem:?}");
    }

    #[test]
    fn references_to_other_documents_are_never_fetched() {
        for uri in ["http://127.0.0.1:9/x.json", "file:///etc/hostname", "other.json"] {
            assert!(matches!(problem(json!({"properties": {"a": {"$ref": uri}}})), SchemaProblem::Invalid { .. }));
        }
    }

    #[test]
    fn a_pattern_with_look_around_is_left_to_the_tool() {
        let schema = Schema::from(json!({
            "type": "object",
            "properties": {"a": {"type": "string", "pattern": "^(?!x).*$"}, "b": {"type": "string", "pattern": "^[0-9]+$"}},
        }));
        let validator = schema.validator().unwrap();
        assert!(validator.is_valid(&json!({"a": "x", "b": "12"})));
        assert!(!validator.is_valid(&json!({"a": 1})));
        assert!(!validator.is_valid(&json!({"b": "x"})));
    }

    #[test]
    fn an_evil_pattern_takes_linear_time() {
        let schema = Schema::from(json!({"type": "string", "pattern": "^(a+)+$"}));
        let started = std::time::Instant::now();
        assert!(!schema.validator().unwrap().is_valid(&json!(format!("{}!", "a".repeat(50_000)))));
        assert!(started.elapsed() < std::time::Duration::from_secs(2));
    }

    #[test]
    fn a_pattern_that_explodes_when_compiled_does_not_take_the_memory() {
        let schema = Schema::from(json!({"type": "string", "pattern": "((a{500}){500}){500}"}));
        let _ = schema.validator();
    }

    #[test]
    fn a_pattern_of_many_states_is_left_to_the_tool() {
        let schema = Schema::from(json!({"type": "string", "pattern": "^[01]*1[01]{8000}$"}));
        let text = json!("01".repeat(50_000));
        let started = std::time::Instant::now();
        assert!(schema.validator().unwrap().is_valid(&text));
        assert!(started.elapsed() < std::time::Duration::from_secs(2));
        assert!(!schema.is_bounded_for(&text), "charged all the same");
    }

    #[test]
    fn usual_patterns_stay() {
        for pattern in [
            "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
            "^[^@\\s]+@[^@\\s]+\\.[a-z]{2,63}$",
            "^\\d{4}-\\d{2}$",
            "^.{1,64}$",
        ] {
            let schema = Schema::from(json!({"type": "string", "pattern": pattern}));
            assert!(!schema.validator().unwrap().is_valid(&json!("")), "{pattern}");
            assert!(schema.is_bounded_for(&json!("x".repeat(1000))), "{pattern}");
        }
    }
}
