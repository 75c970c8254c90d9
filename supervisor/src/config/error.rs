//! What can be wrong with a configuration, and where.

use std::fmt;
use std::io::ErrorKind;

use crate::catalog::{Place, quoted, reason};

/// A configuration that cannot be used: `codemode.json5:4:7: tools.toolSearch.mode: …`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ConfigError {
    /// The file as the caller named it.
    pub file: Box<str>,
    /// Where in it; `None` when the file as a whole is meant.
    pub place: Option<Place>,
    /// The path of the key, e.g. `agents.main.tools.allow[2]`; empty at the outermost value.
    pub path: Box<str>,
    /// What is wrong.
    pub problem: ConfigProblem,
}

/// What is wrong with a configuration.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ConfigProblem {
    /// The system does not give it to us.
    #[error("cannot be read: {}; check the path and its rights", reason(*.0))]
    Unreadable(ErrorKind),
    /// It is larger than any configuration should be.
    #[error("is larger than {} KiB; it is meant to be written by people", .limit >> 10)]
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
    /// Not JSON5.
    #[error("not JSON5: {message}")]
    Syntax {
        /// The parser's words.
        message: String,
    },
    /// It nests deeper than allowed.
    #[error("nests deeper than {limit} levels")]
    TooDeep {
        /// Levels allowed.
        limit: usize,
    },
    /// A key that means nothing here.
    #[error("unknown key {}; known are {known}", quoted(.key))]
    UnknownKey {
        /// The key.
        key: String,
        /// What could stand there.
        known: String,
    },
    /// A key that stands there twice: whichever was meant, the other would be lost.
    #[error("the key {} stands here twice; leave one of them", quoted(.key))]
    DoubleKey {
        /// The key.
        key: String,
    },
    /// A value of the wrong type, or a word that is none of those that mean something.
    #[error("{wanted} is wanted, this is {given}")]
    WrongValue {
        /// What could stand there.
        wanted: String,
        /// What does.
        given: String,
    },
    /// A key without which the value says nothing.
    #[error("{missing}")]
    Missing {
        /// What is not there.
        missing: &'static str,
    },
}

impl ConfigError {
    pub(super) fn whole(file: &str, problem: ConfigProblem) -> ConfigError {
        ConfigError { file: file.into(), place: None, path: "".into(), problem }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(place) = self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        f.write_str(": ")?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}", self.problem)
    }
}

impl std::error::Error for ConfigError {}
