//! Guest text on its way to a person's screen: control characters are input of an attacker there, so they are shown instead of obeyed.

use std::fmt::Write as _;

use super::is_unfit;

/// Text with everything visible that a terminal might obey; line ends and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            // The carriage return of a line end goes without loss; alone it would overwrite what stands before it.
            '\r' if letters.peek() == Some(&'\n') => {}
            letter if is_unfit(letter) => escape(&mut shown, letter),
            letter => shown.push(letter),
        }
    }
    shown
}

/// The same on one line.
pub(crate) fn visible_line(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', " ")
}

/// JSON text that means the same and has nothing in it that a terminal might obey. Such letters stand in strings only, where JSON has an escape
/// for each.
pub(crate) fn visible_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_unfit(letter) && !letter.is_ascii_whitespace() {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                // Writing to a String cannot fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(letter);
        }
    }
    shown
}

fn escape(shown: &mut String, letter: char) {
    let _ = write!(shown, "\\u{{{:x}}}", u32::from(letter));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_of_a_guest_are_shown_not_obeyed() {
        assert_eq!(visible("\u{1b}]0;owned\u{7}"), "\\u{1b}]0;owned\\u{7}");
        assert_eq!(visible("a\r\nb\tc"), "a\nb\tc");
        assert_eq!(visible("good\rbad"), "good\\u{d}bad");
        assert_eq!(visible("\u{9b}31m \u{202e}x"), "\\u{9b}31m \\u{202e}x");
        assert_eq!(visible_line("a\nb"), "a\\nb");
        assert_eq!(visible("日本 😀"), "日本 😀");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let json = "{\"a\": \"\u{9b}\u{7f}é\"}";
        let shown = visible_json(json);
        assert_eq!(shown, "{\"a\": \"\\u009b\\u007fé\"}");
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(parse(&shown), parse(json));
    }
}
