//! The requests of a run: which are open, which wait for a person, and what is refused before anybody is asked.

use std::collections::BTreeSet;
use std::time::Duration;

use codemode_protocol::{Ask, JsonText, RunLimits};
use serde_json::json;

use super::cut;
use super::ledger::{CallEntry, Ledger, Method};
use super::limits;
use super::timing::Overlap;
use crate::catalog::{CallCode, CallFailure, CatalogSummary, Source};
use crate::gate::Admitted;
use crate::telemetry::Telemetry;

/// No honest query or id is longer, and each is compared with thousands of tools.
const WORDS_BYTES: usize = 16 * 1024;

/// How much of an id that a body made up goes back to it in an error.
const QUOTED_ID_BYTES: usize = 256;

/// How long calls and approvals were open.
#[derive(Debug)]
pub(crate) struct OpenTimes {
    pub(crate) calls: Duration,
    pub(crate) approvals: Duration,
}

#[derive(Debug)]
pub(crate) struct Requests {
    ledger: Ledger,
    telemetry: Telemetry,
    /// Entries without a final state.
    open: usize,
    /// Those of them that wait for a person.
    approvals: BTreeSet<u64>,
    calls_time: Overlap,
    approvals_time: Overlap,
}

impl Requests {
    pub(crate) fn new(catalog: CatalogSummary) -> Self {
        Requests {
            ledger: Ledger::default(),
            telemetry: Telemetry::of_catalog(catalog),
            open: 0,
            approvals: BTreeSet::new(),
            calls_time: Overlap::default(),
            approvals_time: Overlap::default(),
        }
    }

    pub(crate) fn only_approvals_open(&self) -> bool {
        self.open > 0 && self.approvals.len() == self.open
    }

    pub(crate) fn entry(&self, seq: u64) -> Option<&CallEntry> {
        self.ledger.entry(seq)
    }

    /// Lists a request; gives its number.
    pub(crate) fn open(&mut self, now: Duration, ask: &Ask) -> u64 {
        self.open += 1;
        match ask {
            Ask::Search { .. } => {
                self.telemetry.search_count += 1;
                self.ledger.open(Method::Search, None, 0, now)
            }
            Ask::Describe { id } => {
                self.telemetry.describe_count += 1;
                self.ledger.open(Method::Describe, Some(id), 0, now)
            }
            Ask::Call { id, args } => {
                self.telemetry.call_count += 1;
                self.calls_time.begin(now);
                self.ledger.open(Method::Call, Some(id), args.bytes(), now)
            }
        }
    }

    pub(crate) fn resolve(&mut self, seq: u64, id: &str, source: Source) {
        self.ledger.resolve(seq, id, source);
        if self.ledger.entry(seq).is_some_and(|entry| entry.method == Method::Call && !entry.state.is_final()) {
            self.telemetry.select(id, source);
        }
    }

    /// Marks a call as sent; false when it must not be.
    #[must_use]
    pub(crate) fn send(&mut self, seq: u64, call: &Admitted) -> bool {
        self.ledger.send(seq, call)
    }

    /// False when the request has its final state already.
    #[must_use]
    pub(crate) fn settle(&mut self, seq: u64, result: &Result<JsonText, CallFailure>, now: Duration) -> bool {
        let is_news = match result {
            Ok(text) => self.ledger.settle(seq, Ok(text.bytes()), now),
            Err(failure) if failure.is_unanswered => self.ledger.lose(seq, failure.code, now),
            Err(failure) => self.ledger.settle(seq, Err(failure.code), now),
        };
        if !is_news {
            return false;
        }
        self.approval(now, seq, false);
        self.closed(seq, now);
        true
    }

    /// Whether that is news.
    pub(crate) fn approval(&mut self, now: Duration, seq: u64, waiting: bool) -> bool {
        if !waiting {
            let news = self.approvals.remove(&seq);
            if news {
                self.approvals_time.end(now);
            }
            return news;
        }
        let open = self.ledger.entry(seq).is_some_and(|entry| !entry.state.is_final());
        let news = open && self.approvals.insert(seq);
        if news {
            self.approvals_time.begin(now);
        }
        news
    }

    /// The run is over: every request gets its final state. Gives the numbers of those that had none.
    pub(crate) fn close(&mut self, now: Duration) -> Vec<u64> {
        let closed = self.ledger.close(now);
        for &seq in &closed {
            self.approval(now, seq, false);
            self.closed(seq, now);
        }
        closed
    }

    pub(crate) fn into_parts(self) -> (Vec<CallEntry>, Telemetry, OpenTimes) {
        let times = OpenTimes { calls: self.calls_time.total(), approvals: self.approvals_time.total() };
        (self.ledger.into_entries(), self.telemetry, times)
    }

    fn closed(&mut self, seq: u64, now: Duration) {
        self.open = self.open.saturating_sub(1);
        if self.ledger.entry(seq).is_some_and(|entry| entry.method == Method::Call) {
            self.calls_time.end(now);
        }
    }
}

/// Why a request is answered with a refusal before anybody is asked.
pub(crate) fn refusal(ask: &Ask, over_budget: bool, limits: &RunLimits) -> Option<CallFailure> {
    if over_budget {
        let message = format!("the run has made its {} requests; return what there is, or make fewer", limits.requests());
        return Some(CallFailure::new(CallCode::CallLimit, named(ask), message));
    }
    let (words, what) = match ask {
        Ask::Search { query, .. } => (query, "query"),
        Ask::Describe { id } | Ask::Call { id, .. } => (id, "id"),
    };
    if words.len() > WORDS_BYTES {
        return Some(too_large(what, named(ask), words.len(), WORDS_BYTES));
    }
    let most = limits::size(limits.args_bytes());
    match ask {
        Ask::Call { args, .. } if args.bytes() > most => Some(too_large("arguments", named(ask), args.bytes(), most)),
        _ => None,
    }
}

/// A thing is above its limit; both sizes are named.
pub(crate) fn too_large(what: &str, tool_id: &str, bytes: usize, limit: usize) -> CallFailure {
    CallFailure::new(
        CallCode::TooLarge,
        tool_id,
        format!("{what} of this request: {bytes} bytes where {limit} are the limit; use less at a time"),
    )
    .with_data(json!({"bytes": bytes, "limit": limit}))
}

/// The tool as the body named it; empty for a search.
fn named(ask: &Ask) -> &str {
    match ask {
        Ask::Search { .. } => "",
        Ask::Describe { id } | Ask::Call { id, .. } => cut::head(id, QUOTED_ID_BYTES),
    }
}
