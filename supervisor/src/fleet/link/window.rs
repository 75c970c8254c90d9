//! How far an end may be ahead of what the other one is done with: the rule of both. Pure.

use std::collections::VecDeque;

/// Bytes of a parcel at most, whatever NATS lets pass: a larger one holds up what others send over the same connection.
pub(super) const MOST_PIECE: usize = 256 << 10;

/// Bytes that may be on their way, or lie unread at the other end. Enough to keep a network of 1 ms busy at 2 GB a second; NATS cuts off a client that lags 64 MiB behind.
pub(super) const MOST_BYTES: usize = 2 << 20;

/// Parcels that may be on their way. An inbox has room for as many, and some beats.
pub(super) const MOST_PARCELS: usize = 512;

/// Parcels that nobody has said to be done with, and their bytes.
#[derive(Debug, Default)]
pub(super) struct Window {
    open: VecDeque<(u64, usize)>,
    bytes: usize,
}

impl Window {
    /// Whether one more parcel of so many bytes may go. One alone always may.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.open.is_empty() || (self.bytes + bytes <= MOST_BYTES && self.open.len() < MOST_PARCELS)
    }

    pub(super) fn open(&mut self, number: u64, bytes: usize) {
        self.open.push_back((number, bytes));
        self.bytes += bytes;
    }

    /// Everything up to this one is done with. True: that is news.
    pub(super) fn close(&mut self, done: u64) -> bool {
        let before = self.open.len();
        while let Some(&(number, bytes)) = self.open.front()
            && number <= done
        {
            self.open.pop_front();
            self.bytes -= bytes;
        }
        self.open.len() < before
    }
}
