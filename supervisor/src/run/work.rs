//! What is asked of the catalog for a request, as futures that can neither take the run down nor outlive it.
//!
//! A call takes two steps with the ledger between them: *admission* (everything of the gate that can refuse it), and only when that is written down as
//! `sent`, the *call*. What the gate tells on the way comes out of the same place as the outcomes, before them.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use codemode_protocol::{Ask, JsonText, MAX_DEPTH};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::requests::too_large;
use crate::catalog::{CallCode, CallFailure, SearchQuery, within_depth};
use crate::gate::{Admitted, Listener, Passage, Told};

/// Levels that the envelope of an answer has around the value.
const ENVELOPE_DEPTH: u32 = 1;

/// The most rows any configuration allows; a catalog that gives more is not believed.
const MOST_ROWS: usize = 50;

/// What came of a step.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The request has its answer.
    Answer(Result<JsonText, CallFailure>),
    /// A call may go.
    Admitted(Admitted),
    /// What the gate tells of a call that is on its way.
    Told(Told),
}

/// A step of the request with this number.
type Step = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Takes what the gate tells to the loop of the run. What is told is bounded by the limits of the run, so the channel need not be.
#[derive(Debug)]
struct Ear {
    told: mpsc::UnboundedSender<(u64, Told)>,
    watched: bool,
}

impl Listener for Ear {
    fn hear(&self, seq: u64, told: Told) {
        // The loop is gone: nobody needs to know any more.
        let _ = self.told.send((seq, told));
    }

    fn wants_steps(&self) -> bool {
        self.watched
    }
}

/// What the steps of one run share.
#[derive(Debug)]
pub(crate) struct Desk {
    passage: Arc<Passage>,
    result_limit: usize,
    waiting: JoinSet<(u64, Outcome)>,
    told: mpsc::UnboundedReceiver<(u64, Told)>,
    /// An outcome that came before what was told ahead of it has been taken.
    held: Option<(u64, Outcome)>,
}

impl Desk {
    /// For calls through this passage; `watched`: the steps of the gate are told too.
    pub(crate) fn new(passage: Passage, result_limit: usize, watched: bool) -> Self {
        let (sender, told) = mpsc::unbounded_channel();
        let passage = Arc::new(passage.with_listener(Arc::new(Ear { told: sender, watched })));
        Desk { passage, result_limit, waiting: JoinSet::new(), told, held: None }
    }

    /// Begins the first step of a request. What comes of it comes from [`Desk::at_once`] when it is there already, as it is with a catalog in memory
    /// and nobody to ask, and from [`Desk::next`] otherwise.
    pub(crate) fn resolve(&mut self, seq: u64, ask: Ask) {
        let passage = Arc::clone(&self.passage);
        let limit = self.result_limit;
        let may_wait = matches!(ask, Ask::Call { .. }) && passage.may_wait();
        let step: Step = match ask {
            Ask::Search { query, limit: rows } => Box::pin(async move {
                let found = passage.search(&SearchQuery { query, limit: rows }).await;
                Outcome::Answer(found.and_then(|tools| text("", &tools.iter().take(MOST_ROWS).map(|tool| tool.row()).collect(), limit)))
            }),
            Ask::Describe { id } => Box::pin(async move {
                let tool = passage.describe(&id).await;
                Outcome::Answer(tool.and_then(|tool| text(&tool.id, &tool.description_value(), limit)))
            }),
            Ask::Call { id, args } => {
                let place = passage.join(seq);
                Box::pin(async move {
                    match passage.admit_from(place, &id, &args).await {
                        Ok(admitted) => Outcome::Admitted(admitted),
                        Err(failure) => Outcome::Answer(Err(failure)),
                    }
                })
            }
        };
        let mut step = Guarded(step);
        // A hook or an approver may block its thread, which must not be the one that keeps the time of the run.
        if !may_wait && let Poll::Ready(outcome) = Pin::new(&mut step).poll(&mut Context::from_waker(Waker::noop())) {
            self.held = Some((seq, outcome));
            return;
        }
        // A future that is polled again by another task wakes that one: so the contract of `Future` has it.
        self.waiting.spawn(async move { (seq, step.await) });
    }

    /// Begins the second step of a call. Always on a task of its own: a backend that blocks its thread then leaves the run's deadline alone.
    pub(crate) fn call(&mut self, seq: u64, call: Admitted) {
        let passage = Arc::clone(&self.passage);
        let limit = self.result_limit;
        let step = Guarded(Box::pin(async move {
            let id = call.tool().id.clone();
            let value = passage.call(call).await;
            Outcome::Answer(value.and_then(|value| text(&id, &value, limit)))
        }));
        self.waiting.spawn(async move { (seq, step.await) });
    }

    /// Whether the run waits for a step that somebody else has to do.
    pub(crate) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What is there without waiting, of what [`Desk::resolve`] has begun.
    pub(crate) fn at_once(&mut self) -> Option<(u64, Outcome)> {
        self.held.is_some().then(|| self.told_or_held()).flatten()
    }

    /// The next news, or the next step that ends; what a step has told comes before its end. Cancel-safe. Waits for ever when there is none.
    pub(crate) async fn next(&mut self) -> (u64, Outcome) {
        loop {
            if let Some(next) = self.told_or_held() {
                return next;
            }
            tokio::select! {
                biased;
                Some((seq, told)) = self.told.recv() => return (seq, Outcome::Told(told)),
                Some(done) = self.waiting.join_next() => {
                    // It may have told something since the other branch was looked at. A guarded step does not panic, and nobody aborts one while
                    // this is called: there is no other way for it to end.
                    self.held = done.ok();
                }
            }
        }
    }

    fn told_or_held(&mut self) -> Option<(u64, Outcome)> {
        match self.told.try_recv() {
            Ok((seq, told)) => Some((seq, Outcome::Told(told))),
            Err(_) => self.held.take(),
        }
    }

    /// Drops every step: that cancels it.
    pub(crate) fn clear(&mut self) {
        self.waiting = JoinSet::new();
        self.held = None;
    }
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
pub(crate) fn text(tool_id: &str, value: &Value, limit: usize) -> Result<JsonText, CallFailure> {
    if !within_depth(value, MAX_DEPTH - ENVELOPE_DEPTH) {
        let message = format!("the tool's value is nested deeper than {} levels", MAX_DEPTH - ENVELOPE_DEPTH);
        return Err(CallFailure::new(CallCode::InvalidResult, tool_id, message));
    }
    let text = JsonText::of(value).map_err(|_| CallFailure::new(CallCode::InvalidResult, tool_id, "the tool's value has no JSON"))?;
    if text.bytes() > limit { Err(too_large("value", tool_id, text.bytes(), limit)) } else { Ok(text) }
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
