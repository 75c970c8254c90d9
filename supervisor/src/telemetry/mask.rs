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
/// Words after which, and a sign of assignment, a secret stands; they may be the end of a longer name.
const SECRET_WORDS: [&str; 17] = [
    "bearer",
    "basic",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "token",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "credential",
    "credentials",
    "authorization",
    "cookie",
];
/// Names of schemes, which stand before the secret of a header.
const SCHEMES: [&str; 5] = ["bearer", "basic", "token", "negotiate", "apikey"];

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
        if let Some(after) = rest.strip_prefix("://") {
            out.push_str("://");
            rest = user_masked(after, &mut out);
            continue;
        }
        if !is_word(letter) {
            out.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        // The full stop of a sentence is no part of its last word.
        let end = rest[..end].trim_end_matches('.').len().max(1);
        let (word, after) = rest.split_at(end);
        if looks_secret(word) {
            out.push_str(MASK);
        } else {
            out.push_str(&word[..floor(word, MAX_TEXT)]);
        }
        rest = match value_of(word, after) {
            Some(value) => {
                let between = &after[..after.len() - value.len()];
                out.push_str(&between[..floor(between, MAX_TEXT)]);
                value_masked(word, value, &mut out)
            }
            None => after,
        };
    }
    out
}

/// Whether a secret is called by this name: `password`, `db-password`, `accessToken`, `AWS_SECRET_ACCESS_KEY`.
fn announces(word: &str) -> bool {
    let lower = word.to_ascii_lowercase().replace('-', "_");
    SECRET_WORDS.iter().any(|secret| {
        let Some(before) = lower.strip_suffix(secret) else { return false };
        let is_capital = word[before.len()..].starts_with(|letter: char| letter.is_ascii_uppercase());
        !before.ends_with(char::is_alphanumeric) || is_capital
    })
}

/// Where the value begins that this word announces. A sentence has such words, too: only what is assigned, stands in the next column or line, or
/// follows an option or the name of a scheme, is a secret.
fn value_of<'a>(word: &str, after: &'a str) -> Option<&'a str> {
    if !announces(word) {
        return None;
    }
    let blank = [' ', '\t', '\r', '\n'];
    let unquoted = after.trim_start_matches(['\\', '"', '\'', '`', ']', ')']);
    if let Some(value) = unquoted.trim_start_matches(blank).strip_prefix([':', '=']) {
        return Some(value.trim_start_matches([':', '=', '>', ' ', '\t', '\r', '\n']));
    }
    let follows =
        after.starts_with(['\t', '\r', '\n']) || (after.starts_with(' ') && (word.starts_with('-') || matches!(word, "Bearer" | "Basic")));
    follows.then(|| after.trim_start_matches(blank))
}

/// Writes the mask for a value, with what encloses it, and gives what follows.
fn value_masked<'a>(word: &str, value: &'a str, out: &mut String) -> &'a str {
    if let Some(after) = value.strip_prefix(MASK) {
        out.push_str(MASK);
        return after;
    }
    let put = |out: &mut String, secret: &str| out.push_str(if secret.is_empty() { "" } else { MASK });
    if let Some((open, close)) = [('[', ']'), ('(', ')'), ('{', '}'), ('<', '>')].into_iter().find(|(open, _)| value.starts_with(*open)) {
        let inner = &value[1..];
        let (secret, after) = inner.split_at(inner.find(close).unwrap_or(inner.len()));
        out.push(open);
        put(out, secret);
        return after;
    }
    let escapes = value.len() - value.trim_start_matches('\\').len();
    if let Some(quote) = value[escapes..].chars().next().filter(|letter| matches!(letter, '"' | '\'' | '`')) {
        out.push_str(&value[..=escapes]);
        let inner = scheme_kept(&value[escapes + 1..], out);
        let is_end = |at: usize| {
            let before = at - inner[..at].trim_end_matches('\\').len();
            before == escapes || (escapes == 0 && before.is_multiple_of(2))
        };
        let end = inner.match_indices(quote).map(|(at, _)| at).find(|at| is_end(*at));
        let (secret, after) = inner.split_at(end.map_or(inner.len(), |at| at - escapes.min(at)));
        put(out, secret);
        return after;
    }
    let value = scheme_kept(value, out);
    let lower = word.to_ascii_lowercase();
    let ends = |letter: char| match letter {
        '\r' | '\n' => true,
        // All the cookies of a header are secrets.
        _ if lower.ends_with("cookie") => false,
        _ => letter.is_whitespace() || matches!(letter, '&' | ',' | ';'),
    };
    let end = value.find(ends).unwrap_or(value.len());
    let end = value[..end].trim_end_matches(['"', '\'', '`', ')', ']', '}', '\\']).len();
    let (secret, after) = value.split_at(end);
    put(out, secret);
    after
}

