//! Arguments against the tool's schema.

use serde_json::{Map, Value, json};

use super::decode::decode_texts;
use super::faults::{Fault, faults};
use crate::catalog::{CallCode, CallFailure, SchemaProblem, Tool, fits_in, quoted};

/// Faults that a message and its data name; a model mends a few at a time.
const MAX_FAULTS: usize = 5;

/// Bytes of arguments as JSON up to which their faults are listed; of more, only the verdict is given.
const MAX_LISTED_BYTES: usize = 64 << 10;

/// Arguments that the tool's schema allows. Only [`check_arguments`] makes them.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct CheckedArguments {
    /// A JSON object.
    pub args: Value,
    /// JSON pointers of what was sent as JSON text and has been decoded, since the schema wants an object or array there.
    pub decoded: Vec<String>,
}

/// Checks arguments against the tool's schema. `null` means `{}`.
///
/// A text where the schema wants an object or array, and takes no text, is decoded if it is the JSON of one: models often send nested
/// arguments so. A text where the schema takes a text is never touched, whatever it looks like.
///
/// # Errors
/// `invalid_arguments` with the first five faults in `data.errors`, each with its JSON pointer (none for very large arguments); `too_large` when the check itself would take
/// too long; `tool_unavailable` when the schema itself is
/// broken: what cannot be checked does not go.
pub fn check_arguments(tool: &Tool, args: Value) -> Result<CheckedArguments, CallFailure> {
    let mut args = match args {
        Value::Null => Value::Object(Map::new()),
        Value::Object(_) => args,
        other => {
            let fault = Fault::wrong_type("", "object", &other);
            return Err(refused(tool, &[fault], false));
        }
    };
    let validator = tool.parameters.validator().map_err(|problem| broken(tool, problem))?;
    if !tool.parameters.is_bounded_for(&args) {
        return Err(too_much(tool));
    }
    if validator.is_valid(&args) {
        return Ok(CheckedArguments { args, decoded: Vec::new() });
    }
    let decoded = decode_texts(tool.parameters.value(), &mut args);
    if !decoded.is_empty() && !tool.parameters.is_bounded_for(&args) {
        return Err(too_much(tool));
    }
    if !decoded.is_empty() && validator.is_valid(&args) {
        return Ok(CheckedArguments { args, decoded });
    }
    // The validator gathers every error before it gives the first, and so does one `anyOf` inside it.
    if !fits_in(&args, MAX_LISTED_BYTES) || !tool.parameters.is_listable_for(&args) {
        return Err(refused_as_a_whole(tool));
    }
    let mut found: Vec<Fault> = validator.iter_errors(&args).take(MAX_FAULTS + 1).flat_map(|error| faults(&error)).collect();
    let more = found.len() > MAX_FAULTS;
    found.truncate(MAX_FAULTS);
    Err(refused(tool, &found, more))
}

fn refused(tool: &Tool, faults: &[Fault], more: bool) -> CallFailure {
    let list = faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("; ");
    let tail = if more { "; and more" } else { "" };
    let message = format!("arguments of {} do not fit its schema: {list}{tail}", quoted(&tool.id));
    let errors: Vec<Value> = faults.iter().map(Fault::as_value).collect();
    CallFailure::new(CallCode::InvalidArguments, &tool.id, message).with_data(json!({"errors": errors, "more": more}))
}

fn refused_as_a_whole(tool: &Tool) -> CallFailure {
    let message = format!("arguments of {} do not fit its schema; they are too large to say where, try with fewer", quoted(&tool.id));
    CallFailure::new(CallCode::InvalidArguments, &tool.id, message).with_data(json!({"errors": [], "more": true}))
}

fn too_much(tool: &Tool) -> CallFailure {
    let message = format!("arguments of {} take too long to check against its schema; send less at once", quoted(&tool.id));
    CallFailure::new(CallCode::TooLarge, &tool.id, message)
}

