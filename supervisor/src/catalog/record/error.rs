//! What can be wrong with a record, and where.

use std::fmt;
use std::io;

use super::super::Place;
use super::super::text_file::reason;

/// A record that cannot be used or written: `run.record:3:14: …`.
#[derive(Debug)]
pub struct RecordError {
    /// The file as the caller named it.
    pub file: String,
    /// Where in it; `None` when the file as a whole is meant.
    pub place: Option<Place>,
    /// What is wrong.
    pub problem: RecordProblem,
}

/// What is wrong with a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordProblem {
    /// The system does not give it to us.
    #[error("cannot be read: {}\ncheck the path and its rights", reason(.0.kind()))]
    Unreadable(io::Error),
    /// The system does not take it from us.
    #[error("cannot be written: {}\nname a file in a folder that is there and yours", .0.kind())]
    Unwritable(io::Error),
    /// It is larger than any record.
    #[error("the record is larger than {} MiB\nlet the body call less, or get smaller values", .limit >> 20)]
    TooLarge {
        /// Bytes allowed.
        limit: usize,
    },
    /// Not text.
    #[error("is not UTF-8 (byte {offset} is wrong)\nrecord the run again with `--record`")]
    NotUtf8 {
        /// The first wrong byte, counted from 0.
        offset: usize,
    },
    /// No JSON, or not the JSON of a record.
    #[error("is not a record: {message}\nrecord the run again with `--record`")]
    Shape {
        /// The reader's words.
        message: String,
    },
    /// Of another version of the form.
    #[error("is a record of version {found}, this program reads version {wanted}\nrecord the run again with `--record`")]
    Version {
        /// What it says.
        found: u64,
        /// What is read.
        wanted: u64,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(place) = self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::error::Error for RecordError {}
