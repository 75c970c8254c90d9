//! What is asked of the catalog for a request, as futures that can neither take the run down nor outlive it.
//!
//! A call takes two steps with the ledger between them: *checking* (find the tool, check the arguments), and only when that is written down as
//! `sent`, *calling*.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use codemode_protocol::{Ask, JsonText, MAX_DEPTH};
use serde_json::Value;
use tokio::task::JoinSet;

use super::requests::{CheckedCall, too_large};
use crate::catalog::{CallCode, CallContext, CallFailure, Catalog, SearchQuery, Source, Tool};
use crate::gate;

/// Levels that the envelope of an answer has around the value.
const ENVELOPE_DEPTH: u32 = 1;

/// The most rows any configuration allows; a catalog that gives more is not believed.
const MOST_ROWS: usize = 50;

/// Arguments up to this size are checked in the loop of the run: that takes microseconds, and a thread would take more. What a schema can make of them is
/// bounded (`catalog::Schema`), but the bound is for the largest arguments.
const CHECKED_AT_ONCE: usize = 4 * 1024;

/// What came of a step.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The request has its answer.
    Answer(Result<JsonText, CallFailure>),
    /// It is known which tool a call is of, and whether it may go.
    Checked { id: String, source: Source, checked: Result<CheckedCall, CallFailure> },
}

/// A step of the request with this number.
type Step = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// What the steps of one run share.
#[derive(Debug)]
pub(crate) struct Desk {
    catalog: Arc<dyn Catalog>,
    run_id: Arc<str>,
    result_limit: usize,
    waiting: JoinSet<(u64, Outcome)>,
}

impl Desk {
    pub(crate) fn new(catalog: Arc<dyn Catalog>, run_id: Arc<str>, result_limit: usize) -> Self {
        Desk { catalog, run_id, result_limit, waiting: JoinSet::new() }
    }

    /// Begins the first step of a request; gives its outcome when it is there at once, as it is with a catalog in memory.
    pub(crate) fn resolve(&mut self, seq: u64, ask: Ask) -> Option<Outcome> {
        let catalog = Arc::clone(&self.catalog);
        let limit = self.result_limit;
        let step: Step = match ask {
            Ask::Search { query, limit: rows } => Box::pin(async move {
                let found = catalog.search(&SearchQuery { query, limit: rows }).await;
                Outcome::Answer(found.and_then(|tools| text("", &tools.iter().take(MOST_ROWS).map(|tool| tool.row()).collect(), limit)))
            }),
            Ask::Describe { id } => Box::pin(async move {
                let tool = catalog.describe(&id).await;
                Outcome::Answer(tool.and_then(|tool| text(&tool.id, &tool.description_value(), limit)))
            }),
            Ask::Call { id, args } => Box::pin(async move {
                let tool = match catalog.describe(&id).await {
                    Ok(tool) => tool,
                    Err(failure) => return Outcome::Answer(Err(failure)),
                };
                let (id, source) = (tool.id.clone(), tool.source);
                let checked = if args.bytes() <= CHECKED_AT_ONCE {
                    check(tool, &args)
                } else {
                    // On a thread that may take its time: the clock of the run goes on, and so does everybody else.
                    let failed = |_| Err(CallFailure::new(CallCode::InvalidArguments, &id, "the arguments could not be checked"));
                    tokio::task::spawn_blocking(move || check(tool, &args)).await.unwrap_or_else(failed)
                };
                Outcome::Checked { id, source, checked }
            }),
        };
        let mut step = Guarded(step);
        match Pin::new(&mut step).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => Some(outcome),
            // A future that is polled again by another task wakes that one: so the contract of `Future` has it.
            Poll::Pending => {
                self.waiting.spawn(async move { (seq, step.await) });
                None
            }
        }
    }

    /// Begins the second step of a call. Always on a task of its own: a backend that blocks its thread then leaves the run's deadline alone.
    pub(crate) fn call(&mut self, seq: u64, call: CheckedCall) {
        let catalog = Arc::clone(&self.catalog);
        let context = CallContext { run_id: Arc::clone(&self.run_id), seq };
        let limit = self.result_limit;
        let step = Guarded(Box::pin(async move {
            let CheckedCall { tool, args, .. } = call;
            let value = catalog.call(&tool, args, &context).await;
            Outcome::Answer(value.and_then(|value| text(&tool.id, &value, limit)))
        }));
        self.waiting.spawn(async move { (seq, step.await) });
    }

    /// The next step that ends. Cancel-safe. Waits for ever when there is none.
    pub(crate) async fn next(&mut self) -> (u64, Outcome) {
        loop {
            match self.waiting.join_next().await {
                Some(Ok(done)) => return done,
                // A guarded step does not panic, and nobody aborts one while this is called.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// Drops every step: that cancels it.
    pub(crate) fn clear(&mut self) {
        self.waiting = JoinSet::new();
    }
}

/// Whether a call may go.
fn check(tool: Arc<Tool>, args: &JsonText) -> Result<CheckedCall, CallFailure> {
    let unreadable = |_| CallFailure::new(CallCode::InvalidArguments, &tool.id, "the arguments are no JSON this side can read");
    let args = args.to_value().map_err(unreadable)?;
    let checked = gate::check_arguments(&tool, args)?;
    Ok(CheckedCall { tool, args: checked.args, decoded: checked.decoded })
}

/// A step whose panic is an outcome.
struct Guarded(Step);

impl Future for Guarded {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        // A step that has panicked is never polled again, so nobody sees what it left half done.
        catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context))).unwrap_or_else(|_| {
            let message = "the tool's backend broke down; see the log of the program that runs this body";
            Poll::Ready(Outcome::Answer(Err(CallFailure::new(CallCode::ToolError, "", message))))
        })
    }
}

