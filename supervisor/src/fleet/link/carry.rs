//! The loop that carries the texts of one run.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::LinkFault;
use super::inbound::{Came, Inbound};
use super::outbound::Outbound;
use super::pulse::Pulse;
use crate::fleet::id::Id;
use crate::fleet::post::{Mailbox, Post};
use crate::fleet::subjects::End;

/// Parcels, and bytes, that are done with before the other end is told so without being asked: well below what it may have on its way.
const TOLD_PARCELS: u64 = 64;
const TOLD_BYTES: usize = 512 << 10;

/// Where texts come from.
pub(in crate::fleet) trait Texts {
    type Text: AsRef<[u8]>;

    /// The next text; `None` behind the last. Cancel-safe.
    fn next(&mut self) -> impl Future<Output = Option<Self::Text>> + Send;
}

impl Texts for mpsc::UnboundedReceiver<Vec<u8>> {
    type Text = Vec<u8>;

    async fn next(&mut self) -> Option<Vec<u8>> {
        self.recv().await
    }
}

/// This end of one run.
#[derive(Debug)]
pub(in crate::fleet) struct Link {
    pub(in crate::fleet) post: Arc<Post>,
    pub(in crate::fleet) mailbox: Mailbox,
    /// The other end's inbox.
    pub(in crate::fleet) to: String,
    pub(in crate::fleet) end: End,
    pub(in crate::fleet) token: Id,
    /// The numbers of the last parcels out and in: one has opened the link.
    pub(in crate::fleet) sent: u64,
    pub(in crate::fleet) heard: u64,
    /// Bytes of a text of the other end at most.
    pub(in crate::fleet) limit: usize,
}

/// What has come and is not taken yet.
struct Arrived {
    inbound: Inbound,
    /// Whole texts, each with the number of its last parcel.
    texts: VecDeque<(u64, String)>,
    /// What the other end was told to be done with, and the bytes since.
    told: u64,
    bytes: usize,
}

impl Arrived {
    /// The last parcel that is done with: everything before the first text that nobody has taken.
    fn done(&self) -> u64 {
        self.texts.front().map_or(self.inbound.last(), |(number, _)| number - 1)
    }

    fn tell(&mut self) -> u64 {
        self.told = self.done();
        self.bytes = 0;
        self.told
    }

    fn is_worth_telling(&self) -> bool {
        self.done() > self.told && (self.done() - self.told >= TOLD_PARCELS || self.bytes >= TOLD_BYTES)
    }
}

impl Link {
    /// Carries texts both ways: what comes goes to `taken`, what `texts` gives goes out. Over when `texts` has no more and the last is sent.
    ///
    /// # Errors
    ///
    /// [`LinkFault`]. Whoever sent a message that is no good, the run cannot be told from a forged one any more.
    pub(in crate::fleet) async fn carry<T: Texts>(self, mut texts: T, taken: mpsc::Sender<String>) -> Result<(), LinkFault> {
        let Link { post, mut mailbox, to, end, token, sent, heard, limit } = self;
        let began = Instant::now();
        let mut outbound = Outbound::<T::Text>::new(token, end, sent, post.max_payload());
        let mut arrived =
            Arrived { inbound: Inbound::new(token, end.other(), heard, limit), texts: VecDeque::new(), told: heard, bytes: 0 };
        let mut pulse = Pulse::new(began.elapsed());
        let mut is_last = false;
        loop {
            while let Some(message) = outbound.next(arrived.done()) {
                arrived.tell();
                pulse.said();
                post.send(&to, message).await?;
            }
            if is_last && outbound.is_idle() {
                return Ok(());
            }
            if arrived.is_worth_telling() {
                let done = arrived.tell();
                post.send(&to, outbound.beat(done)).await?;
                pulse.said();
            }
            tokio::select! {
                biased;
                message = mailbox.next() => {
                    let message = message.ok_or(LinkFault::Gone)?;
                    let (came, done) = arrived.inbound.take(&message.payload)?;
                    if came == Came::Duplicate {
                        continue;
                    }
                    pulse.heard();
                    outbound.done(done)?;
                    arrived.bytes += message.payload.len();
                    if let Came::Text(text) = came {
                        arrived.texts.push_back((arrived.inbound.last(), text));
                    }
                }
                place = taken.reserve(), if !arrived.texts.is_empty() => match (place, arrived.texts.pop_front()) {
                    (Ok(place), Some((_, text))) => place.send(text),
                    // Nobody listens any more; what is left goes out all the same.
                    _ => arrived.texts.clear(),
                },
                text = texts.next(), if outbound.is_idle() && !is_last => match text {
                    Some(text) => outbound.load(text),
                    None => is_last = true,
                },
                () = sleep_until(began + pulse.due()) => {
                    if pulse.beat(began.elapsed()).map_err(|_| LinkFault::Silent)? {
                        let done = arrived.tell();
                        post.send(&to, outbound.beat(done)).await?;
                    }
                }
            }
        }
    }
}
