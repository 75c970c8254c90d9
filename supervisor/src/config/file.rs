//! From a file to a configuration.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::checked::{Config, config};
use super::error::{ConfigError, ConfigProblem};
use super::raw::tree;
use crate::catalog::place_of;

/// Bytes of a configuration at most. People write them; a thousand agents with twenty patterns each fit.
const MAX_FILE_BYTES: u64 = 1 << 20;

impl Config {
    /// Reads a file of JSON5.
    ///
    /// # Errors
    /// The file cannot be read, is larger than 1 MiB, or says something that means nothing; the error says where and what to do.
    pub fn open(path: impl AsRef<Path>) -> Result<Config, ConfigError> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let bytes = read_bounded(path).map_err(|problem| ConfigError::whole(&shown, problem))?;
        Config::from_bytes(&bytes, &shown)
    }

    /// Reads the text of a configuration. `name` is the file's name in errors.
    ///
    /// # Errors
    /// As [`Config::open`].
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Config, ConfigError> {
        let text = text_of(bytes).map_err(|problem| ConfigError::whole(name, problem))?;
        tree(text).and_then(|tree| config(text, &tree)).map_err(|fault| ConfigError {
            file: name.into(),
            place: Some(place_of(text, fault.at)),
            path: fault.path.into(),
            problem: fault.problem,
        })
    }
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, ConfigProblem> {
    let unreadable = |error: std::io::Error| ConfigProblem::Unreadable(error.kind());
    let mut bytes = Vec::new();
    // One byte more than allowed: a pipe or a growing file has no length to believe.
    File::open(path).map_err(unreadable)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES { Err(ConfigProblem::TooLarge { limit: MAX_FILE_BYTES }) } else { Ok(bytes) }
}

/// UTF-8, with or without a byte-order mark.
fn text_of(bytes: &[u8]) -> Result<&str, ConfigProblem> {
    // Without a mark, the first character of a configuration is ASCII: its other half in UTF-16 is a zero.
    if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..]) {
        return Err(ConfigProblem::Utf16);
    }
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ConfigProblem::TooLarge { limit: MAX_FILE_BYTES });
    }
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    std::str::from_utf8(&bytes[mark..]).map_err(|error| ConfigProblem::NotUtf8 { offset: mark + error.valid_up_to() })
}
