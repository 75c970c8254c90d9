//! Files that people and strangers write, as text: bounded, then read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Why bytes are no text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NotText {
    /// UTF-16.
    Utf16,
    /// No encoding we know; the first wrong byte, counted from 0.
    NotUtf8(usize),
}

/// Why a file cannot be read, in words for whoever named it; nothing where the system's own words have to do.
pub(crate) fn known_reason(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::NotFound => Some("there is no such file"),
        io::ErrorKind::PermissionDenied => Some("permission denied"),
        io::ErrorKind::IsADirectory => Some("it is a directory"),
        _ => None,
    }
}

/// The same, with the system's own words for the rest.
pub(crate) fn reason(kind: io::ErrorKind) -> String {
    known_reason(kind).map_or_else(|| kind.to_string(), str::to_owned)
}

/// The bytes of a file; nothing when it has more than `most`.
pub(crate) fn read_at_most(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = File::open(path)?;
    let told = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(usize::try_from(told.min(most)).unwrap_or(0));
    // One byte more than allowed: a pipe or a growing file has no length to believe.
    file.take(most + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// UTF-8, with or without a byte-order mark, of a text whose first character is ASCII.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, NotText> {
    // Without a mark, the other half of the first character in UTF-16 is a zero.
    if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..]) {
        return Err(NotText::Utf16);
    }
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    std::str::from_utf8(&bytes[mark..]).map_err(|error| NotText::NotUtf8(mark + error.valid_up_to()))
}