/// The JSON text of a value that a backend gave, if it may go to the child.
fn text(tool_id: &str, value: &Value, limit: usize) -> Result<JsonText, CallFailure> {
    if !within_depth(value, MAX_DEPTH - ENVELOPE_DEPTH) {
        let message = format!("the tool's value is nested deeper than {} levels", MAX_DEPTH - ENVELOPE_DEPTH);
        return Err(CallFailure::new(CallCode::InvalidResult, tool_id, message));
    }
    let text = JsonText::of(value).map_err(|_| CallFailure::new(CallCode::InvalidResult, tool_id, "the tool's value has no JSON"))?;
    if text.bytes() > limit { Err(too_large("value", tool_id, text.bytes(), limit)) } else { Ok(text) }
}

/// Whether arrays and objects lie in each other at most so deep. It goes no deeper than that itself.
pub(crate) fn within_depth(value: &Value, levels: u32) -> bool {
    match (value, levels.checked_sub(1)) {
        (Value::Array(_) | Value::Object(_), None) => false,
        (Value::Array(items), Some(left)) => items.iter().all(|item| within_depth(item, left)),
        (Value::Object(fields), Some(left)) => fields.values().all(|field| within_depth(field, left)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(levels: u32) -> Value {
        (0..levels).fold(json!(1), |inner, _| json!([inner]))
    }

    #[test]
    fn a_value_goes_to_the_child_only_within_size_and_depth() {
        assert_eq!(text("t", &json!("xx"), 4).unwrap().text(), "\"xx\"");
        let large = text("t", &json!("xxx"), 4).unwrap_err();
        assert_eq!(large.code, CallCode::TooLarge);
        assert_eq!(large.data, json!({"bytes": 5, "limit": 4}));
        assert!(text("t", &nested(127), 1000).is_ok());
        assert_eq!(text("t", &nested(128), 1000).unwrap_err().code, CallCode::InvalidResult);
    }

    #[test]
    fn a_panic_becomes_a_failure() {
        let step: Step = Box::pin(async { panic!("hostile backend") });
        let outcome = Pin::new(&mut Guarded(step)).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(outcome, Poll::Ready(Outcome::Answer(Err(failure))) if failure.code == CallCode::ToolError));
    }
}
