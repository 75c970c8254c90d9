//! The form of a record: one JSON object with a version, the catalog's summary, the tools that were met, and the requests in the order they were made.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::text::{Lines, cleaned, quoted};
use super::super::text_file::read_at_most;
use super::super::{CallCode, CallFailure, CatalogSummary, Source, Tool, place_of};
use super::error::{RecordError, RecordProblem};
use super::{MAX_BYTES, MAX_REQUESTS};

/// The version that is written and read.
const VERSION: u64 = 1;
/// Characters of a reader's message that are shown.
const MESSAGE_CHARS: usize = 300;

/// A request as it is written.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "method", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum Request {
    /// `search`, and the ids of its rows.
    Search {
        query: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        answer: Answer<Vec<String>>,
    },
    /// `describe`, and the id of the tool.
    Describe { id: String, answer: Answer<String> },
    /// The tool that a call named, and its id. What a call is refused with before it is one stands here.
    Resolve { id: String, answer: Answer<String> },
    /// A call that reached the backend.
    Call {
        id: String,
        args: Value,
        /// How many calls had been answered when this one was made.
        after: u64,
        /// Its place among the answers, from 1; `null` beside no answer.
        done: Option<u64>,
        /// `null`: it was never answered.
        answer: Option<Answer<Value>>,
    },
}

/// How a request ended.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Answer<T> {
    Value(T),
    Failure(Failure),
}

impl<T> Answer<T> {
    pub(super) fn of<U>(result: &Result<U, CallFailure>, value: impl FnOnce(&U) -> T) -> Answer<T> {
        match result {
            Ok(found) => Answer::Value(value(found)),
            Err(failure) => Answer::Failure(Failure::of(failure)),
        }
    }
}

/// A [`CallFailure`] as it is written.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Failure {
    code: CallCode,
    name: String,
    message: String,
    data: Value,
    tool_id: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_unanswered: bool,
}

impl Failure {
    fn of(failure: &CallFailure) -> Failure {
        let CallFailure { code, name, message, data, tool_id, is_unanswered } = failure.clone();
        Failure { code, name, message, data, tool_id, is_unanswered }
    }

    pub(super) fn into_failure(self) -> CallFailure {
        let Failure { code, name, message, data, tool_id, is_unanswered } = self;
        CallFailure { code, name, message, data, tool_id, is_unanswered }
    }
}

/// A [`Tool`] as it is written.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ToolText {
    id: String,
    source: Source,
    source_name: String,
    name: String,
    description: String,
    parameters: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
}

/// The JSON text of a tool.
pub(super) fn tool_text(tool: &Tool) -> String {
    let text = ToolText {
        id: tool.id.clone(),
        source: tool.source,
        source_name: tool.source_name.clone(),
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.value().clone(),
        output_schema: tool.output_schema.as_ref().map(|schema| schema.value().clone()),
    };
    json(&text)
}

/// The JSON text of a value that has one: strings and maps with string keys.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// A file that a record can be written to: claimed before a run, so that no run has effects and then no record.
///
/// The record goes to a new file beside it, readable by its owner alone, which takes its name when it is whole. A file of that name is replaced then.
#[derive(Debug)]
pub struct RecordFile {
    path: PathBuf,
    beside: tempfile::NamedTempFile,
}

