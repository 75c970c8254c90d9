//! The other end of a connection: what is asked of it, what it is told, and what it answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use codemode_protocol::gateway::{Ask, Exchange, Notice, Refusal, RequestText, Settled, ToGateway};
use codemode_protocol::{FrameLimit, JsonText, RequestId, Violation, WireError};
use tokio::sync::{Semaphore, oneshot, watch};

use super::outbox::{Gone, Outbox, Outgoing};

/// Requests of ours that may be open at once. Above that the next one waits, and with it the run that makes it.
const MOST_OPEN: usize = 1_024;
/// Cancelled requests whose answers may be outstanding. A gateway that answers what it is asked comes nowhere near.
const MOST_OWED: usize = 4_096;

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub enum AskFailure {
    /// The connection is over, or was before the answer came.
    #[error("{}", if *sent { "the connection to the gateway ended before it answered" } else { "the connection to the gateway is over" })]
    Gone {
        /// Whether the request had gone out: then what it does may have happened.
        sent: bool,
    },
    /// The gateway answered with an error.
    #[error("{}", .0.message)]
    Refused(Box<WireError>),
    /// The request is longer than a frame.
    #[error("the request has {bytes} bytes, a frame {limit}")]
    TooLong {
        /// What it has.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}

/// The gateway owes more answers than anybody remembers.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{MOST_OWED} requests that were cancelled are unanswered; answer each request once, also a cancelled one")]
pub struct Overdue;

type Answered = Result<JsonText, WireError>;

#[derive(Debug)]
struct State {
    exchange: Exchange,
    waiting: HashMap<RequestId, oneshot::Sender<Answered>>,
    is_closed: bool,
}

#[derive(Debug)]
struct Inner {
    outbox: Outbox,
    state: Mutex<State>,
    turns: Semaphore,
    overdue: watch::Sender<bool>,
    /// Nobody is to wait for anything here any more.
    over: watch::Sender<bool>,
}

/// The other end. Cheap to clone; every clone is the same end.
#[derive(Clone, Debug)]
pub struct Peer(Arc<Inner>);

impl Peer {
    /// The other end of a connection that it has made, and where what is said to it comes out.
    pub fn connected() -> (Peer, Outgoing) {
        Peer::with(Exchange::accepting())
    }

    /// The other end of a connection that this end has made.
    pub fn reached() -> (Peer, Outgoing) {
        Peer::with(Exchange::connecting())
    }

    fn with(exchange: Exchange) -> (Peer, Outgoing) {
        let (outbox, outgoing) = Outbox::new();
        let state = State { exchange, waiting: HashMap::new(), is_closed: false };
        let (turns, overdue, over) = (Semaphore::new(MOST_OPEN), watch::Sender::new(false), watch::Sender::new(false));
        let inner = Inner { outbox, state: Mutex::new(state), turns, overdue, over };
        (Peer(Arc::new(inner)), outgoing)
    }

    /// Asks, and waits for the answer. Dropping the future cancels the request, and says so to the other end.
    ///
    /// # Errors
    ///
    /// [`AskFailure`].
    pub async fn ask(&self, ask: &Ask) -> Result<JsonText, AskFailure> {
        let answer = self.asked(ask).await;
        if let Err(AskFailure::Gone { sent: false }) = answer {
            // Between the two, whoever asks is about to be cancelled, and that is what became of the question. The sender lives in `self`.
            let _ = self.0.over.subscribe().wait_for(|over| *over).await;
        }
        answer
    }

    async fn asked(&self, ask: &Ask) -> Result<JsonText, AskFailure> {
        let unsent = |_| AskFailure::Gone { sent: false };
        let _turn = self.0.turns.acquire().await.map_err(|_| AskFailure::Gone { sent: false })?;
        let limit = FrameLimit::LARGEST.bytes();
        // What an `Ask` holds always has JSON.
        let text = RequestText::new(ask).map_err(|_| AskFailure::Gone { sent: false })?;
        if text.bytes() > limit {
            return Err(AskFailure::TooLong { bytes: text.bytes(), limit });
        }
        let place = self.0.outbox.place(text.bytes()).await.map_err(unsent)?;
        let (sender, receiver) = oneshot::channel();
        let open = {
            // Ids go out in their order: the next one is taken and put under one lock.
            let mut state = self.state();
            if state.is_closed {
                return Err(AskFailure::Gone { sent: false });
            }
            let id = state.exchange.ask().ok_or(AskFailure::Gone { sent: false })?;
            state.waiting.insert(id, sender);
            self.0.outbox.put(text.with_id(id), place).map_err(unsent)?;
            Open { peer: self, id }
        };
        let answered = receiver.await;
        drop(open);
        match answered {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(AskFailure::Refused(Box::new(error))),
            Err(_) => Err(AskFailure::Gone { sent: true }),
        }
    }

    /// Tells something, when there is room for it.
    ///
    /// # Errors
    ///
    /// [`Gone`]
    pub async fn tell(&self, notice: Notice) -> Result<(), Gone> {
        self.send(&ToGateway::Notice(notice)).await
    }

    /// Answers a request of the other end, when there is room for it.
    ///
    /// # Errors
    ///
    /// [`Gone`]
    pub async fn answer(&self, id: RequestId, result: Result<JsonText, Refusal>) -> Result<(), Gone> {
        self.send(&ToGateway::Answer { id, result }).await
    }

    /// Whether there is room for something to say now. True when the connection is over: then nothing waits for it.
    pub fn has_room(&self) -> bool {
        self.0.outbox.has_room()
    }

    /// Waits until everything that waits to be said has its place, or the connection is over. Cancel-safe.
    pub async fn room(&self) {
        drop(self.0.outbox.place(1).await);
    }

    async fn send(&self, message: &ToGateway) -> Result<(), Gone> {
        let text = serde_json::to_vec(message).map_err(|_| Gone)?;
        let place = self.0.outbox.place(text.len()).await?;
        self.0.outbox.put(text, place)
    }

    /// Says something without waiting for room.
    fn tell_at_once(&self, notice: Notice) {
        if let Ok(text) = serde_json::to_vec(&ToGateway::Notice(notice)) {
            self.0.outbox.put_at_once(text);
        }
    }

    /// A request of the other end came.
    ///
    /// # Errors
    ///
    /// When it comes before `hello`, is a second one, or its id is out of order.
    pub fn hear(&self, id: RequestId, is_hello: bool) -> Result<(), Violation> {
        self.state().exchange.hear(id, is_hello)
    }

    /// An answer of the other end came. One to a cancelled request is dropped.
    ///
    /// # Errors
    ///
    /// When nothing was asked under this id, or it is answered already.
    pub fn settle(&self, id: RequestId, result: Answered) -> Result<(), Violation> {
        let mut state = self.state();
        if state.exchange.settle(id)? == Settled::Open
            && let Some(waiting) = state.waiting.remove(&id)
        {
            // It may have stopped waiting this very moment.
            let _ = waiting.send(result);
        }
        Ok(())
    }

    /// The connection is over: these are its last words, and nobody can say anything any more. Who waits for an answer, or asks for one now, waits until [`Peer::close`]: this is for runs that
    /// are cancelled meanwhile, in whose ledgers their questions are to be cancelled as well, and no failures.
    pub fn hush(&self, last_words: Option<Notice>) {
        // A notice of ours always has JSON.
        let text = last_words.and_then(|notice| serde_json::to_vec(&ToGateway::Notice(notice)).ok());
        self.0.outbox.close(text);
        self.0.turns.close();
    }

    /// The connection is over: who waits for an answer gets none, and nobody can say anything any more.
    pub fn close(&self) {
        self.hush(None);
        self.0.over.send_replace(true);
        let mut state = self.state();
        state.is_closed = true;
        state.waiting.clear();
    }

    /// Waits until the other end owes too many answers. Cancel-safe.
    pub async fn overdue(&self) -> Overdue {
        // The sender lives in `self`.
        let _ = self.0.overdue.subscribe().wait_for(|overdue| *overdue).await;
        Overdue
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that somebody waits for.
struct Open<'a> {
    peer: &'a Peer,
    id: RequestId,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let owed = {
            let mut state = self.peer.state();
            state.waiting.remove(&self.id);
            if !state.exchange.abandon(self.id) || state.is_closed {
                return;
            }
            state.exchange.owed()
        };
        self.peer.tell_at_once(Notice::Cancel { id: self.id });
        if owed > MOST_OWED {
            self.peer.0.overdue.send_replace(true);
        }
    }
}
