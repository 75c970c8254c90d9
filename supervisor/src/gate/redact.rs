//! Arguments and values as logs may keep them: secrets masked, and short.
//!
//! Only copies for logs pass here. What a tool or a body gets is never masked.

use serde_json::{Map, Value};

/// Stands where a secret was.
pub const MASK: &str = "[masked]";
/// Stands where something was left out for its length.
const CUT: &str = "…";

/// Bytes of text that one value in a log may have, about: a step of each of a thousand calls then takes megabytes, not gigabytes.
const MAX_BYTES: usize = 4 * 1024;
/// Bytes of one text in it.
const MAX_TEXT_BYTES: usize = 1024;
/// Levels of it.
const MAX_DEPTH: usize = 16;
/// What a member costs beside its texts.
const MEMBER_BYTES: usize = 8;

/// Words in the name of a field that say that its value is a secret.
const SECRET_WORDS: [&str; 15] = [
    "token",
    "secret",
    "secrets",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "authorization",
    "credential",
    "credentials",
    "cookie",
    "bearer",
    "tokens",
    "passcode",
    "otp",
];
/// Pairs of words that do; `key` and `id` alone say nothing.
const SECRET_PAIRS: [(&str, &str); 9] = [
    ("api", "key"),
    ("private", "key"),
    ("access", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("session", "key"),
    ("session", "id"),
    ("auth", "header"),
    ("client", "key"),
];
/// The same run together.
const SECRET_RUNS: [&str; 10] = [
    "apikey",
    "privatekey",
    "accesskey",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "clientsecret",
    "setcookie",
    "sessionid",
    "sessionkey",
];

/// Schemas looked at for one value. A schema may branch without end; when this is used up, the rest is masked.
const MAX_LOOKS: usize = 20_000;
/// References and branches followed for one place.
const MAX_HOPS: usize = 16;

/// A copy for a log: every field masked whose name looks like a secret's, or that `schema` marks (`writeOnly`, `format: "password"`, `x-secret`)
/// in any of its branches; long texts, long lists and deep parts cut.
pub fn redacted(schema: Option<&Value>, value: &Value) -> Value {
    let mut copier = Copier { root: schema.unwrap_or(&Value::Null), looks: 0, room: MAX_BYTES };
    let schemas: Vec<&Value> = schema.into_iter().collect();
    copier.copy(&schemas, value, MAX_DEPTH)
}

struct Copier<'a> {
    root: &'a Value,
    looks: usize,
    room: usize,
}

