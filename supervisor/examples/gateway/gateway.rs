//! One turn of an agent: plan what the model sees, ask the model, do what it asks for, until it answers.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use codemode::Supervisor;
use codemode::catalog::{CatalogFileError, FileCatalog, RunContext, Sources};
use codemode::config::Config;
use codemode::modes::{Executor, PlanRequest, plan};
use codemode::telemetry::{Counters, Recorder, SessionLog};
use serde_json::{Value, json};

use super::provider::Provider;

/// Questions to the model in one turn.
const MOST_ROUNDS: usize = 16;

/// What lives as long as the gateway.
#[derive(Debug)]
pub(crate) struct Gateway {
    config: Config,
    sources: Arc<Sources>,
    /// Without one, mode `code` falls back to `tools`.
    supervisor: Result<Supervisor, String>,
    provider: Provider,
    recorder: Recorder,
    turns: AtomicU64,
}

impl Gateway {
    /// A gateway with nothing plugged in.
    pub(crate) fn new(config: Config, provider: Provider) -> Gateway {
        let supervisor = Supervisor::builder().build().map_err(|error| error.to_string());
        let recorder = Recorder::new(Arc::new(Counters::new()));
        Gateway { config, sources: Arc::new(Sources::new()), supervisor, provider, recorder, turns: AtomicU64::new(0) }
    }

    /// The same with a log.
    pub(crate) fn with_log(mut self, log: Arc<SessionLog>) -> Gateway {
        self.recorder = self.recorder.with_log(log);
        self
    }

    /// Plugs a folder in: its `tools.json` says what it brings.
    pub(crate) fn add_plugin(&self, folder: &Path) -> Result<Arc<FileCatalog>, CatalogFileError> {
        let tools = Arc::new(FileCatalog::open(folder.join("tools.json"))?);
        let name = folder.file_name().map_or_else(|| "plugin".to_owned(), |name| name.to_string_lossy().into_owned());
        Arc::clone(&tools).into_sources(&name).into_iter().for_each(|source| self.sources.add(source));
        Ok(tools)
    }

    /// What the model says to a prompt in the end.
    pub(crate) async fn turn(&self, session: &str, prompt: &str) -> Result<String, String> {
        let request = PlanRequest {
            context: RunContext { session: Some(session.into()), ..RunContext::default() },
            no_isolation: self.supervisor.as_ref().err().cloned(),
            prompt: prompt.to_owned(),
            ..PlanRequest::default()
        };
        let plan = Arc::new(plan(&self.config, &self.sources, request).await);
        let number = self.turns.fetch_add(1, Ordering::Relaxed) + 1;
        let recorder = self.recorder.clone().with_session(Some(session.into()));
        let mut executor = Executor::new(Arc::clone(&plan), self.config.gate(), recorder, format!("{session}-{number}").into());
        if let Ok(supervisor) = &self.supervisor {
            executor = executor.with_supervisor(supervisor.clone());
        }

        let tools: Vec<Value> = plan.surface.definitions.iter().map(|definition| definition.as_function()).collect();
        let mut messages = Vec::new();
        if let Some(directory) = &plan.surface.directory {
            messages.push(json!({"role": "system", "content": directory}));
        }
        messages.push(json!({"role": "user", "content": prompt}));
        for _ in 0..MOST_ROUNDS {
            let message = self.provider.complete(&json!({"model": "any", "messages": messages, "tools": tools})).await?;
            messages.push(message.clone());
            let Some(calls) = message["tool_calls"].as_array() else {
                return Ok(message["content"].as_str().unwrap_or_default().to_owned());
            };
            for call in calls {
                let function = &call["function"];
                // What a model writes there need not be JSON; the gate refuses what is not an object, in words that it can act on.
                let text = function["arguments"].as_str().unwrap_or_default();
                let args = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
                let outcome = executor.execute(function["name"].as_str().unwrap_or_default(), &args).await;
                messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": outcome.for_model().to_string()}));
            }
        }
        Err(format!("the model was asked {MOST_ROUNDS} times and has no answer"))
    }
}
