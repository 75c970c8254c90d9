//! Where everything that a session does is noted: its log, its counters, its traces.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Value, json};

use super::SourceCounts;
use super::counters::Counters;
use super::log::SessionLog;
use crate::catalog::{CallContext, CallFailure, Catalog, CatalogSummary, SearchQuery, Tool};

/// Notes what a session does.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    session: Option<Arc<str>>,
    log: Option<Arc<SessionLog>>,
    counters: Arc<Counters>,
}

/// What a model was shown, as it is noted.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SurfaceNote<'a> {
    /// `code`, `tools`, `directory`, `direct`, `handed_over`.
    pub shown: &'static str,
    /// Why it is not what the configuration says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// Names of the definitions that were sent.
    pub definitions: Vec<&'a str>,
    /// Tools of the catalog among them.
    pub schemas_up_front: usize,
    /// Characters of the directory.
    pub directory_chars: usize,
    /// Bytes of definitions and directory.
    pub bytes_sent: usize,
    /// Bytes that direct exposure would have sent.
    pub bytes_direct: usize,
    /// Tools of the catalog.
    pub catalog_size: usize,
    /// The same by source.
    pub sources: SourceCounts,
}

impl Recorder {
    /// Counts, and keeps no log.
    pub fn new(counters: Arc<Counters>) -> Recorder {
        Recorder { counters, ..Recorder::default() }
    }

    /// The same for this session.
    #[must_use]
    pub fn with_session(mut self, session: Option<Arc<str>>) -> Recorder {
        self.session = session;
        self
    }

    /// The same with a log.
    #[must_use]
    pub fn with_log(mut self, log: Arc<SessionLog>) -> Recorder {
        self.log = Some(log);
        self
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The log, if there is one.
    pub fn log(&self) -> Option<&SessionLog> {
        self.log.as_deref()
    }

    /// Whether somebody reads single events.
    pub fn is_logging(&self) -> bool {
        self.log.is_some()
    }

    /// Notes what a model is shown.
    pub fn surface(&self, note: &SurfaceNote<'_>) {
        self.counters.add("codemode_surfaces_total", &[("shown", note.shown)], 1.0);
        self.counters.add("codemode_surface_bytes_total", &[], note.bytes_sent as f64);
        self.counters.add("codemode_surface_direct_bytes_total", &[], note.bytes_direct as f64);
        self.event(None, &Kind { event: "surface", fields: note });
    }

    /// Notes an event: an object with its kind under `event`.
    pub fn event(&self, run: Option<&str>, event: &impl Serialize) {
        if let Some(log) = &self.log {
            log.write(self.session.as_deref(), run, event);
        }
    }

    /// A catalog whose searches are noted.
    pub fn watch(&self, catalog: Arc<dyn Catalog>, run: Arc<str>) -> Arc<dyn Catalog> {
        Arc::new(Watched { recorder: self.clone(), catalog, run })
    }
}

#[derive(Serialize)]
struct Kind<'a, T> {
    event: &'static str,
    #[serde(flatten)]
    fields: &'a T,
}

/// A catalog whose searches are noted: what was asked for, and what was found. What becomes of a call is told by the gate.
#[derive(Debug)]
struct Watched {
    recorder: Recorder,
    catalog: Arc<dyn Catalog>,
    run: Arc<str>,
}

#[async_trait]
impl Catalog for Watched {
    fn summary(&self) -> CatalogSummary {
        self.catalog.summary()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Arc<Tool>>, CallFailure> {
        let found = self.catalog.search(query).await;
        let rows = found.as_ref().map_or(0, Vec::len);
        self.recorder.counters.add("codemode_searches_total", &[("found", if rows > 0 { "yes" } else { "no" })], 1.0);
        tracing::debug!(target: "codemode.search", run = &*self.run, rows, "search");
        if self.recorder.is_logging() {
            let ids: Vec<&str> = found.iter().flatten().map(|tool| tool.id.as_str()).collect();
            self.recorder.event(Some(&self.run), &json!({"event": "search", "query": query.query, "limit": query.limit, "rows": ids}));
        }
        found
    }

    async fn describe(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        self.catalog.describe(id).await
    }

    async fn resolve(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        self.catalog.resolve(id).await
    }

    async fn available(&self, tool: &Arc<Tool>) -> Result<(), CallFailure> {
        self.catalog.available(tool).await
    }

    async fn call(&self, tool: &Arc<Tool>, args: Value, context: &CallContext) -> Result<Value, CallFailure> {
        let span = tracing::info_span!(
            "codemode.tool.call",
            otel.kind = "client",
            gen_ai.tool.name = %tool.id,
            codemode.tool.source = tool.source.as_str(),
            codemode.run.id = &*context.run_id,
            codemode.call.seq = context.seq,
        );
        tracing::Instrument::instrument(self.catalog.call(tool, args, context), span).await
    }
}
