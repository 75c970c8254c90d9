//! What one run may see: tools, and how they are found and called.
//!
//! A *catalog* answers `search`, `describe` and `call` for one run. The supervisor asks it only after the session rules and the gate have
//! taken the child's request; a catalog never sees a value the child merely claimed.
//!
//! [`ToolSet`] is what every catalog is made of: tools, found by id, by bare name and by words. [`FileCatalog`] is the catalog of a file with
//! scripted replies. [`ToolSource`] is one server, plug-in or client that tools come from. Texts and schemas of tools are a stranger's words unless their [`Source`] is trusted: they are bounded and cleaned on
//! their way to a body ([`Tool::row`]), and checked for cost before they are put to use ([`Schema::validator`]).

mod batch;
mod context;
mod example;
mod extent;
mod failure;
mod file;
pub mod gateway;
mod mcp;
mod nearness;
mod permission;
mod plan;
mod record;
mod schema;
mod schema_cost;
mod schema_effort;
mod search;
mod set;
mod signature;
mod source;
mod text;
mod text_file;
mod tool;
mod value;
pub(crate) mod visible;
mod weight;

pub use batch::{Batch, BatchBudget, SearchFilter};
pub use context::RunContext;
#[cfg(any(test, feature = "danger"))]
pub(crate) use example::fitting as example_of;
pub(crate) use extent::{fits_in, json_bytes, within_depth};
pub use failure::{CallCode, CallFailure};
pub use file::{CatalogFileError, CatalogFileProblem, Dispatch, FileCatalog, Place};
pub(crate) use file::{offset_of_json5, place_of};
pub use mcp::{Chatter, McpConnections, McpSource};
pub use permission::Permission;
pub use plan::{Listing, RunCatalog, SearchLimits, Sources};
pub use record::{Divergence, RecordError, RecordFile, RecordProblem, Recording, Replay};
pub use schema::{Schema, SchemaProblem};
pub use search::SearchWeights;
pub use set::{DuplicateId, ToolSet};
pub use source::{ListFailure, ToolPage, ToolSource};
pub use text::quoted;
pub(crate) use text::{cleaned_line, is_unfit};
pub(crate) use text_file::{NotText, known_reason, read_at_most, reason, utf8};
pub use tool::Tool;
pub use value::tool_value;
pub(crate) use weight::{ARGS_WEIGHT, MOST_WEIGHT, TooHeavy, weighed, weight};

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

    /// Every source, most trusted first.
    pub const ALL: [Source; 4] = [Source::Openclaw, Source::Plugin, Source::Mcp, Source::Client];

    /// The word for it in ids and files.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Openclaw => "openclaw",
            Source::Plugin => "plugin",
            Source::Mcp => "mcp",
            Source::Client => "client",
        }
    }
}

/// How many tools a catalog has, by source, and what is missing from it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CatalogSummary {
    /// Tools in the catalog.
    pub catalog_size: usize,
    /// Tools by source; a source without tools counts 0.
    pub sources: BTreeMap<Source, usize>,
    /// Servers that should be there and are not.
    pub unavailable: Vec<Unavailable>,
}

/// A configured server that gives no tools now.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Unavailable {
    /// The server's name in the configuration.
    pub server: String,
    /// Why, in one line.
    pub reason: String,
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

    /// The tool that a call names: [`Catalog::describe`], told apart for whoever keeps a record.
    ///
    /// # Errors
    /// Those of `describe`.
    async fn resolve(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        self.describe(id).await
    }

    /// Whether a tool of this catalog is there to be called now: asked at each call, before anybody else is. A catalog in memory has nothing to add.
    ///
    /// # Errors
    /// `tool_unavailable`, saying why; `denied`.
    async fn available(&self, _tool: &Arc<Tool>) -> Result<(), CallFailure> {
        Ok(())
    }

    /// Runs a tool with arguments that the gate has already checked. From here on an effect may have happened.
    async fn call(&self, tool: &Arc<Tool>, args: Value, context: &CallContext) -> Result<Value, CallFailure>;
}
