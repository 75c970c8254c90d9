//! The catalog of one run, answered by a gateway.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use codemode_protocol::gateway::{Ask, RunName, ToolText};
use codemode_protocol::{CallCode as WireCode, JsonText, Violation, WireError};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as WordError;
use serde_json::{Value, json};

use super::super::{
    CallCode, CallContext, CallFailure, Catalog, CatalogSummary, MOST_WEIGHT, SearchQuery, TooHeavy, Tool, ToolSet, quoted, weighed,
};
use super::peer::{AskFailure, Peer};
use super::told;

/// Rows of one search at most, whatever was asked for.
const MOST_ROWS: usize = 50;
/// Bytes of memory of tools that are kept for one run, so that a call of a tool that was just found is one question and not two: 4 MiB of text take so much.
const KEPT_WEIGHT: usize = 64 << 20;

/// The catalog of one run. Searches and descriptions are answered by the gateway, or from a list that it handed over; calls go to the gateway in either case.
#[derive(Debug)]
pub struct RemoteCatalog {
    peer: Peer,
    run: RunName,
    handed: Option<ToolSet>,
    seen: Mutex<Seen>,
}

/// Tools that the gateway has told of in this run, by their ids.
#[derive(Debug, Default)]
struct Seen {
    tools: HashMap<String, Arc<Tool>>,
    weight: usize,
}

impl RemoteCatalog {
    /// Everything is asked of the gateway.
    pub fn new(peer: Peer, run: RunName) -> RemoteCatalog {
        RemoteCatalog { peer, run, handed: None, seen: Mutex::default() }
    }

    /// Searches and descriptions are answered from these tools.
    pub fn with_tools(peer: Peer, run: RunName, tools: ToolSet) -> RemoteCatalog {
        RemoteCatalog { handed: Some(tools), ..RemoteCatalog::new(peer, run) }
    }

    async fn describe_there(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        let ask = Ask::Describe { run: self.run.clone(), id: id.to_owned() };
        let answer = self.peer.ask(&ask).await.map_err(|failure| failed(&failure, &ask, id))?;
        let weight = light(&answer, &ask, id)?;
        let read = ToolText::read(answer.text()).and_then(told::tool).map_err(|violation| misread(&violation, &ask, id))?;
        self.keep(&read, weight);
        Ok(read)
    }

    fn keep(&self, tool: &Arc<Tool>, weight: usize) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.tools.contains_key(&tool.id) {
            // What it says now is what counts.
            seen.tools.insert(tool.id.clone(), Arc::clone(tool));
        } else if seen.weight + weight <= KEPT_WEIGHT {
            seen.weight += weight;
            seen.tools.insert(tool.id.clone(), Arc::clone(tool));
        }
    }
}

