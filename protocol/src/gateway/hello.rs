//! `hello` and its answer: the first request of a connection, by the end that connects.

use serde::Serialize;
use serde_json::value::RawValue;

use super::{Capability, GATEWAY_PROTOCOL};
use crate::fields::{Fields, integer, string};
use crate::json::{Entry, JsonText, Outline};
use crate::message::part;
use crate::violation::{Violation, ViolationKind as Kind};

/// Bytes of the name and version of a program.
const MOST_NAME: usize = 64;
/// Capabilities that one end names.
const MOST_CAPABILITIES: usize = 32;
/// Bytes of one of them.
const MOST_WORD: usize = 64;

/// What an end can do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Capabilities(Vec<Capability>);

impl Capabilities {
    /// These.
    #[must_use]
    pub fn new(words: impl IntoIterator<Item = Capability>) -> Self {
        let mut words: Vec<_> = words.into_iter().collect();
        words.sort_unstable();
        words.dedup();
        Self(words)
    }

    /// Whether this is one of them.
    #[must_use]
    pub fn has(&self, word: Capability) -> bool {
        self.0.contains(&word)
    }

    fn read(entry: Entry<'_>, place: &'static str) -> Result<Self, Violation> {
        let wrong = |kind| Violation::new(kind, place);
        if !entry.value.starts_with('[') {
            return Err(wrong(Kind::WrongType));
        }
        let words: Vec<String> = serde_json::from_str(entry.value).map_err(|_| wrong(Kind::WrongType))?;
        if words.len() > MOST_CAPABILITIES || words.iter().any(|word| word.len() > MOST_WORD) {
            return Err(wrong(Kind::BadValue));
        }
        Ok(Self::new(words.iter().filter_map(|word| Capability::from_word(word))))
    }
}

/// The first request of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hello {
    /// The version that the end speaks. Any number is read, so that another version can be answered.
    pub protocol: u64,
    /// Name and version of the program, such as `my-gateway 1.2`; at most 64 bytes.
    pub name: String,
    /// What the end can do.
    pub capabilities: Capabilities,
}

impl Hello {
    /// A hello of this version.
    #[must_use]
    pub fn new(name: impl Into<String>, capabilities: Capabilities) -> Self {
        Self { protocol: GATEWAY_PROTOCOL, name: name.into(), capabilities }
    }

    pub(super) fn read(outline: &Outline<'_>, params: Entry<'_>) -> Result<Self, Violation> {
        let mut fields = Fields::inside(outline, params, "hello params")?;
        let protocol = integer(fields.required("protocol", "params.protocol")?, 1, "params.protocol")?;
        let name = name(fields.required("name", "params.name")?, "params.name")?;
        let capabilities = Capabilities::read(fields.required("capabilities", "params.capabilities")?, "params.capabilities")?;
        fields.finish()?;
        Ok(Self { protocol, name, capabilities })
    }
}

/// The answer to `hello`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HelloAnswer {
    /// The version, the same as was asked for.
    pub protocol: u64,
    /// Name and version of the program.
    pub name: String,
    /// What the end can do.
    pub capabilities: Capabilities,
    /// Bytes of the longest text of a frame that this end reads.
    pub frame_bytes: u64,
    /// Runs that one connection may have at once, waiting ones with them. 0 where there are none.
    pub runs: u64,
}

impl HelloAnswer {
    /// Reads a result.
    ///
    /// # Errors
    ///
    /// The first rule that it breaks.
    pub fn read(text: &JsonText) -> Result<Self, Violation> {
        let outline = object(text.text(), "result")?;
        let mut fields = Fields::root(&outline, "result")?;
        let protocol = integer(fields.required("protocol", "result.protocol")?, 1, "result.protocol")?;
        let name = name(fields.required("name", "result.name")?, "result.name")?;
        let capabilities = Capabilities::read(fields.required("capabilities", "result.capabilities")?, "result.capabilities")?;
        let frame_bytes = integer(fields.required("frameBytes", "result.frameBytes")?, 1, "result.frameBytes")?;
        let runs = integer(fields.required("runs", "result.runs")?, 0, "result.runs")?;
        fields.finish()?;
        Ok(Self { protocol, name, capabilities, frame_bytes, runs })
    }
}

/// The outline of a part that has to be an object.
pub(super) fn object<'a>(text: &'a str, place: &'static str) -> Result<Outline<'a>, Violation> {
    if text.starts_with('{') { part(text) } else { Err(Violation::new(Kind::WrongType, place)) }
}

/// The parts of an array, as texts.
pub(super) fn array<'a>(text: &'a str, place: &'static str) -> Result<Vec<&'a RawValue>, Violation> {
    let wrong = || Violation::new(Kind::WrongType, place);
    if !text.starts_with('[') {
        return Err(wrong());
    }
    serde_json::from_str(text).map_err(|_| wrong())
}

/// A name that may stand in a line of a log.
fn name(entry: Entry<'_>, place: &'static str) -> Result<String, Violation> {
    line(entry, MOST_NAME, place)
}

/// A text of one line, not empty, of at most so many bytes.
pub(super) fn line(entry: Entry<'_>, most: usize, place: &'static str) -> Result<String, Violation> {
    let text = string(entry, place)?;
    if text.is_empty() || text.len() > most || text.chars().any(char::is_control) {
        return Err(Violation::new(Kind::BadValue, place).with_numbers(text.len() as u64, most as u64));
    }
    Ok(text)
}
