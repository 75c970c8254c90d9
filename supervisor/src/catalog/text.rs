//! Strangers' texts, made fit for one line, a row, or a message.

use std::borrow::Cow;

/// How much of an id a message repeats: enough to recognise it, too little to flood a log.
const QUOTED_CHARS: usize = 120;

/// The text in double quotes, with blanks visible, control and invisible characters escaped, and cut when it is long.
pub fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED_CHARS) {
        Some((cut, _)) => format!("{:?}…", &text[..cut]),
        None => format!("{text:?}"),
    }
}

/// Whether line breaks may stay in a cleaned text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lines {
    /// Every run of them becomes one blank.
    Join,
    /// `\n` and `\t` stay.
    Keep,
}

/// The text without control and direction-changing characters, at most `max_chars` long; `…` marks a cut.
pub fn cleaned(text: &str, max_chars: usize, lines: Lines) -> Cow<'_, str> {
    let harmless = |c: char| !is_unfit(c) || (lines == Lines::Keep && matches!(c, '\n' | '\t'));
    let fits = text.len() <= max_chars || text.char_indices().nth(max_chars).is_none();
    if fits && text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().min(max_chars * 4));
    let mut chars = text.chars();
    let mut kept = 0;
    let mut after_unfit = false;
    // Unfit characters in a row give one blank, so the source is bounded too: a megabyte of NULs is not worth reading.
    for c in chars.by_ref().take(max_chars * 2) {
        if kept + 1 >= max_chars && !fits {
            out.push('…');
            return Cow::Owned(out);
        }
        if harmless(c) {
            out.push(c);
            kept += 1;
            after_unfit = false;
        } else if !after_unfit {
            out.push(' ');
            kept += 1;
            after_unfit = true;
        }
    }
    if chars.next().is_some() {
        out.push('…');
    }
    Cow::Owned(out)
}

/// The text as one clean line.
pub(crate) fn cleaned_line(text: &str, max_chars: usize) -> Cow<'_, str> {
    cleaned(text, max_chars, Lines::Join)
}

/// Control characters (they drive terminals and break lines) and direction overrides (they make a text look like another).
fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{061c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_show_blanks_and_escape_control_characters() {
        assert_eq!(quoted(" read \n"), "\" read \\n\"");
        assert_eq!(quoted("\u{1b}[31m"), "\"\\u{1b}[31m\"");
        assert_eq!(quoted(&"x".repeat(500)).chars().count(), QUOTED_CHARS + 3);
    }

    #[test]
    fn a_clean_text_is_not_copied() {
        assert!(matches!(cleaned("Reads a file — 日本", 512, Lines::Join), Cow::Borrowed(_)));
    }

    #[test]
    fn control_characters_become_blanks_and_long_texts_are_cut_at_whole_characters() {
        assert_eq!(cleaned("a\r\nb\u{1b}c", 512, Lines::Join), "a b c");
        assert_eq!(cleaned("a\nb\u{202e}c", 512, Lines::Keep), "a\nb c");
        let cut = cleaned(&"é".repeat(600), 512, Lines::Join).into_owned();
        assert_eq!(cut.chars().count(), 512);
        assert!(cut.ends_with('…'));
    }

    proptest::proptest! {
        #[test]
        fn a_cleaned_text_is_always_clean_and_short(text: String, max in 1usize..64) {
            let out = cleaned(&text, max, Lines::Join);
            proptest::prop_assert!(out.chars().count() <= max + 1);
            proptest::prop_assert!(!out.chars().any(is_unfit));
        }
    }
}
