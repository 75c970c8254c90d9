//! A catalog that answers as a recorded run was answered.
//!
//! A request is answered by the first recorded one of the same method and arguments that has not been played yet, so calls made at once may come in
//! any order. Answers are given in the order in which they were given then: a body that does the same as the recorded one is driven the same way, whatever
//! its calls take now. A request the record has no more of, and a call made before one that the recorded run had had answered by then, is a divergence.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::super::text::{cleaned_line, quoted};
use super::super::{CallCode, CallContext, CallFailure, Catalog, CatalogSummary, SearchQuery, Tool};
use super::error::RecordError;
use super::format::{self, Answer, Request};

/// How long an answer waits for its turn. Only a body that does something else than the recorded one keeps it waiting: for a call that does not come.
const PATIENCE: Duration = Duration::from_millis(250);
/// Characters of a request that are shown.
const SHOWN_CHARS: usize = 300;
/// What tells one request from another, as text.
type Key = String;

/// The first thing that a run did otherwise than the record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Divergence {
    /// Which request of the run it was, from 1; one more than it made when it ended too early.
    pub request: u64,
    /// What the record has next; `None`: nothing more.
    pub expected: Option<String>,
    /// What the run asked for; `None`: it ended.
    pub got: Option<String>,
    /// Recorded requests that were not made by then.
    pub left_over: usize,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = self.expected.as_deref().unwrap_or("no further request");
        let got = self.got.as_deref().unwrap_or("the end of the run");
        write!(f, "the run differs from its record at request {}: expected {expected}, got {got}", self.request)?;
        f.write_str("\nlet the body ask as it did, or record it again with `--record`")?;
        match self.left_over {
            0 => Ok(()),
            1 => f.write_str("; 1 recorded request was not made"),
            more => write!(f, "; {more} recorded requests were not made"),
        }
    }
}

/// The catalog of a record, for one run.
#[derive(Debug)]
pub struct Replay {
    summary: CatalogSummary,
    tools: HashMap<String, Arc<Tool>>,
    requests: Vec<Request>,
    /// Calls with an answer, in the order of their answers.
    order: Vec<usize>,
    state: Mutex<State>,
    changed: Notify,
    diverged: Notify,
}

#[derive(Debug)]
struct State {
    waiting: HashMap<Key, VecDeque<usize>>,
    is_played: Vec<bool>,
    is_answered: Vec<bool>,
    /// Requests of this run by now.
    made: u64,
    divergence: Option<Divergence>,
}

impl Replay {
    /// Reads a record.
    ///
    /// # Errors
    /// The file cannot be read, or is no record; the error says where.
    pub fn open(path: impl AsRef<Path>) -> Result<Replay, RecordError> {
        let format::Record { summary, tools, requests } = format::read(path.as_ref())?;
        let mut waiting: HashMap<Key, VecDeque<usize>> = HashMap::new();
        let mut order = Vec::new();
        for (number, request) in requests.iter().enumerate() {
            waiting.entry(key(request)).or_default().push_back(number);
            if let Request::Call { done: Some(done), .. } = request {
                order.push((*done, number));
            }
        }
        order.sort_unstable();
        let order = order.into_iter().map(|(_, number)| number).collect();
        let (is_played, is_answered) = (vec![false; requests.len()], vec![false; requests.len()]);
        let state = Mutex::new(State { waiting, is_played, is_answered, made: 0, divergence: None });
        Ok(Replay { summary, tools, requests, order, state, changed: Notify::new(), diverged: Notify::new() })
    }

    /// Waits for a divergence. Cancel-safe.
    pub async fn diverged(&self) {
        loop {
            let told = self.diverged.notified();
            if self.state().divergence.is_some() {
                return;
            }
            told.await;
        }
    }

    /// The first divergence of the run so far.
    pub fn divergence(&self) -> Option<Divergence> {
        self.state().divergence.clone()
    }

