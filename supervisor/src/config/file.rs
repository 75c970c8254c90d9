//! From a file to a configuration.

use std::path::Path;

use super::checked::{Config, config};
use super::error::{ConfigError, ConfigProblem};
use super::mcp_file::{McpFile, mcp_file};
use super::raw::{Fault, Node, tree};
use crate::catalog::{NotText, place_of, read_at_most, utf8};

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
        read(bytes, name, config)
    }
}

impl McpFile {
    /// Reads a file of `mcpServers`, JSON or JSON5.
    ///
    /// # Errors
    /// As [`Config::open`]; keys that mean nothing here are notes, not errors.
    pub fn open(path: impl AsRef<Path>) -> Result<McpFile, ConfigError> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let bytes = read_bounded(path).map_err(|problem| ConfigError::whole(&shown, problem))?;
        McpFile::from_bytes(&bytes, &shown)
    }

    /// Reads the text of such a file. `name` is the file's name in errors.
    ///
    /// # Errors
    /// As [`McpFile::open`].
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<McpFile, ConfigError> {
        read(bytes, name, |_, tree| mcp_file(tree))
    }
}

fn read<T>(bytes: &[u8], name: &str, of: impl FnOnce(&str, &Node) -> Result<T, Fault>) -> Result<T, ConfigError> {
    let text = text_of(bytes).map_err(|problem| ConfigError::whole(name, problem))?;
    tree(text).and_then(|tree| of(text, &tree)).map_err(|fault| ConfigError {
        file: name.into(),
        place: Some(place_of(text, fault.at)),
        path: fault.path.into(),
        problem: fault.problem,
    })
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, ConfigProblem> {
    let bytes = read_at_most(path, MAX_FILE_BYTES).map_err(|error| ConfigProblem::Unreadable(error.kind()))?;
    bytes.ok_or(ConfigProblem::TooLarge { limit: MAX_FILE_BYTES })
}

fn text_of(bytes: &[u8]) -> Result<&str, ConfigProblem> {
    match utf8(bytes) {
        Err(NotText::Utf16) => Err(ConfigProblem::Utf16),
        _ if bytes.len() as u64 > MAX_FILE_BYTES => Err(ConfigProblem::TooLarge { limit: MAX_FILE_BYTES }),
        Err(NotText::NotUtf8(offset)) => Err(ConfigProblem::NotUtf8 { offset }),
        Ok(text) => Ok(text),
    }
}
