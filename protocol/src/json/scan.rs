//! One pass over the text of a frame, before anything is built from it.
//!
//! serde_json alone would let four things through that this wire forbids: a value that is only skipped may be nested without bound, may have the same key
//! twice, may escape half of a surrogate pair, and may have a number that no double holds. [`outline`] checks all of it, and the grammar, without recursion and
//! without building anything but a list of the members of the two outer levels.

use super::MAX_DEPTH;
use super::outline::{Key, Level, Member, Outline, Span};
use crate::violation::{Violation, ViolationKind as Kind};

/// Checks a whole text: one JSON object and nothing behind it, no deeper than [`MAX_DEPTH`], no key twice, no half surrogate, no number out of range.
///
/// # Errors
///
/// The first thing that is wrong, from left to right. A key that comes twice is noticed where its object ends.
pub(crate) fn outline(text: &str) -> Result<Outline<'_>, Violation> {
    let mut scan = Scan { text, bytes: text.as_bytes(), at: 0, keys: Vec::with_capacity(16) };
    let outline = Outline { text, levels: [Level::default(), Level::default()] };
    scan.run(outline)
}

struct Scan<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// The keys of all objects that are open, innermost last.
    keys: Vec<Key>,
}

fn bad(what: &'static str) -> Violation {
    Violation::new(Kind::BadJson, what)
}

