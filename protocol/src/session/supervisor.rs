//! The supervisor's end: hostile messages come in, honest ones go out.

use serde::Serialize;

use super::{ReplyError, encode_checked};
use crate::frame::{Frame, FrameLimit, encode_message};
use crate::limits::{REFUSALS, RunLimits};
use crate::message::{Console, FromChild, Hello, Request, RequestId, Run, RunAnswer, ToChildText, WireError};
use crate::violation::{Violation, ViolationKind as Kind};

/// What a legal message of the child means for the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// The child is there.
    Hello(Hello),
    /// A console entry.
    Console(Console),
    /// A request within the budget: it wants a reply.
    Request(Request),
    /// A request above the budget: it wants a refusal with [`crate::CallCode::CallLimit`] and nothing else.
    OverBudget(Request),
    /// A request above even that: the run ends with `call_limit`.
    CallLimit,
    /// How the body ended. Nothing may come any more.
    Answer(RunAnswer),
}

/// The rules of one run, on the supervisor's side.
#[derive(Debug)]
pub struct SupervisorSession {
    limit: FrameLimit,
    budget: u64,
    in_flight: usize,
    hello: bool,
    run: bool,
    over: bool,
    next: RequestId,
    /// In rising order, as they come in that order.
    open: Vec<RequestId>,
}

impl SupervisorSession {
    /// A session in which nothing was said yet.
    #[must_use]
    pub fn new(limits: &RunLimits) -> Self {
        Self {
            limit: limits.frame_limit(),
            budget: limits.requests(),
            // At most 128 by its cap.
            in_flight: limits.in_flight() as usize,
            hello: false,
            run: false,
            over: false,
            next: RequestId::FIRST,
            open: Vec::new(),
        }
    }

    /// The limit of frames in both directions; the decoder of this session wants the same.
    #[must_use]
    pub fn frame_limit(&self) -> FrameLimit {
        self.limit
    }

    /// Reads one frame of the child.
    ///
    /// # Errors
    ///
    /// The rule that it breaks. The session is over then: every later frame is a violation too.
    pub fn receive(&mut self, frame: Frame<'_>) -> Result<Received, Violation> {
        if self.over {
            return Err(Violation::new(Kind::TooLate, "session"));
        }
        let received = FromChild::parse(frame.text()).and_then(|message| self.admit(message));
        if matches!(received, Err(_) | Ok(Received::CallLimit | Received::Answer(_))) {
            self.over = true;
        }
        received
    }

    fn admit(&mut self, message: FromChild) -> Result<Received, Violation> {
        let hello = match message {
            FromChild::Hello(_) if self.hello => {
                return Err(Violation::new(Kind::Repeated, "hello"));
            }
            FromChild::Hello(hello) => hello,
            _ if !self.hello => return Err(Violation::new(Kind::TooEarly, "message before hello")),
            _ if !self.run => {
                return Err(Violation::new(Kind::TooEarly, "message before the run request"));
            }
            FromChild::Console(console) => return Ok(Received::Console(console)),
            FromChild::Request(request) => return self.admit_request(request),
            FromChild::Answer { id, answer } => {
                if id != RequestId::FIRST {
                    return Err(Violation::new(Kind::Unasked, "answer"));
                }
                if !self.open.is_empty() {
                    return Err(Violation::new(Kind::OpenRequests, "answer").with_numbers(self.open.len() as u64, 0));
                }
                return Ok(Received::Answer(answer));
            }
        };
        self.hello = true;
        Ok(Received::Hello(hello))
    }

    fn admit_request(&mut self, request: Request) -> Result<Received, Violation> {
        if request.id != self.next {
            return Err(Violation::new(Kind::IdOutOfOrder, "request id").with_numbers(request.id.get(), self.next.get()));
        }
        let count = request.id.get();
        if count > self.budget + REFUSALS {
            return Ok(Received::CallLimit);
        }
        self.next = request.id.following();
        self.open.push(request.id);
        Ok(if count > self.budget { Received::OverBudget(request) } else { Received::Request(request) })
    }

    /// How many requests of the child wait for a reply.
    #[must_use]
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Whether as many requests are open as the run allows. Whoever reads from the child stops reading until this is false again.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.open.len() >= self.in_flight
    }

    /// Whether `hello` has come.
    #[must_use]
    pub fn has_hello(&self) -> bool {
        self.hello
    }

    /// Whether the run request was written.
    #[must_use]
    pub fn has_run(&self) -> bool {
        self.run
    }

    /// Whether nothing may come any more: the answer, a violation or [`Received::CallLimit`] was there.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The frame of the run request; it may be sent before `hello` has come.
    ///
    /// # Errors
    ///
    /// The second time, when the run is over, or when the body does not fit into a frame.
    pub fn run(&mut self, run: &Run) -> Result<Vec<u8>, ReplyError> {
        if self.run || self.over {
            return Err(ReplyError::OutOfTurn);
        }
        let hint = run.body.len() + run.body.len() / 8 + 512;
        let frame = encode_message(&ToChildText::run(run), hint, self.limit)?;
        self.run = true;
        Ok(frame)
    }

    /// The frame of a value for an open request: a [`crate::JsonText`], a `serde_json::Value`, or anything else that has JSON.
    ///
    /// # Errors
    ///
    /// When the id is not open, or the value does not fit into a frame. In the second case the request stays open for [`refuse`](Self::refuse).
    pub fn reply<T: Serialize + ?Sized>(&mut self, id: RequestId, value: &T) -> Result<Vec<u8>, ReplyError> {
        let place = self.place(id)?;
        let frame = encode_checked(&ToChildText::value(id, value), 256, self.limit)?;
        self.open.remove(place);
        Ok(frame)
    }

    /// The frame of an error for an open request.
    ///
    /// # Errors
    ///
    /// When the id is not open, or the error does not fit into a frame; then the request stays open.
    pub fn refuse(&mut self, id: RequestId, error: &WireError) -> Result<Vec<u8>, ReplyError> {
        let place = self.place(id)?;
        let frame = encode_checked(&ToChildText::error(id, error), 256 + error.message.len(), self.limit)?;
        self.open.remove(place);
        Ok(frame)
    }

    fn place(&self, id: RequestId) -> Result<usize, ReplyError> {
        self.open.binary_search(&id).map_err(|_| ReplyError::NotOpen)
    }
}