/// Writes the name of a scheme that a value begins with, and gives what follows.
fn scheme_kept<'a>(value: &'a str, out: &mut String) -> &'a str {
    let Some((scheme, _)) = value.split_once(' ').filter(|(scheme, _)| SCHEMES.contains(&scheme.to_ascii_lowercase().as_str())) else {
        return value;
    };
    let after = value[scheme.len()..].trim_start_matches(' ');
    out.push_str(&value[..value.len() - after.len()][..scheme.len() + 1]);
    after
}

/// Writes the user of an address with the password masked, or all of it where it has no password, and gives what follows.
fn user_masked<'a>(address: &'a str, out: &mut String) -> &'a str {
    let end = address.find(|letter: char| letter == '/' || letter.is_whitespace()).unwrap_or(address.len());
    let Some(at) = address[..end].rfind('@') else { return address };
    let user = &address[..at];
    match user.split_once(':') {
        Some((name, password)) => {
            out.push_str(if looks_secret(name) { MASK } else { &name[..floor(name, MAX_TEXT)] });
            out.push(':');
            out.push_str(if password.is_empty() { "" } else { MASK });
        }
        None => out.push_str(if user.is_empty() { "" } else { MASK }),
    }
    &address[at..]
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '/' | '+' | '~')
}

fn looks_secret(word: &str) -> bool {
    let known = PREFIXES.iter().any(|prefix| word.starts_with(prefix)) && word.len() >= LEAST_LETTERS;
    // A JSON web token: three parts, the first of which is `{"` in base64.
    known || (word.starts_with("eyJ") && word.matches('.').count() == 2 && word.len() >= LEAST_LETTERS)
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
            ("https://me:hunter$2x@host/a@b", "https://me:[masked]@host/a@b"),
            ("https://me:a@b:c@host", "https://me:[masked]@host"),
            ("https://abcdef@host/x", "https://[masked]@host/x"),
            ("password=hun$ter!2&user=me", "password=[masked]&user=me"),
            ("password: hun@ter#2, next", "password: [masked], next"),
            ("{\"password\": \"a b, c; \\\"d\", \"n\": 1}", "{\"password\": \"[masked]\", \"n\": 1}"),
            ("{\\\"pass\\\":\\\"a b\\\",\\\"n\\\":1}", "{\\\"pass\\\":\\\"[masked]\\\",\\\"n\\\":1}"),
            ("passphrase = 'correct horse'", "passphrase = '[masked]'"),
            ("X-Api-Key: a!b", "X-Api-Key: [masked]"),
            ("AWS_SECRET_ACCESS_KEY=a/b+c$", "AWS_SECRET_ACCESS_KEY=[masked]"),
            ("private_key\thunter2 x", "private_key\t[masked] x"),
            ("Password:\nhunter2\nx", "Password:\n[masked]\nx"),
            ("login --password hunter2 --now", "login --password [masked] --now"),
            ("clientSecret: [\"a\", \"b\"] x", "clientSecret: [[masked]] x"),
            ("Set-Cookie: a=b; c=d\nnext", "Set-Cookie: [masked]\nnext"),
            ("\"Authorization\": \"Bearer a$b c\"", "\"Authorization\": \"Bearer [masked]\""),
            ("token=[masked] x", "token=[masked] x"),
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
            "compass: north",
            "https://host/path, then me@host",
            "token=&password=",
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
