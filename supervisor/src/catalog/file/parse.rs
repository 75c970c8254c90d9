//! From the bytes of a catalog file to tools and replies.
//!
//! Plain JSON first: its reader is fast, and leaves schemas as slices of the text. Whatever it cannot read is read as JSON5.

use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::schema::Schema;
use super::super::text::{Lines, cleaned, quoted};
use super::super::text_file::{NotText, utf8};
use super::super::{Source, Tool};
use super::error::{CatalogFileError, CatalogFileProblem, Place};
use super::place;
use super::reply::{Reply, ReplyMirror};

/// Bytes of a name and a source's name. The MCP specification asks for 128 characters at most; real ones have up to 64.
const MAX_NAME_BYTES: usize = 256;
/// Bytes of an id: a source's name and a name, and some.
const MAX_ID_BYTES: usize = 1024;
/// Levels of nesting in JSON5, the same as the JSON reader's own: the JSON5 reader has no limit and would exhaust the stack.
const MAX_DEPTH: usize = 128;
/// Characters of a parser's message that are shown.
const MESSAGE_CHARS: usize = 300;

/// A tool as it stands in the file; `S` is a schema, as a value or as a slice of the text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry<S> {
    id: Option<String>,
    source: Option<Source>,
    source_name: Option<String>,
    name: String,
    description: String,
    parameters: S,
    output_schema: Option<S>,
    reply: Option<ReplyMirror>,
}

/// A problem and where it is, before the place is known by line and column.
#[derive(Debug)]
pub(super) struct Fault {
    at: At,
    problem: CatalogFileProblem,
}

#[derive(Debug)]
enum At {
    /// The tool with this number, from 0.
    Entry(usize),
    Place(Place),
}

impl Fault {
    pub(super) fn entry(index: usize, problem: CatalogFileProblem) -> Fault {
        Fault { at: At::Entry(index), problem }
    }

    /// Finds line, column and tool. Only here is the text read a second time.
    pub(super) fn into_error(self, file: &str, text: &str) -> CatalogFileError {
        let entries = place::entries(text);
        let (index, place) = match self.at {
            At::Entry(index) => (Some(index), entries.get(index).map(|entry| place::of_offset(text, entry.start))),
            At::Place(place) => {
                let offset = place::to_offset(text, place);
                (entries.iter().position(|entry| entry.start <= offset && offset <= entry.end), Some(place))
            }
        };
        let entry = index
            .map(|index| entries.get(index).and_then(|range| own_name(&text[range.clone()])).unwrap_or(format!("number {}", index + 1)));
        CatalogFileError { file: file.to_owned(), place, entry, problem: self.problem }
    }
}

/// What an entry calls itself, in quotes.
fn own_name(entry: &str) -> Option<String> {
    if place::depth(entry) > MAX_DEPTH {
        return None;
    }
    let value: Value = json5::from_str(entry).ok()?;
    ["name", "id"].iter().find_map(|key| value.get(key)?.as_str().filter(|text| !text.is_empty()).map(quoted))
}

/// The text of a file.
pub(super) fn text_of(bytes: &[u8]) -> Result<Arc<str>, CatalogFileProblem> {
    utf8(bytes).map(Arc::from).map_err(|problem| match problem {
        NotText::Utf16 => CatalogFileProblem::Utf16,
        NotText::NotUtf8(offset) => CatalogFileProblem::NotUtf8 { offset },
    })
}

/// The tools of a catalog's text and their replies.
pub(super) fn catalog(text: &Arc<str>, stem: &str) -> Result<Vec<(Arc<Tool>, Reply)>, Fault> {
    // The readers would speak of maps and sequences.
    if text.trim_start().starts_with('{') {
        let message = "a list of tools is wanted, this is an object".to_owned();
        return Err(Fault { at: At::Place(place::of_offset(text, 0)), problem: CatalogFileProblem::Shape { message } });
    }
    match serde_json::from_str::<Vec<Entry<&RawValue>>>(text) {
        Ok(entries) => tools(entries, stem, |raw| {
            let range = range_in(text, raw.get());
            Schema::from_text(text, range).map_err(|error| without_place(&error.to_string()).to_owned())
        }),
        Err(error) if error.is_data() => {
            let place = place::of_line_and_byte(text, error.line(), error.column());
            Err(Fault { at: At::Place(place), problem: CatalogFileProblem::Shape { message: shown(without_place(&error.to_string())) } })
        }
        Err(_) => tools(json5_entries(text)?, stem, |value| Ok(Schema::from(value))),
    }
}

