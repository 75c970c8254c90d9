//! Search by words: BM25 over the fields of each tool, with exact names and ids in front.
//!
//! The weights of words come from the `bm25` crate, one embedder a field so that a long description does not thin out a name. Its scorer is
//! not used: for every query it gathers all matching tools in a set and then looks for each of the query's words in each tool's list. Over
//! 2,834 tools that took 1.1 ms at the median and 5.3 ms at the 99th percentile of 456 questions; lists of tools by word, kept here, take 0.02
//! and 0.06 ms, as a query then only adds up a few of them.

mod words;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bm25::{Embedder, EmbedderBuilder, Tokenizer};
use serde_json::Value;

use super::Tool;
use words::{Words, joined};

/// One searchable part of a tool.
#[derive(Clone, Copy)]
struct Field {
    /// What a match in it counts.
    weight: f32,
    /// How much a longer text thins a match out (`b` of BM25; 0: not at all).
    length_matters: f32,
    text: fn(&Tool) -> String,
}

/// The fields and their weights. They stand on a plateau found on 456 questions to 2,834 tools: 0.1 more or less of any of them moves a question
/// or two (`tests/catalog/recall.rs` holds the figures). Length counts nearly as in any text (`b` 0.75 is the usual value).
const FIELDS: [Field; 4] = [
    // A name is its author's summary in two or three words. More than the description's weight finds fewer tools: 1.5 costs three of 456.
    Field { weight: 1.0, length_matters: 0.75, text: |tool| tool.name.clone() },
    // The server or app: many questions name it, but it is the same for all its tools, so it only decides between servers.
    Field { weight: 0.3, length_matters: 0.3, text: |tool| tool.source_name.clone() },
    // The description carries most of the words that people use.
    Field { weight: 1.0, length_matters: 0.7, text: |tool| described(tool) },
    // Names of parameters, from trusted sources only: a stranger could win every search by a schema that nobody reads.
    Field { weight: 0.3, length_matters: 0.3, text: parameter_names },
];

/// How soon repeating a word stops counting (`k1` of BM25, at its usual value): a stranger's tenth mention adds nothing.
const SATURATION: f32 = 1.2;
/// Words up to which a query is taken for a name half remembered: a tool with all of them in its name then comes before any that only speaks
/// of them (`read` is rather `file_read` than a spreadsheet whose cells can be read).
const SHORT_QUERY: usize = 3;
/// More than so few words can weigh: each at most `ln` of the number of tools, times the saturated sum of the fields (under 6).
const NAME_BONUS: f32 = 1000.0;
/// Tools from which the usual length of a field is learnt.
const LENGTH_SAMPLE: usize = 512;
/// Bytes of a description that are indexed; what a longer one says later is examples and instructions.
const INDEXED_BYTES: usize = 4096;
/// Bytes of a query that are read: a page of text. Anything longer is not a query.
const QUERY_BYTES: usize = 8192;

/// The index of a fixed list of tools.
pub(super) struct SearchIndex {
    words: Arc<Words>,
    /// For each word the tools that have it, with the word's weight there, rarity included.
    postings: HashMap<u64, Vec<(u32, f32)>>,
    /// For each word the tools that have it in their name.
    in_names: HashMap<u64, Vec<u32>>,
    /// Tools by their exact id and by their exact name.
    exact: HashMap<Box<str>, Vec<u32>>,
    /// Tools by their name as one word.
    joined: HashMap<Box<str>, Vec<u32>>,
    /// Rank of a tool among equals: trust, then id.
    order: Vec<u32>,
}

/// The `bm25` crate's view of [`Words`]: one tokenizer for four embedders.
struct Shared(Arc<Words>);

type FieldEmbedder = Embedder<u64, Shared>;

impl Tokenizer for Shared {
    fn tokenize(&self, text: &str) -> Vec<String> {
        self.0.of(text)
    }
}

