//! The first pass: JSON5 text as a tree in which every value and key knows where it stands.
//!
//! The crate that reads JSON5 is the judge of what JSON5 is, and decodes every scalar and key; it has no places but those of its errors. The walk here finds them: it knows
//! brackets, strings and comments, is bounded in depth, and a text on which the two do not agree is no configuration.

use serde_json::Value;

use super::error::ConfigProblem;
use crate::catalog::offset_of_json5;

/// Levels of nesting at most. The deepest thing a configuration knows (`agents.ID.tools.toolSearch.mode`) has six; the JSON5 reader has no limit of its own.
const MAX_DEPTH: usize = 32;

/// A value and where it begins, in bytes from the start of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) at: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// null, true, false, a number or a string.
    Scalar(Value),
    Array(Vec<Node>),
    /// In the order of the text.
    Object(Vec<Member>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) key: String,
    /// Where the key stands.
    pub(super) at: usize,
    pub(super) value: Node,
}

/// A problem at an offset of the text.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    /// The path of the key, where one is known.
    pub(super) path: String,
    pub(super) problem: ConfigProblem,
}

impl Fault {
    pub(super) fn new(at: usize, path: impl Into<String>, problem: ConfigProblem) -> Fault {
        Fault { at, path: path.into(), problem }
    }

    fn syntax(at: usize, message: &str) -> Fault {
        Fault::new(at, "", ConfigProblem::Syntax { message: message.to_owned() })
    }
}

/// Reads a text.
pub(super) fn tree(text: &str) -> Result<Node, Fault> {
    let mut walk = Walk { text, at: 0, depth: 0 };
    let walked = walk.document();
    if let Err(fault) = &walked
        && matches!(fault.problem, ConfigProblem::TooDeep { .. })
    {
        return walked;
    }
    // A text on which the walk gave up has not been walked to its end: is it too deep for the reader further on?
    if walked.is_err() && deepest(text) > MAX_DEPTH {
        return walked;
    }
    match json5::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => walked,
        Err(error) => {
            let at = error.position().map_or(0, |at| offset_of_json5(text, at.line, at.column));
            let message = error.to_string();
            Err(Fault::syntax(at, message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message)))
        }
    }
}

/// More brackets than this are open nowhere in the text, wherever its strings and comments begin.
fn deepest(text: &str) -> usize {
    text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count()
}

struct Walk<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Walk<'_> {
    fn document(&mut self) -> Result<Node, Fault> {
        let node = self.value()?;
        self.blanks()?;
        if self.at < self.text.len() { Err(Fault::syntax(self.at, "something stands after the value")) } else { Ok(node) }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) -> Result<(), Fault> {
        loop {
            let rest = self.rest();
            let step = if let Some(comment) = rest.strip_prefix("//") {
                2 + comment.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(comment.len())
            } else if let Some(comment) = rest.strip_prefix("/*") {
                4 + comment.find("*/").ok_or_else(|| Fault::syntax(self.at, "a comment without an end"))?
            } else {
                match rest.chars().next() {
                    Some(blank) if blank.is_whitespace() || blank == '\u{feff}' => blank.len_utf8(),
                    _ => return Ok(()),
                }
            };
            self.at += step;
        }
    }

    fn value(&mut self) -> Result<Node, Fault> {
        self.blanks()?;
        let at = self.at;
        let kind = match self.rest().as_bytes().first() {
            Some(b'{') => Kind::Object(self.nested(|walk| walk.object())?),
            Some(b'[') => Kind::Array(self.nested(|walk| walk.array())?),
            Some(b'"' | b'\'') => Kind::Scalar(self.string()?),
            Some(_) => Kind::Scalar(self.word()?),
            None => return Err(Fault::syntax(at, "a value is missing")),
        };
        Ok(Node { at, kind })
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Fault::new(self.at, "", ConfigProblem::TooDeep { limit: MAX_DEPTH }));
        }
        self.at += 1;
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Vec<Member>, Fault> {
        let mut members = Vec::new();
        loop {
            self.blanks()?;
            if self.eat('}') {
                return Ok(members);
            }
            let at = self.at;
            let key = match self.rest().as_bytes().first() {
                Some(b'"' | b'\'') => match self.string()? {
                    Value::String(key) => key,
                    _ => return Err(Fault::syntax(at, "a key is wanted")),
                },
                _ => self.identifier()?,
            };
            self.blanks()?;
            if !self.eat(':') {
                return Err(Fault::syntax(self.at, "expected colon"));
            }
            members.push(Member { key, at, value: self.value()? });
            self.blanks()?;
            if !self.eat(',') {
                return if self.eat('}') { Ok(members) } else { Err(Fault::syntax(self.at, "expected comma or closing brace")) };
            }
        }
    }

    fn array(&mut self) -> Result<Vec<Node>, Fault> {
        let mut items = Vec::new();
        loop {
            self.blanks()?;
            if self.eat(']') {
                return Ok(items);
            }
            items.push(self.value()?);
            self.blanks()?;
            if !self.eat(',') {
                return if self.eat(']') { Ok(items) } else { Err(Fault::syntax(self.at, "expected comma or closing bracket")) };
            }
        }
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn string(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let quote = self.text.as_bytes()[start];
        let bytes = self.text.as_bytes();
        let mut at = start + 1;
        loop {
            match bytes.get(at) {
                Some(byte) if *byte == quote => break,
                Some(b'\\') => at += 2,
                Some(_) => at += 1,
                None => return Err(Fault::syntax(start, "a string without an end")),
            }
        }
        self.at = at + 1;
        scalar(start, &self.text[start..self.at])
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        self.at = start + self.length_until(|letter| matches!(letter, ',' | '}' | ']' | '{' | '[' | ':' | '/' | '"' | '\''));
        if self.at == start {
            return Err(Fault::syntax(start, "a value is wanted"));
        }
        scalar(start, &self.text[start..self.at])
    }

    fn identifier(&mut self) -> Result<String, Fault> {
        let start = self.at;
        self.at = start + self.length_until(|letter| matches!(letter, ',' | '}' | ']' | '{' | '[' | ':' | '/' | '"' | '\''));
        let word = &self.text[start..self.at];
        // As the key of an object it is decoded by the rules for keys: `\u0061` is an `a`.
        let decoded = json5::from_str::<serde_json::Map<String, Value>>(&format!("{{{word}:0}}")).ok();
        decoded.and_then(|map| map.into_iter().next()).map(|(key, _)| key).ok_or_else(|| Fault::syntax(start, "a key is wanted"))
    }

    fn length_until(&self, ends: impl Fn(char) -> bool) -> usize {
        let rest = self.rest();
        rest.find(|letter: char| ends(letter) || letter.is_whitespace() || letter == '\u{feff}').unwrap_or(rest.len())
    }
}

