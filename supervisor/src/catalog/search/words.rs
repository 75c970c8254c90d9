//! From a text to the words that are searched for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Mutex;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::decompose_canonical;

/// Letters of one word that count; longer ones are no words (base64, hashes).
const MAX_WORD_CHARS: usize = 48;
/// Different words whose stems are remembered; a catalog of 2,834 tools has 6,400.
const REMEMBERED: usize = 1 << 16;

/// Words so common that they say nothing about what is looked for. Query and tools lose them alike, unless nothing else is left of a query.
/// In order, for a binary search. Short on purpose: words that name an action (`get`, `find`) are not in it, their frequency weighs them.
const COMMON: [&str; 62] = [
    "a", "about", "also", "am", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for", "from", "given",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "like", "me", "my", "of", "on", "or", "please", "should", "so",
    "some", "that", "the", "their", "them", "then", "there", "these", "this", "to", "us", "using", "want", "was", "we", "what", "when",
    "which", "who", "will", "with", "would", "you", "your",
];

/// Words with which a question asks, and which say little of what it asks for: stems, in order. They count less, but they count: a tool may be
/// called `help` or `tell`.
const ASKING: [&str; 32] = [
    "could", "hello", "help", "here", "hey", "hi", "just", "kind", "know", "let", "look", "mani", "may", "might", "more", "most", "much",
    "need", "now", "ok", "okay", "pleas", "realli", "right", "say", "sure", "tell", "thank", "there", "veri", "want", "wish",
];

/// Splits texts into stemmed words. Names split where their style does: `find_symbol`, `findSymbol`, `find-symbol`, `find.symbol`.
pub(super) struct Words {
    stemmer: Stemmer,
    stems: Mutex<HashMap<Box<str>, Box<str>>>,
}

impl Words {
    pub(super) fn new() -> Words {
        Words { stemmer: Stemmer::create(Algorithm::English), stems: Mutex::new(HashMap::new()) }
    }

    /// The words of a text, in order, without the common ones.
    pub(super) fn of(&self, text: &str) -> Vec<String> {
        self.collect(text, false)
    }

    /// The words of a query: like [`Words::of`], but a query of common words alone keeps them.
    pub(super) fn of_query(&self, text: &str) -> Vec<String> {
        let words = self.collect(text, false);
        if words.is_empty() { self.collect(text, true) } else { words }
    }

    /// The stem of one word.
    pub(super) fn stemmed(&self, word: &str) -> String {
        let mut stems = self.stems.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.stem(&mut stems, word.to_lowercase())
    }

    fn collect(&self, text: &str, common_too: bool) -> Vec<String> {
        let mut stems = self.stems.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut words = Vec::new();
        split(&folded(text), |part| match part {
            Part::Word(word) => {
                let lower = word.to_lowercase();
                if common_too || COMMON.binary_search(&lower.as_str()).is_err() {
                    words.push(self.stem(&mut stems, lower));
                }
            }
            Part::Unspaced(run) => push_pairs(run, &mut words),
        });
        words
    }

    /// The stem of an English word. Words of other scripts, short ones and numbers are left alone.
    fn stem(&self, stems: &mut HashMap<Box<str>, Box<str>>, word: String) -> String {
        if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return word;
        }
        if let Some(stem) = stems.get(word.as_str()) {
            return stem.to_string();
        }
        let stem = self.stemmer.stem(&word).into_owned();
        if stems.len() < REMEMBERED {
            stems.insert(word.into(), stem.as_str().into());
        }
        stem
    }
}

/// What stands for a word in the index.
pub(super) fn key(word: &str) -> u64 {
    <u64 as bm25::TokenEmbedder>::embed(word)
}

/// Whether a stem speaks of the asking.
pub(super) fn is_asking(stem: &str) -> bool {
    ASKING.binary_search(&stem).is_ok()
}

