//! Which ids may come now: pure state of one end of one connection.

use std::collections::BTreeSet;

use crate::message::RequestId;
use crate::violation::{Violation, ViolationKind as Kind};

/// The requests of both directions, as one end sees them.
///
/// Each end counts its own requests from 1, by one, and answers each request of the other exactly once, in any order; also one that the other has cancelled.
#[derive(Debug)]
pub struct Exchange {
    /// `hello` is over for what this end hears.
    is_greeted: bool,
    /// The id of the last request that came.
    heard: u64,
    /// The id of the last request that went out.
    asked: u64,
    open: BTreeSet<u64>,
    /// Cancelled, and not answered yet.
    owed: BTreeSet<u64>,
}

/// What an answer was to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// A request that somebody waits for.
    Open,
    /// A request that was cancelled meanwhile: the answer is dropped.
    Late,
}

impl Exchange {
    /// The end to which the other one connects: it hears `hello` first.
    #[must_use]
    pub fn accepting() -> Self {
        Self { is_greeted: false, heard: 0, asked: 0, open: BTreeSet::new(), owed: BTreeSet::new() }
    }

    /// The end that connects: it says `hello`, and hears none.
    #[must_use]
    pub fn connecting() -> Self {
        Self { is_greeted: true, ..Self::accepting() }
    }

    /// A request of the other end came.
    ///
    /// # Errors
    ///
    /// When it is something else before `hello`, `hello` again, or its id is not the last one + 1.
    pub fn hear(&mut self, id: RequestId, is_hello: bool) -> Result<(), Violation> {
        match (self.is_greeted, is_hello) {
            (false, false) => return Err(Violation::new(Kind::TooEarly, "method")),
            (true, true) => return Err(Violation::new(Kind::Repeated, "method")),
            _ => {}
        }
        let wanted = self.heard + 1;
        if id.get() != wanted {
            return Err(Violation::new(Kind::IdOutOfOrder, "id").with_numbers(id.get(), wanted));
        }
        self.heard = wanted;
        self.is_greeted = true;
        Ok(())
    }

    /// The id of the next request of this end, open from now on. `None` behind 2^53 - 1.
    pub fn ask(&mut self) -> Option<RequestId> {
        let id = RequestId::new(self.asked + 1)?;
        self.asked = id.get();
        self.open.insert(id.get());
        Some(id)
    }

    /// Nobody waits for the answer any more. False when it is not open: then there is nothing to cancel.
    pub fn abandon(&mut self, id: RequestId) -> bool {
        self.open.remove(&id.get()) && self.owed.insert(id.get())
    }

    /// An answer came.
    ///
    /// # Errors
    ///
    /// When the request was never made, or is answered already.
    pub fn settle(&mut self, id: RequestId) -> Result<Settled, Violation> {
        if self.open.remove(&id.get()) {
            Ok(Settled::Open)
        } else if self.owed.remove(&id.get()) {
            Ok(Settled::Late)
        } else {
            Err(Violation::new(Kind::Unasked, "id"))
        }
    }

    /// Requests of this end that somebody waits for.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Cancelled requests whose answer has not come. Whoever holds the exchange bounds it.
    #[must_use]
    pub fn owed(&self) -> usize {
        self.owed.len()
    }
}
