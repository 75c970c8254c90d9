//! What a person is shown of a call before it may go.
//!
//! It is a stranger's: the body chose the arguments, and the tool's origin its names. So it is bounded, nothing in it drives a screen, and every row of it stands
//! behind a mark, where it cannot pass for what we say ourselves.

use super::ApprovalRequest;
use crate::catalog::visible::{visible_json, visible_line};

/// Letters of arguments that are shown; of longer ones the beginning and the end, and how much is missing.
const SHOWN_HEAD: usize = 800;
const SHOWN_TAIL: usize = 300;
/// Letters of an id or a name.
const NAME_LETTERS: usize = 200;
/// Columns of a row of what a stranger wrote. No screen breaks it again.
const COLUMNS: usize = 72;
/// Columns that stand before a name in its first row.
const NAME_COLUMNS: usize = 16;
/// Blanks in a run that are shown as they are.
const BLANKS: usize = 8;

/// A call in rows, each short enough for a screen. What is not the first row of a name has to stand behind a mark.
#[derive(Debug)]
pub(crate) struct ShownCall {
    /// The tool's id.
    pub(crate) tool: Vec<String>,
    /// The name of its source.
    pub(crate) source_name: Vec<String>,
    /// The arguments: JSON.
    pub(crate) args: Vec<String>,
}

impl ShownCall {
    /// What is shown of the call that this question is about.
    pub(crate) fn of(question: &ApprovalRequest) -> ShownCall {
        let name = |text: &str| rows(&cut(&one_line(text), NAME_LETTERS, 0), COLUMNS - NAME_COLUMNS);
        let args = cut(&squeezed(&visible_json(&question.args.to_string())), SHOWN_HEAD, SHOWN_TAIL);
        ShownCall { tool: name(&question.tool.id), source_name: name(&question.tool.source_name), args: rows(&args, COLUMNS) }
    }
}

/// A name in one line that no screen obeys.
pub(crate) fn one_line(text: &str) -> String {
    squeezed(&visible_line(text))
}

/// Whether a line of a name fits behind what we say.
pub(crate) fn is_one_row(line: &str) -> bool {
    rows(line, COLUMNS - NAME_COLUMNS).len() == 1
}

/// Text with long runs of blanks told instead of shown: they would push what stands around them off the screen.
fn squeezed(text: &str) -> String {
    // Letters that have no ink count as blanks.
    let is_blank =
        |letter: char| letter.is_whitespace() || matches!(letter, '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (run, after) = rest.split_at(rest.find(|letter| !is_blank(letter)).unwrap_or(rest.len()));
        match run.chars().count() {
            count if count > BLANKS => out.push_str(&format!("[{count} blanks]")),
            _ => out.push_str(run),
        }
        let (word, after) = after.split_at(after.find(is_blank).unwrap_or(after.len()));
        out.push_str(word);
        rest = after;
    }
    out
}

/// Text in rows of so many columns. A letter outside ASCII counts as two, as the widest do.
pub(crate) fn rows(text: &str, columns: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut used = 0;
    for letter in text.chars() {
        let width = if letter.is_ascii() { 1 } else { 2 };
        if used + width > columns {
            rows.push(String::new());
            used = 0;
        }
        used += width;
        if let Some(row) = rows.last_mut() {
            row.push(letter);
        }
    }
    rows
}

/// The first and the last letters of a text, and how many lie between them.
fn cut(text: &str, head: usize, tail: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    let Some(between) = letters.len().checked_sub(head + tail).filter(|between| *between > 0) else { return text.to_owned() };
    let of = |letters: &[char]| letters.iter().collect::<String>();
    format!("{} … {between} letters are not shown … {}", of(&letters[..head]), of(&letters[letters.len() - tail..]))
}
