//! The servers of a configuration, together.

use std::sync::Arc;

use futures_util::future::join_all;

use super::super::Sources;
use super::source::McpSource;
use crate::config::McpServers;

/// Connections to servers. Whoever made them calls [`McpConnections::stop`] when the last run is over: a drop kills, which is not the way in order.
#[derive(Clone, Debug, Default)]
pub struct McpConnections {
    sources: Vec<Arc<McpSource>>,
}

impl McpConnections {
    /// One for each server; none is started before a run wants its tools.
    pub fn of(servers: &McpServers) -> McpConnections {
        let sources = servers.iter().map(|(name, server)| Arc::new(McpSource::new(name, server.clone()))).collect();
        McpConnections { sources }
    }

    /// Puts them among the sources of a gateway.
    pub fn add_to(&self, sources: &Sources) {
        self.sources.iter().for_each(|source| sources.add(Arc::clone(source) as _));
    }

    /// The servers.
    pub fn servers(&self) -> &[Arc<McpSource>] {
        &self.sources
    }

    /// What people should know of them, a line each.
    pub fn lines(&self) -> Vec<String> {
        self.sources.iter().flat_map(|source| source.chatter().lines()).collect()
    }

    /// Stops all of them, side by side: at most 2 s, whatever they do.
    pub async fn stop(&self) {
        join_all(self.sources.iter().map(|source| source.stop())).await;
    }
}
