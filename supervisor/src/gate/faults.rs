//! What is wrong with arguments, in words that a model can act on.

use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::{Value, json};

use crate::catalog::cleaned_line;

/// Characters of one fault's words; the value itself is never in them, it may be large or secret.
const WORDS_CHARS: usize = 240;
/// Unknown keys that are named each.
const MAX_KEYS: usize = 5;

/// One fault.
#[derive(Debug, PartialEq)]
pub(super) struct Fault {
    /// JSON pointer of the place; empty for the arguments as a whole.
    path: String,
    keyword: String,
    words: String,
    wanted: Option<String>,
    given: Option<&'static str>,
}

impl Fault {
    /// Another type than the schema takes.
    pub(super) fn wrong_type(path: &str, wanted: &str, value: &Value) -> Fault {
        let given = type_name(value);
        Fault {
            path: path.to_owned(),
            keyword: "type".to_owned(),
            words: format!("must be {wanted}, {given} given"),
            wanted: Some(wanted.to_owned()),
            given: Some(given),
        }
    }

    fn other(path: String, keyword: &str, words: &str) -> Fault {
        Fault { path, keyword: keyword.to_owned(), words: cleaned_line(words, WORDS_CHARS).into_owned(), wanted: None, given: None }
    }

    /// The fault as the body gets it in `error.data.errors`.
    pub(super) fn as_value(&self) -> Value {
        let mut value = json!({"path": cleaned_line(&self.path, WORDS_CHARS), "keyword": self.keyword, "message": self.words});
        if let Some(wanted) = &self.wanted {
            value["wanted"] = Value::from(wanted.as_str());
        }
        if let Some(given) = self.given {
            value["given"] = Value::from(given);
        }
        value
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the whole".into() } else { cleaned_line(&self.path, WORDS_CHARS) };
        write!(f, "{path} {}", self.words)
    }
}

/// The faults that one error of the validator stands for.
pub(super) fn faults(error: &ValidationError<'_>) -> Vec<Fault> {
    let path = error.instance_path().as_str();
    let keyword = error.kind().keyword();
    match error.kind() {
        ValidationErrorKind::Type { kind } => {
            vec![Fault::wrong_type(path, &type_words(kind), error.instance())]
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![Fault::other(below(path, name), keyword, "is missing")]
        }
        ValidationErrorKind::AdditionalProperties { unexpected } | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().take(MAX_KEYS).map(|key| Fault::other(below(path, key), keyword, "is not a known argument")).collect()
        }
        ValidationErrorKind::Enum { options } => vec![Fault::other(path.to_owned(), keyword, &format!("must be one of {options}"))],
        ValidationErrorKind::Constant { expected_value } => {
            vec![Fault::other(path.to_owned(), keyword, &format!("must be {expected_value}"))]
        }
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            let given = type_name(error.instance());
            vec![Fault {
                given: Some(given),
                ..Fault::other(path.to_owned(), keyword, &format!("fits none of the forms it may have, {given} given"))
            }]
        }
        _ => vec![Fault::other(path.to_owned(), keyword, &format!("is wrong: {}", error.masked_with("the value")))],
    }
}

fn type_words(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or "),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The pointer of a member.
pub(super) fn below(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}