fn json5_entries(text: &str) -> Result<Vec<Entry<Value>>, Fault> {
    if let Some(offset) = place::first_deeper_than(text, MAX_DEPTH) {
        let problem = CatalogFileProblem::Syntax { message: format!("it nests deeper than {MAX_DEPTH} levels") };
        return Err(Fault { at: At::Place(place::of_offset(text, offset)), problem });
    }
    json5::from_str(text).map_err(|error| {
        let message = shown(without_place(&error.to_string()));
        let problem = if error.code().is_some() { CatalogFileProblem::Syntax { message } } else { CatalogFileProblem::Shape { message } };
        let place = place::of_offset(text, error.position().map_or(0, |at| place::of_json5(text, at.line, at.column)));
        Fault { at: At::Place(place), problem }
    })
}

fn tools<S>(entries: Vec<Entry<S>>, stem: &str, schema: impl Fn(S) -> Result<Schema, String>) -> Result<Vec<(Arc<Tool>, Reply)>, Fault> {
    entries
        .into_iter()
        .enumerate()
        .map(|(index, entry)| tool(entry, stem, &schema).map_err(|problem| Fault::entry(index, problem)))
        .collect()
}

fn tool<S>(entry: Entry<S>, stem: &str, schema: impl Fn(S) -> Result<Schema, String>) -> Result<(Arc<Tool>, Reply), CatalogFileProblem> {
    let source = entry.source.unwrap_or(Source::Client);
    let source_name = usable("sourceName", entry.source_name.unwrap_or_else(|| stem.to_owned()), MAX_NAME_BYTES)?;
    let name = usable("name", entry.name, MAX_NAME_BYTES)?;
    let id = match entry.id {
        Some(id) => usable("id", id, MAX_ID_BYTES)?,
        None => Tool::usual_id(source, &source_name, &name),
    };
    let schema = |key, given| {
        let wrong = |message| CatalogFileProblem::Schema { key, message };
        let schema = schema(given).map_err(wrong)?;
        if schema.is_object() { Ok(schema) } else { Err(wrong("it is not an object".to_owned())) }
    };
    let parameters = schema("parameters", entry.parameters)?;
    let mut tool = Tool::new(source, source_name, name, entry.description, parameters).with_id(id);
    tool.output_schema = entry.output_schema.map(|given| schema("outputSchema", given)).transpose()?;
    let reply = entry.reply.map_or_else(|| Ok(Reply::example()), Reply::try_from)?;
    Ok((Arc::new(tool), reply))
}

/// Names are strangers' own and stay as they are (`a/b`, `sök`); only what could not be called or would forge a line is refused.
fn usable(key: &'static str, text: String, max: usize) -> Result<String, CatalogFileProblem> {
    if text.is_empty() || text.len() > max || text.trim() != text || text.chars().any(char::is_control) {
        return Err(CatalogFileProblem::Name { key, text, max });
    }
    Ok(text)
}

