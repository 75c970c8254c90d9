//! The loop that carries the texts of one run.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::LinkFault;
use super::arrived::Arrived;
use super::inbound::Inbound;
use super::outbound::Outbound;
use super::pulse::Pulse;
use crate::fleet::id::Id;
use crate::fleet::post::{Mailbox, Post};
use crate::fleet::subjects::End;

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
        let mut arrived = Arrived::new(Inbound::new(token, end.other(), heard, limit));
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
            // Looked at each time, and the mail last of all: an end that sends without a pause must hold up neither clocks nor texts.
            if pulse.is_due(began.elapsed()) && pulse.beat(began.elapsed(), outbound.is_stuck())? {
                let done = arrived.tell();
                post.send(&to, outbound.beat(done)).await?;
            }
            tokio::select! {
                biased;
                place = taken.reserve(), if arrived.has_text() => match (place, arrived.next()) {
                    (Ok(place), Some(text)) => place.send(text),
                    // Nobody listens any more; what is left goes out all the same.
                    _ => arrived.drop_texts(),
                },
                text = texts.next(), if outbound.is_idle() && !is_last => match text {
                    Some(text) => outbound.load(text),
                    None => is_last = true,
                },
                mail = mailbox.next() => {
                    let mail = mail.ok_or(LinkFault::Gone)?;
                    if let Some(done) = arrived.take(mail.bytes())? {
                        pulse.heard();
                        outbound.done(done)?;
                    }
                }
                () = sleep_until(began + pulse.due()) => {}
            }
        }
    }
}
