//! One pass over the text of a frame, before anything is built from it.
//!
//! serde_json alone would let four things through that this wire forbids: a value that is only skipped may be nested without bound, may have the same key
//! twice, may escape half of a surrogate pair, and may have a number that no double holds. [`outline`] checks all of it, and the grammar, without recursion and
//! without building anything but a list of the members of the two outer levels.

use std::fmt;
use std::ops::Deref;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::violation::{Violation, ViolationKind as Kind};

/// How deep arrays and objects may lie in each other, the object of the frame counted as 1.
///
/// serde_json's own limit for what it builds is 127, and the values of this wire begin two levels down, so what passes here can be built.
pub const MAX_DEPTH: u32 = 128;

/// The text of one JSON value, whole and well-formed.
///
/// Its size is known and no tree has been built; from a child it is a claim like the rest of the message.
#[derive(Clone)]
pub struct JsonText(Box<RawValue>);

impl JsonText {
    /// Checks a text.
    ///
    /// # Errors
    ///
    /// [`Kind::BadJson`].
    pub fn parse(text: &str) -> Result<Self, Violation> {
        match RawValue::from_string(text.to_owned()) {
            Ok(raw) => Ok(Self(raw)),
            Err(_) => Err(Violation::new(Kind::BadJson, "value")),
        }
    }

    /// The text `null`.
    #[must_use]
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// The text of a value of ours.
    ///
    /// # Errors
    ///
    /// Only for a value that JSON does not have, such as a map with keys that are no strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// The size of the text in bytes: what the limits of a run count.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.get().len()
    }

    /// Builds the value.
    ///
    /// # Errors
    ///
    /// A violation, if the text came from elsewhere than [`crate::session`] and holds what the wire forbids.
    pub fn to_value(&self) -> Result<Value, Violation> {
        serde_json::from_str(self.text()).map_err(|_| Violation::new(Kind::BadJson, "value"))
    }

    /// The text, in the type that serde_json writes as it stands.
    #[must_use]
    pub fn into_raw(self) -> Box<RawValue> {
        self.0
    }

    /// The text of a member that [`outline`] has passed.
    pub(crate) fn from_checked(text: &str, place: &'static str) -> Result<Self, Violation> {
        // serde_json has no unchecked way in, and looks at it once more. What passed the outline cannot fail here.
        RawValue::from_string(text.to_owned())
            .map(Self)
            .map_err(|_| Violation::new(Kind::BadJson, place))
    }
}

impl From<Box<RawValue>> for JsonText {
    fn from(raw: Box<RawValue>) -> Self {
        Self(raw)
    }
}

impl Deref for JsonText {
    type Target = RawValue;

    fn deref(&self) -> &RawValue {
        &self.0
    }
}

impl PartialEq for JsonText {
    /// The same text, byte by byte: `1` and `1.0` differ.
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for JsonText {}

impl fmt::Debug for JsonText {
    /// The size alone: the text is the peer's, and can be megabytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonText({} bytes)", self.bytes())
    }
}

impl Serialize for JsonText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// How deep a text that is known to be JSON nests.
pub(crate) fn depth(text: &[u8]) -> u32 {
    let (mut at, mut now, mut most) = (0, 0_u32, 0);
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                now += 1;
                most = most.max(now);
            }
            b'}' | b']' => now = now.saturating_sub(1),
            b'"' => loop {
                at = skip_plain(text, at);
                match text.get(at) {
                    Some(b'\\') => at += 2,
                    Some(b'"') | None => break at += 1,
                    Some(_) => at += 1,
                }
            },
            _ => {}
        }
    }
    most
}

/// A part of the text. Frames are at most 64 MiB, so 32 bits are enough and the key list of a hostile object stays small.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Span {
    from: u32,
    to: u32,
}

impl Span {
    fn new(from: usize, to: usize) -> Self {
        Self {
            from: from as u32,
            to: to as u32,
        }
    }

    fn of<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.from as usize..self.to as usize).unwrap_or("")
    }
}

/// A key without its quotes.
#[derive(Debug, Clone, Copy, Default)]
struct Key {
    span: Span,
    escaped: bool,
}

/// One member of one of the two outer objects.
#[derive(Debug, Clone, Copy, Default)]
struct Member {
    /// Which member of the outermost object it belongs to; [`ROOT`] for those members themselves.
    parent: u8,
    key: Key,
    value: Span,
}

const ROOT: u8 = u8::MAX;

/// No message of the wire has more members than this on its two outer levels together; what lies beyond is an unknown field for sure.
const MAX_MEMBERS: usize = 16;

