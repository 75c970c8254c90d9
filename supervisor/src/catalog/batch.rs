//! Searches with a filter, and several at once within one budget.

use std::collections::HashMap;
use std::sync::Arc;

use super::{SearchQuery, Source, Tool, ToolSet};

/// Which tools a search looks at.
///
/// ```
/// use codemode::catalog::{SearchFilter, Source};
///
/// let filter = SearchFilter { sources: Some(vec![Source::Mcp]), ..SearchFilter::default() };
/// assert!(filter.permits(Source::Mcp, "github") && !filter.permits(Source::Plugin, "github"));
/// assert!(!SearchFilter { source_names: Some(vec![]), ..SearchFilter::default() }.permits(Source::Mcp, "github"));
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SearchFilter {
    /// Kinds of source; `None`: all, an empty list: none.
    pub sources: Option<Vec<Source>>,
    /// Names of sources (server, plug-in, app), in exact letter case; `None`: all, an empty list: none.
    pub source_names: Option<Vec<String>>,
}

impl SearchFilter {
    /// Whether tools of this source are looked at.
    pub fn permits(&self, source: Source, source_name: &str) -> bool {
        self.sources.as_ref().is_none_or(|sources| sources.contains(&source))
            && self.source_names.as_ref().is_none_or(|names| names.iter().any(|name| name == source_name))
    }
}

/// How much several searches at once may ask and give.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BatchBudget {
    /// Searches that are made; later ones are skipped.
    pub queries: usize,
    /// Different tools that come back, all searches together.
    pub tools: usize,
    /// Bytes of the JSON text of their rows, all together.
    pub bytes: usize,
}

impl Default for BatchBudget {
    /// 16 searches, 40 tools, 32 KiB: what fits in front of a model beside its work.
    fn default() -> BatchBudget {
        BatchBudget { queries: 16, tools: 40, bytes: 32 * 1024 }
    }
}

/// What several searches found.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// For each search, in the order asked, the tools it found, best first: places in [`Batch::tools`].
    pub found: Vec<Vec<usize>>,
    /// Each tool once, however many searches found it.
    pub tools: Vec<Arc<Tool>>,
    /// Searches that were not made.
    pub skipped: usize,
    /// Rows that were found and did not fit the budget.
    pub left_out: usize,
}

impl ToolSet {
    /// The best tools for a query among those that the filter permits.
    pub fn search_among(&self, query: &SearchQuery, filter: &SearchFilter) -> Vec<Arc<Tool>> {
        self.matching(query, |tool| filter.permits(tool.source, &tool.source_name))
    }

    /// Several searches at once. They share the budget fairly: the best row of each comes before the second of any.
    pub fn search_batch(&self, queries: &[SearchQuery], filter: &SearchFilter, budget: &BatchBudget) -> Batch {
        let made = queries.len().min(budget.queries);
        let rows: Vec<Vec<Arc<Tool>>> = queries[..made].iter().map(|query| self.search_among(query, filter)).collect();
        let mut batch = Batch { found: vec![Vec::new(); made], skipped: queries.len() - made, ..Batch::default() };
        let mut places: HashMap<String, Option<usize>> = HashMap::new();
        let mut bytes = budget.bytes;
        for rank in 0..rows.iter().map(Vec::len).max().unwrap_or(0) {
            for (search, found) in rows.iter().enumerate() {
                let Some(tool) = found.get(rank) else { continue };
                // A tool that did not fit once is not tried again.
                let place = *places.entry(tool.id.clone()).or_insert_with(|| {
                    let size = tool.row().to_string().len();
                    let fits = batch.tools.len() < budget.tools && size <= bytes;
                    fits.then(|| {
                        bytes -= size;
                        batch.tools.push(Arc::clone(tool));
                        batch.tools.len() - 1
                    })
                });
                match place {
                    Some(place) => batch.found[search].push(place),
                    None => batch.left_out += 1,
                }
            }
        }
        batch
    }
}
