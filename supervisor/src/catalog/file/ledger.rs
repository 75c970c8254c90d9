//! Which calls really reached the catalog.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::super::CallContext;

/// Calls that are kept: one run's default of requests.
const KEPT: usize = 1024;
/// Values and kibibytes of text in arguments that are kept with a call; 1,024 calls then take 4 MiB at most.
const KEPT_ARGS: usize = 4096;

/// One call that reached a [`super::FileCatalog`].
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// The tool.
    pub tool_id: String,
    /// The arguments as they came; `None` when they were larger than 4 KiB.
    pub args: Option<Value>,
    /// The run it came from.
    pub run_id: String,
    /// The call's number in that run.
    pub seq: u64,
}

#[derive(Debug, Default)]
pub(super) struct Ledger {
    calls: Mutex<Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    count: u64,
    last: VecDeque<Dispatch>,
}

impl Ledger {
    pub(super) fn record(&self, tool_id: &str, args: &Value, context: &CallContext) {
        let args = (size(args, KEPT_ARGS) <= KEPT_ARGS).then(|| args.clone());
        let dispatch = Dispatch { tool_id: tool_id.to_owned(), args, run_id: context.run_id.to_string(), seq: context.seq };
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.count += 1;
        if calls.last.len() == KEPT {
            calls.last.pop_front();
        }
        calls.last.push_back(dispatch);
    }

    pub(super) fn entries(&self) -> Vec<Dispatch> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).last.iter().cloned().collect()
    }

    pub(super) fn count(&self) -> u64 {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).count
    }
}

/// About the bytes of a value; stops counting soon after `enough`.
fn size(value: &Value, enough: usize) -> usize {
    let mut sum = 16;
    match value {
        Value::String(text) => sum += text.len(),
        Value::Array(items) => {
            for item in items {
                if sum > enough {
                    break;
                }
                sum += size(item, enough - sum.min(enough));
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                if sum > enough {
                    break;
                }
                sum += key.len() + size(item, enough - sum.min(enough));
            }
        }
        _ => {}
    }
    sum
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_ledger_keeps_the_last_calls_and_counts_all() {
        let ledger = Ledger::default();
        for seq in 0..(KEPT as u64 + 10) {
            ledger.record("t", &json!({"n": seq}), &CallContext { run_id: "r".into(), seq });
        }
        assert_eq!(ledger.count(), KEPT as u64 + 10);
        let entries = ledger.entries();
        assert_eq!((entries.len(), entries[0].seq), (KEPT, 10));
        assert_eq!(entries[0].args, Some(json!({"n": 10})));
    }

    #[test]
    fn large_arguments_are_not_kept() {
        let ledger = Ledger::default();
        ledger.record("t", &json!({"text": "x".repeat(10_000)}), &CallContext { run_id: "r".into(), seq: 1 });
        assert_eq!(ledger.entries()[0].args, None);
    }
}