impl RecordFile {
    /// Claims it.
    ///
    /// # Errors
    /// No file can be made there.
    pub fn claim(path: impl Into<PathBuf>) -> Result<RecordFile, RecordError> {
        let path = path.into();
        if path.is_dir() {
            return Err(unwritable(&path, io::ErrorKind::IsADirectory.into()));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match tempfile::NamedTempFile::new_in(folder) {
            Ok(beside) => Ok(RecordFile { path, beside }),
            Err(error) => Err(unwritable(&path, error)),
        }
    }

    pub(super) fn too_large(&self) -> RecordError {
        RecordError { file: self.path.display().to_string(), place: None, problem: RecordProblem::TooLarge { limit: MAX_BYTES } }
    }

    pub(super) fn write(self, summary: &CatalogSummary, tools: &[String], requests: &[String]) -> Result<(), RecordError> {
        let RecordFile { path, mut beside } = self;
        let mut written = || -> io::Result<()> {
            let mut out = BufWriter::new(beside.as_file_mut());
            write!(out, "{{\"codemodeRecord\":{VERSION},\n\"summary\":{},\n\"tools\":[\n", json(summary))?;
            lines(&mut out, tools)?;
            out.write_all(b"],\n\"requests\":[\n")?;
            lines(&mut out, requests)?;
            out.write_all(b"]}\n")?;
            out.flush()
        };
        let synced = written().and_then(|()| beside.as_file().sync_all());
        let persisted = synced.and_then(|()| beside.persist(&path).map(drop).map_err(|error| error.error));
        persisted.map_err(|error| unwritable(&path, error))
    }
}

fn lines(out: &mut impl io::Write, texts: &[String]) -> io::Result<()> {
    for (number, text) in texts.iter().enumerate() {
        out.write_all(if number == 0 { b"" } else { b",\n" })?;
        out.write_all(text.as_bytes())?;
    }
    out.write_all(if texts.is_empty() { b"" } else { b"\n" })
}

fn unwritable(path: &Path, error: io::Error) -> RecordError {
    RecordError { file: path.display().to_string(), place: None, problem: RecordProblem::Unwritable(error) }
}

/// A record, read and found to be whole.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) summary: CatalogSummary,
    pub(super) tools: HashMap<String, Arc<Tool>>,
    pub(super) requests: Vec<Request>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Whole<'a> {
    codemode_record: u64,
    summary: CatalogSummary,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow)]
    requests: Vec<&'a RawValue>,
}

/// Whatever is read before a part of it is believed to be of our version.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Versioned {
    codemode_record: u64,
}

/// What is wrong, and at which byte.
struct Fault(Option<usize>, RecordProblem);

impl Fault {
    fn shape(at: usize, message: impl Into<String>) -> Fault {
        Fault(Some(at), RecordProblem::Shape { message: message.into() })
    }

    /// An error of the reader, in a part that begins at this byte.
    fn json(text: &str, start: usize, error: &serde_json::Error) -> Fault {
        let message = error.to_string();
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(words, _)| words);
        let line = text[start..].split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let mut at = (start + line + error.column().saturating_sub(1)).min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        Fault::shape(at, cleaned(message, MESSAGE_CHARS, Lines::Join))
    }
}

/// Reads a record.
pub(super) fn read(path: &Path) -> Result<Record, RecordError> {
    let file = path.display().to_string();
    let whole = |problem| RecordError { file: file.clone(), place: None, problem };
    let bytes = read_at_most(path, MAX_BYTES as u64).map_err(|error| whole(RecordProblem::Unreadable(error)))?;
    let bytes = bytes.ok_or_else(|| whole(RecordProblem::TooLarge { limit: MAX_BYTES }))?;
    let text = String::from_utf8(bytes).map_err(|error| whole(RecordProblem::NotUtf8 { offset: error.utf8_error().valid_up_to() }))?;
    parse(&text).map_err(|Fault(at, problem)| RecordError { file: file.clone(), place: at.map(|at| place_of(&text, at)), problem })
}

fn parse(text: &str) -> Result<Record, Fault> {
    if let Ok(Versioned { codemode_record }) = serde_json::from_str(text)
        && codemode_record != VERSION
    {
        return Err(Fault(None, RecordProblem::Version { found: codemode_record, wanted: VERSION }));
    }
    // A list would be read as the fields in their order, and complained of as one.
    if text.trim_start().starts_with('[') {
        return Err(Fault::shape(0, "it is a list"));
    }
    let whole: Whole<'_> = serde_json::from_str(text).map_err(|error| Fault::json(text, 0, &error))?;
    debug_assert_eq!(whole.codemode_record, VERSION);
    let start_of = |part: &RawValue| part.get().as_ptr().addr() - text.as_ptr().addr();

    let mut tools = HashMap::with_capacity(whole.tools.len());
    for part in whole.tools {
        let at = start_of(part);
        let tool: ToolText = serde_json::from_str(part.get()).map_err(|error| Fault::json(text, at, &error))?;
        let id = tool.id.clone();
        if tools.insert(id.clone(), Arc::new(read_tool(tool, at)?)).is_some() {
            return Err(Fault::shape(at, format!("the tool {} is there twice", quoted(&id))));
        }
    }

    if whole.requests.len() > MAX_REQUESTS {
        return Err(Fault::shape(start_of(whole.requests[MAX_REQUESTS]), format!("a run makes at most {MAX_REQUESTS} requests")));
    }
    let mut requests = Vec::with_capacity(whole.requests.len());
    let mut places = Vec::new();
    for part in whole.requests {
        let at = start_of(part);
        let request: Request = serde_json::from_str(part.get()).map_err(|error| Fault::json(text, at, &error))?;
        for id in named(&request) {
            if !tools.contains_key(id) {
                return Err(Fault::shape(at, format!("the tool {} is not among the tools of the record", quoted(id))));
            }
        }
        if let Request::Call { done, answer, .. } = &request {
            if done.is_some() != answer.is_some() {
                return Err(Fault::shape(at, "an answer and its place among the answers go together"));
            }
            places.extend(done.map(|done| (done, at)));
        }
        requests.push(request);
    }
    places.sort_unstable();
    for (wanted, (done, at)) in (1..).zip(places) {
        if done != wanted {
            return Err(Fault::shape(at, format!("the answers are not counted 1, 2, 3: there is {done} where {wanted} belongs")));
        }
    }
    Ok(Record { summary: whole.summary, tools, requests })
}

