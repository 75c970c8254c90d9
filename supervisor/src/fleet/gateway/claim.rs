//! Finding a worker that has a free place.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::fleet::id::Id;
use crate::fleet::offering::{OFFERED_FOR, Offering, Offers};
use crate::fleet::post::{Mailbox, Post};
use crate::fleet::subjects::End;
use crate::fleet::wire::{self, Claim};

/// Why no worker has it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NotClaimed {
    Busy,
    Cancelled,
    NoRandomBits,
}

/// Offers a run until somebody claims it.
pub(super) async fn claimed(post: &Arc<Post>, cancelled: &mut watch::Receiver<bool>) -> Result<Claim, NotClaimed> {
    let mut mailbox = post.mailbox().map_err(|_| NotClaimed::NoRandomBits)?;
    let offer = Id::random().map_err(|_| NotClaimed::NoRandomBits)?;
    let (mut offers, mut made) = (Offers::default(), 0);
    let began = Instant::now();
    loop {
        let until = match offers.next(began.elapsed()) {
            Offering::Busy => return Err(NotClaimed::Busy),
            Offering::WaitUntil(until) => until,
            Offering::Offer => {
                made += 1;
                let sent = post.ask(post.subjects().offers(), post.subject_of(&mailbox), wire::offer(&offer));
                // What NATS does not take in time is as if nobody had claimed it.
                let _ = timeout_at(began + OFFERED_FOR, sent).await;
                continue;
            }
        };
        tokio::select! {
            biased;
            mail = mailbox.next() => {
                // Without a connection nobody claims it either.
                let Some(mail) = mail else { return Err(NotClaimed::Busy) };
                // What is no claim of this offer (that nobody listens, say) is as if nothing had come.
                if let Ok(claim) = Claim::read(mail.bytes()) && claim.offer.is(&offer) {
                    if made > 1 {
                        tokio::spawn(decline(Arc::clone(post), mailbox, offer, began + OFFERED_FOR));
                    }
                    return Ok(claim);
                }
            }
            // The sender lives as long as the handle; without one the run is cancelled too.
            _ = cancelled.wait_for(|cancelled| *cancelled) => return Err(NotClaimed::Cancelled),
            () = sleep_until(began + until) => {}
        }
    }
}

/// Tells whoever claims what has a worker already that it need not keep the place.
async fn decline(post: Arc<Post>, mut mailbox: Mailbox, offer: Id, offered_until: Instant) {
    /// A claim can be on its way for a moment after the last offer.
    const AFTERWARDS: Duration = Duration::from_millis(100);
    while let Ok(Some(mail)) = timeout_at(offered_until + AFTERWARDS, mailbox.next()).await {
        if let Ok(claim) = Claim::read(mail.bytes())
            && claim.offer.is(&offer)
        {
            let inbox = post.subjects().inbox(End::Worker, &claim.worker, &claim.inbox);
            // Who does not hear it finds out by itself.
            let _ = post.send(&inbox, wire::DECLINE.to_vec()).await;
        }
    }
}