fn scalar(at: usize, text: &str) -> Result<Value, Fault> {
    match json5::from_str::<Value>(text) {
        Ok(value) => Ok(value),
        // Infinity and NaN are JSON5 and no value of JSON: nothing here wants one.
        Err(error) => Err(Fault::syntax(at, error.to_string().rsplit_once(" at line ").map_or("not a value", |(message, _)| message))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain(node: &Node) -> Value {
        match &node.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::Array(items) => items.iter().map(plain).collect(),
            Kind::Object(members) => Value::Object(members.iter().map(|member| (member.key.clone(), plain(&member.value))).collect()),
        }
    }

    #[test]
    fn the_tree_is_what_the_reader_reads() {
        let text =
            "// c\n{ a: [1, 'x\\'y', \"// no\",], /* } */ 'b c': {\\u0064: -0x10, e: .5, f: null},\u{a0}g: true, h: 'a\\\nb' } // end";
        let tree = tree(text).unwrap();
        assert_eq!(plain(&tree), json5::from_str::<Value>(text).unwrap());
        assert_eq!(plain(&tree)["b c"]["d"], json!(-16));
        let Kind::Object(members) = &tree.kind else { panic!("{tree:?}") };
        assert_eq!(&text[members[1].at..members[1].at + 5], "'b c'");
        assert_eq!(&text[members[1].value.at..members[1].value.at + 1], "{");
    }

    #[test]
    fn depth_is_bounded_before_the_reader_sees_it() {
        for text in ["[".repeat(100_000), format!("{{a: x y {}", "[".repeat(100_000)), "{a:".repeat(100_000)] {
            assert!(tree(&text).is_err());
        }
        assert!(matches!(tree(&"[".repeat(33)).unwrap_err().problem, ConfigProblem::TooDeep { limit: 32 }));
    }

    proptest::proptest! {
        #[test]
        fn whatever_the_reader_takes_the_walk_takes_alike(text in "[\\[\\]{}:,'\" a-c0-9/*\\\\\n.+-]{0,24}") {
            let walked = tree(&text);
            match json5::from_str::<Value>(&text) {
                // Of a key that stands twice the reader keeps the last, as collecting does.
                Ok(value) => proptest::prop_assert_eq!(plain(&walked.map_err(|fault| proptest::test_runner::TestCaseError::fail(format!("{fault:?}")))?), value),
                Err(_) => proptest::prop_assert!(walked.is_err()),
            }
        }
    }
}
