//! Secrets in texts of a log, known by how they look.
//!
//! The gate masks fields by their names before anything gets here; this is for what stands in the middle of a text: a header, an address, a key in an
//! error message. It works on decoded text, before it is written as JSON, so no escape is ever cut in two.

use serde_json::Value;

/// Stands where a secret was.
const MASK: &str = "[masked]";
/// Bytes of one text in a log. A log is for reading.
const MAX_TEXT: usize = 4 * 1024;
/// Elements of one list.
const MAX_ITEMS: usize = 200;

/// How keys of well-known services begin.
const PREFIXES: [&str; 19] = [
    "sk-",
    "pk-",
    "rk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "AIza",
    "hf_",
    "npm_",
];
/// Letters that such a key has at least; shorter ones are words.
const LEAST_LETTERS: usize = 16;
/// Words after which, and a sign of assignment or a blank, a secret stands.
const SECRET_WORDS: [&str; 11] =
    ["bearer", "basic", "password", "passwd", "pwd", "secret", "token", "api_key", "apikey", "access_token", "authorization"];

/// The value with every secret in its texts masked, and long texts and lists cut.
pub(super) fn masked(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text_masked(&text)),
        Value::Array(items) => {
            let more = items.len().saturating_sub(MAX_ITEMS);
            let mut kept: Vec<Value> = items.into_iter().take(MAX_ITEMS).map(masked).collect();
            if more > 0 {
                kept.push(format!("… {more} more").into());
            }
            Value::Array(kept)
        }
        Value::Object(map) => Value::Object(map.into_iter().map(|(key, value)| (key, masked(value))).collect()),
        plain => plain,
    }
}

fn text_masked(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MAX_TEXT));
    let mut rest = text;
    // What the last word was, for `Bearer X` and `password=X`.
    let mut announced = false;
    while let Some(letter) = rest.chars().next() {
        if out.len() >= MAX_TEXT {
            out.push_str(&format!("… {} bytes more", rest.len()));
            break;
        }
        if let Some(after) = private_key(rest) {
            out.push_str(MASK);
            rest = after;
            continue;
        }
        if !is_word(letter) {
            // `=`, `: ` and quotes lead from a word to its value; anything else ends that.
            announced &= matches!(letter, '=' | ':' | ' ' | '"' | '\'');
            out.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        // The full stop of a sentence is no part of its last word.
        let end = rest[..end].trim_end_matches('.').len().max(1);
        let (word, after) = rest.split_at(end);
        let lower = word.to_ascii_lowercase();
        let announces = SECRET_WORDS
            .iter()
            .any(|secret| lower == *secret || lower.ends_with(&format!("_{secret}")) || lower.ends_with(&format!("-{secret}")));
        let is_password = after.starts_with('@') && out.ends_with(':') && is_in_address(&out);
        if looks_secret(word) || is_password || (announced && !announces) {
            out.push_str(MASK);
        } else {
            out.push_str(&word[..floor(word, MAX_TEXT)]);
        }
        // A sentence has the word, too: only what is assigned, or follows the name of a scheme, is a secret.
        let assigns = after.trim_start_matches(['"', '\'']).starts_with([':', '=']);
        let is_scheme = matches!(word, "Bearer" | "Basic") || (announced && matches!(lower.as_str(), "bearer" | "basic"));
        announced = announces && (assigns || (is_scheme && after.starts_with(' ')));
        rest = after;
    }
    out
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/' | '+' | '~')
}

fn looks_secret(word: &str) -> bool {
    let known = PREFIXES.iter().any(|prefix| word.starts_with(prefix)) && word.len() >= LEAST_LETTERS;
    // A JSON web token: three parts, the first of which is `{"` in base64.
    known || (word.starts_with("eyJ") && word.matches('.').count() == 2 && word.len() >= LEAST_LETTERS)
}

/// Whether the last thing written is the user's part of `scheme://user:`.
fn is_in_address(out: &str) -> bool {
    let before = &out[..out.len() - 1];
    let start = before.rfind(|letter: char| letter.is_whitespace()).map_or(0, |at| at + 1);
    before[start..].contains("://")
}

/// What follows a private key in PEM.
fn private_key(text: &str) -> Option<&str> {
    const BEGIN: &str = "-----BEGIN ";
    const END: &str = "PRIVATE KEY-----";
    let line = text.strip_prefix(BEGIN)?;
    let head = line.find(END).filter(|at| *at < 40)?;
    let body = &line[head + END.len()..];
    Some(body.find(END).map_or("", |at| &body[at + END.len()..]))
}

fn floor(text: &str, most: usize) -> usize {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_masked_wherever_they_stand() {
        for (text, wanted) in [
            ("key sk-test-abcdef0123456789abcdef.", "key [masked]."),
            ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer [masked]"),
            ("authorization: bearer abc", "authorization: bearer [masked]"),
            ("sent 'Bearer abcdef' twice", "sent 'Bearer [masked]' twice"),
            ("https://me:hunter2@host/path", "https://me:[masked]@host/path"),
            ("password=hunter2&user=me", "password=[masked]&user=me"),
            ("{\"api_key\": \"x1\", \"n\": 1}", "{\"api_key\": \"[masked]\", \"n\": 1}"),
            ("db_password: x", "db_password: [masked]"),
            ("a ghp_0123456789abcdefghij b", "a [masked] b"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "[masked]"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "[masked]\nrest"),
        ] {
            assert_eq!(text_masked(text), wanted);
        }
    }

    #[test]
    fn what_only_speaks_of_secrets_stays() {
        for text in [
            "the token is wrong",
            "sk-ip",
            "no password was given",
            "basic types",
            "10:30@noon",
            "tokens used: 12",
            "line1\nline2\t\u{1b}[0m é",
        ] {
            assert_eq!(text_masked(text), text);
        }
    }

    #[test]
    fn long_texts_and_lists_are_cut_at_whole_characters() {
        let cut = masked(json!({"a": "é ".repeat(10_000), "b": vec![1; 1_000], "c": "é".repeat(10_000)}));
        assert!(cut["a"].as_str().unwrap().len() < MAX_TEXT + 40 && cut["c"].as_str().unwrap().len() < MAX_TEXT + 40);
        assert_eq!(cut["b"].as_array().unwrap().len(), MAX_ITEMS + 1);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_masked_without_a_panic_and_within_bounds(text in "\\PC{0,200}") {
            proptest::prop_assert!(text_masked(&text).len() <= 9 * text.len() + 40);
        }
    }
}