fn broken(tool: &Tool, problem: &SchemaProblem) -> CallFailure {
    let message = format!("the schema of {} is broken, so no arguments can be checked: {problem}; use another tool", quoted(&tool.id));
    CallFailure::new(CallCode::ToolUnavailable, &tool.id, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Source;

    fn tool(schema: Value) -> Tool {
        Tool::new(Source::Client, "demo", "edit", "", schema).with_id("demo:edit")
    }

    fn edit() -> Tool {
        tool(json!({
            "type": "object",
            "properties": {"fields": {"type": "object"}, "note": {"type": "string"}, "n": {"type": "integer", "minimum": 1}},
            "required": ["fields"],
            "additionalProperties": false,
        }))
    }

    #[test]
    fn good_arguments_come_back_as_they_are() {
        let args = json!({"fields": {"a": 1}, "note": "{\"not\": \"decoded\"}"});
        assert_eq!(check_arguments(&edit(), args.clone()), Ok(CheckedArguments { args, decoded: vec![] }));
    }

    #[test]
    fn null_means_no_arguments() {
        let any = tool(json!({"type": "object"}));
        assert_eq!(check_arguments(&any, Value::Null).unwrap().args, json!({}));
        for bad in [json!([]), json!("x"), json!(1), json!(true)] {
            assert_eq!(check_arguments(&any, bad).unwrap_err().code, CallCode::InvalidArguments);
        }
    }

    #[test]
    fn a_refusal_names_field_wanted_and_given() {
        let failure = check_arguments(&edit(), json!({"fields": "oops", "n": 0, "extra": 1})).unwrap_err();
        assert_eq!(failure.code, CallCode::InvalidArguments);
        for part in ["\"demo:edit\"", "/fields must be object, string given", "/n", "extra"] {
            assert!(failure.message.contains(part), "{part} in {}", failure.message);
        }
        let errors = failure.data["errors"].as_array().unwrap();
        let fields = errors.iter().find(|error| error["path"] == "/fields").unwrap();
        assert_eq!((&fields["wanted"], &fields["given"]), (&json!("object"), &json!("string")));
    }

    #[test]
    fn a_missing_field_is_named_by_its_own_pointer() {
        let failure = check_arguments(&edit(), json!({})).unwrap_err();
        assert!(failure.message.contains("/fields is missing"), "{}", failure.message);
        assert_eq!(failure.data["errors"][0]["path"], "/fields");
    }

    #[test]
    fn faults_are_bounded() {
        let schema = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        let many: Map<String, Value> = (0..500).map(|n| (format!("k{n}"), json!("x".repeat(100)))).collect();
        let failure = check_arguments(&tool(schema), Value::Object(many)).unwrap_err();
        assert_eq!((failure.data["errors"].as_array().unwrap().len(), &failure.data["more"]), (5, &json!(true)));
        assert!(failure.message.len() < 2000, "{}", failure.message.len());
    }

    #[test]
    fn what_would_have_very_many_faults_is_refused_without_listing_them() {
        let names: Vec<String> = (0..60).map(|n| format!("field{n}")).collect();
        let schema = json!({"type": "object", "properties": {"rows": {"anyOf": [{"type": "array", "items": {"type": "object", "required": names}}]}}});
        let started = std::time::Instant::now();
        for (rows, code) in [(5_000, CallCode::InvalidArguments), (30_000, CallCode::InvalidArguments), (300_000, CallCode::TooLarge)] {
            let failure = check_arguments(&tool(schema.clone()), json!({"rows": vec![json!({}); rows]})).unwrap_err();
            assert_eq!(failure.code, code, "{rows}");
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "{:?}", started.elapsed());
    }

    #[test]
    fn a_broken_schema_lets_nothing_through() {
        for schema in [json!({"type": "strng"}), json!({"$ref": "#"}), json!({"$ref": "http://127.0.0.1:9/"})] {
            let failure = check_arguments(&tool(schema), json!({})).unwrap_err();
            assert_eq!(failure.code, CallCode::ToolUnavailable, "{}", failure.message);
        }
    }
}