impl<'a> Copier<'a> {
    fn copy(&mut self, schemas: &[&'a Value], value: &Value, levels: usize) -> Value {
        let mut holding = Vec::new();
        for schema in schemas {
            self.gather(schema, &mut holding, 0);
        }
        if (self.looks > MAX_LOOKS || holding.iter().any(|schema| marks_a_secret(schema))) && !value.is_null() {
            return self.text(MASK);
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Object(_) | Value::Array(_) if levels == 0 => self.text(CUT),
            Value::Object(map) => self.members(&holding, map, levels - 1),
            Value::Array(items) => self.items(&holding, items, levels - 1),
            plain => plain.clone(),
        }
    }

    fn members(&mut self, holding: &[&'a Map<String, Value>], map: &Map<String, Value>, levels: usize) -> Value {
        let mut kept = Map::new();
        for (key, member) in map {
            if !self.has_room() {
                kept.insert(CUT.to_owned(), Value::from(map.len() - kept.len()));
                break;
            }
            let name = self.cut(key);
            let member = if names_a_secret(key) && !member.is_null() {
                self.text(MASK)
            } else {
                let below: Vec<&Value> = holding.iter().flat_map(|schema| property(schema, key)).collect();
                self.copy(&below, member, levels)
            };
            kept.insert(name, member);
        }
        Value::Object(kept)
    }

    fn items(&mut self, holding: &[&'a Map<String, Value>], items: &[Value], levels: usize) -> Value {
        let mut kept = Vec::new();
        for (index, item) in items.iter().enumerate() {
            if !self.has_room() {
                kept.push(Value::from(CUT));
                break;
            }
            let below: Vec<&Value> = holding.iter().flat_map(|schema| element(schema, index)).collect();
            kept.push(self.copy(&below, item, levels));
        }
        Value::Array(kept)
    }

    /// Every schema object that may hold for this place. A branch that does not hold may mask too much, never too little.
    fn gather(&mut self, schema: &'a Value, all: &mut Vec<&'a Map<String, Value>>, hops: usize) {
        self.looks += 1;
        let Value::Object(map) = schema else { return };
        if self.looks > MAX_LOOKS {
            return;
        }
        if hops > MAX_HOPS {
            // What cannot be followed to its end may be marked there.
            self.looks = MAX_LOOKS + 1;
            return;
        }
        all.push(map);
        let target = map.get("$ref").and_then(Value::as_str).and_then(|target| self.root.pointer(target.strip_prefix('#')?));
        // A schema that leads back to itself adds nothing the second time.
        if let Some(target) = target.filter(|target| !all.iter().any(|known| is_same(known, target))) {
            self.gather(target, all, hops + 1);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for branch in map.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                self.gather(branch, all, hops + 1);
            }
        }
        for keyword in ["then", "else"] {
            if let Some(branch) = map.get(keyword) {
                self.gather(branch, all, hops + 1);
            }
        }
    }

    /// Whether there is room for another member; takes what it costs.
    fn has_room(&mut self) -> bool {
        let has = self.room > 0;
        self.room = self.room.saturating_sub(MEMBER_BYTES);
        has
    }

    fn text(&mut self, text: &str) -> Value {
        Value::String(self.cut(text))
    }

    /// As much of a text as there is room for.
    fn cut(&mut self, text: &str) -> String {
        let mut end = text.len().min(MAX_TEXT_BYTES).min(self.room);
        self.room -= end;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        if end == text.len() { text.to_owned() } else { format!("{}{CUT}", &text[..end]) }
    }
}

fn is_same(one: &Map<String, Value>, other: &Value) -> bool {
    other.as_object().is_some_and(|other| std::ptr::eq(one, other))
}

/// The schemas of a member that one schema has.
fn property<'a>(schema: &'a Map<String, Value>, key: &str) -> Vec<&'a Value> {
    let own = schema.get("properties").and_then(|properties| properties.get(key));
    let patterns = schema.get("patternProperties").and_then(Value::as_object);
    // Which pattern fits is not asked: a mark on any of them counts.
    let others = patterns.into_iter().flat_map(Map::values).chain(schema.get("additionalProperties"));
    match own {
        Some(own) => vec![own],
        None => others.collect(),
    }
}

fn element(schema: &Map<String, Value>, index: usize) -> Option<&Value> {
    let first = schema.get("prefixItems").or_else(|| schema.get("items").filter(|items| items.is_array()));
    first.and_then(|first| first.get(index)).or_else(|| schema.get("items").filter(|items| items.is_object()))
}

fn marks_a_secret(schema: &Map<String, Value>) -> bool {
    let set = |key: &str| schema.get(key).and_then(Value::as_bool) == Some(true);
    set("writeOnly") || set("x-secret") || schema.get("format").and_then(Value::as_str) == Some("password")
}

/// Whether a field of this name holds a secret, as far as names tell: `apiKey`, `X-Auth-Token`, `user_password`, and not `tokenizer` or `max_tokens`.
fn names_a_secret(name: &str) -> bool {
    let words = words_of(name);
    // Counts of tokens are what language models are asked for most.
    let counts = words.iter().any(|word| matches!(word.as_str(), "max" | "min" | "count" | "num" | "total" | "limit" | "budget" | "used"));
    let is_secret = |word: &String| {
        (SECRET_WORDS.contains(&word.as_str()) || SECRET_RUNS.contains(&word.as_str())) && !(counts && word.starts_with("token"))
    };
    words.iter().any(is_secret)
        || words.windows(2).any(|pair| SECRET_PAIRS.contains(&(pair[0].as_str(), pair[1].as_str())))
        || SECRET_RUNS.contains(&words.concat().as_str())
}

