//! What comes from the other end of a run: whether it is its, in order, and within bounds. Pure.

use super::LinkFault;
use super::window::MOST_PIECE;
use crate::fleet::id::Id;
use crate::fleet::subjects::End;
use crate::fleet::wire::{Kind, Parcel};

/// What came.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Came {
    /// Once more what had come before.
    Duplicate,
    /// A sign of life.
    Beat,
    /// So many bytes of a text.
    Part(usize),
    /// The last bytes of a text, and the text.
    Text(usize, String),
}

/// The way in.
#[derive(Debug)]
pub(super) struct Inbound {
    token: Id,
    from: End,
    /// The number of the last parcel.
    last: u64,
    partial: Vec<u8>,
    /// Bytes of a text at most.
    limit: usize,
}

impl Inbound {
    /// Parcels behind the one with the number `last`, from this end.
    pub(super) fn new(token: Id, from: End, last: u64, limit: usize) -> Inbound {
        Inbound { token, from, last, partial: Vec::new(), limit }
    }

    /// The number of the last parcel that came.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Bytes of the text that is not whole yet.
    #[cfg(any(test, feature = "danger"))]
    pub(super) fn partial(&self) -> usize {
        self.partial.len()
    }

    /// Takes the next message; gives what came, and what the other end has done with.
    pub(super) fn take(&mut self, message: &[u8]) -> Result<(Came, u64), LinkFault> {
        let parcel = Parcel::read(message)?;
        if parcel.end != self.from || !parcel.token.is(&self.token) {
            return Err(LinkFault::Forged);
        }
        if parcel.number <= self.last {
            return Ok((Came::Duplicate, parcel.heard));
        }
        if parcel.number != self.last + 1 {
            return Err(LinkFault::Gap { expected: self.last + 1, came: parcel.number });
        }
        self.last = parcel.number;
        match parcel.kind {
            // Only the first of all opens, and that one has been.
            Kind::Open => Err(LinkFault::Forged),
            Kind::Beat => Ok((Came::Beat, parcel.heard)),
            Kind::Part | Kind::Text => {
                let own = parcel.bytes.len();
                if own > MOST_PIECE {
                    return Err(LinkFault::TooLong { bytes: own, limit: MOST_PIECE });
                }
                let bytes = self.partial.len() + own;
                if bytes > self.limit {
                    return Err(LinkFault::TooLong { bytes, limit: self.limit });
                }
                self.partial.extend_from_slice(parcel.bytes);
                if parcel.kind == Kind::Part {
                    return Ok((Came::Part(own), parcel.heard));
                }
                let text = String::from_utf8(std::mem::take(&mut self.partial)).map_err(|_| LinkFault::NotUtf8)?;
                Ok((Came::Text(own, text), parcel.heard))
            }
        }
    }
}
