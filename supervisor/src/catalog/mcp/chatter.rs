//! What a server says beside the protocol, kept for people and never shown to a body.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::{cleaned_line, quoted};
use super::envelope::Stray;

/// Stray lines that are kept and logged one by one; the others are counted.
const STRAYS_KEPT: usize = 8;
/// Characters of a stray line that are kept.
const STRAY_CHARS: usize = 200;
/// Bytes of standard error that are kept, of its end: there a program says why it ended.
const STDERR_BYTES: usize = 16 << 10;
/// Notes of ours that are kept.
const NOTES_KEPT: usize = 16;

/// What one server said beside the protocol.
#[derive(Debug)]
pub struct Chatter {
    name: String,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    strays: Vec<String>,
    more_strays: u64,
    notes: Vec<String>,
    stderr: VecDeque<u8>,
    stderr_bytes: u64,
}

impl Chatter {
    pub(super) fn of(name: &str) -> Chatter {
        Chatter { name: name.to_owned(), kept: Mutex::default() }
    }

    /// Notes a line on standard output that is no message.
    pub(super) fn stray(&self, stray: Stray, line: &[u8]) {
        let mut kept = self.kept();
        if kept.strays.len() >= STRAYS_KEPT {
            kept.more_strays += 1;
            return;
        }
        // Four bytes are the most that a character takes.
        let head = String::from_utf8_lossy(&line[..line.len().min(4 * STRAY_CHARS)]).into_owned();
        let text = cleaned_line(head.trim_end(), STRAY_CHARS).into_owned();
        tracing::warn!(server = %self.name, what = %stray, text = %text, "stray output of an MCP server");
        kept.strays.push(if text.is_empty() { stray.to_string() } else { format!("{stray}: {}", quoted(&text)) });
    }

    /// Notes something about the server, once.
    pub(super) fn note(&self, note: impl Into<String>) {
        let note = note.into();
        let mut kept = self.kept();
        if kept.notes.len() < NOTES_KEPT && !kept.notes.contains(&note) {
            tracing::info!(server = %self.name, %note, "MCP server");
            kept.notes.push(note);
        }
    }

    /// Takes what the server wrote to its standard error.
    pub(super) fn stderr(&self, bytes: &[u8]) {
        let mut kept = self.kept();
        kept.stderr_bytes += bytes.len() as u64;
        let tail = &bytes[bytes.len().saturating_sub(STDERR_BYTES)..];
        let over = (kept.stderr.len() + tail.len()).saturating_sub(STDERR_BYTES);
        kept.stderr.drain(..over);
        kept.stderr.extend(tail);
    }

    /// The end of what it wrote to its standard error, and how many bytes that was in all.
    pub fn standard_error(&self) -> (String, u64) {
        let kept = self.kept();
        let bytes: Vec<u8> = kept.stderr.iter().copied().collect();
        (String::from_utf8_lossy(&bytes).into_owned(), kept.stderr_bytes)
    }

    /// Its last words on standard error, as one clean line.
    pub(super) fn last_words(&self) -> Option<String> {
        let (text, _) = self.standard_error();
        let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
        Some(cleaned_line(line.trim(), STRAY_CHARS).into_owned())
    }

    /// What people should know, a line each: notes, and what stood on its standard output beside messages.
    pub fn lines(&self) -> Vec<String> {
        let kept = self.kept();
        let name = quoted(&self.name);
        let mut lines: Vec<String> = kept.notes.iter().map(|note| format!("MCP server {name}: {note}")).collect();
        lines.extend(kept.strays.iter().map(|stray| format!("MCP server {name} sent {stray}")));
        if kept.more_strays > 0 {
            lines.push(format!("MCP server {name} sent {} more of that kind", kept.more_strays));
        }
        lines
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_whatever_is_said() {
        let chatter = Chatter::of("srv");
        (0..100_000).for_each(|_| chatter.stray(Stray::NotJson, &[b'x'; 4096]));
        chatter.stderr(&vec![b'a'; 1 << 20]);
        chatter.stderr(b"\nlast words\n\n");
        let (text, bytes) = chatter.standard_error();
        assert!(text.len() <= STDERR_BYTES && bytes > 1 << 20);
        assert_eq!(chatter.last_words().unwrap(), "last words");
        let lines = chatter.lines();
        assert_eq!(lines.len(), STRAYS_KEPT + 1);
        assert!(lines.last().unwrap().contains("99992 more"), "{lines:?}");
        assert!(lines.iter().all(|line| line.len() < 2 * STRAY_CHARS));
    }
}
