//! What a value takes in memory, read off its text before anything is kept of it.
//!
//! A text of a few bytes for each value becomes many times as large when it is read: one byte of `[` takes three hundred. So what a stranger may send is bounded by
//! what it becomes, too.

use serde_json::{Value, json};

/// Bytes of memory that the value of one answer may take: eight times its longest text. Rows of a table take sixteen times theirs, so those of the usual limit of a result
/// (4 MiB) pass, and so does one long text; sixteen MiB of small lists would take two gigabytes.
pub(crate) const MOST_WEIGHT: usize = 128 << 20;
/// How many times their text the arguments of a call may take in memory, of the longest text that they may have: twice what rows of a table do.
pub(crate) const ARGS_WEIGHT: usize = 32;

/// A value in its array: what `serde_json` has for one, with objects in the order of their text.
const VALUE: usize = 72;
/// An entry of an object beside its value: the hash, the key, and its place in the table.
const ENTRY: usize = 32 + 9;
/// What is set aside for values when there is a first one.
const FIRST: usize = 4;
/// Up to so many the room for the next ones counts: it shares its pages with others.
const DOUBLED: usize = 64;
/// What the allocator adds to a string or a list.
const HEAD: usize = 16;
/// The least that it gives.
const LEAST: usize = 32;
/// Levels that are looked at. What is deeper is refused by whoever reads it, before it has read more than these.
const LEVELS: usize = 128;

/// A text that is not to be read: the value would take too much.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TooHeavy {
    /// Bytes of memory that it would take.
    pub(crate) weight: usize,
    /// As many as it may.
    pub(crate) limit: usize,
}

impl TooHeavy {
    /// Both numbers, as the `data` of a failure has them.
    pub(crate) fn data(self) -> Value {
        json!({"memoryBytes": self.weight, "limit": self.limit})
    }
}

/// The weight of a text that may be read.
pub(crate) fn weighed(text: &str, limit: usize) -> Result<usize, TooHeavy> {
    let weight = weight(text);
    if weight <= limit { Ok(weight) } else { Err(TooHeavy { weight, limit }) }
}

/// Bytes that the value of a JSON text takes, near enough; of a text that is none, whatever comes out.
pub(crate) fn weight(text: &str) -> usize {
    #[derive(Clone, Copy, Default)]
    struct Open {
        items: usize,
        is_object: bool,
    }
    let mut open = [Open::default(); LEVELS];
    let mut depth = 0;
    let mut weight = VALUE;
    let mut string: Option<usize> = None;
    let mut is_escaped = false;
    let mut is_new = true;
    for (at, byte) in text.bytes().enumerate() {
        if let Some(start) = string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    string = None;
                    // An empty string sets nothing aside.
                    weight += if at > start + 1 { (at - start + HEAD).max(LEAST) } else { 0 };
                }
                _ => {}
            }
            continue;
        }
        if is_new && !matches!(byte, b',' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t') {
            is_new = false;
            if let Some(inner) = open[..depth].last_mut() {
                inner.items += 1;
            }
        }
        match byte {
            b'"' => string = Some(at),
            b'[' | b'{' => {
                let Some(next) = open.get_mut(depth) else { return weight };
                *next = Open { items: 0, is_object: byte == b'{' };
                depth += 1;
                is_new = true;
            }
            b',' => is_new = true,
            b']' | b'}' if depth > 0 => {
                depth -= 1;
                is_new = false;
                let Open { items, is_object } = open[depth];
                if items > 0 {
                    // Lists grow to twice their length; of a long one the half that is not used costs nothing.
                    let room = if items <= DOUBLED { items.next_power_of_two().max(FIRST) } else { items };
                    weight += HEAD + room * if is_object { VALUE + ENTRY } else { VALUE };
                }
            }
            _ => {}
        }
    }
    weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_is_what_reading_takes() {
        // Measured as resident memory of a process that reads 16 MiB of each.
        for (piece, per_piece) in [
            ("[],", 72),
            ("{},", 72),
            ("0,", 72),
            ("\"\",", 72),
            ("\"a\",", 104),
            ("[0],", 376),
            ("{\"\":0},", 456),
            ("[[[[[[0]]]]]],", 1_895),
            ("{\"a\":1,\"b\":2,\"c\":3},", 551),
            ("{\"id\":123456,\"name\":\"abcdefgh\",\"ok\":true,\"n\":12.5,\"t\":\"2024-01-01\"},", 1_126),
        ] {
            let text = format!("[{}0]", piece.repeat(1_000));
            let found = weight(&text) / 1_000;
            assert!(found * 100 > per_piece * 80 && found * 100 < per_piece * 130, "{piece}: {found} for {per_piece}");
        }
    }

    #[test]
    fn what_stands_in_a_string_is_no_value() {
        let long = format!("{:?}", "[{,\"".repeat(10_000));
        assert!(weight(&long) < long.len() + 200, "{}", weight(&long));
        assert_eq!(weight("[]"), weight("7"));
    }

    #[test]
    fn any_text_has_one() {
        for text in ["", "]", "}}]", "\"", "\"\\", "[\"", "{\"a\"", ",,,", &"[".repeat(1 << 20), &"]".repeat(100)] {
            assert!(weight(text) < 1 << 20, "{}", weight(text));
        }
    }
}
