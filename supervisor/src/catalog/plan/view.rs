//! What one run sees of the catalog, from its start to its end.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::super::{CallCode, CallContext, CallFailure, Catalog, CatalogSummary, SearchQuery, Tool, ToolSet, Unavailable, quoted};
use super::shelf::{Shelved, Sources};

/// How many rows a search gives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SearchLimits {
    /// When it asks for no number.
    pub usual: u64,
    /// At most.
    pub most: u64,
}

impl Default for SearchLimits {
    fn default() -> Self {
        SearchLimits { usual: 8, most: 20 }
    }
}

/// The catalog of one run.
pub struct RunCatalog {
    pub(super) sources: Arc<Sources>,
    pub(super) visible: Arc<ToolSet>,
    /// What policy took away: kept to tell a denied tool from one that is not there.
    pub(super) hidden: Arc<ToolSet>,
    pub(super) origins: HashMap<String, Arc<Shelved>>,
    pub(super) shelved: Vec<Arc<Shelved>>,
    pub(super) unavailable: Vec<Unavailable>,
    pub(super) limits: SearchLimits,
}

impl RunCatalog {
    /// The tools that the run may see, in the order in which their sources were listed.
    pub fn tools(&self) -> &ToolSet {
        &self.visible
    }

    /// How many rows a search gives.
    pub fn limits(&self) -> SearchLimits {
        self.limits
    }

    /// The tool with this id or unique bare name.
    ///
    /// # Errors
    /// As [`Catalog::describe`].
    pub fn resolve(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        self.visible.resolve(id).map(Arc::clone).map_err(|failure| self.refused(id, failure))
    }

    /// Whether the id of any tool fits, be it one that policy took away.
    pub fn knows_any(&self, fits: impl Fn(&str) -> bool) -> bool {
        [&self.visible, &self.hidden].iter().any(|set| set.tools().iter().any(|tool| fits(&tool.id)))
    }

    fn refused(&self, id: &str, failure: CallFailure) -> CallFailure {
        if failure.code != CallCode::UnknownTool {
            // A bare name that several permitted tools share: it lists permitted ids only.
            return failure;
        }
        if self.hidden.means_any(id) {
            return CallFailure::denied(id);
        }
        match self.shelved.iter().find(|shelved| shelved.had(id.trim())) {
            Some(shelved) => gone(id, shelved),
            None => failure,
        }
    }
}

/// A tool that was there once: so much its id says by itself.
fn gone(id: &str, shelved: &Shelved) -> CallFailure {
    let message = format!("{} no longer exists: {} does not offer it any more; search again", quoted(id), quoted(shelved.source.name()));
    CallFailure::new(CallCode::ToolUnavailable, id, message)
}

#[async_trait]
impl Catalog for RunCatalog {
    fn summary(&self) -> CatalogSummary {
        CatalogSummary {
            catalog_size: self.visible.tools().len(),
            sources: self.visible.count_by_source(),
            unavailable: self.unavailable.clone(),
        }
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Arc<Tool>>, CallFailure> {
        let rows = query.limit.unwrap_or(self.limits.usual).clamp(1, self.limits.most);
        Ok(self.visible.best(&query.query, rows))
    }

    async fn describe(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        self.resolve(id)
    }

    async fn available(&self, tool: &Arc<Tool>) -> Result<(), CallFailure> {
        let Some(shelved) = self.origins.get(&tool.id) else { return Err(CallFailure::denied(&tool.id)) };
        if !shelved.is_own && !self.sources.holds(shelved) {
            return Err(gone(&tool.id, shelved));
        }
        if shelved.offers(&tool.id).await { Ok(()) } else { Err(gone(&tool.id, shelved)) }
    }

    async fn call(&self, tool: &Arc<Tool>, args: Value, context: &CallContext) -> Result<Value, CallFailure> {
        match self.origins.get(&tool.id) {
            Some(shelved) => shelved.source.call(tool, args, context).await,
            None => Err(CallFailure::denied(&tool.id)),
        }
    }
}

impl fmt::Debug for RunCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunCatalog").field("visible", &self.visible).field("unavailable", &self.unavailable).finish_non_exhaustive()
    }
}
