//! The child's end, as an honest child keeps it: the model for the JavaScript bridge, and one half of simulated pairs in tests.

use std::fmt;

use super::{ReplyError, encode_checked};
use crate::frame::{Frame, FrameLimit};
use crate::json::JsonText;
use crate::limits::WireLimits;
use crate::message::{Ask, Console, FromChild, Hello, Request, RequestId, RunAnswer, ToChild};
use crate::violation::{Violation, ViolationKind as Kind};

/// An honest child does not say this now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TurnError {
    /// `hello` comes first, and once.
    Hello,
    /// There is no run to speak of, or it is answered.
    NoRun,
    /// As many requests are open as the run allows; the child queues this one.
    Full,
    /// Requests are open, so the answer has to wait.
    Open,
    /// The message cannot be written.
    Message(ReplyError),
}

impl fmt::Display for TurnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hello => write!(f, "hello comes first and once"),
            Self::NoRun => write!(f, "no run is open"),
            Self::Full => write!(f, "too many requests are open"),
            Self::Open => write!(f, "requests are still open"),
            Self::Message(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TurnError {}

impl From<ReplyError> for TurnError {
    fn from(error: ReplyError) -> Self {
        Self::Message(error)
    }
}

/// The rules of one run, on the child's side.
#[derive(Debug)]
pub struct ChildSession {
    limit: FrameLimit,
    hello: bool,
    run: Option<WireLimits>,
    answered: bool,
    next: RequestId,
    open: Vec<RequestId>,
}

impl ChildSession {
    /// A session in which nothing was said yet.
    #[must_use]
    pub fn new(limit: FrameLimit) -> Self {
        Self { limit, hello: false, run: None, answered: false, next: RequestId::FIRST, open: Vec::new() }
    }

    /// Reads one frame of the supervisor. The child trusts the supervisor; it checks so that a bug ends a run instead of confusing it.
    ///
    /// # Errors
    ///
    /// The rule that it breaks.
    pub fn receive(&mut self, frame: Frame<'_>) -> Result<ToChild, Violation> {
        if self.answered {
            return Err(Violation::new(Kind::TooLate, "session"));
        }
        let message = ToChild::parse(frame.text())?;
        match &message {
            ToChild::Run { .. } if self.run.is_some() => {
                return Err(Violation::new(Kind::Repeated, "run"));
            }
            ToChild::Run { id, .. } if *id != RequestId::FIRST => {
                return Err(Violation::new(Kind::IdOutOfOrder, "run"));
            }
            ToChild::Run { run, .. } => self.run = Some(run.limits),
            ToChild::Reply { id, .. } => {
                let place = self.open.binary_search(id).map_err(|_| Violation::new(Kind::Unasked, "reply"))?;
                self.open.remove(place);
            }
        }
        Ok(message)
    }

    /// How many requests wait for a reply.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// The frame of `hello`.
    ///
    /// # Errors
    ///
    /// The second time.
    pub fn hello(&mut self, hello: &Hello) -> Result<Vec<u8>, TurnError> {
        if self.hello {
            return Err(TurnError::Hello);
        }
        let frame = self.encode(&FromChild::Hello(hello.clone()))?;
        self.hello = true;
        Ok(frame)
    }

    /// The frame of a console entry.
    ///
    /// # Errors
    ///
    /// When there is no run.
    pub fn console(&mut self, console: &Console) -> Result<Vec<u8>, TurnError> {
        self.running()?;
        self.encode(&FromChild::Console(console.clone()))
    }

    /// The frame of a request, and its id.
    ///
    /// # Errors
    ///
    /// When there is no run, or when the child has to queue the request.
    pub fn request(&mut self, ask: Ask) -> Result<(RequestId, Vec<u8>), TurnError> {
        let limits = self.running()?;
        if self.open.len() as u64 >= limits.in_flight {
            return Err(TurnError::Full);
        }
        let id = self.next;
        let frame = self.encode(&FromChild::Request(Request { id, ask }))?;
        self.next = id.following();
        self.open.push(id);
        Ok((id, frame))
    }

    /// The frame of the answer to `run`.
    ///
    /// # Errors
    ///
    /// When there is no run, or requests are open.
    pub fn answer(&mut self, answer: RunAnswer) -> Result<Vec<u8>, TurnError> {
        self.running()?;
        if !self.open.is_empty() {
            return Err(TurnError::Open);
        }
        let frame = self.encode(&FromChild::Answer { id: RequestId::FIRST, answer })?;
        self.answered = true;
        Ok(frame)
    }

    fn running(&self) -> Result<WireLimits, TurnError> {
        if !self.hello {
            return Err(TurnError::Hello);
        }
        self.run.filter(|_| !self.answered).ok_or(TurnError::NoRun)
    }

    fn encode(&self, message: &FromChild) -> Result<Vec<u8>, TurnError> {
        let hint = match message {
            FromChild::Request(Request { ask: Ask::Call { args, .. }, .. }) => args.bytes(),
            FromChild::Answer { answer: RunAnswer::Returned(returned), .. } => JsonText::bytes(&returned.value),
            _ => 0,
        };
        Ok(encode_checked(message, hint + 256, self.limit)?)
    }
}
