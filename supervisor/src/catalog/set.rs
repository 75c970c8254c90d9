//! Tools, found by id, by bare name and by words: what every catalog is made of.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::json;

use super::failure::{CallCode, CallFailure};
use super::nearness::nearest;
use super::search::{SearchIndex, SearchWeights};
use super::text::quoted;
use super::{SearchQuery, Source, Tool};

/// Rows of a search that asks for no number.
const DEFAULT_LIMIT: u64 = 8;
/// Rows of a search at most.
const MAX_LIMIT: u64 = 20;
/// Rows of a search at most, whatever a configuration says.
const MOST_ROWS: u64 = 50;
/// Ids that a message lists when a bare name is several tools'.
const LISTED_IDS: usize = 10;

/// A fixed set of tools with unique ids.
///
/// The indexes for words and bare names are made when they are first needed: a run that knows its ids pays for neither. What the index of words
/// reads of a tool stays with the tool: a set that shares tools with an earlier one reads the others only.
pub struct ToolSet {
    tools: Vec<Arc<Tool>>,
    by_id: HashMap<Box<str>, usize>,
    by_name: OnceLock<HashMap<Box<str>, Vec<usize>>>,
    index: OnceLock<SearchIndex>,
    direct_bytes: OnceLock<usize>,
    weights: SearchWeights,
}

/// Two tools with one id; the positions are those in the list the set was to be made of.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the tools {first} and {second} of the list have the same id {}", quoted(.id))]
pub struct DuplicateId {
    /// The id.
    pub id: String,
    /// Where it was first, counted from 0.
    pub first: usize,
    /// Where it was again.
    pub second: usize,
}

impl ToolSet {
    /// A set of these tools.
    ///
    /// # Errors
    /// When two of them have the same id.
    pub fn new(tools: Vec<Arc<Tool>>) -> Result<ToolSet, DuplicateId> {
        let mut by_id = HashMap::with_capacity(tools.len());
        for (position, tool) in tools.iter().enumerate() {
            if let Some(first) = by_id.insert(Box::from(tool.id.as_str()), position) {
                return Err(DuplicateId { id: tool.id.clone(), first, second: position });
            }
        }
        let weights = SearchWeights::default();
        Ok(ToolSet { tools, by_id, by_name: OnceLock::new(), index: OnceLock::new(), direct_bytes: OnceLock::new(), weights })
    }

    /// The same set, whose searches weigh otherwise.
    #[must_use]
    pub fn with_weights(self, weights: SearchWeights) -> ToolSet {
        ToolSet { weights, index: OnceLock::new(), ..self }
    }

    /// The tools, in the order they were given.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// What these tools would take in a prompt if all were shown, as `count` has it: counted once, since it takes reading every schema.
    pub(crate) fn direct_bytes(&self, count: impl FnOnce(&[Arc<Tool>]) -> usize) -> usize {
        *self.direct_bytes.get_or_init(|| count(&self.tools))
    }

    /// Where the tool with exactly this id stands in [`ToolSet::tools`].
    pub fn position(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// How many tools by source, each source named.
    pub fn count_by_source(&self) -> BTreeMap<Source, usize> {
        let mut counts: BTreeMap<_, _> = Source::ALL.into_iter().map(|source| (source, 0)).collect();
        for tool in &self.tools {
            *counts.entry(tool.source).or_default() += 1;
        }
        counts
    }

    /// The tool with this id or unique bare name: exact letter case, blanks around it trimmed. An id wins over a name.
    ///
    /// # Errors
    /// `ambiguous_tool` listing the ids that share a bare name, `unknown_tool` naming up to three near ids.
    pub fn resolve(&self, id: &str) -> Result<&Arc<Tool>, CallFailure> {
        let wanted = id.trim();
        if let Some(position) = self.position(wanted) {
            return Ok(&self.tools[position]);
        }
        match self.by_name().get(wanted).map(Vec::as_slice) {
            Some([position]) => Ok(&self.tools[*position]),
            Some(positions) => Err(self.ambiguous(id, positions)),
            None => Err(self.unknown(id)),
        }
    }

    /// Whether the words mean one or several of these tools in any letter case: for a set of tools that must not be had, where a near miss
    /// is an attempt.
    pub(crate) fn means_any(&self, id: &str) -> bool {
        let folded = id.trim().to_lowercase();
        let is_it = |text: &str| text.chars().flat_map(char::to_lowercase).eq(folded.chars());
        self.tools.iter().any(|tool| is_it(&tool.id) || is_it(&tool.name))
    }

    /// Whether a tool can be asked for by its bare name.
    pub fn is_called_by_name(&self, tool: &Tool) -> bool {
        let is_its_own = |id: usize| self.tools[id].id == tool.id;
        match self.position(tool.name.trim()) {
            Some(position) => is_its_own(position),
            None => matches!(self.by_name().get(tool.name.as_str()).map(Vec::as_slice), Some([position]) if is_its_own(*position)),
        }
    }

    /// The best tools for a query, best first; nothing for a query without a match.
    pub fn search(&self, query: &SearchQuery) -> Vec<Arc<Tool>> {
        self.best(&query.query, query.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT))
    }