/// The words of a name in lower case: at signs between them, and where capitals begin.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let letters: Vec<char> = name.chars().take(MAX_TEXT_BYTES).collect();
    for (index, letter) in letters.iter().copied().enumerate() {
        let next_is_small = letters.get(index + 1).is_some_and(|next| next.is_lowercase());
        let begins =
            letter.is_uppercase() && (before.is_lowercase() || before.is_ascii_digit() || (before.is_uppercase() && next_is_small));
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_known_by_its_name() {
        for name in [
            "token",
            "apiKey",
            "API_KEY",
            "X-Auth-Token",
            "user_password",
            "accessToken",
            "apikey",
            "Authorization",
            "clientSecret",
            "sessionID",
        ] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in [
            "tokenizer",
            "max_tokens",
            "maxTokens",
            "token_count",
            "key",
            "id",
            "author",
            "secretary",
            "monkey",
            "note",
            "passage",
            "cookies_per_person",
        ] {
            assert!(!names_a_secret(name), "{name}");
        }
    }

    #[test]
    fn names_mask_whatever_they_hold_and_nothing_else() {
        let value =
            json!({"token": "sk-1", "auth": {"password": {"deep": ["x"]}, "user": "u"}, "rows": [{"secret": 7, "n": 1}], "apiKey": null});
        let masked = json!({"token": MASK, "auth": {"password": MASK, "user": "u"}, "rows": [{"secret": MASK, "n": 1}], "apiKey": null});
        assert_eq!(redacted(None, &value), masked);
    }

    #[test]
    fn a_schema_marks_secrets_too_through_references_and_branches() {
        let schema = json!({
            "$defs": {"pin": {"type": "string", "x-secret": true}},
            "properties": {
                "pin": {"$ref": "#/$defs/pin"},
                "word": {"anyOf": [{"type": "string", "format": "password"}, {"type": "null"}]},
                "rows": {"items": {"properties": {"w": {"writeOnly": true}}}},
            },
            "additionalProperties": {"allOf": [{"writeOnly": true}]},
        });
        let value = json!({"pin": "1234", "word": "w", "rows": [{"w": 1, "r": 2}], "more": "m"});
        assert_eq!(redacted(Some(&schema), &value), json!({"pin": MASK, "word": MASK, "rows": [{"w": MASK, "r": 2}], "more": MASK}));
    }

    #[test]
    fn a_secret_at_the_root_is_masked_as_a_whole() {
        assert_eq!(redacted(Some(&json!({"type": "string", "format": "password"})), &json!("x")), json!(MASK));
    }

    #[test]
    fn what_is_long_or_deep_is_cut_at_whole_characters() {
        let long = json!({"text": "é".repeat(5_000), "list": vec![json!("x".repeat(900)); 100], "more": 1});
        assert!(redacted(None, &long).to_string().len() < 2 * MAX_BYTES);
        let many: Value = (0..100_000).map(|n| (format!("k{n}"), json!(n))).collect::<Map<_, _>>().into();
        assert!(redacted(None, &many).to_string().len() < 4 * MAX_BYTES);
        let deep = (0..100).fold(json!({"token": "t"}), |inner, _| json!([inner]));
        assert!(!redacted(None, &deep).to_string().contains("\"t\""));
    }

    #[test]
    fn a_schema_that_refers_to_itself_does_not_hold_us_up() {
        let schema = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "properties": {"a": {"$ref": "#"}}});
        let deep = (0..100).fold(json!(1), |inner, _| json!({"a": inner, "b": inner.is_null()}));
        let started = std::time::Instant::now();
        redacted(Some(&schema), &deep);
        assert!(started.elapsed() < std::time::Duration::from_secs(1), "{:?}", started.elapsed());
    }
}
