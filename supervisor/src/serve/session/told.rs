//! What a gateway hears of a run.

use codemode_protocol::gateway::{CallNotice, Notice, RequestMethod, RequestState, RunName, Wants};
use codemode_protocol::{JsonText, MAX_DEPTH};
use serde_json::json;

use crate::catalog::within_depth;
use crate::run::{CallEntry, CallState, Method, RunEvent, RunReport};

/// Levels around the value of a report: the message, its params, the report. Around the data of its error there is one more.
const VALUE_ENVELOPE: u32 = 3;

/// The notice of an event, if the gateway wants it.
pub(super) fn notice(run: &RunName, wants: Wants, event: &RunEvent) -> Option<Notice> {
    match event {
        RunEvent::Log(entry) if wants.logs => Some(Notice::Log { run: run.clone(), level: entry.level, text: entry.text.clone() }),
        RunEvent::CallQueued { seq, method, id } if wants.calls => Some(Notice::Call(CallNotice {
            run: run.clone(),
            seq: *seq,
            method: word(*method),
            state: RequestState::Queued,
            id: id.clone(),
            entry: None,
        })),
        RunEvent::CallSent { seq, id } if wants.calls => Some(Notice::Call(CallNotice {
            run: run.clone(),
            seq: *seq,
            method: RequestMethod::Call,
            state: RequestState::Sent,
            id: Some(id.clone()),
            entry: None,
        })),
        RunEvent::CallEnded(entry) if wants.calls => ended(run, entry).map(Notice::Call),
        _ => None,
    }
}

fn ended(run: &RunName, entry: &CallEntry) -> Option<CallNotice> {
    Some(CallNotice {
        run: run.clone(),
        seq: entry.seq,
        method: word(entry.method),
        state: state(entry.state),
        id: entry.id.clone(),
        entry: JsonText::of(entry).ok(),
    })
}

/// The last notice of a run.
pub(super) fn finished(run: &RunName, mut report: RunReport) -> Option<Notice> {
    // A value that the child's wire can just carry lies too deep here.
    let fits = |text: &JsonText, around: u32| text.to_value().is_ok_and(|value| within_depth(&value, MAX_DEPTH - around));
    let unreadable = || JsonText::of(&json!({"$unreadable": "nested deeper than this wire carries"})).unwrap_or_else(|_| JsonText::null());
    if is_deep(&report.value) && !fits(&report.value, VALUE_ENVELOPE) {
        report.value = unreadable();
    }
    if let Some(data) = report.error.as_mut().and_then(|error| error.data.as_mut())
        && is_deep(data)
        && !fits(data, VALUE_ENVELOPE + 1)
    {
        *data = unreadable();
    }
    JsonText::of(&report).ok().map(|report| Notice::Finished { run: run.clone(), report })
}

/// Whether a text could lie too deep at all: it has as many brackets.
fn is_deep(text: &JsonText) -> bool {
    text.text().bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() >= (MAX_DEPTH - VALUE_ENVELOPE - 1) as usize
}

fn word(method: Method) -> RequestMethod {
    match method {
        Method::Search => RequestMethod::Search,
        Method::Describe => RequestMethod::Describe,
        Method::Call => RequestMethod::Call,
    }
}

fn state(state: CallState) -> RequestState {
    match state {
        CallState::Queued => RequestState::Queued,
        CallState::Sent => RequestState::Sent,
        CallState::Ok => RequestState::Ok,
        CallState::Error => RequestState::Error,
        CallState::Denied => RequestState::Denied,
        CallState::Refused => RequestState::Refused,
        CallState::Cancelled => RequestState::Cancelled,
        CallState::Unknown => RequestState::Unknown,
    }
}
