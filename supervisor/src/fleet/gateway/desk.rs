//! What a body asks for, answered by the gateway's catalog through its gate.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use codemode_protocol::gateway::{ApprovalWord, Ask, FromGateway, ToolSource, ToolText};
use codemode_protocol::{JsonText, RequestId, RunLimits};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, Id as TaskId, JoinSet};
use tokio::time::Instant;

use super::book::{Book, Untrue};
use crate::catalog::{CallCode, CallFailure, Catalog, SearchQuery, Source, Tool};
use crate::gate::{Admitted, Gate, Listener, Passage, Told};
use crate::run::{RunEvent, answer_text, wire_error};

/// The most rows of one search that the wire carries.
const MOST_ROWS: usize = 50;
/// Bytes of a name, and of an id, that the wire carries.
const MOST_NAME: usize = 256;
const MOST_ID: usize = 1_024;

/// What the requests of one run share.
#[derive(Debug)]
pub(super) struct Shared {
    book: Mutex<Book>,
    approvals: Mutex<Approvals>,
    events: Option<mpsc::UnboundedSender<RunEvent>>,
    began: Instant,
}

/// The time with at least one approval open.
#[derive(Debug, Default)]
struct Approvals {
    open: usize,
    since: Duration,
    total: Duration,
}

/// Admissions that were decided when the worker asked for an approval, by the number of the call.
type Decided = Arc<Mutex<HashMap<u64, Decision>>>;

/// What the gate said of a call, and of which. What it does not let pass it does not let pass with other arguments either, and they are not kept: they may be of any size.
#[derive(Debug)]
struct Decision {
    id: String,
    admitted: Result<(JsonText, Admitted), CallFailure>,
}

impl Decision {
    /// For this call. `None`: another one was asked about.
    fn of(self, id: &str, args: &JsonText) -> Option<Result<Admitted, CallFailure>> {
        match self.admitted {
            _ if self.id != id => None,
            Ok((asked, _)) if asked != *args => None,
            Ok((_, admitted)) => Some(Ok(admitted)),
            Err(failure) => Some(Err(failure)),
        }
    }
}

/// Answers the requests of one run.
#[derive(Debug)]
pub(super) struct Desk {
    passage: Arc<Passage>,
    shared: Arc<Shared>,
    limits: RunLimits,
    decided: Decided,
    asks: JoinSet<Result<JsonText, CallFailure>>,
    open: HashMap<TaskId, Open>,
    handles: HashMap<RequestId, AbortHandle>,
}

#[derive(Debug)]
struct Open {
    id: RequestId,
    /// The call's number in the worker's ledger.
    call: Option<u64>,
}