impl SearchIndex {
    /// Reads every tool once.
    pub(super) fn build(tools: &[Arc<Tool>]) -> SearchIndex {
        let words = Arc::new(Words::new());
        let mut weights: HashMap<u64, Vec<(u32, f32)>> = HashMap::new();
        let embedders = FIELDS.map(|field| (embedder(&field, tools, &words), field));
        for (position, tool) in (0u32..).zip(tools) {
            for (embedder, field) in &embedders {
                index_field(embedder, field, position, tool, &mut weights);
            }
        }
        for posting in weights.values_mut() {
            let rarity = rarity(tools.len(), posting.len());
            posting.iter_mut().for_each(|(_, weight)| *weight *= rarity);
        }
        let (mut exact, mut by_joined) = (HashMap::new(), HashMap::new());
        let mut in_names: HashMap<u64, Vec<u32>> = HashMap::new();
        for (position, tool) in (0u32..).zip(tools) {
            for word in distinct_keys(&words.of_query(&tool.name)) {
                in_names.entry(word).or_default().push(position);
            }
            push(&mut exact, &tool.id, position);
            if tool.name != tool.id {
                push(&mut exact, &tool.name, position);
            }
            push(&mut by_joined, &joined(&tool.name), position);
        }
        SearchIndex { words, postings: weights, in_names, exact, joined: by_joined, order: order(tools) }
    }

    /// Positions of the best tools for the query, best first.
    pub(super) fn search(&self, query: &str, limit: usize) -> Vec<usize> {
        let query = within(query, QUERY_BYTES).trim();
        let mut found = self.named(query);
        if found.len() < limit {
            let ranked = self.ranked(query, limit + found.len());
            found.extend(ranked);
            keep_first_of_each(&mut found);
        }
        found.truncate(limit);
        found.into_iter().map(|position| position as usize).collect()
    }

    /// Tools that the query names outright, in the query's order.
    fn named(&self, query: &str) -> Vec<u32> {
        let mut found = Vec::new();
        let whole = joined(query);
        self.extend_sorted(&mut found, self.exact.get(query));
        if !whole.is_empty() {
            self.extend_sorted(&mut found, self.joined.get(whole.as_str()));
        }
        let parts: Vec<&str> = query.split(|c: char| c.is_whitespace() || ",;\"'`()".contains(c)).filter(|part| !part.is_empty()).collect();
        let all_are_names = parts.iter().all(|part| self.exact.contains_key(*part));
        for part in parts {
            // `read` in a sentence is a word; `read_file` in a sentence is a name.
            if all_are_names || is_compound(part) {
                let hits = self.exact.get(part).or_else(|| self.joined.get(joined(part).as_str()));
                self.extend_sorted(&mut found, hits);
            }
        }
        keep_first_of_each(&mut found);
        found
    }

    fn extend_sorted(&self, found: &mut Vec<u32>, hits: Option<&Vec<u32>>) {
        let start = found.len();
        found.extend(hits.into_iter().flatten());
        found[start..].sort_unstable_by_key(|position| self.order[*position as usize]);
    }

    fn ranked(&self, query: &str, limit: usize) -> Vec<u32> {
        let words = distinct_keys(&self.words.of_query(query));
        let mut scores = vec![0.0f32; self.order.len()];
        let mut touched: Vec<u32> = Vec::new();
        for (position, weight) in words.iter().filter_map(|word| self.postings.get(word)).flatten() {
            let score = &mut scores[*position as usize];
            if *score == 0.0 {
                touched.push(*position);
            }
            *score += weight;
        }
        if words.len() <= SHORT_QUERY {
            for position in self.with_all_in_name(&words) {
                let score = &mut scores[position as usize];
                if *score == 0.0 {
                    touched.push(position);
                }
                *score += NAME_BONUS;
            }
        }
        let better = |a: &u32, b: &u32| {
            let (score_a, score_b) = (scores[*a as usize], scores[*b as usize]);
            score_b.total_cmp(&score_a).then_with(|| self.order[*a as usize].cmp(&self.order[*b as usize]))
        };
        if touched.len() > limit {
            touched.select_nth_unstable_by(limit - 1, better);
            touched.truncate(limit);
        }
        touched.sort_unstable_by(better);
        touched
    }