/// The members of the outermost object, and of the objects directly in it.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    text: &'a str,
    members: [Member; MAX_MEMBERS],
    count: usize,
    /// The outermost object has members that are not in the list.
    more: bool,
    /// One bit per listed member: the object in it has members that are not in the list.
    more_inside: u16,
}

/// A listed member, and where the members inside it are found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) value: &'a str,
    index: u8,
}

impl<'a> Outline<'a> {
    /// The members of the outermost object; `Err` when there are more than any message has.
    pub(crate) fn root(&self) -> Result<impl Iterator<Item = (&'a str, Entry<'a>)> + '_, ()> {
        if self.more {
            Err(())
        } else {
            Ok(self.children(ROOT))
        }
    }

    /// The members of the object in a member of the outermost one.
    pub(crate) fn inside(
        &self,
        entry: Entry<'a>,
    ) -> Result<impl Iterator<Item = (&'a str, Entry<'a>)> + '_, ()> {
        let more = self
            .more_inside
            .checked_shr(u32::from(entry.index))
            .is_some_and(|bits| bits & 1 == 1);
        if more {
            Err(())
        } else {
            Ok(self.children(entry.index))
        }
    }

    fn children(&self, parent: u8) -> impl Iterator<Item = (&'a str, Entry<'a>)> + '_ {
        let listed = self.members.iter().take(self.count).enumerate();
        listed
            .filter(move |(_, member)| member.parent == parent)
            .map(|(index, member)| {
                // A key written with escapes is none of ours: it is compared as it stands, and so is unknown.
                (
                    member.key.span.of(self.text),
                    Entry {
                        value: member.value.of(self.text),
                        index: index as u8,
                    },
                )
            })
    }
}

/// Checks a whole text: one JSON object and nothing behind it, no deeper than [`MAX_DEPTH`], no key twice, no half surrogate, no number out of range.
///
/// # Errors
///
/// The first thing that is wrong, from left to right. A key that comes twice is noticed where its object ends.
pub(crate) fn outline(text: &str) -> Result<Outline<'_>, Violation> {
    let mut scan = Scan {
        text,
        bytes: text.as_bytes(),
        at: 0,
        keys: Vec::with_capacity(16),
    };
    let outline = Outline {
        text,
        members: [Member::default(); MAX_MEMBERS],
        count: 0,
        more: false,
        more_inside: 0,
    };
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
                        return if self.peek().is_none() {
                            Ok(outline)
                        } else {
                            Err(bad("bytes behind the object"))
                        };
                    }
                    let listed = open.get_mut(depth as usize - 1).and_then(Option::take);
                    if let Some(index) = listed {
                        outline.members[usize::from(index)].value.to = self.at as u32;
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
    fn member(
        &mut self,
        depth: u32,
        open: &mut [Option<u8>; 2],
        outline: &mut Outline<'a>,
    ) -> Result<(), Violation> {
        if self.peek() != Some(b'"') {
            return Err(bad("key"));
        }
        let from = self.at + 1;
        let escaped = self.string()?;
        let key = Key {
            span: Span::new(from, self.at - 1),
            escaped,
        };
        self.keys.push(key);
        self.blank();
        self.byte(b':')?;
        self.blank();
        let parent = match (depth, open[0]) {
            (1, _) => ROOT,
            (2, Some(parent)) => parent,
            // Further in, or inside a member that is itself not listed.
            _ => return Ok(()),
        };
        if outline.count < MAX_MEMBERS {
            outline.members[outline.count] = Member {
                parent,
                key,
                value: Span::new(self.at, self.at),
            };
            open[depth as usize - 1] = Some(outline.count as u8);
            outline.count += 1;
        } else if parent == ROOT {
            outline.more = true;
        } else {
            outline.more_inside |= 1 << parent;
        }
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
                if keys[..index]
                    .iter()
                    .any(|other| other.span.of(text) == name)
                {
                    return Err(twice);
                }
            }
        } else {
            // Sorting in place: a hash table would cost the memory that a hostile object asks for, and a chosen collision its time.
            keys.sort_unstable_by(|a, b| a.span.of(text).cmp(b.span.of(text)));
            if keys
                .windows(2)
                .any(|pair| pair[0].span.of(text) == pair[1].span.of(text))
            {
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
            let finite = self.text[from..self.at]
                .parse::<f64>()
                .is_ok_and(f64::is_finite);
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
        if self.at == from {
            Err(bad("number"))
        } else {
            Ok(())
        }
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
        let digits = self
            .bytes
            .get(self.at..self.at + 4)
            .ok_or(bad("end of text"))?;
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
fn skip_plain(bytes: &[u8], mut at: usize) -> usize {
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
    while bytes
        .get(at)
        .is_some_and(|&byte| byte != b'"' && byte != b'\\' && byte >= 0x20)
    {
        at += 1;
    }
    at
}
