//! What goes to the other end of a run: in pieces that NATS carries, and not more at once than the other end has room for. Pure.

use super::LinkFault;
use super::window::{MOST_PIECE, Window};
use crate::fleet::id::Id;
use crate::fleet::subjects::End;
use crate::fleet::wire::{HEAD, Kind, Parcel};

/// The way out. `T` is a text.
#[derive(Debug)]
pub(super) struct Outbound<T> {
    token: Id,
    end: End,
    last: u64,
    piece: usize,
    text: Option<(T, usize)>,
    window: Window,
    /// Whether the other end was done with something since the last look.
    moved: bool,
}

impl<T: AsRef<[u8]>> Outbound<T> {
    /// `max_payload`: bytes of a message of this NATS, at least [`HEAD`] and some.
    pub(super) fn new(token: Id, end: End, last: u64, max_payload: usize) -> Outbound<T> {
        let piece = max_payload.saturating_sub(HEAD).clamp(1, MOST_PIECE);
        Outbound { token, end, last, piece, text: None, window: Window::default(), moved: false }
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
        if !self.window.has_room(piece) {
            return None;
        }
        let kind = if piece == rest.len() { Kind::Text } else { Kind::Part };
        self.last += 1;
        let message = Parcel { kind, end: self.end, token: self.token, number: self.last, heard, bytes: &rest[..piece] }.write();
        *sent += piece;
        if kind == Kind::Text {
            self.text = None;
        }
        self.window.open(self.last, piece);
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
        self.moved |= self.window.close(heard);
        Ok(())
    }

    /// Whether a text waits, and the other end was done with nothing since this was asked last.
    pub(super) fn is_stuck(&mut self) -> bool {
        !std::mem::take(&mut self.moved) && self.text.is_some()
    }
}
