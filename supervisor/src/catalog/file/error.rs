//! What can be wrong with a catalog file, and where.

use std::fmt;
use std::io::ErrorKind;

use super::super::text::quoted;
use super::super::text_file::reason;

/// A catalog file that cannot be used: `tools.json:12:5: tool "x": …`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CatalogFileError {
    /// The file as the caller named it.
    pub file: String,
    /// Where in it; `None` when the file as a whole is meant.
    pub place: Option<Place>,
    /// The tool it is about: its name or id, or its number in the list.
    pub entry: Option<String>,
    /// What is wrong.
    pub problem: CatalogFileProblem,
}

/// A place in a text, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// What is wrong with a catalog file.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CatalogFileProblem {
    /// The system does not give it to us.
    #[error("cannot be read: {}; check the path and its rights", reason(*.0))]
    Unreadable(ErrorKind),
    /// It is larger than any catalog should be.
    #[error("is larger than {} MiB; split it or leave tools out", .limit >> 20)]
    TooLarge {
        /// Bytes allowed.
        limit: u64,
    },
    /// Another encoding.
    #[error("is UTF-16; save it as UTF-8")]
    Utf16,
    /// No encoding we know.
    #[error("is not UTF-8 (byte {offset} is wrong); save it as UTF-8")]
    NotUtf8 {
        /// The first wrong byte, counted from 0.
        offset: usize,
    },
    /// Neither JSON nor JSON5.
    #[error("is neither JSON nor JSON5: {message}")]
    Syntax {
        /// The parser's words.
        message: String,
    },
    /// An unknown key, a missing one, or a value of the wrong type.
    #[error("{message}; a tool is {{id?, source?, sourceName?, name, description, parameters, outputSchema?, reply?}}")]
    Shape {
        /// The reader's words.
        message: String,
    },
    /// A name or id that cannot be shown or called.
    #[error("the {key} {} is not usable; it takes 1 to {max} bytes without control characters or blanks around it", quoted(.text))]
    Name {
        /// `name`, `id` or `sourceName`.
        key: &'static str,
        /// What stands there.
        text: String,
        /// Bytes allowed.
        max: usize,
    },
    /// A schema that is not an object, or that cannot be read.
    #[error("{key} is not a JSON Schema: {message}; write an object such as {{\"type\": \"object\"}}")]
    Schema {
        /// `parameters` or `outputSchema`.
        key: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// An id that an earlier tool has.
    #[error("the id {} is taken by an earlier tool; give this one an id of its own", quoted(.id))]
    DuplicateId {
        /// The id.
        id: String,
    },
    /// A reply that does not say what to answer.
    #[error("reply {message}; it has one of value, error, echo, mcp, count, repeat, and may have delayMs")]
    Reply {
        /// What is wrong with it.
        message: &'static str,
    },
}

impl CatalogFileError {
    pub(super) fn whole(file: &str, problem: CatalogFileProblem) -> CatalogFileError {
        CatalogFileError { file: file.to_owned(), place: None, entry: None, problem }
    }
}

impl fmt::Display for CatalogFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(place) = self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        f.write_str(": ")?;
        if let Some(entry) = &self.entry {
            write!(f, "tool {entry}: ")?;
        }
        write!(f, "{}", self.problem)
    }
}

impl std::error::Error for CatalogFileError {}
