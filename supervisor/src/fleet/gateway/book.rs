//! What became of the calls of one run, as the gateway saw it. Pure: instants are durations since the start of the run.
//!
//! A worker's ledger is a claim. Whether a call was made, and what came of it, is known here: where the two differ, this is what the report says.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::catalog::{CallCode, Source};
use crate::gate::Admitted;
use crate::run::{CallEntry, CallState, Method};

/// What a worker says of a call and cannot be.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Untrue {
    #[error("call {0} was asked for twice")]
    Repeated(u64),
    #[error("call {0} is not the one that was asked about before")]
    Changed(u64),
    #[error("call {0} is said to have a value, and was never asked for")]
    Invented(u64),
    #[error("the requests of the report are not in their order")]
    OutOfOrder,
    #[error("it calls more often than the run may, {0} times")]
    TooOften(u64),
}

/// The calls of one run that came here.
#[derive(Debug)]
pub(super) struct Book {
    calls: BTreeMap<u64, CallEntry>,
    most: u64,
    is_closed: bool,
}

impl Book {
    /// Of a run that may make so many calls. A worker counts them before it asks, and one that does not count is found out here.
    pub(super) fn of(most: u64) -> Book {
        Book { calls: BTreeMap::new(), most, is_closed: false }
    }

    /// Whether no call has come.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// A call came, with this number in the worker's ledger. It is the first with it, or untrue.
    pub(super) fn open(&mut self, seq: u64, id: &str, args_bytes: usize, now: Duration) -> Result<(), Untrue> {
        if self.calls.contains_key(&seq) {
            return Err(Untrue::Repeated(seq));
        }
        if self.calls.len() as u64 >= self.most {
            return Err(Untrue::TooOften(self.most));
        }
        let entry = CallEntry {
            seq,
            method: Method::Call,
            id: Some(id.to_owned()),
            source: None,
            state: CallState::Queued,
            code: None,
            start: now,
            duration: Duration::ZERO,
            args_bytes,
            result_bytes: 0,
            decoded: Vec::new(),
            rewritten_by: Vec::new(),
        };
        self.calls.insert(seq, entry);
        Ok(())
    }

    pub(super) fn resolve(&mut self, seq: u64, id: String, source: Source) {
        if let Some(entry) = self.unfinished(seq) {
            entry.id = Some(id);
            entry.source = Some(source);
        }
    }

    /// The backend is asked *now*. False when it must not be: the run is over.
    #[must_use]
    pub(super) fn send(&mut self, seq: u64, call: &Admitted) -> bool {
        self.unfinished(seq).is_some_and(|entry| entry.send(call))
    }

    /// The call has its answer. One that comes too late changes nothing.
    pub(super) fn settle(&mut self, seq: u64, result: Result<usize, CallCode>, now: Duration) {
        if let Some(entry) = self.unfinished(seq) {
            entry.settle(result, now);
        }
    }

    /// Nobody waits for this call any more.
    pub(super) fn abandon(&mut self, seq: u64, now: Duration) {
        if let Some(entry) = self.unfinished(seq) {
            entry.abandon(now);
        }
    }

    /// The run is over: every call has its final state, and none is sent from here on.
    pub(super) fn close(&mut self, now: Duration) {
        let open: Vec<u64> = self.calls.iter().filter(|(_, entry)| !entry.state.is_final()).map(|(seq, _)| *seq).collect();
        open.into_iter().for_each(|seq| self.abandon(seq, now));
        self.is_closed = true;
    }

    /// What is true of an entry of the worker's ledger.
    pub(super) fn corrected(&self, mut told: CallEntry) -> Result<CallEntry, Untrue> {
        if told.method != Method::Call {
            if self.calls.contains_key(&told.seq) {
                return Err(Untrue::Changed(told.seq));
            }
            // A question has no effects, and a report no requests that go on.
            if !told.state.is_final() || told.state == CallState::Unknown {
                told.state = CallState::Cancelled;
            }
            return Ok(told);
        }
        let Some(seen) = self.calls.get(&told.seq) else {
            // It never came here, so nothing has happened.
            told.state = match told.state {
                CallState::Ok => return Err(Untrue::Invented(told.seq)),
                CallState::Error => CallState::Refused,
                CallState::Queued | CallState::Sent | CallState::Unknown => CallState::Cancelled,
                state @ (CallState::Denied | CallState::Refused | CallState::Cancelled) => state,
            };
            return Ok(told);
        };
        let is_worker_s = seen.state == CallState::Cancelled && matches!(told.state, CallState::Denied | CallState::Refused);
        if !is_worker_s && seen.state.is_final() {
            told.state = seen.state;
            told.code = seen.code;
        }
        told.id.clone_from(&seen.id);
        told.source = seen.source;
        told.result_bytes = seen.result_bytes;
        told.rewritten_by.clone_from(&seen.rewritten_by);
        if !seen.rewritten_by.is_empty() {
            told.args_bytes = seen.args_bytes;
            told.decoded.clone_from(&seen.decoded);
        }
        Ok(told)
    }

