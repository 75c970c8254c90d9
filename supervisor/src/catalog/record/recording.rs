//! A catalog that writes down what it is asked and what it answers.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::Value;

use super::super::{CallContext, CallFailure, Catalog, CatalogSummary, SearchQuery, Tool};
use super::error::RecordError;
use super::format::{self, Answer, RecordFile, Request};
use super::{MAX_BYTES, MAX_REQUESTS};

/// A catalog around another one, with a record of one run.
#[derive(Debug)]
pub struct Recording {
    inner: Arc<dyn Catalog>,
    tape: Mutex<Tape>,
}

#[derive(Debug, Default)]
struct Tape {
    known: HashSet<String>,
    tools: Vec<String>,
    /// As JSON text, in the order in which they were made; a call without an answer as one that was never answered.
    requests: Vec<String>,
    answered: u64,
    bytes: usize,
    is_full: bool,
}

impl Tape {
    /// Takes this many bytes more, or nothing from there on: half a record would be played back as a whole one.
    fn takes(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        if self.bytes > MAX_BYTES || self.requests.len() >= MAX_REQUESTS {
            self.is_full = true;
            self.tools = Vec::new();
            self.requests = Vec::new();
        }
        !self.is_full
    }

    fn tool(&mut self, tool: &Tool) {
        if !self.is_full && self.known.insert(tool.id.clone()) {
            let text = format::tool_text(tool);
            if self.takes(text.len()) {
                self.tools.push(text);
            }
        }
    }

    /// Gives its number.
    fn request(&mut self, request: &Request) -> usize {
        let text = format::json(request);
        if self.takes(text.len()) {
            self.requests.push(text);
        }
        self.requests.len().saturating_sub(1)
    }
}

impl Recording {
    /// Around this catalog.
    pub fn new(inner: Arc<dyn Catalog>) -> Recording {
        Recording { inner, tape: Mutex::default() }
    }

    /// Writes what there is by now, whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written; the record is too large.
    pub fn save(&self, file: RecordFile) -> Result<(), RecordError> {
        let tape = self.tape();
        if tape.is_full { Err(file.too_large()) } else { file.write(&self.inner.summary(), &tape.tools, &tape.requests) }
    }

    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn named(&self, found: &Result<Arc<Tool>, CallFailure>) -> Answer<String> {
        if let Ok(tool) = found {
            self.tape().tool(tool);
        }
        Answer::of(found, |tool| tool.id.clone())
    }
}

#[async_trait]
impl Catalog for Recording {
    fn summary(&self) -> CatalogSummary {
        self.inner.summary()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Arc<Tool>>, CallFailure> {
        let found = self.inner.search(query).await;
        let mut tape = self.tape();
        found.iter().flatten().for_each(|tool| tape.tool(tool));
        let answer = Answer::of(&found, |tools| tools.iter().map(|tool| tool.id.clone()).collect());
        tape.request(&Request::Search { query: query.query.clone(), limit: query.limit, answer });
        drop(tape);
        found
    }

    async fn describe(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        let found = self.inner.describe(id).await;
        let answer = self.named(&found);
        self.tape().request(&Request::Describe { id: id.to_owned(), answer });
        found
    }

    async fn resolve(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        let found = match self.inner.resolve(id).await {
            Ok(tool) => self.inner.available(&tool).await.map(|()| tool),
            Err(failure) => Err(failure),
        };
        let answer = self.named(&found);
        self.tape().request(&Request::Resolve { id: id.to_owned(), answer });
        found
    }

    async fn call(&self, tool: &Arc<Tool>, args: Value, context: &CallContext) -> Result<Value, CallFailure> {
        let mut request = Request::Call { id: tool.id.clone(), args, after: 0, done: None, answer: None };
        let (number, sent) = {
            let mut tape = self.tape();
            tape.tool(tool);
            let answered = tape.answered;
            let Request::Call { after, args, .. } = &mut request else { unreachable!("it is a call") };
            *after = answered;
            let sent = args.clone();
            (tape.request(&request), sent)
        };
        let answered = self.inner.call(tool, sent, context).await;
        let mut tape = self.tape();
        if !tape.is_full {
            tape.answered += 1;
            let place = tape.answered;
            let Request::Call { done, answer, .. } = &mut request else { unreachable!("it is a call") };
            *done = Some(place);
            *answer = Some(Answer::of(&answered, Value::clone));
            let text = format::json(&request);
            if tape.takes(text.len()) {
                tape.requests[number] = text;
            }
        }
        drop(tape);
        answered
    }
}
