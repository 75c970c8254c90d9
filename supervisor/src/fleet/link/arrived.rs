//! What has come from the other end of a run and is not taken yet: no more than the other end may send ahead. Pure.

use std::collections::VecDeque;

use super::LinkFault;
use super::inbound::{Came, Inbound};
use super::window::Window;

/// Parcels, and bytes, that are done with before the other end is told so without being asked: well below what it may have on its way.
const TOLD_PARCELS: u64 = 64;
const TOLD_BYTES: usize = 512 << 10;

/// What has come and is not taken yet: a text that is not whole, within its limit, and whole texts, within the window.
#[derive(Debug)]
pub(super) struct Arrived {
    inbound: Inbound,
    /// Whole texts, each with the number of its last parcel.
    texts: VecDeque<(u64, String)>,
    /// What the other end was told to be done with, and what came since.
    told: u64,
    window: Window,
    bytes: usize,
}

impl Arrived {
    pub(super) fn new(inbound: Inbound) -> Arrived {
        let told = inbound.last();
        Arrived { inbound, texts: VecDeque::new(), told, window: Window::default(), bytes: 0 }
    }

    /// Takes the next message. Gives what the other end is done with; `None` for a parcel that had come before.
    pub(super) fn take(&mut self, message: &[u8]) -> Result<Option<u64>, LinkFault> {
        let (came, heard) = self.inbound.take(message)?;
        let (bytes, text) = match came {
            Came::Duplicate => return Ok(None),
            Came::Beat => return Ok(Some(heard)),
            Came::Part(bytes) => (bytes, None),
            Came::Text(bytes, text) => (bytes, Some(text)),
        };
        // An honest end has at least these open, and waits.
        if !self.window.has_room(bytes) {
            return Err(LinkFault::TooFar);
        }
        self.window.open(self.inbound.last(), bytes);
        self.bytes += bytes;
        if let Some(text) = text {
            self.texts.push_back((self.inbound.last(), text));
        }
        Ok(Some(heard))
    }

    /// Whether a whole text waits.
    pub(super) fn has_text(&self) -> bool {
        !self.texts.is_empty()
    }

    /// The first whole text.
    pub(super) fn next(&mut self) -> Option<String> {
        self.texts.pop_front().map(|(_, text)| text)
    }

    /// Nobody takes texts any more.
    pub(super) fn drop_texts(&mut self) {
        self.texts.clear();
    }

    /// The last parcel that is done with: everything before the first text that nobody has taken.
    pub(super) fn done(&self) -> u64 {
        self.texts.front().map_or(self.inbound.last(), |(number, _)| number - 1)
    }

    /// The same, now that the other end is told.
    pub(super) fn tell(&mut self) -> u64 {
        self.told = self.done();
        self.window.close(self.told);
        self.bytes = 0;
        self.told
    }

    pub(super) fn is_worth_telling(&self) -> bool {
        self.done() > self.told && (self.done() - self.told >= TOLD_PARCELS || self.bytes >= TOLD_BYTES)
    }

    /// Bytes that it holds.
    #[cfg(any(test, feature = "danger"))]
    pub(super) fn held(&self) -> usize {
        self.inbound.partial() + self.texts.iter().map(|(_, text)| text.len()).sum::<usize>()
    }
}