impl<'a> Scan<'a> {
    fn run(&mut self, mut outline: Outline<'a>) -> Result<Outline<'a>, Violation> {
        // Levels as bits, the innermost lowest: 1 is an object. 128 levels fit exactly.
        let mut objects: u128 = 0;
        let mut bases = [0_u32; MAX_DEPTH as usize];
        let mut depth: u32 = 0;
        // The listed member of each of the two outer levels whose value is being read.
        let mut open = [None::<u8>; 2];
        self.blank();
        match self.peek() {
            Some(b'{') => {}
            // A batch, a number, a string, true, null. What follows does not matter any more.
            Some(b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
                return Err(Violation::new(Kind::NotAnObject, "frame text"));
            }
            _ => return Err(bad("frame text")),
        }
        loop {
            // One value begins here.
            let byte = self.peek().ok_or(bad("end of text"))?;
            let mut closed = true;
            match byte {
                b'{' | b'[' => {
                    if depth == MAX_DEPTH {
                        return Err(Violation::new(Kind::TooDeep, "frame text"));
                    }
                    self.at += 1;
                    bases[depth as usize] = self.keys.len() as u32;
                    objects = objects << 1 | u128::from(byte == b'{');
                    depth += 1;
                    closed = false;
                }
                b'"' => drop(self.string()?),
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => return Err(bad("value")),
            }
            // What comes behind a value, or first in a new object or array.
            loop {
                if closed {
                    if depth == 0 {
                        self.blank();
                        return if self.peek().is_none() { Ok(outline) } else { Err(bad("bytes behind the object")) };
                    }
                    let level = depth as usize - 1;
                    if let Some(place) = open.get_mut(level).and_then(Option::take) {
                        outline.levels[level].close(place, self.at);
                    }
                }
                self.blank();
                let object = objects & 1 == 1;
                let byte = self.peek().ok_or(bad("end of text"))?;
                match (byte, object) {
                    (b'}', true) => {
                        let base = bases[depth as usize - 1] as usize;
                        self.close_object(base)?;
                    }
                    (b']', false) => {}
                    (b',', _) if closed => {
                        self.at += 1;
                        self.blank();
                        if object {
                            self.member(depth, &mut open, &mut outline)?;
                        }
                        break;
                    }
                    (_, true) if !closed => {
                        self.member(depth, &mut open, &mut outline)?;
                        break;
                    }
                    (_, false) if !closed => break,
                    _ => return Err(bad("between values")),
                }
                self.at += 1;
                objects >>= 1;
                depth -= 1;
                closed = true;
            }
        }
    }

    /// A key and its colon; the value comes next.
    fn member(&mut self, depth: u32, open: &mut [Option<u8>; 2], outline: &mut Outline<'a>) -> Result<(), Violation> {
        if self.peek() != Some(b'"') {
            return Err(bad("key"));
        }
        let from = self.at + 1;
        let escaped = self.string()?;
        let key = Key { span: Span::new(from, self.at - 1), escaped };
        self.keys.push(key);
        self.blank();
        self.byte(b':')?;
        self.blank();
        let parent = match (depth, open[0]) {
            (1, _) => 0,
            (2, Some(parent)) => parent,
            // Further in, or inside a member that is itself not listed.
            _ => return Ok(()),
        };
        let level = depth as usize - 1;
        let value = Span::new(self.at, self.at);
        open[level] = outline.levels[level].add(Member { key, value, parent });
        Ok(())
    }

    /// No key twice among those of the object that ends here.
    fn close_object(&mut self, base: usize) -> Result<(), Violation> {
        let text = self.text;
        let twice = Violation::new(Kind::DuplicateKey, "object");
        let keys = &mut self.keys[base..];
        if keys.iter().any(|key| key.escaped) {
            let mut names = Vec::with_capacity(keys.len());
            for key in keys.iter() {
                names.push(unescape(key.span.of(text)));
            }
            names.sort_unstable();
            if names.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(twice);
            }
        } else if keys.len() <= 8 {
            // Small objects are nearly all there are, and comparing beats sorting there.
            for (index, key) in keys.iter().enumerate() {
                let name = key.span.of(text);
                if keys[..index].iter().any(|other| other.span.of(text) == name) {
                    return Err(twice);
                }
            }
        } else {
            // Sorting in place: a hash table would cost the memory that a hostile object asks for, and a chosen collision its time.
            keys.sort_unstable_by(|a, b| a.span.of(text).cmp(b.span.of(text)));
            if keys.windows(2).any(|pair| pair[0].span.of(text) == pair[1].span.of(text)) {
                return Err(twice);
            }
        }
        self.keys.truncate(base);
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blank(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn byte(&mut self, wanted: u8) -> Result<(), Violation> {
        if self.peek() != Some(wanted) {
            return Err(bad("between values"));
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Violation> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(bad("value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), Violation> {
        let from = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(bad("number")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        let exponent = matches!(self.peek(), Some(b'e' | b'E'));
        if exponent {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        // Fewer digits than this and no exponent are always below the largest double, 1.8e308.
        if exponent || self.at - from > 300 {
            // serde_json's own reading, not `str::parse`: at the very edge the two differ, and it is serde_json that will build the value.
            let finite = serde_json::from_str::<f64>(&self.text[from..self.at]).is_ok_and(f64::is_finite);
            if !finite {
                return Err(Violation::new(Kind::NumberOutOfRange, "number"));
            }
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Violation> {
        let from = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == from { Err(bad("number")) } else { Ok(()) }
    }

    /// A string with its quotes; whether it has escapes.
    fn string(&mut self) -> Result<bool, Violation> {
        self.at += 1;
        let mut escaped = false;
        loop {
            self.at = skip_plain(self.bytes, self.at);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.at += 1;
                    self.escape()?;
                }
                Some(0..0x20) => return Err(bad("control character in a string")),
                Some(_) => self.at += 1,
                None => return Err(bad("end of text")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Violation> {
        let byte = self.peek().ok_or(bad("end of text"))?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => match self.unit()? {
                0xD800..0xDC00 => {
                    let low = self.bytes[self.at..].starts_with(b"\\u");
                    if low {
                        self.at += 2;
                    }
                    match low.then(|| self.unit()).transpose()? {
                        Some(0xDC00..0xE000) => Ok(()),
                        _ => Err(Violation::new(Kind::LoneSurrogate, "string")),
                    }
                }
                0xDC00..0xE000 => Err(Violation::new(Kind::LoneSurrogate, "string")),
                _ => Ok(()),
            },
            _ => Err(bad("escape")),
        }
    }

    fn unit(&mut self) -> Result<u32, Violation> {
        let digits = self.bytes.get(self.at..self.at + 4).ok_or(bad("end of text"))?;
        let mut unit = 0;
        for &digit in digits {
            unit = unit * 16 + char::from(digit).to_digit(16).ok_or(bad("escape"))?;
        }
        self.at += 4;
        Ok(unit)
    }
}

/// The content of a JSON string without its quotes, that [`outline`] has passed.
pub(crate) fn unescape(inner: &str) -> String {
    // Cannot fail behind the outline. Were it to, the text as it stands is still the peer's own and harmless.
    serde_json::from_str(&format!("\"{inner}\"")).unwrap_or_else(|_| inner.to_owned())
}

/// The next quote, backslash or control character from `at` on, eight bytes at a time; it may stop early at a byte that is none.
pub(super) fn skip_plain(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word & HIGHS;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let quote = below(word ^ (ONES * u64::from(b'"')), 1);
        let slash = below(word ^ (ONES * u64::from(b'\\')), 1);
        let found = quote | slash | below(word, 0x20);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|&byte| byte != b'"' && byte != b'\\' && byte >= 0x20) {
        at += 1;
    }
    at
}