/// The text with one form for each letter: composed, full-width and ligature forms as usual ones, Latin letters without their accents. Letters
/// of other scripts keep their marks, where the marks make other letters of them.
fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.nfkc() {
        let mut base = None;
        decompose_canonical(c, |part| {
            base.get_or_insert(part);
        });
        match base {
            Some(letter) if letter.is_ascii_alphabetic() => out.push(letter),
            _ if is_mark(c) && out.ends_with(|last: char| last.is_ascii_alphabetic()) => {}
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn is_mark(c: char) -> bool {
    ('\u{0300}'..='\u{036f}').contains(&c)
}

enum Part<'a> {
    /// Letters and digits between two borders.
    Word(&'a str),
    /// A run of a script that puts no blanks between words.
    Unspaced(&'a str),
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Kind {
    Border,
    Lower,
    Upper,
    Digit,
    Unspaced,
}

fn kind(c: char) -> Kind {
    match c {
        'a'..='z' => Kind::Lower,
        'A'..='Z' => Kind::Upper,
        '0'..='9' => Kind::Digit,
        _ if c.is_ascii() => Kind::Border,
        // Kana, Han and its extensions; Thai, Lao, Khmer, Burmese.
        '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}'
        | '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}' => Kind::Unspaced,
        _ if c.is_uppercase() => Kind::Upper,
        // Marks belong to the letter before them (decomposed accents, vowel signs).
        _ if c.is_alphanumeric() || is_mark(c) => Kind::Lower,
        _ => Kind::Border,
    }
}

fn split(text: &str, mut found: impl FnMut(Part<'_>)) {
    let mut start = 0;
    let mut before = Kind::Border;
    let mut emit = |range: &str, kind: Kind| match kind {
        _ if range.is_empty() => {}
        Kind::Unspaced => found(Part::Unspaced(range)),
        _ => found(Part::Word(range.char_indices().nth(MAX_WORD_CHARS).map_or(range, |(cut, _)| &range[..cut]))),
    };
    for (at, c) in text.char_indices() {
        let now = kind(c);
        let next_is_lower = || text[at + c.len_utf8()..].chars().next().is_some_and(|next| kind(next) == Kind::Lower);
        let cut = match (before, now) {
            (Kind::Border, _) | (_, Kind::Border) => true,
            (Kind::Unspaced, Kind::Unspaced) => false,
            (Kind::Unspaced, _) | (_, Kind::Unspaced) => true,
            (Kind::Lower | Kind::Digit, Kind::Upper) => true,
            // `HTTPServer`: the last capital belongs to the word that follows.
            (Kind::Upper, Kind::Upper) => next_is_lower(),
            _ => false,
        };
        if cut {
            if before != Kind::Border {
                emit(&text[start..at], before);
            }
            start = at;
        }
        before = now;
    }
    if before != Kind::Border {
        emit(&text[start..], before);
    }
}

/// Neighbouring pairs stand for the words of a script without blanks; single characters are kept for queries of one.
fn push_pairs(run: &str, words: &mut Vec<String>) {
    let chars: Vec<char> = run.chars().collect();
    words.extend(chars.iter().map(char::to_string));
    words.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
}

/// A name as one word: small letters and digits only, so that `find_symbol`, `FindSymbol` and `find symbol` are one. Empty for a text
/// without any.
pub(super) fn joined(text: &str) -> String {
    folded(text).chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_split_where_their_style_does() {
        let words = Words::new();
        for name in ["find_symbol", "findSymbol", "FindSymbol", "find-symbol", "find.symbol", "find symbol", "FIND_SYMBOL"] {
            assert_eq!(words.of(name), ["find", "symbol"], "{name}");
        }
        assert_eq!(words.of("HTTPServer2Go"), ["http", "server2", "go"]);
        assert_eq!(words.of("a/b"), ["b"]);
    }

    #[test]
    fn the_lists_of_words_are_in_order_and_of_stems() {
        assert!(COMMON.is_sorted() && ASKING.is_sorted());
        let words = Words::new();
        for word in ["Please", "kindly", "thanks", "needs", "wishes", "telling", "many", "really", "very", "mostly"] {
            assert!(is_asking(&words.stemmed(word)), "{word}");
        }
    }

    #[test]
    fn accents_and_wide_letters_are_the_plain_ones_and_other_scripts_keep_their_letters() {
        let words = Words::new();
        for text in ["Café", "CAFE\u{301}", "ｃａｆｅ", "cafe"] {
            assert_eq!(words.of(text), ["cafe"], "{text}");
        }
        assert_eq!(words.of("ﬁle"), ["file"]);
        assert_ne!(words.of("мой"), words.of("мои"));
        assert_ne!(words.of("が"), words.of("か"));
    }

    #[test]
    fn forms_of_a_word_are_one_word() {
        let words = Words::new();
        assert_eq!(words.of("scheduling"), words.of("Schedule"));
        assert_eq!(words.of("files"), words.of("file"));
    }

    #[test]
    fn a_query_of_common_words_keeps_them() {
        let words = Words::new();
        assert!(words.of("what is this").is_empty());
        assert_eq!(words.of_query("what is this"), ["what", "is", "this"]);
    }

    #[test]
    fn scripts_without_blanks_give_pairs() {
        assert_eq!(Words::new().of("查询天气"), ["查", "询", "天", "气", "查询", "询天", "天气"]);
        assert_eq!(Words::new().of("用API查"), ["用", "api", "查"]);
        assert_eq!(Words::new().of("Sök filer"), ["sok", "filer"]);
        assert_eq!(Words::new().of("Прочитать ФАЙЛ"), ["прочитать", "файл"]);
    }

    #[test]
    fn joined_names_are_one_word() {
        assert_eq!(joined("Find Symbol"), joined("find_symbol"));
        assert_eq!(joined("--- "), "");
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_short_words_without_borders(text: String) {
            for word in Words::new().of_query(&text) {
                proptest::prop_assert!(!word.is_empty());
                proptest::prop_assert!(word.chars().count() <= MAX_WORD_CHARS * 3);
            }
        }
    }
}
