//! One run at its worker.

use std::sync::Arc;
use std::time::Duration;

use codemode_protocol::gateway::GoodbyeCode;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::status::Tally;
use crate::catalog::gateway::{Departure, Outgoing};
use crate::fleet::id::Id;
use crate::fleet::link::{Link, LinkFault, Texts};
use crate::fleet::post::{Mailbox, Post};
use crate::fleet::subjects::End;
use crate::fleet::wire::{Claim, DECLINE, Kind, Parcel};
use crate::run::{ErrorCode, TraceParent};
use crate::serve::session::{Goodbye, Host, Session};

/// How long a place is kept for a run that was claimed: the time that a run is offered, and as much for the way.
const KEPT_FOR: Duration = Duration::from_millis(200);

/// How long what is to be run may take to come: a body of a mebibyte over a slow line. A gateway that is silent meanwhile is found sooner.
const COMES_WITHIN: Duration = Duration::from_secs(10);

/// How long the last words of a run may take to go out.
const FLUSHED_WITHIN: Duration = Duration::from_secs(2);

/// Texts of a gateway before its run goes on: `hello` and `run.start`.
const OPENING_TEXTS: usize = 2;

/// A text on its way out, which gives back its room when it is sent.
pub(in crate::fleet) struct Leaving(Departure);

impl AsRef<[u8]> for Leaving {
    fn as_ref(&self) -> &[u8] {
        self.0.text()
    }
}

impl Texts for Outgoing {
    type Text = Leaving;

    async fn next(&mut self) -> Option<Leaving> {
        Outgoing::next(self).await.map(Leaving)
    }
}

/// Who has handed a run over.
struct Opened {
    token: Id,
    gateway: String,
    trace_parent: Option<TraceParent>,
}

/// Why nobody has.
enum NotOpened {
    /// Another worker was faster, or the gateway is gone.
    Elsewhere,
    /// What came opens nothing.
    Broken,
}

/// Claims what `back` has offered, and does it. `stop` is true when its time is over. When this returns, nothing is left of the run.
pub(super) async fn claim(post: Arc<Post>, host: Host, tally: Arc<Tally>, offer: Id, back: String, mut stop: watch::Receiver<bool>) {
    // Without random bits no run is safe here.
    let Ok(mut mailbox) = post.mailbox() else { return };
    let claim = Claim { offer, inbox: mailbox.id(), worker: post.name().clone() };
    if post.send(&back, claim.write()).await.is_err() {
        return;
    }
    let opened = match opened(&post, &mut mailbox).await {
        Ok(opened) => opened,
        Err(NotOpened::Elsewhere) => return,
        Err(NotOpened::Broken) => return tally.broken(),
    };
    let (session, outgoing) = Session::open(&host);
    let mut session = session.with_trace_parent(opened.trace_parent);
    let limit = Session::frame_limit().bytes();
    let link =
        Link { post: Arc::clone(&post), mailbox, to: opened.gateway, end: End::Worker, token: opened.token, sent: 0, heard: 1, limit };
    let (taken, incoming) = mpsc::channel(1);
    let mut carrying = std::pin::pin!(link.carry(outgoing, taken));
    let ended = tokio::select! {
        biased;
        // First: a gateway that sends without a pause must not hold up what ends its run.
        spoken = speak(&mut session, incoming, &mut stop) => Ok(spoken.err()),
        carried = &mut carrying => Err(carried.err().unwrap_or(LinkFault::Gone)),
    };
    match ended {
        Ok(goodbye) => {
            if goodbye.as_ref().is_some_and(|goodbye| goodbye.code == GoodbyeCode::ProtocolViolation) {
                tally.broken();
            }
            session.close(goodbye).await;
            // The link is over when everything is out that the session has said. A gateway that does not take it has its report when it does, or not at all.
            let _ = timeout(FLUSHED_WITHIN, carrying).await;
            post.flush().await;
        }
        Err(fault) => {
            if fault.code() == ErrorCode::WorkerLost {
                tracing::warn!(reason = %fault, "a gateway is lost, and its run ended");
                tally.lost();
            } else {
                tracing::warn!(reason = %fault, "a gateway, or somebody in its name, broke the wire, and its run ended");
                tally.broken();
            }
            session.close(None).await;
        }
    }
}

async fn opened(post: &Post, mailbox: &mut Mailbox) -> Result<Opened, NotOpened> {
    let Ok(Some(mail)) = timeout(KEPT_FOR, mailbox.next()).await else { return Err(NotOpened::Elsewhere) };
    if mail.bytes() == DECLINE {
        return Err(NotOpened::Elsewhere);
    }
    let parcel = Parcel::read(mail.bytes()).map_err(|_| NotOpened::Broken)?;
    let gateway = std::str::from_utf8(parcel.bytes).ok().filter(|subject| post.subjects().is_inbox(End::Gateway, subject));
    match gateway {
        Some(gateway) if parcel.kind == Kind::Open && parcel.end == End::Gateway && parcel.number == 1 => {
            Ok(Opened { token: parcel.token, gateway: gateway.to_owned(), trace_parent: mail.trace_parent.clone() })
        }
        _ => Err(NotOpened::Broken),
    }
}

/// Waits until it is true. Cancel-safe.
async fn told(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Until the run is over. `Err`: it is to be ended, and why.
async fn speak(session: &mut Session, mut incoming: mpsc::Receiver<String>, stop: &mut watch::Receiver<bool>) -> Result<(), Goodbye> {
    let comes_until = Instant::now() + COMES_WITHIN;
    let mut texts = 0;
    let mut is_stopped = false;
    loop {
        tokio::select! {
            biased;
            // The sender lives in the worker; without one its time is over.
            () = told(stop), if !is_stopped => {
                is_stopped = true;
                // Its report says so, and goes out as any other.
                session.cancel();
            }
            // Whatever a gateway has to say behind the end of its run.
            () = session.idle(), if texts >= OPENING_TEXTS => return Ok(()),
            text = incoming.recv() => {
                // The link has more to say about why.
                let Some(text) = text else { std::future::pending().await };
                // What comes behind the end of a run may wait for a gateway that reads nothing.
                let is_over = session.idle();
                tokio::select! {
                    biased;
                    received = session.receive(&text) => received?,
                    () = is_over, if texts >= OPENING_TEXTS => return Ok(()),
                }
                texts += 1;
                if is_stopped {
                    session.cancel();
                }
            }
            goodbye = session.overdue() => return Err(goodbye),
            () = sleep_until(comes_until), if texts < OPENING_TEXTS => {
                return Err(Goodbye::new(GoodbyeCode::HelloTimeout, "what is to be run did not come"));
            }
        }
    }
}