    /// All requests of the run: the worker's ledger, corrected, and what it has kept to itself.
    pub(super) fn merged(&self, told: Vec<CallEntry>) -> Result<Vec<CallEntry>, Untrue> {
        let mut all = self.calls.clone();
        let mut last = 0;
        for entry in told {
            if entry.seq <= last {
                return Err(Untrue::OutOfOrder);
            }
            last = entry.seq;
            all.insert(entry.seq, self.corrected(entry)?);
        }
        Ok(all.into_values().collect())
    }

    fn unfinished(&mut self, seq: u64) -> Option<&mut CallEntry> {
        self.calls.get_mut(&seq).filter(|entry| !self.is_closed && !entry.state.is_final())
    }
}

#[cfg(test)]
mod tests {
    use CallState::{Cancelled, Denied, Error, Ok as Done, Queued, Refused, Sent, Unknown};

    use super::*;

    const T: Duration = Duration::from_millis(1);

    fn sent() -> Admitted {
        let tool = crate::catalog::Tool::new(Source::Client, "demo", "echo", "", serde_json::json!({}));
        Admitted::unasked(tool.into(), serde_json::json!({}), 9)
    }

    fn told(seq: u64, state: CallState) -> CallEntry {
        let mut book = Book::of(5);
        book.open(seq, "demo:echo", 2, T).unwrap();
        CallEntry { state, ..book.calls.remove(&seq).unwrap() }
    }

    #[test]
    fn what_was_sent_and_not_answered_is_unknown_and_nothing_else_is() {
        let mut book = Book::of(5);
        for seq in 1..=5 {
            book.open(seq, "demo:echo", 2, T).unwrap();
        }
        assert!(book.send(2, &sent()) && book.send(3, &sent()) && book.send(4, &sent()));
        book.settle(3, Result::Ok(7), T);
        book.settle(4, Err(CallCode::ToolError), T);
        book.settle(5, Err(CallCode::ApprovalDenied), T);
        book.close(T);
        assert!(!book.send(1, &sent()), "nothing is sent once the run is over");
        book.settle(2, Result::Ok(1), T);
        let states: Vec<_> = book.merged(Vec::new()).unwrap().iter().map(|entry| entry.state).collect();
        assert_eq!(states, [Cancelled, Unknown, Done, Error, Denied]);
    }

    #[test]
    fn no_call_is_made_twice() {
        let mut book = Book::of(5);
        book.open(1, "a", 2, T).unwrap();
        assert_eq!(book.open(1, "a", 2, T), Err(Untrue::Repeated(1)));
        assert!(book.send(1, &sent()) && !book.send(1, &sent()));
    }

    #[test]
    fn a_worker_that_does_not_count_the_calls_of_its_run_is_found_out() {
        let mut book = Book::of(2);
        assert!(book.is_empty());
        for seq in [7, 9] {
            book.open(seq, "a", 2, T).unwrap();
        }
        assert_eq!(book.open(11, "a", 2, T), Err(Untrue::TooOften(2)));
        assert_eq!(Book::of(0).open(1, "a", 2, T), Err(Untrue::TooOften(0)), "a run without tools");
    }

    #[test]
    fn a_question_of_a_report_has_an_end_and_no_effect() {
        let book = Book::of(1);
        for state in [Queued, Sent, Done, Error, Denied, Refused, Cancelled, Unknown] {
            let truth = book.corrected(CallEntry { method: Method::Search, ..told(1, state) }).unwrap();
            let kept = matches!(state, Done | Error | Denied | Refused);
            assert_eq!(truth.state, if kept { state } else { Cancelled }, "{state:?}");
        }
    }

    #[test]
    fn what_a_worker_says_of_a_call_is_held_to_what_came_here() {
        let mut book = Book::of(5);
        book.open(1, "demo:echo", 2, T).unwrap();
        assert!(book.send(1, &sent()));
        book.settle(1, Result::Ok(7), T);
        book.open(2, "demo:echo", 2, T).unwrap();
        book.close(T);
        for state in [Queued, Sent, Done, Error, Denied, Refused, Cancelled, Unknown] {
            let truth = book.corrected(told(1, state)).unwrap();
            assert_eq!((truth.state, truth.result_bytes), (Done, 7), "{state:?}");
            let stopped = book.corrected(told(2, state)).unwrap().state;
            assert_eq!(stopped, if matches!(state, Denied | Refused) { state } else { Cancelled }, "{state:?}");
            match book.corrected(told(3, state)) {
                Err(untrue) => assert_eq!((state, untrue), (Done, Untrue::Invented(3))),
                Result::Ok(truth) => assert!(matches!(truth.state, Denied | Refused | Cancelled), "{state:?}"),
            }
        }
        assert_eq!(book.merged(vec![told(2, Cancelled), told(1, Done)]), Err(Untrue::OutOfOrder));
        let renamed = CallEntry { method: Method::Search, ..told(1, Done) };
        assert_eq!(book.merged(vec![renamed]), Err(Untrue::Changed(1)));
        assert_eq!(book.merged(Vec::new()).unwrap().len(), 2, "what the worker keeps to itself is in the report");
    }
}
