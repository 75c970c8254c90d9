//! A catalog that counts: what was called here, how often.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use codemode::catalog::{CallContext, CallFailure, Catalog, CatalogSummary, SearchQuery, Source, Tool, ToolSet};
use serde_json::{Value, json};

/// One tool, `tick`: counts its argument `key` and answers with the name of this gateway, after `delayMs`.
#[derive(Debug)]
pub struct Counting {
    gateway: String,
    tools: ToolSet,
    counts: Mutex<HashMap<String, u32>>,
}

impl Counting {
    pub fn new(gateway: &str) -> Arc<Counting> {
        let parameters = json!({"type": "object", "properties": {"key": {"type": "string"}, "delayMs": {"type": "number"}, "data": {}}, "required": ["key"]});
        let tick = Tool::new(Source::Client, "count", "tick", "Counts.", parameters);
        let tools = ToolSet::new(vec![Arc::new(tick)]).expect("one tool");
        Arc::new(Counting { gateway: gateway.to_owned(), tools, counts: Mutex::default() })
    }

    pub fn count(&self, key: &str) -> u32 {
        self.counts.lock().expect("nobody panics here").get(key).copied().unwrap_or(0)
    }

    pub fn total(&self) -> usize {
        self.counts.lock().expect("nobody panics here").values().map(|count| *count as usize).sum()
    }

    /// Nothing was called twice.
    pub fn has_no_twice(&self) {
        let counts = self.counts.lock().expect("nobody panics here");
        let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "called more than once: {twice:?}");
    }
}

#[async_trait]
impl Catalog for Counting {
    fn summary(&self) -> CatalogSummary {
        CatalogSummary { catalog_size: 1, sources: self.tools.count_by_source(), unavailable: Vec::new() }
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Arc<Tool>>, CallFailure> {
        Ok(self.tools.search(query))
    }

    async fn describe(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        self.tools.resolve(id).cloned()
    }

    async fn call(&self, _tool: &Arc<Tool>, args: Value, _context: &CallContext) -> Result<Value, CallFailure> {
        let key = args["key"].as_str().unwrap_or_default().to_owned();
        *self.counts.lock().expect("nobody panics here").entry(key.clone()).or_default() += 1;
        if let Some(delay) = args["delayMs"].as_u64() {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        Ok(json!({"gateway": self.gateway, "key": key, "data": args.get("data").cloned().unwrap_or_default()}))
    }
}

/// A body that calls `tick` once for each of so many keys, one after the other, and returns what came.
pub fn ticking(run: &str, calls: usize, delay_ms: u64) -> String {
    format!(
        "const all = []; for (let n = 0; n < {calls}; n++) all.push(await openclaw.tools.call('client:count:tick', {{key: '{run}/' + n, delayMs: {delay_ms}}})); return all"
    )
}
