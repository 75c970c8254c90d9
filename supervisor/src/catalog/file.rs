//! The catalog of a file, with scripted replies: `--tools FILE`.
//!
//! The file's form stands in `docs/catalog.md`. `{"$arg": NAME}` anywhere in a `value` or `mcp` reply stands for that argument of the call
//! (`null` without one), and a tool without `reply` and `outputSchema` answers `{"$example": true, "value": null}`.

mod error;
mod ledger;
mod parse;
mod place;
mod reply;
mod sources;

pub use error::{CatalogFileError, CatalogFileProblem, Place};
pub use ledger::Dispatch;
pub(crate) use place::{of_json5 as offset_of_json5, of_offset as place_of};

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use super::failure::{CallCode, CallFailure};
use super::set::ToolSet;
use super::text::quoted;
use super::text_file::read_at_most;
use super::{CallContext, Catalog, CatalogSummary, SearchQuery, Tool};
use ledger::Ledger;
use reply::Reply;

/// Bytes of a catalog file at most: sixteen times a catalog of 2,800 real tools.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The catalog of a file.
#[derive(Debug)]
pub struct FileCatalog {
    set: ToolSet,
    /// By position in the set.
    replies: Vec<Reply>,
    ledger: Ledger,
}

impl FileCatalog {
    /// Reads a file of JSON or JSON5. `sourceName` defaults to the file's stem.
    ///
    /// # Errors
    /// The file cannot be read, is larger than 64 MiB, or is not a catalog; the error says where and what to do.
    pub fn open(path: impl AsRef<Path>) -> Result<FileCatalog, CatalogFileError> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let text = read_bounded(path).and_then(|bytes| parse::text_of(&bytes));
        let stem = path.file_stem().map_or_else(|| "tools".to_owned(), |stem| stem.to_string_lossy().into_owned());
        FileCatalog::of(text, &shown, &stem)
    }

    /// Reads the text of a catalog file. `stem` is the default of `sourceName`, and the file's name in errors.
    ///
    /// # Errors
    /// The text is not a catalog.
    pub fn from_str(text: &str, stem: &str) -> Result<FileCatalog, CatalogFileError> {
        FileCatalog::of(parse::text_of(text.as_bytes()), stem, stem)
    }

    fn of(text: Result<Arc<str>, CatalogFileProblem>, shown: &str, stem: &str) -> Result<FileCatalog, CatalogFileError> {
        let text = text.map_err(|problem| CatalogFileError::whole(shown, problem))?;
        let parsed = parse::catalog(&text, stem).map_err(|fault| fault.into_error(shown, &text))?;
        let (tools, replies): (Vec<Arc<Tool>>, Vec<Reply>) = parsed.into_iter().unzip();
        let set = ToolSet::new(tools).map_err(|double| {
            parse::Fault::entry(double.second, CatalogFileProblem::DuplicateId { id: double.id }).into_error(shown, &text)
        })?;
        Ok(FileCatalog { set, replies, ledger: Ledger::default() })
    }

    /// The tools of the file, in its order.
    pub fn tools(&self) -> &ToolSet {
        &self.set
    }

    /// The last calls that reached this catalog, oldest first: at most 1,024, for tests that ask which effects happened.
    pub fn dispatched(&self) -> Vec<Dispatch> {
        self.ledger.entries()
    }

    /// How many calls reached this catalog since it was opened.
    pub fn dispatch_count(&self) -> u64 {
        self.ledger.count()
    }
}

fn read_bounded(path: &Path) -> Result<Vec<u8>, CatalogFileProblem> {
    let bytes = read_at_most(path, MAX_FILE_BYTES).map_err(|error| CatalogFileProblem::Unreadable(error.kind()))?;
    bytes.ok_or(CatalogFileProblem::TooLarge { limit: MAX_FILE_BYTES })
}

#[async_trait]
impl Catalog for FileCatalog {
    fn summary(&self) -> CatalogSummary {
        CatalogSummary { catalog_size: self.set.tools().len(), sources: self.set.count_by_source(), unavailable: Vec::new() }
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Arc<Tool>>, CallFailure> {
        Ok(self.set.search(query))
    }

    async fn describe(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        self.set.resolve(id).map(Arc::clone)
    }

    async fn call(&self, tool: &Arc<Tool>, args: Value, context: &CallContext) -> Result<Value, CallFailure> {
        let Some(reply) = self.set.position(&tool.id).and_then(|position| self.replies.get(position)) else {
            let message = format!("the tool {} is not in this catalog; search again", quoted(&tool.id));
            return Err(CallFailure::new(CallCode::ToolUnavailable, &tool.id, message));
        };
        self.ledger.record(&tool.id, &args, context);
        let delay = reply.delay(&args);
        let answer = reply.answer(tool, args);
        if delay > Duration::ZERO {
            tokio::time::sleep(delay).await;
        }
        answer
    }
}
