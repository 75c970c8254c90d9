//! What one message between a gateway and a worker looks like: a head of fixed length, and bytes.
//!
//! ```text
//! offer    version 'o' offer[16]
//! claim    version 'c' offer[16] inbox[16] name[1..=64]
//! decline  version 'd'
//! parcel   version kind end token[16] number[8] heard[8] bytes[..]     kind: 'o' open, 'p' part, 't' text, 'b' beat; end: 'g' or 'w', who sends it
//! ```
//!
//! The bytes of parts and of the text that follows them, one behind the other, are one message of the wire between codemode and a gateway (`protocol/docs/gateway.md`).

use super::id::Id;
use super::subjects::{End, Name};

/// The version of this wire. Another one is not answered.
const VERSION: u8 = 1;

/// Bytes before those that a parcel carries.
pub(super) const HEAD: usize = 3 + Id::BYTES + 8 + 8;

/// What is no message of this wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("it is no message of this wire: {0}")]
pub(super) struct NoMessage(pub(super) &'static str);

/// `offer`: whoever has a free place may claim this run.
pub(super) fn offer(offer: &Id) -> Vec<u8> {
    [&[VERSION, b'o'][..], offer.bytes()].concat()
}

/// Reads an offer.
pub(super) fn read_offer(bytes: &[u8]) -> Result<Id, NoMessage> {
    let mut rest = Rest::of(bytes);
    rest.version(b'o')?;
    let offer = rest.id()?;
    if rest.0.is_empty() { Ok(offer) } else { Err(NoMessage("an offer has 18 bytes")) }
}

/// `decline`: another worker was faster. What comes to a claim instead of a run, whatever it is, frees the place.
pub(super) const DECLINE: [u8; 2] = [VERSION, b'd'];

/// `claim`: this worker has a place for it, and waits for the run at this inbox.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Claim {
    pub(super) offer: Id,
    pub(super) inbox: Id,
    pub(super) worker: Name,
}

impl Claim {
    pub(super) fn write(&self) -> Vec<u8> {
        [&[VERSION, b'c'][..], self.offer.bytes(), self.inbox.bytes(), self.worker.as_str().as_bytes()].concat()
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Claim, NoMessage> {
        let mut rest = Rest::of(bytes);
        rest.version(b'c')?;
        let (offer, inbox) = (rest.id()?, rest.id()?);
        let worker = std::str::from_utf8(rest.0).ok().and_then(Name::new).ok_or(NoMessage("the worker has no name"))?;
        Ok(Claim { offer, inbox, worker })
    }
}

/// What a parcel is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// The first of a gateway: its bytes are the name of its inbox, its token is that of the run.
    Open,
    /// A text goes on in the next one.
    Part,
    /// A text ends here.
    Text,
    /// The end that sends it is there.
    Beat,
}

/// One message of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Parcel<'a> {
    pub(super) kind: Kind,
    /// Who sends it.
    pub(super) end: End,
    /// What only the two ends know.
    pub(super) token: Id,
    /// Each end counts its parcels from 1, by one.
    pub(super) number: u64,
    /// The last parcel of the other end that is done with.
    pub(super) heard: u64,
    pub(super) bytes: &'a [u8],
}

impl<'a> Parcel<'a> {
    pub(super) fn write(&self) -> Vec<u8> {
        let kind = match self.kind {
            Kind::Open => b'o',
            Kind::Part => b'p',
            Kind::Text => b't',
            Kind::Beat => b'b',
        };
        let end = match self.end {
            End::Gateway => b'g',
            End::Worker => b'w',
        };
        let mut message = Vec::with_capacity(HEAD + self.bytes.len());
        message.extend_from_slice(&[VERSION, kind, end]);
        message.extend_from_slice(self.token.bytes());
        message.extend_from_slice(&self.number.to_be_bytes());
        message.extend_from_slice(&self.heard.to_be_bytes());
        message.extend_from_slice(self.bytes);
        message
    }

    pub(super) fn read(bytes: &'a [u8]) -> Result<Parcel<'a>, NoMessage> {
        let mut rest = Rest::of(bytes);
        let [version, kind, end] = rest.take::<3>()?;
        if version != VERSION {
            return Err(NoMessage("another version"));
        }
        let kind = match kind {
            b'o' => Kind::Open,
            b'p' => Kind::Part,
            b't' => Kind::Text,
            b'b' => Kind::Beat,
            _ => return Err(NoMessage("an unknown kind")),
        };
        let end = match end {
            b'g' => End::Gateway,
            b'w' => End::Worker,
            _ => return Err(NoMessage("an unknown end")),
        };
        let token = rest.id()?;
        let (number, heard) = (u64::from_be_bytes(rest.take()?), u64::from_be_bytes(rest.take()?));
        if number == 0 {
            return Err(NoMessage("parcels are counted from 1"));
        }
        if kind == Kind::Beat && !rest.0.is_empty() {
            return Err(NoMessage("a beat carries nothing"));
        }
        Ok(Parcel { kind, end, token, number, heard, bytes: rest.0 })
    }
}

/// What is not read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn of(bytes: &'a [u8]) -> Rest<'a> {
        Rest(bytes)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], NoMessage> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(NoMessage("it is too short"))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn id(&mut self) -> Result<Id, NoMessage> {
        self.take().map(Id::of)
    }

    fn version(&mut self, kind: u8) -> Result<(), NoMessage> {
        match self.take::<2>()? {
            [VERSION, own] if own == kind => Ok(()),
            [VERSION, _] => Err(NoMessage("an unknown kind")),
            _ => Err(NoMessage("another version")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_message_that_writes_itself_or_none(bytes in prop::collection::vec(any::<u8>(), 0..120), head in prop::sample::select(vec![&b"\x01oX"[..], b"\x01cX", b"\x01pg", b"\x01tw", b"\x01bg", b"\x01ow", b""])) {
            let bytes = [head, &bytes].concat();
            if let Ok(parcel) = Parcel::read(&bytes) {
                prop_assert_eq!(parcel.write(), bytes.clone());
            }
            if let Ok(claim) = Claim::read(&bytes) {
                prop_assert_eq!(claim.write(), bytes.clone());
            }
            if let Ok(id) = read_offer(&bytes) {
                prop_assert_eq!(offer(&id), bytes);
            }
        }
    }

    #[test]
    fn what_is_cut_or_of_another_version_is_no_message() {
        let token = Id::of([7; 16]);
        let whole = Parcel { kind: Kind::Text, end: End::Worker, token, number: 3, heard: 2, bytes: b"{}" }.write();
        assert_eq!(Parcel::read(&whole).unwrap().bytes, b"{}");
        for cut in 0..HEAD {
            assert!(Parcel::read(&whole[..cut]).is_err(), "{cut}");
        }
        let mut other = whole.clone();
        other[0] = 2;
        assert_eq!(Parcel::read(&other), Err(NoMessage("another version")));
        let claim = Claim { offer: token, inbox: token, worker: Name::new("w").unwrap() };
        assert_eq!(Claim::read(&claim.write()), Ok(claim.clone()));
        assert!(Claim::read(&[claim.write(), b".x".to_vec()].concat()).is_err());
        assert!(read_offer(&[offer(&token), b"x".to_vec()].concat()).is_err());
    }
}