/// Where a slice of the text is in it.
fn range_in(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// A parser's message without the place, which the error has as a value.
fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

fn shown(message: &str) -> String {
    cleaned(message, MESSAGE_CHARS, Lines::Join).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let text: Arc<str> = text.into();
        catalog(&text, "tools").map(|_| ()).unwrap_err().into_error("tools.json", &text).to_string()
    }

    #[test]
    fn a_wrong_key_is_named_with_its_place_and_tool() {
        let text = "[\n  {\"name\": \"ok\", \"description\": \"\", \"parameters\": {}},\n  {\"name\": \"x\", \"descripton\": \"\", \"parameters\": {}}\n]";
        assert!(error(text).starts_with("tools.json:3:28: tool \"x\": unknown field `descripton`"), "{}", error(text));
        let json5 = text.replace("\"name\"", "name");
        assert!(error(&json5).contains(": tool \"x\": unknown field `descripton`"), "{}", error(&json5));
    }

    #[test]
    fn a_wrong_type_is_named_with_its_place_and_tool() {
        let message = error("[{\"name\": \"x\", \"description\": 7, \"parameters\": {}}]");
        assert!(message.starts_with("tools.json:1:31: tool \"x\": invalid type: integer `7`, expected a string"), "{message}");
        for object in ["{}", " {mcpServers: {}}"] {
            assert!(error(object).starts_with("tools.json:1:1: a list of tools is wanted, this is an object"), "{}", error(object));
        }
    }

    #[test]
    fn a_syntax_error_has_a_place() {
        let message = error("[\n {name: 'x', description: '', parameters: {}},\n {name 'y'}\n]");
        assert!(message.starts_with("tools.json:3:8: tool number 2: is neither JSON nor JSON5: expected colon"), "{message}");
    }

    #[test]
    fn what_json_takes_and_a_tool_does_not_has_the_entrys_place() {
        for (entry, part) in [
            ("{\"name\": \"\", \"description\": \"\", \"parameters\": {}}", "the name \"\" is not usable"),
            ("{\"name\": \"a\\nb\", \"description\": \"\", \"parameters\": {}}", "the name \"a\\nb\" is not usable"),
            ("{\"name\": \"a\", \"description\": \"\", \"parameters\": 1}", "parameters is not a JSON Schema"),
            (
                "{\"name\": \"a\", \"description\": \"\", \"parameters\": {\"x\": 1e999}}",
                "parameters is not a JSON Schema: number out of range",
            ),
            ("{\"name\": \"a\", \"description\": \"\", \"parameters\": {}, \"reply\": {}}", "reply has no answer"),
        ] {
            let message = error(&format!("[\n    {entry}]"));
            assert!(message.starts_with("tools.json:2:5: tool ") && message.contains(part), "{message}");
        }
    }

    #[test]
    fn depth_is_bounded_in_both_forms() {
        assert!(error(&"[".repeat(100_000)).starts_with("tools.json:1:"));
        let message = error(&format!("[{{name: 'a', description: '', parameters: {}", "{a:".repeat(100_000)));
        assert!(message.contains("nests deeper than 128"), "{message:.200}");
        // What ends a comment in JSON5 is more than a line feed.
        for end in ["\r", "\n", "\u{2028}", "\u{2029}"] {
            let message = error(&format!("[{{name: 'a', description: '', parameters: // {end}{}", "{a:".repeat(100_000)));
            assert!(message.contains("nests deeper than 128"), "{end:?}: {message:.200}");
        }
        let message =
            error(&format!("[{{\"name\": \"a\", \"description\": \"\", \"parameters\": {}1{}}}]", "{\"a\":".repeat(200), "}".repeat(200)));
        assert!(message.contains("parameters is not a JSON Schema"), "{message}");
    }

    #[test]
    fn encodings_are_told_apart() {
        assert_eq!(text_of(b"\xff\xfe[\0]\0"), Err(CatalogFileProblem::Utf16));
        assert_eq!(text_of(b"[\0]\0"), Err(CatalogFileProblem::Utf16));
        assert_eq!(text_of(b"\0[\0]"), Err(CatalogFileProblem::Utf16));
        assert_eq!(text_of(b"[\"\xff\"]"), Err(CatalogFileProblem::NotUtf8 { offset: 2 }));
        assert_eq!(text_of(b"\xef\xbb\xbf[]"), Ok("[]".into()));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_catalog_or_an_error_with_words(text in "[\\[\\]{}:,'\" a-z0-9/*\\\\\n]{0,60}") {
            let text: Arc<str> = text.into();
            if let Err(fault) = catalog(&text, "t") {
                proptest::prop_assert!(!fault.into_error("t", &text).to_string().is_empty());
            }
        }
    }
}