    /// The same of a run that is over: then what was not asked for counts.
    pub fn divergence_at_end(&self) -> Option<Divergence> {
        let mut state = self.state();
        if state.divergence.is_none() && self.next(&state).is_some() {
            state.made += 1;
            self.note(&mut state, None);
        }
        state.divergence.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first recorded request that was not made. How a call found its tool is no request of its own.
    fn next(&self, state: &State) -> Option<usize> {
        self.left(state).next()
    }

    fn left<'a>(&'a self, state: &'a State) -> impl Iterator<Item = usize> + 'a {
        let counts = |number: &usize| {
            !state.is_played[*number] && !matches!(self.requests[*number], Request::Resolve { answer: Answer::Value(_), .. })
        };
        (0..self.requests.len()).filter(counts)
    }

    fn note(&self, state: &mut State, got: Option<String>) {
        if state.divergence.is_some() {
            return;
        }
        let expected = self.next(state).map(|number| shown(&self.requests[number]));
        let left_over = self.left(state).count();
        state.divergence = Some(Divergence { request: state.made, expected, got, left_over });
        self.diverged.notify_waiters();
    }

    /// The recorded request that this one is.
    fn play(&self, request: &Request) -> Result<usize, CallFailure> {
        let mut state = self.state();
        let is_resolve = matches!(request, Request::Resolve { .. });
        if !is_resolve {
            state.made += 1;
        }
        let found = state.waiting.get(&key(request)).and_then(VecDeque::front).copied().filter(|number| self.may_come(&state, *number));
        let Some(number) = found else {
            if is_resolve {
                state.made += 1;
            }
            self.note(&mut state, Some(shown(request)));
            return Err(CallFailure::new(CallCode::ToolUnavailable, "", "the record of this run has no such request"));
        };
        state.is_played[number] = true;
        let is_refused = matches!(self.requests[number], Request::Resolve { answer: Answer::Failure(_), .. });
        if let Some(waiting) = state.waiting.get_mut(&key(request))
            // A tool can be found any number of times: the view of a run is fixed.
            && (!is_resolve || is_refused || waiting.len() > 1)
        {
            waiting.pop_front();
        }
        state.made += u64::from(is_refused);
        drop(state);
        self.changed.notify_waiters();
        Ok(number)
    }

    /// Whether everything that had been answered when the recorded call was made has been asked for.
    fn may_come(&self, state: &State, number: usize) -> bool {
        let Request::Call { after, .. } = &self.requests[number] else { return true };
        let answered = usize::try_from(*after).unwrap_or(usize::MAX).min(self.order.len());
        self.order[..answered].iter().all(|earlier| *earlier == number || state.is_played[*earlier])
    }

    /// Waits until every answer before this one has been given.
    async fn turn(&self, number: usize) {
        let patience = sleep(PATIENCE);
        tokio::pin!(patience);
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let is_due = self.is_due(number);
            if is_due {
                break;
            }
            tokio::select! {
                () = changed => {}
                () = &mut patience => break,
            }
        }
        self.state().is_answered[number] = true;
        self.changed.notify_waiters();
    }

    /// Whether every answer before this one has been given.
    fn is_due(&self, number: usize) -> bool {
        let state = self.state();
        self.order.iter().take_while(|earlier| **earlier != number).all(|earlier| state.is_answered[*earlier])
    }

    fn tool(&self, answer: Answer<String>) -> Result<Arc<Tool>, CallFailure> {
        match answer {
            Answer::Value(id) => {
                self.tools.get(&id).cloned().ok_or_else(|| CallFailure::new(CallCode::UnknownTool, id, "the record lacks the tool"))
            }
            Answer::Failure(failure) => Err(failure.into_failure()),
        }
    }
}

/// What two requests that are the same have the same of.
fn key(request: &Request) -> Key {
    match request {
        Request::Search { query, limit, .. } => format!("search {limit:?} {query}"),
        Request::Describe { id, .. } => format!("describe {id}"),
        Request::Resolve { id, .. } => format!("resolve {id}"),
        Request::Call { id, args, .. } => format!("call {id} {}", format::json(&sorted(args))),
    }
}

/// The value with the keys of its objects in order: which stands first says nothing.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            fields.into_iter().map(|(name, field)| (name.clone(), sorted(field))).collect()
        }
        other => other.clone(),
    }
}

/// A request for people.
fn shown(request: &Request) -> String {
    match request {
        Request::Search { query, limit: None, .. } => format!("search {}", quoted(query)),
        Request::Search { query, limit: Some(limit), .. } => format!("search {} with limit {limit}", quoted(query)),
        Request::Describe { id, .. } => format!("describe {}", quoted(id)),
        Request::Resolve { id, .. } => format!("call {}", quoted(id)),
        Request::Call { id, args, .. } => format!("call {} {}", quoted(id), cleaned_line(&format::json(args), SHOWN_CHARS)),
    }
}

/// A request without its answer, to look for.
fn asked<T>() -> Answer<T>
where
    T: Default,
{
    Answer::Value(T::default())
}

#[async_trait]
impl Catalog for Replay {
    fn summary(&self) -> CatalogSummary {
        self.summary.clone()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Arc<Tool>>, CallFailure> {
        let number = self.play(&Request::Search { query: query.query.clone(), limit: query.limit, answer: asked() })?;
        match self.requests[number].clone() {
            Request::Search { answer: Answer::Value(ids), .. } => Ok(ids.iter().filter_map(|id| self.tools.get(id).cloned()).collect()),
            Request::Search { answer: Answer::Failure(failure), .. } => Err(failure.into_failure()),
            _ => unreachable!("the key begins with the method"),
        }
    }

    async fn describe(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        let number = self.play(&Request::Describe { id: id.to_owned(), answer: asked() })?;
        match self.requests[number].clone() {
            Request::Describe { answer, .. } => self.tool(answer),
            _ => unreachable!("the key begins with the method"),
        }
    }

    async fn resolve(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        let number = self.play(&Request::Resolve { id: id.to_owned(), answer: asked() })?;
        match self.requests[number].clone() {
            Request::Resolve { answer, .. } => self.tool(answer),
            _ => unreachable!("the key begins with the method"),
        }
    }

    async fn call(&self, tool: &Arc<Tool>, args: Value, _: &CallContext) -> Result<Value, CallFailure> {
        let number = self.play(&Request::Call { id: tool.id.clone(), args, after: 0, done: None, answer: None })?;
        let Request::Call { answer, .. } = self.requests[number].clone() else { unreachable!("the key begins with the method") };
        match answer {
            // Nor was the recorded one.
            None => std::future::pending().await,
            Some(answer) => {
                self.turn(number).await;
                match answer {
                    Answer::Value(value) => Ok(value),
                    Answer::Failure(failure) => Err(failure.into_failure()),
                }
            }
        }
    }
}
