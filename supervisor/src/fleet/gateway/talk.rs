//! One run as its gateway speaks of it with the worker: which message may come now, and what follows.

use std::sync::Arc;

use codemode_protocol::gateway::{
    Ask, CallNotice, Capabilities, Capability, Exchange, FromGateway, GatewayAsk, Hello, HelloAnswer, Notice, Refusal, RefusalCode,
    RequestMethod, RequestState, RunName, RunStart, Settled, ToGateway,
};
use codemode_protocol::{JsonText, RequestId, RunLimits, Violation};
use tokio::sync::mpsc;

use super::book::Untrue;
use super::desk::{Desk, Shared};
use crate::run::{CallEntry, ErrorCode, LogEntry, Method, RunError, RunEvent};

/// Questions of a worker beside its calls, for each request that a body may make: one of the body's own, or those before a call, of a tool that is not known yet.
const QUESTIONS_EACH: u64 = 2;
/// Bytes of what is searched for, and of an id: no worker asks for more, and each is compared with thousands of tools.
const WORDS_BYTES: usize = 16 * 1024;
/// Refusals above the limit on requests that a session grants; each is told.
const MOST_REFUSALS: u64 = 1_024;
/// What an entry of the console costs at least.
const ENTRY_BYTES: u64 = 16;

/// Why the worker is not listened to any more.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("{0}")]
    Wire(#[from] Violation),
    #[error("{0}")]
    Untrue(#[from] Untrue),
    #[error("it speaks of another run")]
    OtherRun,
    #[error("it asks for what it was not told to ask for")]
    Unwanted,
    #[error("it tells more than a run has")]
    TooMuch,
    #[error("it asks for more than its run may")]
    TooMany,
    #[error("it asks or tells of a run before it has taken it")]
    Early,
}

/// What a message comes to.
#[derive(Debug)]
pub(super) enum Heard {
    /// The run goes on.
    GoesOn,
    /// It was not begun, or the worker gives it up.
    Refused(RunError),
    /// Its report, unread.
    Finished(JsonText),
}

/// One run, as far as it was spoken of.
#[derive(Debug)]
pub(super) struct Talk {
    exchange: Exchange,
    run: RunName,
    hello: Option<RequestId>,
    start: Option<RequestId>,
    texts: mpsc::UnboundedSender<Vec<u8>>,
    pub(super) desk: Desk,
    shared: Arc<Shared>,
    limits: RunLimits,
    pub(super) logs: Vec<LogEntry>,
    log_bytes: u64,
    is_taken: bool,
    questions: u64,
    queued: u64,
    ended: u64,
    asks_approvals: bool,
}

impl Talk {
    /// Says hello, and what is to be run.
    pub(super) fn begin(
        start: RunStart,
        texts: mpsc::UnboundedSender<Vec<u8>>,
        desk: Desk,
        shared: Arc<Shared>,
        limits: RunLimits,
    ) -> Talk {
        let mut talk = Talk {
            exchange: Exchange::connecting(),
            run: start.run.clone(),
            hello: None,
            start: None,
            texts,
            desk,
            shared,
            limits,
            logs: Vec::new(),
            log_bytes: 0,
            is_taken: false,
            questions: 0,
            queued: 0,
            ended: 0,
            asks_approvals: start.wants.approvals,
        };
        let name = concat!("codemode ", env!("CARGO_PKG_VERSION"));
        talk.hello = talk.ask(GatewayAsk::Hello(Hello::new(name, Capabilities::new([Capability::Catalog, Capability::Approvals]))));
        talk.start = talk.ask(GatewayAsk::Start(Box::new(start)));
        talk
    }

    /// Asks the worker to end the run.
    pub(super) fn cancel(&mut self) {
        self.ask(GatewayAsk::Cancel { run: self.run.clone() });
    }

    fn ask(&mut self, ask: GatewayAsk) -> Option<RequestId> {
        let id = self.exchange.ask()?;
        // Texts and numbers: there is nothing in it that JSON cannot say.
        if let Ok(text) = serde_json::to_vec(&FromGateway::Request { id, ask }) {
            self.say(text);
        }
        Some(id)
    }

    /// Says an answer of the desk.
    pub(super) fn say(&self, text: Vec<u8>) {
        // The link is over: what comes next says so.
        let _ = self.texts.send(text);
    }

    /// Takes the next message.
    pub(super) fn hear(&mut self, text: &str) -> Result<Heard, Broken> {
        match ToGateway::parse(text)? {
            ToGateway::Answer { id, result } => self.answered(id, result),
            ToGateway::Request { id, ask } => {
                self.exchange.hear(id, matches!(ask, Ask::Hello(_)))?;
                let run = match &ask {
                    Ask::Search { run, .. } | Ask::Describe { run, .. } | Ask::Call { run, .. } => run,
                    Ask::Approve { run, .. } if self.asks_approvals => run,
                    Ask::Hello(_) | Ask::Hook { .. } | Ask::Approve { .. } => return Err(Broken::Unwanted),
                };
                self.own(run)?;
                self.is_within(&ask)?;
                self.desk.begin(id, ask)?;
                Ok(Heard::GoesOn)
            }
            ToGateway::Notice(notice) => self.told(notice),
        }
    }

    /// Whether it is this run that the worker speaks of, and it has said that it takes it: what it refuses was not begun.
    fn own(&self, run: &RunName) -> Result<(), Broken> {
        if *run != self.run {
            return Err(Broken::OtherRun);
        }
        if self.is_taken { Ok(()) } else { Err(Broken::Early) }
    }

    /// The limits of the run, as its worker keeps them. Calls are counted by the book.
    fn is_within(&mut self, ask: &Ask) -> Result<(), Broken> {
        let words = match ask {
            Ask::Search { query, .. } => query.len(),
            Ask::Describe { id, .. } | Ask::Call { id, .. } => id.len(),
            Ask::Approve { tool, .. } => tool.id.len(),
            Ask::Hello(_) | Ask::Hook { .. } => 0,
        };
        let is_question = matches!(ask, Ask::Search { .. } | Ask::Describe { .. });
        self.questions += u64::from(is_question);
        let is_too_many = self.desk.open() as u64 >= self.limits.in_flight() || self.questions > QUESTIONS_EACH * self.limits.requests();
        if is_too_many || words > WORDS_BYTES { Err(Broken::TooMany) } else { Ok(()) }
    }

    fn answered(&mut self, id: RequestId, result: Result<JsonText, Refusal>) -> Result<Heard, Broken> {
        if self.exchange.settle(id)? == Settled::Late {
            return Ok(Heard::GoesOn);
        }
        match result {
            Ok(answer) => {
                if self.hello == Some(id) {
                    HelloAnswer::read(&answer)?;
                }
                self.is_taken |= self.start == Some(id);
                Ok(Heard::GoesOn)
            }
            Err(refusal) if self.hello == Some(id) || self.start == Some(id) => Ok(Heard::Refused(refused(&refusal))),
            // Of a cancellation: the run ends all the same, or its clock does it.
            Err(_) => Ok(Heard::GoesOn),
        }
    }

    fn told(&mut self, notice: Notice) -> Result<Heard, Broken> {
        match notice {
            Notice::Log { run, level, text } => {
                self.own(&run)?;
                self.log_bytes += text.len() as u64 + ENTRY_BYTES;
                // Both ends of a long console are kept, and each is told.
                if self.log_bytes > 2 * self.limits.console_bytes() + self.limits.console_entry_bytes() + ENTRY_BYTES {
                    return Err(Broken::TooMuch);
                }
                let entry = LogEntry { level, text, dropped: 0 };
                self.shared.tell(|| RunEvent::Log(entry.clone()));
                self.logs.push(entry);
            }
            Notice::Call(call) => {
                self.own(&call.run)?;
                self.call(call)?;
            }
            Notice::Finished { run, report } => {
                self.own(&run)?;
                return Ok(Heard::Finished(report));
            }
            Notice::Cancel { id } => self.desk.cancel(id),
            Notice::Goodbye { code, .. } => {
                let message = format!(
                    "the worker ended the run: {code}\nwhat the calls of the report say is so; decide by it whether to run the body again"
                );
                return Ok(Heard::Refused(RunError::new(ErrorCode::WorkerLost, message)));
            }
        }
        Ok(Heard::GoesOn)
    }

    fn call(&mut self, call: CallNotice) -> Result<(), Broken> {
        match (call.state, call.entry) {
            (RequestState::Queued, _) => {
                if call.seq != self.queued + 1 || call.seq > self.limits.requests() + MOST_REFUSALS + 1 {
                    return Err(Broken::TooMuch);
                }
                self.queued = call.seq;
                let method = method(call.method);
                self.shared.tell(|| RunEvent::CallQueued { seq: call.seq, method, id: call.id });
            }
            (RequestState::Sent, _) => {}
            (_, None) => return Err(Broken::TooMuch),
            (_, Some(entry)) => {
                self.ended += 1;
                if self.ended > self.queued {
                    return Err(Broken::TooMuch);
                }
                // The report has it once more, and there it is held against the book again.
                if let Ok(entry) = serde_json::from_str::<CallEntry>(entry.text()) {
                    let truth = self.shared.book().corrected(entry)?;
                    self.shared.tell(|| RunEvent::CallEnded(truth));
                }
            }
        }
        Ok(())
    }
}

fn refused(refusal: &Refusal) -> RunError {
    let code = match refusal.code {
        RefusalCode::Busy | RefusalCode::Draining => ErrorCode::Busy,
        RefusalCode::UnsupportedProtocol
        | RefusalCode::RunExists
        | RefusalCode::InvalidLimits
        | RefusalCode::InvalidCatalog
        | RefusalCode::NotOffered => ErrorCode::ProtocolViolation,
    };
    RunError::new(code, format!("the worker does not take the run: {}\nstart it again", refusal.code))
}

fn method(word: RequestMethod) -> Method {
    match word {
        RequestMethod::Search => Method::Search,
        RequestMethod::Describe => Method::Describe,
        RequestMethod::Call => Method::Call,
    }
}
