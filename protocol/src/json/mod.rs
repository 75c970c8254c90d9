//! JSON text: checked whole before anything is built from it, and carried as text until somebody asks for the value.

mod outline;
mod scan;

pub(crate) use outline::{Entry, Outline, TooMany};
pub(crate) use scan::{outline, unescape};

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
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
        RawValue::from_string(text.to_owned()).map(Self).map_err(|_| Violation::new(Kind::BadJson, place))
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

impl<'de> Deserialize<'de> for JsonText {
    /// Out of a text whose bounds somebody has looked at.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(from).map(Self)
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
                at = scan::skip_plain(text, at);
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