#[async_trait]
impl Catalog for RemoteCatalog {
    /// Counted where the tools were handed over. What a gateway has that answers by itself is its own affair.
    fn summary(&self) -> CatalogSummary {
        let Some(tools) = &self.handed else { return CatalogSummary::default() };
        CatalogSummary { catalog_size: tools.tools().len(), sources: tools.count_by_source(), unavailable: Vec::new() }
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Arc<Tool>>, CallFailure> {
        if let Some(tools) = &self.handed {
            return Ok(tools.search(query));
        }
        let ask = Ask::Search { run: self.run.clone(), query: query.query.clone(), limit: query.limit };
        let answer = self.peer.ask(&ask).await.map_err(|failure| failed(&failure, &ask, ""))?;
        let weight = light(&answer, &ask, "")?;
        let read = ToolText::list(answer.text(), MOST_ROWS);
        let read = read.and_then(|rows| rows.into_iter().map(told::tool).collect::<Result<Vec<_>, _>>());
        let tools = read.map_err(|violation| misread(&violation, &ask, ""))?;
        let each = weight / tools.len().max(1);
        tools.iter().for_each(|tool| self.keep(tool, each));
        Ok(tools)
    }

    async fn describe(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        match &self.handed {
            Some(tools) => tools.resolve(id).cloned(),
            None => self.describe_there(id).await,
        }
    }

    async fn resolve(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        if let Some(tools) = &self.handed {
            return tools.resolve(id).cloned();
        }
        let known = self.seen.lock().unwrap_or_else(PoisonError::into_inner).tools.get(id.trim()).cloned();
        match known {
            Some(tool) => Ok(tool),
            None => self.describe_there(id).await,
        }
    }

    async fn call(&self, tool: &Arc<Tool>, args: Value, context: &CallContext) -> Result<Value, CallFailure> {
        let args = JsonText::of(&args).map_err(|_| CallFailure::new(CallCode::InvalidArguments, &tool.id, "the arguments have no JSON"))?;
        let ask = Ask::Call { run: self.run.clone(), seq: context.seq, id: tool.id.clone(), args };
        let answer = self.peer.ask(&ask).await.map_err(|failure| failed(&failure, &ask, &tool.id))?;
        light(&answer, &ask, &tool.id)?;
        answer.to_value().map_err(|violation| misread(&violation, &ask, &tool.id))
    }
}

fn failed(failure: &AskFailure, ask: &Ask, id: &str) -> CallFailure {
    match failure {
        AskFailure::Refused(error) => told_failure(error, id),
        AskFailure::Gone { sent } => {
            let failure = CallFailure::new(CallCode::ToolUnavailable, id, failure.to_string());
            // Only a call has effects.
            if *sent && matches!(ask, Ask::Call { .. }) { failure.with_data(json!({"outcome": "unknown"})).unanswered() } else { failure }
        }
        AskFailure::TooLong { .. } => CallFailure::new(CallCode::TooLarge, id, failure.to_string()),
    }
}

/// What an answer takes in memory when it is read; refused if that is too much, before it is.
fn light(answer: &JsonText, ask: &Ask, id: &str) -> Result<usize, CallFailure> {
    weighed(answer.text(), MOST_WEIGHT).map_err(|heavy| {
        let TooHeavy { weight, limit } = heavy;
        let message = format!(
            "the gateway's answer to {} has so many values that it would take {weight} bytes of memory where {limit} are the limit; ask it for less at a time",
            ask.method()
        );
        let code = if matches!(ask, Ask::Call { .. }) { CallCode::TooLarge } else { CallCode::ToolUnavailable };
        CallFailure::new(code, id, message).with_data(heavy.data())
    })
}

/// An answer that is not what the wire says: of this request alone, since its envelope was sound.
fn misread(violation: &Violation, ask: &Ask, id: &str) -> CallFailure {
    let message = format!("the gateway's answer to {} is not one: {violation}", ask.method());
    // A call was made, whatever the gateway made of it.
    let code = if matches!(ask, Ask::Call { .. }) { CallCode::InvalidResult } else { CallCode::ToolUnavailable };
    CallFailure::new(code, id, message)
}

/// The failure that a gateway tells.
fn told_failure(error: &WireError, id: &str) -> CallFailure {
    let code = code(error.code);
    let tool_id = error.tool_id.as_deref().unwrap_or(id);
    let mut failure = CallFailure::new(
        code,
        tool_id,
        if error.message.is_empty() { format!("{} failed", quoted(tool_id)) } else { error.message.clone() },
    );
    failure.name.clone_from(&error.name);
    if let Some(data) = &error.data {
        // What is too large to be read is left out; the failure is not.
        failure.data = if weighed(data.text(), MOST_WEIGHT).is_ok() { data.to_value().unwrap_or_default() } else { Value::Null };
    }
    failure
}

/// The two sets have the same words, and a test keeps that so.
fn code(code: WireCode) -> CallCode {
    CallCode::deserialize(IntoDeserializer::<WordError>::into_deserializer(code.as_str())).unwrap_or(CallCode::ToolError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_wire_is_one_of_the_catalogs() {
        for word in WireCode::ALL {
            assert_eq!(code(word).as_str(), word.as_str());
        }
    }
}
