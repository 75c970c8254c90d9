//! Places in the text of a catalog file: lines, columns, and where each tool stands.
//!
//! Used for errors, and for the bound on nesting that the JSON5 reader does not have: there the walk and the reader must agree on what is text between quotes
//! and what is a comment, or brackets could hide from the one and exhaust the stack of the other.

use std::ops::Range;

use super::error::Place;

/// Where the elements of the outermost array stand, as far as the text is one.
pub(super) fn entries(text: &str) -> Vec<Range<usize>> {
    let mut entries: Vec<Range<usize>> = Vec::new();
    let mut open: Option<usize> = None;
    let mut end = None;
    walk(text, |offset, byte, depth| {
        let Some(last) = end.replace(offset + 1) else {
            // The outermost bracket itself.
            return byte == b'[';
        };
        let closes = depth == 0 || depth == 1 && byte == b',';
        match open {
            Some(start) if closes => {
                entries.push(start..last);
                open = None;
            }
            None if !closes => open = Some(offset),
            _ => {}
        }
        depth > 0
    });
    if let Some(start) = open {
        entries.push(start..text.len());
    }
    entries
}

/// How deep the brackets of the text go.
pub(super) fn depth(text: &str) -> usize {
    let mut deepest = 0;
    walk(text, |_, _, depth| {
        deepest = deepest.max(depth);
        true
    });
    deepest
}

/// The first bracket that goes deeper than `max`.
pub(super) fn first_deeper_than(text: &str, max: usize) -> Option<usize> {
    let mut found = None;
    walk(text, |offset, _, depth| {
        if depth > max {
            found = Some(offset);
        }
        found.is_none()
    });
    found
}

/// Line and column of a byte's offset.
pub(crate) fn of_offset(text: &str, offset: usize) -> Place {
    let before = &text[..floor(text, offset)];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    Place { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
}

/// The place that the JSON reader names by line and *byte* of the last thing it read, both from 1.
pub(super) fn of_line_and_byte(text: &str, line: usize, byte: usize) -> Place {
    of_offset(text, line_start(text, line) + byte.saturating_sub(1))
}

/// The offset of a place, or the end of the text.
pub(super) fn to_offset(text: &str, place: Place) -> usize {
    let start = line_start(text, place.line);
    text[start..].char_indices().nth(place.column - 1).map_or(text.len(), |(at, _)| start + at)
}

fn line_start(text: &str, line: usize) -> usize {
    match line {
        0 | 1 => 0,
        _ => text.match_indices('\n').nth(line - 2).map_or(text.len(), |(at, _)| at + 1),
    }
}

fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// What ends a line, and so a comment, in JSON5.
const LINE_ENDS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];

/// The offset of a line and column of the JSON5 reader, both from 0. It takes more for line ends than editors do, and carriage return with line feed for one.
pub(crate) fn of_json5(text: &str, line: usize, column: usize) -> usize {
    let (mut now, mut in_line) = (0, 0);
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if (now, in_line) == (line, column) || now > line {
            return at;
        }
        if LINE_ENDS.contains(&letter) {
            if letter == '\r' {
                letters.next_if(|(_, next)| *next == '\n');
            }
            now += 1;
            in_line = 0;
        } else {
            in_line += 1;
        }
    }
    text.len()
}

/// Visits every byte that is neither blank nor comment, with the depth of brackets after it. Of a string only the quotes are visited.
fn walk(text: &str, mut visit: impl FnMut(usize, u8, usize) -> bool) {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &text.as_bytes()[at..];
        match byte {
            b'/' if rest.starts_with(b"//") => {
                at += text.get(at..).and_then(|rest| rest.find(LINE_ENDS)).unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                at += rest.windows(2).skip(2).position(|pair| pair == b"*/").map_or(rest.len(), |end| end + 4);
                continue;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !visit(at, byte, depth) {
            return;
        }
        at += 1;
        if matches!(byte, b'"' | b'\'') {
            while let Some(&inner) = bytes.get(at) {
                if inner == byte {
                    if !visit(at, inner, depth) {
                        return;
                    }
                    at += 1;
                    break;
                }
                at += if inner == b'\\' { 2 } else { 1 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        entries(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn entries_are_the_elements_of_the_outermost_array() {
        assert_eq!(texts("[ {a: [1, 2]}, // {x},\n 'b,]', /* [ */ [3] ]"), ["{a: [1, 2]}", "'b,]'", "[3]"]);
        assert_eq!(texts("[]"), Vec::<&str>::new());
        assert_eq!(texts("[{\"a\": \"\\\"}\"}, {"), ["{\"a\": \"\\\"}\"}", "{"]);
        assert_eq!(texts("[[1],[2]]"), ["[1]", "[2]"]);
        assert_eq!(texts("{}"), Vec::<&str>::new());
    }

    #[test]
    fn a_comment_ends_where_the_reader_of_json5_ends_it() {
        for end in LINE_ENDS {
            assert_eq!(depth(&format!("// [ {end} [[")), 2, "{end:?}");
        }
        assert_eq!(depth("// [ \t [["), 0);
    }

    #[test]
    fn places_of_the_reader_of_json5_are_places_of_the_text() {
        for text in ["\r¡", "\r\n¡", "\u{2028} \u{2029}¡", "¡", "// é\r\r\n¡"] {
            let at = json5::from_str::<serde_json::Value>(text).unwrap_err().position().unwrap();
            assert!(text[of_json5(text, at.line, at.column)..].starts_with('¡'), "{text:?} {at:?}");
        }
    }

    #[test]
    fn places_count_characters_from_one() {
        let text = "[\r\n \"é\", x]";
        let offset = text.find('x').unwrap();
        assert_eq!(of_offset(text, offset), Place { line: 2, column: 7 });
        assert_eq!(to_offset(text, Place { line: 2, column: 7 }), offset);
        assert_eq!(of_line_and_byte(text, 2, 8), Place { line: 2, column: 7 });
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_fail(text: String, offset in 0usize..200) {
            entries(&text);
            let place = of_offset(&text, offset);
            proptest::prop_assert!(to_offset(&text, place) <= text.len());
        }
    }
}