    /// Tools that have every one of these words in their name.
    fn with_all_in_name(&self, words: &[u64]) -> Vec<u32> {
        let mut lists = words.iter().map(|word| self.in_names.get(word).map_or(&[][..], Vec::as_slice));
        let mut common = lists.next().map_or_else(Vec::new, <[u32]>::to_vec);
        for list in lists {
            common.retain(|position| list.binary_search(position).is_ok());
        }
        common
    }
}

impl fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchIndex").field("tools", &self.order.len()).field("words", &self.postings.len()).finish_non_exhaustive()
    }
}

fn embedder(field: &Field, tools: &[Arc<Tool>], words: &Arc<Words>) -> FieldEmbedder {
    let step = tools.len().div_ceil(LENGTH_SAMPLE).max(1);
    let sample: Vec<String> = tools.iter().step_by(step).map(|tool| (field.text)(tool)).filter(|text| !text.is_empty()).collect();
    let sample: Vec<&str> = sample.iter().map(String::as_str).collect();
    EmbedderBuilder::with_tokenizer_and_fit_to_corpus(Shared(Arc::clone(words)), &sample).k1(SATURATION).b(field.length_matters).build()
}

fn index_field(embedder: &FieldEmbedder, field: &Field, position: u32, tool: &Tool, weights: &mut HashMap<u64, Vec<(u32, f32)>>) {
    // The embedder lists a repeated word once a mention, each time with the whole weight.
    let mut embedding = embedder.embed(&(field.text)(tool)).0;
    embedding.sort_unstable_by_key(|word| word.index);
    embedding.dedup_by_key(|word| word.index);
    for word in embedding {
        let weight = word.value * field.weight;
        let posting = weights.entry(word.index).or_default();
        match posting.last_mut() {
            Some((last, sum)) if *last == position => *sum += weight,
            _ => posting.push((position, weight)),
        }
    }
}

fn described(tool: &Tool) -> String {
    within(&tool.description, INDEXED_BYTES).to_owned()
}

fn parameter_names(tool: &Tool) -> String {
    if !tool.source.is_trusted() {
        return String::new();
    }
    let properties = tool.parameters.value().get("properties").and_then(Value::as_object);
    properties.map_or_else(String::new, |map| map.keys().map(String::as_str).collect::<Vec<_>>().join(" "))
}

/// How telling a word is: the fewer tools have it, the more (`idf` of BM25).
fn rarity(tools: usize, with_word: usize) -> f32 {
    let (tools, with_word) = (tools as f32, with_word as f32);
    (1.0 + (tools - with_word + 0.5) / (with_word + 0.5)).ln()
}

fn order(tools: &[Arc<Tool>]) -> Vec<u32> {
    let mut positions: Vec<u32> = (0u32..).take(tools.len()).collect();
    positions.sort_unstable_by(|a, b| {
        let (a, b) = (&tools[*a as usize], &tools[*b as usize]);
        a.source.cmp(&b.source).then_with(|| a.id.cmp(&b.id))
    });
    let mut order = vec![0; tools.len()];
    for (rank, position) in (0u32..).zip(positions) {
        order[position as usize] = rank;
    }
    order
}

fn distinct_keys(words: &[String]) -> Vec<u64> {
    let mut keys: Vec<u64> = words.iter().map(|word| key(word)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn key(word: &str) -> u64 {
    <u64 as bm25::TokenEmbedder>::embed(word)
}

fn push(map: &mut HashMap<Box<str>, Vec<u32>>, key: &str, position: u32) {
    if !key.is_empty() {
        map.entry(Box::from(key)).or_default().push(position);
    }
}

/// Whether a word is made of several, as only names are.
fn is_compound(part: &str) -> bool {
    let inner = part.trim_matches(|c: char| !c.is_alphanumeric());
    let border = inner.contains(|c: char| !c.is_alphanumeric());
    let camel = inner.chars().zip(inner.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    border || camel
}

fn within(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn keep_first_of_each(found: &mut Vec<u32>) {
    let mut seen = std::collections::HashSet::new();
    found.retain(|position| seen.insert(*position));
}
