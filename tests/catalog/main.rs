//! The catalog from outside: files, search, ids, values.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod batch;
mod demo;
mod files;
mod ids;
mod recall;
mod words;

use std::path::PathBuf;

use codemode::catalog::{CallContext, Catalog, FileCatalog, SearchQuery};

/// A file of the repository.
fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn context(seq: u64) -> CallContext {
    CallContext { run_id: "run".into(), seq }
}

/// A catalog of tools with these names and descriptions.
fn catalog(tools: &[(&str, &str)]) -> FileCatalog {
    let tools: Vec<_> = tools
        .iter()
        .map(|(name, description)| serde_json::json!({"name": name, "description": description, "parameters": {"type": "object"}}))
        .collect();
    FileCatalog::from_str(&serde_json::to_string(&tools).unwrap(), "t").unwrap()
}

/// Names of what a search finds, best first.
async fn found(catalog: &FileCatalog, query: &str, limit: Option<u64>) -> Vec<String> {
    let query = SearchQuery { query: query.to_owned(), limit };
    catalog.search(&query).await.unwrap().iter().map(|tool| tool.name.clone()).collect()
}