impl Shared {
    pub(super) fn new(limits: &RunLimits, events: Option<mpsc::UnboundedSender<RunEvent>>, began: Instant) -> Shared {
        Shared { book: Mutex::new(Book::of(limits.requests())), approvals: Mutex::default(), events, began }
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, event: impl FnOnce() -> RunEvent) {
        if let Some(events) = &self.events {
            // Nobody listens any more.
            let _ = events.send(event());
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn has_listener(&self) -> bool {
        self.events.is_some()
    }

    /// How long approvals have been open so far.
    pub(super) fn approvals(&self) -> Duration {
        let approvals = self.approvals.lock().unwrap_or_else(PoisonError::into_inner);
        let going_on = if approvals.open > 0 { self.now().saturating_sub(approvals.since) } else { Duration::ZERO };
        approvals.total + going_on
    }

    fn approval(&self, begins: bool) {
        let now = self.now();
        let mut approvals = self.approvals.lock().unwrap_or_else(PoisonError::into_inner);
        if begins {
            if approvals.open == 0 {
                approvals.since = now;
            }
            approvals.open += 1;
        } else if approvals.open > 0 {
            approvals.open -= 1;
            if approvals.open == 0 {
                let since = approvals.since;
                approvals.total += now.saturating_sub(since);
            }
        }
    }
}

impl Listener for Shared {
    fn hear(&self, seq: u64, told: Told) {
        match told {
            Told::Resolved { id, source } => self.book().resolve(seq, id, source),
            Told::ApprovalStarted => {
                self.approval(true);
                self.tell(|| RunEvent::ApprovalStarted { seq });
            }
            Told::ApprovalEnded => {
                self.approval(false);
                self.tell(|| RunEvent::ApprovalEnded { seq });
            }
            Told::Step(taken) => self.tell(|| RunEvent::Gate { seq, taken }),
        }
    }

    fn wants_steps(&self) -> bool {
        self.has_listener()
    }
}

impl Desk {
    pub(super) fn new(gate: Arc<Gate>, catalog: Arc<dyn Catalog>, run_id: Arc<str>, limits: RunLimits, shared: Arc<Shared>) -> Desk {
        let passage = Passage::new(gate, catalog, run_id)
            .with_approval_limit(Duration::from_millis(limits.approval_ms()))
            .with_args_limit(limits.args_bytes())
            .with_listener(Arc::clone(&shared) as Arc<dyn Listener>);
        Desk {
            passage: Arc::new(passage),
            shared,
            limits,
            decided: Decided::default(),
            asks: JoinSet::new(),
            open: HashMap::new(),
            handles: HashMap::new(),
        }
    }

    /// Requests that the worker waits for.
    pub(super) fn open(&self) -> usize {
        self.handles.len()
    }

    /// Begins with a request. What comes of it comes from [`Desk::next`]. Each is a task of its own: a backend that blocks its thread leaves the clock of the run alone.
    pub(super) fn begin(&mut self, id: RequestId, ask: Ask) -> Result<(), Untrue> {
        let passage = Arc::clone(&self.passage);
        let limit = usize::try_from(self.limits.result_bytes()).unwrap_or(usize::MAX);
        let (call, task) = match ask {
            Ask::Search { query, limit: rows, .. } => (None, self.asks.spawn(async move { search(&passage, query, rows).await })),
            Ask::Describe { id, .. } => (None, self.asks.spawn(async move { describe(&passage, &id).await })),
            Ask::Approve { seq, tool, args, .. } => {
                self.shared.book().open(seq, &tool.id, args.bytes(), self.shared.now())?;
                let (shared, decided) = (Arc::clone(&self.shared), Arc::clone(&self.decided));
                (Some(seq), self.asks.spawn(async move { decide(&passage, &shared, &decided, seq, tool.id, args).await }))
            }
            Ask::Call { seq, id, args, .. } => {
                let decision = self.decided.lock().unwrap_or_else(PoisonError::into_inner).remove(&seq);
                let admitted = match decision {
                    Some(decision) => Some(decision.of(&id, &args).ok_or(Untrue::Changed(seq))?),
                    None => {
                        self.shared.book().open(seq, &id, args.bytes(), self.shared.now())?;
                        None
                    }
                };
                let shared = Arc::clone(&self.shared);
                (Some(seq), self.asks.spawn(async move { call(&passage, &shared, seq, &id, &args, admitted, limit).await }))
            }
            // Both are refused before they come here.
            Ask::Hello(_) | Ask::Hook { .. } => return Ok(()),
        };
        self.open.insert(task.id(), Open { id, call });
        self.handles.insert(id, task);
        Ok(())
    }

    /// Nobody waits for the answer any more. It has one all the same.
    pub(super) fn cancel(&mut self, id: RequestId) {
        if let Some(handle) = self.handles.remove(&id) {
            handle.abort();
        }
    }

    /// The text of the next answer. Waits for ever when nothing is open. Cancel-safe.
    pub(super) async fn next(&mut self) -> Vec<u8> {
        loop {
            let (task, result) = match self.asks.join_next_with_id().await {
                None => std::future::pending().await,
                Some(Ok((task, result))) => (task, result),
                Some(Err(error)) => (error.id(), Err(failure(&error))),
            };
            let Some(Open { id, call }) = self.open.remove(&task) else { continue };
            self.handles.remove(&id);
            if let (Some(seq), Err(failure)) = (call, &result) {
                let now = self.shared.now();
                match failure.code {
                    CallCode::Cancelled => self.shared.book().abandon(seq, now),
                    // A call that has its state keeps it.
                    code => self.shared.book().settle(seq, Err(code), now),
                }
            }
            let answer = FromGateway::Answer { id, result: result.map_err(|failure| wire_error(failure, &self.limits)) };
            // Both are texts of ours already.
            if let Ok(text) = serde_json::to_vec(&answer) {
                return text;
            }
        }
    }
}

fn failure(error: &tokio::task::JoinError) -> CallFailure {
    if error.is_cancelled() {
        CallFailure::new(CallCode::Cancelled, "", "the request was cancelled")
    } else {
        CallFailure::new(CallCode::ToolError, "", "the tool's backend broke down; see the log of the program that runs this body")
    }
}

async fn search(passage: &Passage, query: String, limit: Option<u64>) -> Result<JsonText, CallFailure> {
    let found = passage.search(&SearchQuery { query, limit }).await?;
    let rows: Vec<ToolText> = found.iter().take(MOST_ROWS).filter_map(|tool| text_of(tool)).collect();
    JsonText::of(&rows).map_err(|_| CallFailure::new(CallCode::ToolUnavailable, "", "the rows have no JSON"))
}

async fn describe(passage: &Passage, id: &str) -> Result<JsonText, CallFailure> {
    let tool = passage.describe(id).await?;
    let text = text_of(&tool).and_then(|text| JsonText::of(&text).ok());
    text.ok_or_else(|| CallFailure::new(CallCode::ToolUnavailable, &tool.id, "its name is not one that a worker could be told"))
}

/// Everything of the gate that can refuse the call, while the worker's clock stands. What it says goes with the answer to the call itself, under its own code; nothing goes out
/// before that.
async fn decide(
    passage: &Passage,
    shared: &Shared,
    decided: &Decided,
    seq: u64,
    id: String,
    args: JsonText,
) -> Result<JsonText, CallFailure> {
    let admitted = passage.admit(seq, &id, &args).await;
    if let Err(failure) = &admitted {
        shared.book().settle(seq, Err(failure.code), shared.now());
    }
    let admitted = admitted.map(|admitted| (args, admitted));
    decided.lock().unwrap_or_else(PoisonError::into_inner).insert(seq, Decision { id, admitted });
    JsonText::of(&ApprovalWord::Granted).map_err(|_| CallFailure::new(CallCode::ToolUnavailable, "", "the word has no JSON"))
}

async fn call(
    passage: &Passage,
    shared: &Shared,
    seq: u64,
    id: &str,
    args: &JsonText,
    decided: Option<Result<Admitted, CallFailure>>,
    limit: usize,
) -> Result<JsonText, CallFailure> {
    let admitted = match decided {
        Some(decided) => decided?,
        None => passage.admit(seq, id, args).await?,
    };
    let id = admitted.tool().id.clone();
    if !shared.book().send(seq, &admitted) {
        return Err(CallFailure::new(CallCode::Cancelled, id, "the run is over"));
    }
    shared.tell(|| RunEvent::CallSent { seq, id: id.clone() });
    let value = passage.call(admitted).await.and_then(|value| answer_text(&id, &value, limit));
    let settled = value.as_ref().map(JsonText::bytes).map_err(|failure| failure.code);
    shared.book().settle(seq, settled, shared.now());
    value
}

/// A tool as the wire has it. `None`: it has a name that the wire does not carry.
fn text_of(tool: &Tool) -> Option<ToolText> {
    let is_line =
        |text: &str, most: usize| !text.is_empty() && text.len() <= most && text.trim() == text && !text.chars().any(char::is_control);
    if !is_line(&tool.id, MOST_ID) || !is_line(&tool.name, MOST_NAME) || !is_line(&tool.source_name, MOST_NAME) {
        return None;
    }
    let schema = |schema: &crate::catalog::Schema| JsonText::of(schema.value()).ok();
    let source = match tool.source {
        Source::Openclaw => ToolSource::Openclaw,
        Source::Plugin => ToolSource::Plugin,
        Source::Mcp => ToolSource::Mcp,
        Source::Client => ToolSource::Client,
    };
    let text = ToolText {
        id: Some(tool.id.clone()),
        source,
        source_name: tool.source_name.clone(),
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: schema(&tool.parameters).filter(|text| text.text().starts_with('{'))?,
        output_schema: None,
    };
    let Some(output) = &tool.output_schema else { return Some(text) };
    Some(ToolText { output_schema: Some(schema(output).filter(|text| text.text().starts_with('{'))?), ..text })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_told_whole_or_not_at_all() {
        let tool =
            Tool::new(Source::Mcp, "demo", "echo", "Echoes.", json!({"type": "object"})).with_output_schema(json!({"type": "string"}));
        let text = JsonText::of(&text_of(&tool).unwrap()).unwrap();
        assert_eq!(ToolText::read(text.text()).unwrap().output_schema.unwrap().text(), r#"{"type":"string"}"#);
        for name in ["", " x", "a\nb", &"x".repeat(257)] {
            assert_eq!(text_of(&Tool::new(Source::Mcp, "demo", name, "", json!({}))), None, "{name:?}");
        }
        assert_eq!(text_of(&Tool::new(Source::Mcp, "demo", "x", "", json!(true))), None);
    }
}
