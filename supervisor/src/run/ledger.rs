//! The list of a run's requests, each with its honest state.
//!
//! *Sent* is written before the backend is asked, never after: only a request that was `sent` and has no answer is `unknown`, and for every
//! other one the caller knows whether an effect happened.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::cut;
use crate::catalog::{CallCode, Source};
use crate::gate::Admitted;

/// An id is the body's own text and may be as long as an argument; this much of it is kept. The longest ids of known catalogs have 200 bytes.
const ID_BYTES: usize = 256;

/// What was asked for.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// `openclaw.tools.search`
    Search,
    /// `openclaw.tools.describe`
    Describe,
    /// `openclaw.tools.call`
    Call,
}

/// How far a request came.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CallState {
    /// Taken from the child; no effect can have happened.
    Queued,
    /// The backend was asked and has not answered.
    Sent,
    /// Answered with a value.
    Ok,
    /// Answered with an error after dispatch.
    Error,
    /// Stopped by policy, approval or hook before dispatch.
    Denied,
    /// Stopped before dispatch by anything else.
    Refused,
    /// The run ended before dispatch.
    Cancelled,
    /// Dispatched, and there is no answer: the run ended before one, or the tool will not give one. An effect may have happened.
    Unknown,
}

impl Method {
    /// The word for it in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Search => "search",
            Method::Describe => "describe",
            Method::Call => "call",
        }
    }
}

impl CallState {
    /// The word for it in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            CallState::Queued => "queued",
            CallState::Sent => "sent",
            CallState::Ok => "ok",
            CallState::Error => "error",
            CallState::Denied => "denied",
            CallState::Refused => "refused",
            CallState::Cancelled => "cancelled",
            CallState::Unknown => "unknown",
        }
    }

    /// Whether nothing can follow.
    pub fn is_final(self) -> bool {
        !matches!(self, CallState::Queued | CallState::Sent)
    }
}

/// One request of a body.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallEntry {
    /// From 1, in the order in which the child sent them.
    pub seq: u64,
    /// What was asked for.
    pub method: Method,
    /// The tool: as the body named it, then its id once resolved. `null` for a search.
    pub id: Option<String>,
    /// Where the tool comes from, once resolved.
    pub source: Option<Source>,
    /// How far it came.
    pub state: CallState,
    /// Why it failed.
    pub code: Option<CallCode>,
    /// From the start of the run to the request.
    #[serde(serialize_with = "super::timing::millis", deserialize_with = "super::timing::from_millis")]
    #[serde(rename = "startMs")]
    pub start: Duration,
    /// From the request to its final state.
    #[serde(serialize_with = "super::timing::millis", deserialize_with = "super::timing::from_millis")]
    #[serde(rename = "durationMs")]
    pub duration: Duration,
    /// JSON text of the arguments, in bytes.
    pub args_bytes: usize,
    /// JSON text of the answer, in bytes; 0 without one.
    pub result_bytes: usize,
    /// Paths of arguments that came as text and were decoded, because the schema wants an object or array there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decoded: Vec<String>,
    /// The hooks that rewrote the arguments, in order; `argsBytes` are the bytes of what they left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewritten_by: Vec<String>,
}

/// The requests of one run. Its length is bounded by the session: the limit on requests, and as many refusals as it grants above that.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: Vec<CallEntry>,
}

impl Ledger {
    /// Notes a request that has just arrived, as `queued`; gives its number.
    pub fn open(&mut self, method: Method, id: Option<&str>, args_bytes: usize, now: Duration) -> u64 {
        let seq = self.entries.len() as u64 + 1;
        self.entries.push(CallEntry {
            seq,
            method,
            id: id.map(|id| cut::head(id, ID_BYTES).to_owned()),
            source: None,
            state: CallState::Queued,
            code: None,
            start: now,
            duration: Duration::ZERO,
            args_bytes,
            result_bytes: 0,
            decoded: Vec::new(),
            rewritten_by: Vec::new(),
        });
        seq
    }