    /// The same for who has limits of his own: at most so many.
    pub fn best(&self, words: &str, limit: u64) -> Vec<Arc<Tool>> {
        self.shared(self.ranked(words, rows(limit)))
    }

    /// The best tools for a query among those that `wanted` lets through.
    pub(super) fn matching(&self, query: &SearchQuery, wanted: impl Fn(&Tool) -> bool) -> Vec<Arc<Tool>> {
        let limit = rows(query.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT));
        self.shared(self.index().search(&query.query, limit, |position| wanted(&self.tools[position as usize])))
    }

    fn shared(&self, positions: Vec<usize>) -> Vec<Arc<Tool>> {
        positions.into_iter().map(|position| Arc::clone(&self.tools[position])).collect()
    }

    fn index(&self) -> &SearchIndex {
        self.index.get_or_init(|| SearchIndex::build(&self.tools, self.weights.clone()))
    }

    fn ranked(&self, query: &str, limit: usize) -> Vec<usize> {
        self.index().search(query, limit, |_| true)
    }

    fn by_name(&self) -> &HashMap<Box<str>, Vec<usize>> {
        self.by_name.get_or_init(|| {
            let mut names: HashMap<Box<str>, Vec<usize>> = HashMap::with_capacity(self.tools.len());
            for (position, tool) in self.tools.iter().enumerate() {
                names.entry(Box::from(tool.name.as_str())).or_default().push(position);
            }
            names
        })
    }

    fn ambiguous(&self, id: &str, positions: &[usize]) -> CallFailure {
        let mut ids: Vec<&str> = positions.iter().map(|position| self.tools[*position].id.as_str()).collect();
        ids.sort_unstable();
        let shown = ids.iter().take(LISTED_IDS).map(|id| quoted(id)).collect::<Vec<_>>().join(", ");
        let more = if ids.len() > LISTED_IDS { format!(" and {} more", ids.len() - LISTED_IDS) } else { String::new() };
        let message = format!("{} is the name of {} tools; use one of the ids {shown}{more}", quoted(id), ids.len());
        ids.truncate(LISTED_IDS);
        CallFailure::new(CallCode::AmbiguousTool, id, message).with_data(json!({"ids": ids}))
    }

    fn unknown(&self, id: &str) -> CallFailure {
        let near: Vec<&str> = nearest(&self.tools, id.trim(), |words| self.ranked(words, 3))
            .into_iter()
            .map(|position| self.tools[position].id.as_str())
            .collect();
        let advice = if near.is_empty() {
            "look for one with openclaw.tools.search".to_owned()
        } else {
            format!("near ones: {}", near.iter().map(|id| quoted(id)).collect::<Vec<_>>().join(", "))
        };
        CallFailure::new(CallCode::UnknownTool, id, format!("there is no tool {}; {advice}", quoted(id))).with_data(json!({"near": near}))
    }
}

fn rows(limit: u64) -> usize {
    usize::try_from(limit.clamp(1, MOST_ROWS)).unwrap_or(MAX_LIMIT as usize)
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSet").field("tools", &self.tools.len()).field("indexed", &self.index.get().is_some()).finish_non_exhaustive()
    }
}
