//! Names that nobody can guess.

use std::fmt;

/// 128 random bits: the name of an inbox, of an offer, or what only the two ends of a run know. Its text is never in a log: who knows it can take part.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
pub(super) struct Id([u8; Id::BYTES]);

impl Id {
    pub(super) const BYTES: usize = 16;

    pub(super) fn random() -> Result<Id, getrandom::Error> {
        let mut bits = [0; Id::BYTES];
        getrandom::fill(&mut bits)?;
        Ok(Id(bits))
    }

    pub(super) fn of(bytes: [u8; Id::BYTES]) -> Id {
        Id(bytes)
    }

    pub(super) fn bytes(&self) -> &[u8; Id::BYTES] {
        &self.0
    }

    /// The same bits, compared in a time that does not depend on them.
    pub(super) fn is(&self, other: &Id) -> bool {
        self.0.iter().zip(other.0).fold(0, |seen, (own, other)| seen | (own ^ other)) == 0
    }

    /// As a token of a subject: 32 lower-case hexadecimal digits.
    pub(super) fn hex(&self) -> String {
        self.0.iter().fold(String::with_capacity(2 * Id::BYTES), |text, byte| text + &format!("{byte:02x}"))
    }

    pub(super) fn from_hex(text: &str) -> Option<Id> {
        if text.len() != 2 * Id::BYTES || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let mut bits = [0; Id::BYTES];
        for (index, byte) in bits.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
        }
        Some(Id(bits))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Id(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_its_own_text_and_no_two_are_alike() {
        let (one, two) = (Id::random().unwrap(), Id::random().unwrap());
        assert!(one.is(&one) && !one.is(&two));
        assert_eq!(Id::from_hex(&one.hex()), Some(one));
        for bad in ["", "0", &one.hex().to_uppercase()[..31], &format!("{}g", &one.hex()[..31]), &format!("{}0", one.hex())] {
            assert_eq!(Id::from_hex(bad), None, "{bad}");
        }
        assert!(!format!("{one:?}").contains(&one.hex()[..4]));
    }
}