fn read_tool(text: ToolText, at: usize) -> Result<Tool, Fault> {
    if !text.parameters.is_object() || text.output_schema.as_ref().is_some_and(|schema| !schema.is_object()) {
        return Err(Fault::shape(at, format!("a schema of the tool {} is no object", quoted(&text.id))));
    }
    let tool = Tool::new(text.source, text.source_name, text.name, text.description, text.parameters).with_id(text.id);
    Ok(match text.output_schema {
        Some(schema) => tool.with_output_schema(schema),
        None => tool,
    })
}

/// The ids of tools that a request has in its answer, or is for.
fn named(request: &Request) -> Vec<&str> {
    match request {
        Request::Search { answer: Answer::Value(ids), .. } => ids.iter().map(String::as_str).collect(),
        Request::Describe { answer: Answer::Value(id), .. } | Request::Resolve { answer: Answer::Value(id), .. } => vec![id],
        Request::Call { id, .. } => vec![id],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: &str = r#"{"id":"a","source":"client","sourceName":"s","name":"a","description":"","parameters":{}}"#;

    fn fault(tools: &str, requests: &str) -> (Option<(usize, usize)>, String) {
        let text = format!(
            "{{\"codemodeRecord\":1,\n\"summary\":{{\"catalogSize\":0,\"sources\":{{}},\"unavailable\":[]}},\n\"tools\":[{tools}],\n\"requests\":[\n{requests}]}}"
        );
        let Fault(at, problem) = parse(&text).map(drop).expect_err(requests);
        (at.map(|at| place_of(&text, at)).map(|place| (place.line, place.column)), problem.to_string())
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (tools, requests, place, told) in [
            ("", r#"{"method":"describe","id":"x","answer":{"value":"x"}}"#, (5, 1), "not among the tools"),
            (TOOL, r#"{"method":"call","id":"a","args":{},"after":0,"done":2,"answer":{"value":1}}"#, (5, 1), "there is 2 where 1 belongs"),
            (TOOL, r#"{"method":"call","id":"a","args":{},"after":0,"done":1,"answer":null}"#, (5, 1), "go together"),
            (TOOL, r#"{"method":"call","id":"b","args":{},"after":0,"done":null,"answer":null}"#, (5, 1), "not among the tools"),
            ("1", "", (3, 10), "invalid type"),
        ] {
            let (at, message) = fault(tools, requests);
            assert_eq!(at, Some(place), "{requests}: {message}");
            assert!(message.contains(told), "{message}");
        }
        let (at, message) = fault(&format!("{TOOL},{TOOL}"), "");
        assert!(at.is_some() && message.contains("there twice"), "{message}");
        let (at, message) = fault("", "{\n\"method\":\"sing\"}");
        assert!(at.is_some_and(|(line, _)| line >= 5) && message.contains("sing"), "{at:?} {message}");
    }

    #[test]
    fn another_version_is_named() {
        let Fault(_, problem) = parse(r#"{"codemodeRecord":2,"whatever":1}"#).map(drop).expect_err("another version");
        assert!(matches!(problem, RecordProblem::Version { found: 2, wanted: 1 }), "{problem}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_fail_otherwise(text: String) {
            proptest::prop_assert!(parse(&text).is_err());
        }
    }
}
