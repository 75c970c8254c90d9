//! The members of one object of a message: each taken once, none left over.

use crate::json::{Entry, JsonText, Outline, TooMany, unescape};
use crate::violation::{Violation, ViolationKind as Kind};

/// 2^53 - 1: the largest integer that JavaScript counts with exactly.
pub(crate) const MAX_INTEGER: u64 = (1 << 53) - 1;

/// No object of the wire has more fields than this (`data` of the answer to `run`).
const MAX_FIELDS: usize = 8;

/// The fields of an object that have not been taken yet.
pub(crate) struct Fields<'a> {
    left: [Option<(&'a str, Entry<'a>)>; MAX_FIELDS],
    place: &'static str,
}

impl<'a> Fields<'a> {
    fn new(members: Result<impl Iterator<Item = (&'a str, Entry<'a>)>, TooMany>, place: &'static str) -> Result<Self, Violation> {
        let unknown = || Violation::new(Kind::UnknownField, place);
        let mut fields = Self { left: [None; MAX_FIELDS], place };
        for (index, member) in members.map_err(|TooMany| unknown())?.enumerate() {
            *fields.left.get_mut(index).ok_or_else(unknown)? = Some(member);
        }
        Ok(fields)
    }

    /// The fields of the message itself.
    pub(crate) fn root(outline: &Outline<'a>, place: &'static str) -> Result<Self, Violation> {
        Self::new(outline.root(), place)
    }

    /// The fields of the object in a field of the message.
    pub(crate) fn inside(outline: &Outline<'a>, entry: Entry<'a>, place: &'static str) -> Result<Self, Violation> {
        if !entry.value.starts_with('{') {
            return Err(Violation::new(Kind::WrongType, place));
        }
        Self::new(outline.inside(entry), place)
    }

    /// Whether the field is there and not yet taken.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.left.iter().flatten().any(|(key, _)| *key == name)
    }

    /// Takes a field that may be absent.
    pub(crate) fn optional(&mut self, name: &str) -> Option<Entry<'a>> {
        let slot = self.left.iter_mut().find(|slot| matches!(slot, Some((key, _)) if *key == name))?;
        slot.take().map(|(_, entry)| entry)
    }

    /// Takes a field that must be there; `place` is its name with the names of the objects around it.
    pub(crate) fn required(&mut self, name: &str, place: &'static str) -> Result<Entry<'a>, Violation> {
        self.optional(name).ok_or(Violation::new(Kind::MissingField, place))
    }

    /// Every field has been taken.
    pub(crate) fn finish(self) -> Result<(), Violation> {
        if self.left.iter().any(Option::is_some) { Err(Violation::new(Kind::UnknownField, self.place)) } else { Ok(()) }
    }
}

/// A string.
pub(crate) fn string(entry: Entry<'_>, place: &'static str) -> Result<String, Violation> {
    let inner = entry.value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let inner = inner.ok_or(Violation::new(Kind::WrongType, place))?;
    Ok(if inner.contains('\\') { unescape(inner) } else { inner.to_owned() })
}

/// An integer from `least` to 2^53 - 1 in plain digits: no sign, no fraction, no exponent.
pub(crate) fn integer(entry: Entry<'_>, least: u64, place: &'static str) -> Result<u64, Violation> {
    let value = entry.value;
    if !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Violation::new(Kind::WrongType, place));
    }
    // Only digits, so all that can be wrong is the size.
    let number = value.parse().unwrap_or(u64::MAX);
    if number < least || number > MAX_INTEGER {
        return Err(Violation::new(Kind::BadValue, place));
    }
    Ok(number)
}

/// Any JSON.
pub(crate) fn any(entry: Entry<'_>, place: &'static str) -> Result<JsonText, Violation> {
    JsonText::from_checked(entry.value, place)
}

/// A JSON object, whatever is in it.
pub(crate) fn object(entry: Entry<'_>, place: &'static str) -> Result<JsonText, Violation> {
    if entry.value.starts_with('{') { any(entry, place) } else { Err(Violation::new(Kind::WrongType, place)) }
}
