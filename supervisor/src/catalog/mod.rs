//! What one run may see: tools, and how they are found and called.
//!
//! A *catalog* answers `search`, `describe` and `call` for one run. The supervisor asks it only after the session rules and the gate have
//! taken the child's request; a catalog never sees a value the child merely claimed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a tool comes from. The order is the order of trust, most trusted first.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Built into the gateway.
    Openclaw,
    /// Brought by a plug-in of the gateway.
    Plugin,
    /// Offered by an MCP server.
    Mcp,
    /// Offered by the client of this session.
    Client,
}

impl Source {
    /// Whether texts and schemas from this source are the gateway's own words.
    pub fn is_trusted(self) -> bool {
        matches!(self, Source::Openclaw | Source::Plugin)
    }
}

/// One tool, whole: what `describe` gives, and what a call is checked against.
pub struct Tool {
    /// `source:sourceName:name`, unless the catalog file says otherwise. Unique in a catalog.
    pub id: String,
    /// Where it comes from.
    pub source: Source,
    /// Which server, plug-in, file or app of that source.
    pub source_name: String,
    /// The tool's own name, unchanged from its origin.
    pub name: String,
    /// What it does, as its origin says it. May be empty.
    pub description: String,
    /// The exact JSON Schema of its arguments.
    pub parameters: Value,
    /// The exact JSON Schema of its value, if it has one.
    pub output_schema: Option<Value>,
    // catalog owner: add a lazily compiled argument validator here.
}

/// How many tools a catalog has, by source, and what is missing from it.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogSummary {
    /// Tools in the catalog.
    pub catalog_size: usize,
    /// Tools by source; a source without tools counts 0.
    pub sources: BTreeMap<Source, usize>,
    /// Servers that should be there and are not.
    pub unavailable: Vec<Unavailable>,
}

/// A configured server that gives no tools now.
#[derive(Clone, Debug, Serialize)]
pub struct Unavailable {
    /// The server's name in the configuration.
    pub server: String,
    /// Why, in one line.
    pub reason: String,
}

/// The codes with which a request of a body can fail (DESIGN 7); they reach the body as `error.code`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the contract's own words")]
pub enum CallCode {
    UnknownTool,
    AmbiguousTool,
    Denied,
    ApprovalUnavailable,
    ApprovalDenied,
    ApprovalTimeout,
    HookBlocked,
    HookFailed,
    InvalidArguments,
    InvalidResult,
    ToolError,
    ToolUnavailable,
    ToolTimeout,
    TooLarge,
    CallLimit,
    Cancelled,
}

/// A request of a body that was refused or failed. It becomes an Error in the guest realm.
#[derive(Clone, Debug)]
pub struct CallFailure {
    /// What kind.
    pub code: CallCode,
    /// `error.name` in the guest, e.g. `ToolError`; a tool may give its own.
    pub name: String,
    /// One line: what, and what to do.
    pub message: String,
    /// Further facts, e.g. JSON pointers of bad arguments, or the tool's own error code.
    pub data: Value,
    /// The tool it is about, as the body named it when it was not resolved.
    pub tool_id: String,
}

/// What a run asks for with `search`.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// The body's words.
    pub query: String,
    /// How many rows at most; `None`: the catalog's default (8). The catalog clamps to its maximum (20).
    pub limit: Option<u64>,
}

/// Who calls, for a backend's own log.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Unique for this run.
    pub run_id: Arc<str>,
    /// The call's number in the ledger, from 1.
    pub seq: u64,
}

/// The catalog of one run.
///
/// `search` and `describe` are answered from memory; `call` may wait. Dropping the future of a `call` cancels it.
#[async_trait]
pub trait Catalog: Send + Sync + fmt::Debug {
    /// Size, sources and missing servers, as they are when the run starts.
    fn summary(&self) -> CatalogSummary;

    /// The best tools for a query, best first; nothing for a query without a match.
    async fn search(&self, query: &SearchQuery) -> Result<Vec<Arc<Tool>>, CallFailure>;

    /// The tool with this id or unique bare name (exact letter case, blanks around it trimmed).
    /// A miss is `unknown_tool` naming up to three near ids; a bare name of several tools is `ambiguous_tool` listing them.
    async fn describe(&self, id: &str) -> Result<Arc<Tool>, CallFailure>;

    /// Runs a tool with arguments that the gate has already checked. From here on an effect may have happened.
    async fn call(&self, tool: &Arc<Tool>, args: Value, context: &CallContext) -> Result<Value, CallFailure>;
}