    /// Notes which tool a request turned out to be about.
    pub fn resolve(&mut self, seq: u64, id: &str, source: Source) {
        if let Some(entry) = self.unfinished(seq) {
            id.clone_into(entry.id.get_or_insert_default());
            entry.source = Some(source);
        }
    }

    /// Notes that the backend is asked *now*. False when the request is not waiting for that: then it must not be.
    #[must_use]
    pub fn send(&mut self, seq: u64, call: &Admitted) -> bool {
        self.unfinished(seq).is_some_and(|entry| entry.send(call))
    }

    /// Notes an answer. `Err` is the failure's code; the state follows from it and from how far the request had come.
    /// False when the request has its final state already: an answer that comes too late changes nothing.
    #[must_use]
    pub fn settle(&mut self, seq: u64, result: Result<usize, CallCode>, now: Duration) -> bool {
        let Some(entry) = self.unfinished(seq) else { return false };
        entry.settle(result, now);
        true
    }

    /// Notes that there will be no answer, and the failure's code. For what was not sent that is a failure like any other.
    /// False when the request has its final state already.
    #[must_use]
    pub fn lose(&mut self, seq: u64, code: CallCode, now: Duration) -> bool {
        let was_sent = self.entry(seq).is_some_and(|entry| entry.state == CallState::Sent);
        if !self.settle(seq, Err(code), now) {
            return false;
        }
        if let Some(entry) = index(seq).and_then(|index| self.entries.get_mut(index)).filter(|_| was_sent) {
            entry.state = CallState::Unknown;
        }
        true
    }

    /// The run is over: gives every request that has none its final state, and their numbers.
    pub fn close(&mut self, now: Duration) -> Vec<u64> {
        let mut closed = Vec::new();
        for entry in self.entries.iter_mut().filter(|entry| !entry.state.is_final()) {
            entry.abandon(now);
            closed.push(entry.seq);
        }
        closed
    }

    /// One request.
    pub fn entry(&self, seq: u64) -> Option<&CallEntry> {
        self.entries.get(index(seq)?)
    }

    /// All of them, in order, for the report.
    pub fn into_entries(self) -> Vec<CallEntry> {
        self.entries
    }

    fn unfinished(&mut self, seq: u64) -> Option<&mut CallEntry> {
        self.entries.get_mut(index(seq)?).filter(|entry| !entry.state.is_final())
    }
}

impl CallEntry {
    /// The backend is asked now. False when the request is not waiting for that.
    pub(crate) fn send(&mut self, call: &Admitted) -> bool {
        let is_queued = self.state == CallState::Queued;
        if is_queued {
            self.state = CallState::Sent;
            self.args_bytes = call.args_bytes();
            self.decoded = call.decoded().to_vec();
            self.rewritten_by = call.rewritten_by().to_vec();
        }
        is_queued
    }

    /// It has its answer: the bytes of a value, or a failure's code. The state follows from that and from how far it had come.
    pub(crate) fn settle(&mut self, result: Result<usize, CallCode>, now: Duration) {
        self.duration = now.saturating_sub(self.start);
        match result {
            Ok(bytes) => {
                self.state = CallState::Ok;
                self.result_bytes = bytes;
            }
            Err(code) => {
                self.code = Some(code);
                self.state = match self.state {
                    CallState::Sent => CallState::Error,
                    _ if code.is_denial() => CallState::Denied,
                    _ => CallState::Refused,
                };
            }
        }
    }

    /// Nobody waits for its answer any more.
    pub(crate) fn abandon(&mut self, now: Duration) {
        self.duration = now.saturating_sub(self.start);
        self.state = if self.state == CallState::Sent { CallState::Unknown } else { CallState::Cancelled };
    }
}

