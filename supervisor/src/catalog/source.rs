//! What a catalog is put together from: things that list tools and call them.
//!
//! A *source* is one MCP server, one plug-in, the gateway's own tools, or the tools of one client. It answers `list` in pages, because servers
//! do, and counts up `changed` when a new list is worth asking for. Everything in between (ids, policy, search) is the plan's business.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::watch;

use super::{CallContext, CallFailure, Source, Tool};

/// A page of a source's list.
#[derive(Clone, Debug, Default)]
pub struct ToolPage {
    /// The tools of this page.
    pub tools: Vec<Arc<Tool>>,
    /// Where the next page begins, as the source calls it; `None` on the last page. It is passed back unchanged.
    pub next: Option<String>,
}

/// Why a source gives no list.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct ListFailure {
    /// One line, for people.
    pub reason: String,
}

impl ListFailure {
    /// A failure for this reason.
    pub fn new(reason: impl Into<String>) -> ListFailure {
        ListFailure { reason: reason.into() }
    }
}

/// Where tools come from.
///
/// A source may be hostile (a server is somebody else's program): how many pages and tools are taken, and how long one waits for them, is bounded by
/// who asks. Dropping a future cancels what it does.
#[async_trait]
pub trait ToolSource: Send + Sync + fmt::Debug {
    /// What kind of source it is. All its tools are of this kind.
    fn source(&self) -> Source;

    /// Its name: the server's, the plug-in's, the client's. Unique among the sources of its kind.
    fn name(&self) -> &str;

    /// One page of its tools, as they are now; the first for `None`.
    async fn list(&self, cursor: Option<&str>) -> Result<ToolPage, ListFailure>;

    /// Runs a tool of this source with arguments that the gate has checked. From here on an effect may have happened.
    async fn call(&self, tool: &Arc<Tool>, args: Value, context: &CallContext) -> Result<Value, CallFailure>;

    /// A number that goes up whenever the list may have changed. Whoever keeps a list asks again when the number is another one, or waits for it.
    fn changed(&self) -> watch::Receiver<u64>;
}
