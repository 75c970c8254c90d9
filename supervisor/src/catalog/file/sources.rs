//! The tools of a file as sources: a plug-in's, or the mocked ones of a person.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::watch;

use super::super::{CallContext, CallFailure, Catalog, ListFailure, Source, Tool, ToolPage, ToolSource};
use super::FileCatalog;

/// The tools of one kind in a file.
#[derive(Debug)]
struct FileSource {
    file: Arc<FileCatalog>,
    source: Source,
    name: String,
    /// A file is read once.
    changed: watch::Sender<u64>,
}

impl FileCatalog {
    /// The file as sources: one for each kind of tool in it, all under this name.
    pub fn into_sources(self: Arc<Self>, name: &str) -> Vec<Arc<dyn ToolSource>> {
        let kinds = Source::ALL.into_iter().filter(|kind| self.set.tools().iter().any(|tool| tool.source == *kind));
        kinds
            .map(|source| -> Arc<dyn ToolSource> {
                Arc::new(FileSource { file: Arc::clone(&self), source, name: name.to_owned(), changed: watch::Sender::new(0) })
            })
            .collect()
    }
}

#[async_trait]
impl ToolSource for FileSource {
    fn source(&self) -> Source {
        self.source
    }

    fn name(&self) -> &str {
        &self.name
    }

    async fn list(&self, _cursor: Option<&str>) -> Result<ToolPage, ListFailure> {
        let own = self.file.set.tools().iter().filter(|tool| tool.source == self.source);
        Ok(ToolPage { tools: own.cloned().collect(), next: None })
    }

    async fn call(&self, tool: &Arc<Tool>, args: Value, context: &CallContext) -> Result<Value, CallFailure> {
        Catalog::call(&*self.file, tool, args, context).await
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}
