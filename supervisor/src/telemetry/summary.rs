//! The `telemetry` object of a report: sizes and counts, no texts of tools or bodies but ids.

use serde::{Deserialize, Serialize};

use crate::catalog::{CatalogSummary, Source, Unavailable};

/// How a body used its catalog.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Telemetry {
    /// Tools that the run could see.
    pub catalog_size: usize,
    /// The same by source.
    pub sources: SourceCounts,
    /// Searches asked for.
    pub search_count: u64,
    /// Descriptions asked for.
    pub describe_count: u64,
    /// Calls asked for, whatever became of them.
    pub call_count: u64,
    /// The tools that calls were made of, each once, in the order of its first call.
    pub selected: Vec<Selected>,
    /// Servers that should have been there.
    pub unavailable: Vec<Unavailable>,
}

/// Tools by source, every source named.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SourceCounts {
    /// Built into the gateway.
    pub openclaw: usize,
    /// Brought by a plug-in.
    pub plugin: usize,
    /// Offered by MCP servers.
    pub mcp: usize,
    /// Offered by the client.
    pub client: usize,
}

/// A tool that was called.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Selected {
    /// Its id.
    pub id: String,
    /// Where it comes from.
    pub source: Source,
}

impl From<CatalogSummary> for SourceCounts {
    fn from(summary: CatalogSummary) -> SourceCounts {
        let count = |source| summary.sources.get(&source).copied().unwrap_or(0);
        SourceCounts {
            openclaw: count(Source::Openclaw),
            plugin: count(Source::Plugin),
            mcp: count(Source::Mcp),
            client: count(Source::Client),
        }
    }
}

impl Telemetry {
    /// The counts at the start of a run.
    pub fn of_catalog(summary: CatalogSummary) -> Self {
        Telemetry {
            catalog_size: summary.catalog_size,
            unavailable: summary.unavailable.clone(),
            sources: summary.into(),
            ..Telemetry::default()
        }
    }

    /// Notes that a call turned out to be of this tool.
    pub fn select(&mut self, id: &str, source: Source) {
        if !self.selected.iter().any(|selected| selected.id == id) {
            self.selected.push(Selected { id: id.to_owned(), source });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_named_and_a_tool_counts_once() {
        let mut summary = CatalogSummary { catalog_size: 2, ..CatalogSummary::default() };
        summary.sources.insert(Source::Mcp, 2);
        let mut telemetry = Telemetry::of_catalog(summary);
        telemetry.select("mcp:x:b", Source::Mcp);
        telemetry.select("mcp:x:a", Source::Mcp);
        telemetry.select("mcp:x:b", Source::Mcp);
        assert_eq!(
            serde_json::to_string(&telemetry).unwrap(),
            r#"{"catalogSize":2,"sources":{"openclaw":0,"plugin":0,"mcp":2,"client":0},"searchCount":0,"describeCount":0,"callCount":0,"selected":[{"id":"mcp:x:b","source":"mcp"},{"id":"mcp:x:a","source":"mcp"}],"unavailable":[]}"#
        );
    }
}
