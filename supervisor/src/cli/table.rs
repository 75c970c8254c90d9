//! Rows for people: within the columns there are, cut at whole characters, one line each.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::paint::Paint;
use crate::catalog::visible::visible_line;

/// Columns between the two parts of a row.
const GAP: usize = 2;

/// Rows of a name and a text, as wide as the columns allow. A long name gets a line of its own, whole: it is what a person copies.
pub(super) fn rows(rows: &[(String, String)], columns: usize, paint: Paint) -> Vec<String> {
    let rows: Vec<(String, String)> = rows.iter().map(|(name, text)| (visible_line(name), visible_line(text))).collect();
    let most = columns / 2;
    let names = rows.iter().map(|(name, _)| name.width()).filter(|width| *width <= most).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (name, text) in rows {
        let text = cut(&text, columns.saturating_sub(names + GAP));
        let width = name.width();
        if text.is_empty() {
            lines.push(paint.name(&name));
        } else if width <= names {
            lines.push(format!("{}{}{text}", paint.name(&name), " ".repeat(names - width + GAP)));
        } else {
            lines.push(paint.name(&name));
            lines.push(format!("{}{text}", " ".repeat(names + GAP)));
        }
    }
    lines
}

/// The text within so many columns; what is cut shows as `…`.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let kept = text.chars().take_while(|letter| {
        used += letter.width().unwrap_or(0);
        used <= columns
    });
    let mut short: String = kept.collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_and_are_cut_at_whole_characters() {
        let all = [
            ("demo:echo".to_owned(), "Says it again. ".repeat(20)),
            ("a:b".to_owned(), "日本語".repeat(40)),
            ("x".repeat(100), "text of a long name".to_owned()),
            ("n\u{1b}[2J".to_owned(), "one\nline \u{202e}x".to_owned()),
        ];
        let lines = rows(&all, 80, Paint::off());
        assert!(lines.iter().all(|line| line.width() <= 80 || line.starts_with("xxx")), "{lines:#?}");
        assert!(lines.iter().all(|line| !line.chars().any(|c| c.is_control() || c == '\u{202e}')), "{lines:#?}");
        assert!(lines[0].starts_with("demo:echo") && lines[0].ends_with('…'), "{lines:#?}");
        assert_eq!((lines[2].as_str(), lines[3].trim()), ("x".repeat(100).as_str(), "text of a long name"));
    }

    #[test]
    fn what_fits_is_not_cut() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("日本", 3), "日…");
        assert_eq!(cut("日本", 1), "…");
    }
}