fn index(seq: u64) -> Option<usize> {
    usize::try_from(seq.checked_sub(1)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent() -> Admitted {
        let tool = crate::catalog::Tool::new(Source::Client, "demo", "echo", "", serde_json::json!({}));
        Admitted::unasked(tool.into(), serde_json::json!({}), 9)
    }

    const T0: Duration = Duration::from_millis(1);
    const T1: Duration = Duration::from_millis(5);

    fn state_after(script: impl FnOnce(&mut Ledger, u64)) -> CallState {
        let mut ledger = Ledger::default();
        let seq = ledger.open(Method::Call, Some("demo:echo"), 2, T0);
        script(&mut ledger, seq);
        ledger.entry(seq).unwrap().state
    }

    #[test]
    fn only_a_sent_request_without_an_answer_is_unknown() {
        assert_eq!(state_after(|l, _| drop(l.close(T1))), CallState::Cancelled);
        assert_eq!(
            state_after(|l, seq| {
                assert!(l.send(seq, &sent()));
                l.close(T1);
            }),
            CallState::Unknown
        );
    }

    #[test]
    fn a_call_that_was_sent_and_will_have_no_answer_is_unknown() {
        assert_eq!(
            state_after(|l, s| {
                assert!(l.send(s, &sent()));
                assert!(l.lose(s, CallCode::ToolUnavailable, T1));
                assert!(!l.lose(s, CallCode::ToolUnavailable, T1));
            }),
            CallState::Unknown
        );
        assert_eq!(state_after(|l, s| assert!(l.lose(s, CallCode::ToolUnavailable, T1))), CallState::Refused);
    }

    #[test]
    fn before_dispatch_a_failure_is_denied_or_refused_and_after_it_an_error() {
        assert_eq!(state_after(|l, s| assert!(l.settle(s, Err(CallCode::HookBlocked), T1))), CallState::Denied);
        assert_eq!(state_after(|l, s| assert!(l.settle(s, Err(CallCode::UnknownTool), T1))), CallState::Refused);
        assert_eq!(
            state_after(|l, s| {
                assert!(l.send(s, &sent()));
                assert!(l.settle(s, Err(CallCode::Denied), T1));
            }),
            CallState::Error
        );
    }

    #[test]
    fn a_final_state_stays() {
        assert_eq!(
            state_after(|l, s| {
                assert!(l.settle(s, Ok(4), T1));
                assert!(!l.send(s, &sent()));
                assert!(!l.settle(s, Err(CallCode::ToolError), T1));
                assert!(l.close(T1).is_empty());
            }),
            CallState::Ok
        );
    }

    #[test]
    fn nothing_is_sent_after_the_run_was_closed() {
        let mut ledger = Ledger::default();
        let seq = ledger.open(Method::Call, Some("a"), 2, T0);
        assert_eq!(ledger.close(T1), [seq]);
        assert!(!ledger.send(seq, &sent()));
    }

    #[test]
    fn an_endless_id_is_cut_at_a_character() {
        let mut ledger = Ledger::default();
        let seq = ledger.open(Method::Describe, Some(&"é".repeat(1000)), 0, T0);
        assert_eq!(ledger.entry(seq).unwrap().id.as_ref().unwrap().len(), 256);
        let odd = ledger.open(Method::Describe, Some(&format!("x{}", "é".repeat(1000))), 0, T0);
        assert_eq!(ledger.entry(odd).unwrap().id.as_ref().unwrap().len(), 255);
    }

    #[test]
    fn an_entry_reads_as_the_contract_says() {
        let mut ledger = Ledger::default();
        let seq = ledger.open(Method::Call, Some("y"), 9, Duration::from_micros(1200));
        ledger.resolve(seq, "mcp:x:y", Source::Mcp);
        assert!(ledger.send(seq, &sent()));
        assert!(ledger.settle(seq, Ok(20), Duration::from_micros(4600)));
        assert_eq!(
            serde_json::to_string(ledger.entry(seq).unwrap()).unwrap(),
            r#"{"seq":1,"method":"call","id":"mcp:x:y","source":"mcp","state":"ok","code":null,"startMs":1.2,"durationMs":3.4,"argsBytes":9,"resultBytes":20}"#
        );
    }
}
