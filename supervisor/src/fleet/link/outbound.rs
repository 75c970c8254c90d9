//! What goes to the other end of a run: in pieces that NATS carries, and not more at once than the other end has room for. Pure.

use std::collections::VecDeque;

use super::LinkFault;
use crate::fleet::id::Id;
use crate::fleet::subjects::End;
use crate::fleet::wire::{HEAD, Kind, Parcel};

/// Bytes of a parcel at most, whatever NATS lets pass: a larger one holds up what others send over the same connection.
const MOST_PIECE: usize = 256 << 10;

/// Bytes that may be on their way, or lie unread at the other end. Enough to keep a network of 1 ms busy at 2 GB a second; NATS cuts off a client that lags 64 MiB behind.
const MOST_BYTES: usize = 2 << 20;

/// Parcels that may be on their way. An inbox has room for as many, and some beats.
pub(super) const MOST_PARCELS: usize = 512;

/// The way out. `T` is a text.
#[derive(Debug)]
pub(super) struct Outbound<T> {
    token: Id,
    end: End,
    last: u64,
    piece: usize,
    text: Option<(T, usize)>,
    /// Parcels that the other end has not done with, and their bytes.
    open: VecDeque<(u64, usize)>,
    open_bytes: usize,
}

impl<T: AsRef<[u8]>> Outbound<T> {
    /// `max_payload`: bytes of a message of this NATS, at least [`HEAD`] and some.
    pub(super) fn new(token: Id, end: End, last: u64, max_payload: usize) -> Outbound<T> {
        let piece = max_payload.saturating_sub(HEAD).clamp(1, MOST_PIECE);
        Outbound { token, end, last, piece, text: None, open: VecDeque::new(), open_bytes: 0 }
    }

    /// Whether there is room for a text.
    pub(super) fn is_idle(&self) -> bool {
        self.text.is_none()
    }

    pub(super) fn load(&mut self, text: T) {
        self.text = Some((text, 0));
    }

    /// The next piece of the text, if it may go now.
    pub(super) fn next(&mut self, heard: u64) -> Option<Vec<u8>> {
        let (text, sent) = self.text.as_mut()?;
        let rest = &text.as_ref()[*sent..];
        let piece = rest.len().min(self.piece);
        if !self.open.is_empty() && (self.open_bytes + piece > MOST_BYTES || self.open.len() >= MOST_PARCELS) {
            return None;
        }
        let kind = if piece == rest.len() { Kind::Text } else { Kind::Part };
        self.last += 1;
        let message = Parcel { kind, end: self.end, token: self.token, number: self.last, heard, bytes: &rest[..piece] }.write();
        *sent += piece;
        if kind == Kind::Text {
            self.text = None;
        }
        self.open.push_back((self.last, piece));
        self.open_bytes += piece;
        Some(message)
    }

    /// A sign of life. It is small and rare, and needs no room.
    pub(super) fn beat(&mut self, heard: u64) -> Vec<u8> {
        self.last += 1;
        Parcel { kind: Kind::Beat, end: self.end, token: self.token, number: self.last, heard, bytes: &[] }.write()
    }

    /// The other end has done with everything up to this one.
    pub(super) fn done(&mut self, heard: u64) -> Result<(), LinkFault> {
        if heard > self.last {
            return Err(LinkFault::Unsent { heard, last: self.last });
        }
        while let Some(&(number, bytes)) = self.open.front()
            && number <= heard
        {
            self.open.pop_front();
            self.open_bytes -= bytes;
        }
        Ok(())
    }
}
