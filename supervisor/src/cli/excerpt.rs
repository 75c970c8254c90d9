//! The line of a body that an error names, with a mark below the place.

use unicode_width::UnicodeWidthChar;

use super::paint::Paint;
use crate::catalog::visible::visible_line;

/// Columns of a source line that are shown on each side of the place: with the gutter it fits in 80.
const SIDE: usize = 34;

/// The excerpt, or nothing when there is no such line. The place is the child's claim, so it may lie outside.
pub(super) fn excerpt(body: &str, line: u64, column: u64, paint: Paint) -> Option<String> {
    let source = line_of(body.strip_prefix('\u{feff}').unwrap_or(body), usize::try_from(line).ok()?.checked_sub(1)?)?;
    let letters: Vec<char> = source.chars().collect();
    let at = place(&letters, usize::try_from(column).ok()?);
    let from = back(&letters[..at]);
    let to = at + letters[at..].iter().scan(0, |used, letter| within(used, *letter)).count();
    let cut = |is_cut| if is_cut { "…" } else { "" };
    let lead = format!("{}{}", cut(from > 0), visible_line(&letters[from..at].iter().collect::<String>()));
    let rest = format!("{}{}", visible_line(&letters[at..to].iter().collect::<String>()), cut(to < letters.len()));
    let gutter = " ".repeat(line.to_string().len());
    let bar = paint.aside("|");
    let indent = " ".repeat(lead.chars().map(width).sum());
    Some(format!(" {gutter} {bar}\n {} {bar} {lead}{rest}\n {gutter} {bar} {indent}{}\n", paint.aside(&line.to_string()), paint.error("^")))
}

/// Line `at`, from 0; lines end where the child counts them to end: at `\n`, `\r\n` and a lone `\r`.
fn line_of(body: &str, at: usize) -> Option<&str> {
    body.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r')).nth(at)
}

/// Columns count UTF-16 units, as JavaScript does.
fn place(letters: &[char], column: usize) -> usize {
    let mut units = 0;
    let before = letters.iter().take_while(|letter| {
        units += letter.len_utf16();
        units < column
    });
    before.count()
}

/// Where to begin so that the place is in sight.
fn back(before: &[char]) -> usize {
    let shown = before.iter().rev().scan(0, |used, letter| within(used, *letter)).count();
    before.len() - shown
}

fn within(used: &mut usize, letter: char) -> Option<char> {
    *used += width(letter);
    (*used <= SIDE).then_some(letter)
}

fn width(letter: char) -> usize {
    letter.width().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(body: &str, line: u64, column: u64) -> Option<String> {
        excerpt(body, line, column, Paint::off())
    }

    #[test]
    fn the_mark_stands_below_the_place() {
        assert_eq!(shown("const c = null;\r\nreturn c.x;", 2, 10).unwrap(), "   |\n 2 | return c.x;\n   |          ^\n");
        assert_eq!(shown("\u{feff}oops", 1, 1).unwrap(), "   |\n 1 | oops\n   | ^\n");
    }

    #[test]
    fn lines_end_where_the_child_counts_them_to_end() {
        assert_eq!(shown("const c = null;\rreturn c.x;", 2, 10).unwrap(), "   |\n 2 | return c.x;\n   |          ^\n");
        assert_eq!(shown("a\n\r\n\rb", 4, 1).unwrap(), "   |\n 4 | b\n   | ^\n");
    }

    #[test]
    fn wide_letters_and_pairs_keep_the_mark_in_place() {
        assert_eq!(shown("'日本'+x", 1, 6).unwrap(), "   |\n 1 | '日本'+x\n   |        ^\n");
        assert_eq!(shown("'😀'+x", 1, 6).unwrap(), "   |\n 1 | '😀'+x\n   |      ^\n");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let body = format!("{}X{}", "a".repeat(5_000), "b".repeat(5_000));
        let text = shown(&body, 1, 5_001).unwrap();
        assert!(text.lines().all(|line| line.chars().count() < 80), "{text}");
        assert!(text.contains("| …aaa") && text.contains("aXb") && text.contains("bbb…\n"), "{text}");
    }

    #[test]
    fn a_claimed_place_outside_the_body_is_no_panic() {
        for (line, column) in [(0, 0), (1, 0), (1, u64::MAX), (2, 1), (u64::MAX, 1)] {
            let _ = shown("é", line, column);
        }
        assert_eq!(shown("é", 2, 1), None);
    }
}
