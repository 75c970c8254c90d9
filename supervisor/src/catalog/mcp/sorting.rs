//! What a server says, sorted: answers to what was asked, and what else it may say. The same for every way it comes.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomRequest, CustomResult, ErrorCode, ErrorData, InitializeResult,
    NumberOrString, RequestId, ServerJsonRpcMessage, ServerNotification, ServerRequest, ServerResult, ToolListChangedNotification,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::{MOST_WEIGHT, weighed};
use super::envelope::{Message, Stray, message};
use super::failures::{TOO_HEAVY, UNREADABLE};

/// Lines up to this size are read where they come in: that takes a fraction of a millisecond. One of 16 MiB takes a second and more, and no clock may wait for a server.
pub(super) const AT_ONCE: usize = 128 << 10;
/// Requests of the server's that may be without our answer; a server that reads none cannot make us keep more.
const MOST_ASKED: usize = 64;
/// Bytes that may go by without one answer: a server that only babbles is given up.
pub(super) const MOST_STRAY_BYTES: u64 = 256 << 20;
/// Ids of cancelled requests that are remembered: their answers may be on their way.
const CANCELLED_KEPT: usize = 256;
/// Characters of an id or a method of the server's that are repeated to it.
const WORD_CHARS: usize = 256;

/// What waits for an answer.
#[derive(Debug, Default)]
pub(super) struct Open {
    /// Ours; `true` for `initialize`.
    pub(super) ours: HashMap<i64, bool>,
    cancelled: VecDeque<i64>,
    theirs: usize,
}

impl Open {
    /// Notes what is said to the server.
    pub(super) fn note(&mut self, sent: &ClientJsonRpcMessage) {
        match sent {
            ClientJsonRpcMessage::Request(request) => {
                if let NumberOrString::Number(id) = request.id {
                    self.ours.insert(id, matches!(request.request, ClientRequest::InitializeRequest(_)));
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => self.theirs = self.theirs.saturating_sub(1),
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(NumberOrString::Number(id)) = cancelled.params.request_id
                    && self.ours.remove(&id).is_some()
                {
                    self.cancelled.push_back(id);
                    if self.cancelled.len() > CANCELLED_KEPT {
                        self.cancelled.pop_front();
                    }
                }
            }
        }
    }
}

/// A line that was read; nothing of it is borrowed.
#[derive(Debug)]
pub(super) enum Read {
    Answer { id: i64, message: Box<ServerJsonRpcMessage> },
    Request { id: RequestId, method: String },
    Notification { method: String },
}

/// Reads a message. What it costs to keep is bounded before it is kept.
pub(super) fn read(line: &[u8], open: &Mutex<Open>) -> Result<Read, Stray> {
    let open = || open.lock().unwrap_or_else(PoisonError::into_inner);
    let known = |id| {
        let open = open();
        open.ours.contains_key(&id) || open.cancelled.contains(&id)
    };
    match message(line, known)? {
        Message::Answer { id, outcome } => {
            let is_initialize = open().ours.get(&id).copied().unwrap_or(false);
            let message = match outcome {
                Ok(result) => answer(id, is_initialize, result),
                Err(error) => failed(id, error_of(error)),
            };
            Ok(Read::Answer { id, message: Box::new(message) })
        }
        Message::Request { id, method } => Ok(Read::Request { id: their_id(id).ok_or(Stray::NotAMessage)?, method: head(&method) }),
        Message::Notification { method } => Ok(Read::Notification { method: head(&method) }),
    }
}

/// What a message that was read comes to.
#[derive(Debug)]
pub(super) enum Sorted {
    /// The answer to a request of ours, which is open no longer.
    Answer { id: i64, is_initialize: bool, message: ServerJsonRpcMessage },
    /// The answer to a cancelled request, which was on its way.
    Late,
    /// What else the server may say; with what the SDK is to see of it.
    Said(Option<ServerJsonRpcMessage>),
    /// Nothing that a server may say.
    Stray(Stray),
}

/// Sorts a message that was read, and notes what it opens or ends.
pub(super) fn sorted(read: Result<Read, Stray>, open: &Mutex<Open>) -> Sorted {
    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
    match read {
        Err(stray) => Sorted::Stray(stray),
        Ok(Read::Answer { id, message }) => match open.ours.remove(&id) {
            Some(is_initialize) => Sorted::Answer { id, is_initialize, message: *message },
            None => Sorted::Late,
        },
        Ok(Read::Request { .. }) if open.theirs >= MOST_ASKED => Sorted::Stray(Stray::TooManyRequests),
        Ok(Read::Request { id, method }) => {
            open.theirs += 1;
            Sorted::Said(Some(ServerJsonRpcMessage::request(asked(method), id)))
        }
        Ok(Read::Notification { method }) => Sorted::Said(told(&method)),
    }
}

fn too_heavy(text: &str) -> Option<ErrorData> {
    weighed(text, MOST_WEIGHT).err().map(|heavy| ErrorData::new(TOO_HEAVY, heavy.weight.to_string(), None))
}

fn answer(id: i64, is_initialize: bool, result: &RawValue) -> ServerJsonRpcMessage {
    if let Some(error) = too_heavy(result.get()) {
        return failed(id, error);
    }
    let read = if is_initialize {
        serde_json::from_str::<InitializeResult>(result.get()).map(ServerResult::InitializeResult)
    } else {
        serde_json::from_str::<Value>(result.get()).map(|value| ServerResult::CustomResult(CustomResult(value)))
    };
    match read {
        Ok(result) => ServerJsonRpcMessage::response(result, NumberOrString::Number(id)),
        Err(error) => failed(id, ErrorData::new(UNREADABLE, error.to_string(), None)),
    }
}

/// An error as the SDK wants it.
pub(super) fn failed(id: i64, error: ErrorData) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(error, Some(NumberOrString::Number(id)))
}

/// The server's error, or what there is of it.
fn error_of(error: &RawValue) -> ErrorData {
    if let Some(error) = too_heavy(error.get()) {
        return error;
    }
    serde_json::from_str(error.get()).unwrap_or_else(|_| ErrorData::new(ErrorCode::INTERNAL_ERROR, head(error.get()), None))
}

fn their_id(id: &RawValue) -> Option<RequestId> {
    if id.get().len() > WORD_CHARS { None } else { serde_json::from_str(id.get()).ok() }
}

/// As much of a server's word as is repeated to it.
fn head(word: &str) -> String {
    word.chars().take(WORD_CHARS).collect()
}

/// What the SDK is to see of a request of the server's: its method, no parameter of a stranger's.
fn asked(method: String) -> ServerRequest {
    match &*method {
        "ping" => ServerRequest::PingRequest(Default::default()),
        "roots/list" => ServerRequest::ListRootsRequest(Default::default()),
        _ => ServerRequest::CustomRequest(CustomRequest::new(method, None)),
    }
}

/// What the SDK is to see of what the server tells. Progress, log messages, news of resources: nobody here waits for them.
fn told(method: &str) -> Option<ServerJsonRpcMessage> {
    if method == "notifications/tools/list_changed" {
        let changed = ToolListChangedNotification { method: Default::default(), extensions: Default::default() };
        return Some(ServerJsonRpcMessage::notification(ServerNotification::ToolListChangedNotification(changed)));
    }
    tracing::trace!(%method, "an MCP server tells");
    None
}
