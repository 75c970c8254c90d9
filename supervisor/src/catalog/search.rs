//! Search by words: BM25 over the fields of each tool, with exact names and ids in front, synonyms behind, and pairs of words as a plus.
//!
//! What is read of a tool ([`Entry`]) depends on that tool alone and is kept with it: an index of a changed catalog, or of a part of it, reads only
//! tools that no index has read. The weights of words come from the `bm25` crate, one embedder a field so that a long description does not thin
//! out a name. Its scorer is not used: `docs/catalog.md` has the measurement. The numbers stand in `weights.json`, the synonyms in `synonyms.txt`.

mod entry;
mod synonyms;
mod table;
mod weights;
mod words;

pub(super) use entry::Entry;
pub use weights::SearchWeights;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use super::Tool;
use entry::{Reader, pair};
use table::Table;
use words::{Words, is_asking, joined, key};

/// Words up to which a query is taken for a name half remembered: a tool with all of them in its name then comes before any that only speaks
/// of them (`read` is rather `file_read` than a spreadsheet whose cells can be read).
const SHORT_QUERY: usize = 3;
/// More than so few words can weigh: each at most `ln` of the number of tools, times the saturated sum of the fields (under 6).
const NAME_BONUS: f32 = 1000.0;
/// Bytes of a query that are read: a page of text. Anything longer is not a query.
const QUERY_BYTES: usize = 8192;
/// Different words of a query that are looked up. The longest of 456 questions has 74.
const QUERY_WORDS: usize = 96;
/// Letters of the shortest part that an unknown word is taken apart into.
const SHORTEST_PART: usize = 3;

/// The index of a fixed list of tools.
pub(super) struct SearchIndex {
    words: Arc<Words>,
    weights: SearchWeights,
    /// For each word the tools that have it, with its weight there, rarity not included.
    postings: Table<(u32, f32)>,
    /// For each pair of neighbouring words the tools that have it.
    pairs: Table<u32>,
    /// For each word the tools that have it in their name.
    in_names: Table<u32>,
    /// Tools by their exact id and by their exact name.
    exact: HashMap<Box<str>, Vec<u32>>,
    /// Tools by their name as one word.
    joined: HashMap<Box<str>, Vec<u32>>,
    /// Rank of a tool among equals: trust, then id.
    order: Vec<u32>,
}

impl SearchIndex {
    /// Reads every tool that has not been read before.
    pub(super) fn build(tools: &[Arc<Tool>], weights: SearchWeights) -> SearchIndex {
        let reader = Reader::new();
        let (mut postings, mut pairs, mut in_names) =
            (Vec::with_capacity(tools.len() * 24), Vec::with_capacity(tools.len() * 24), Vec::new());
        let (mut exact, mut by_joined) = (HashMap::with_capacity(tools.len() * 2), HashMap::with_capacity(tools.len()));
        for (position, tool) in (0u32..).zip(tools) {
            let entry = tool.entry.get_or_init(|| reader.read(tool));
            postings.extend(entry.words.iter().map(|(word, weight)| (*word, (position, *weight))));
            pairs.extend(entry.pairs.iter().map(|pair| (*pair, position)));
            in_names.extend(entry.name.iter().map(|word| (*word, position)));
            push(&mut exact, &tool.id, position);
            if tool.name != tool.id {
                push(&mut exact, &tool.name, position);
            }
            push(&mut by_joined, &entry.joined, position);
        }
        SearchIndex {
            words: reader.words,
            weights,
            postings: Table::new(postings, |(position, _)| *position),
            pairs: Table::new(pairs, |position| *position),
            in_names: Table::new(in_names, |position| *position),
            exact,
            joined: by_joined,
            order: order(tools),
        }
    }

    /// Positions of the best tools for the query, best first, of those that `wanted` lets through.
    pub(super) fn search(&self, query: &str, limit: usize, wanted: impl Fn(u32) -> bool) -> Vec<usize> {
        let query = within(query, QUERY_BYTES).trim();
        if query.is_empty() {
            return Vec::new();
        }
        let mut found = self.named(query);
        found.retain(|position| wanted(*position));
        if found.len() < limit {
            found.extend(self.ranked(query, limit + found.len(), &wanted));
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
        let mut seen = HashSet::new();
        for part in parts {
            // `read` in a sentence is a word; `read_file` in a sentence is a name.
            if seen.insert(part) && (all_are_names || is_compound(part)) {
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

    fn ranked(&self, query: &str, limit: usize, wanted: impl Fn(u32) -> bool) -> Vec<u32> {
        let question = Question::new(&self.words, query);
        let mut scores = Scores::new(self.order.len());
        for word in &question.words {
            self.add_word(word, &question, &mut scores);
        }
        for pair in &question.pairs {
            let tools = self.pairs.get(*pair);
            let weight = self.weights.pair * self.rarity(tools.len());
            tools.iter().for_each(|position| scores.add(*position, weight));
        }
        if question.words.len() <= SHORT_QUERY {
            for position in self.with_all_in_name(&question.words) {
                scores.add(position, NAME_BONUS);
            }
        }
        let Scores { of, mut touched, .. } = scores;
        touched.retain(|position| wanted(*position));
        let better = |a: &u32, b: &u32| {
            of[*b as usize].total_cmp(&of[*a as usize]).then_with(|| self.order[*a as usize].cmp(&self.order[*b as usize]))
        };
        if touched.len() > limit {
            touched.select_nth_unstable_by(limit - 1, better);
            touched.truncate(limit);
        }
        touched.sort_unstable_by(better);
        touched
    }

    /// Adds what a word and its synonyms count.
    fn add_word(&self, word: &Asked, question: &Question, scores: &mut Scores) {
        let mut weight = 1.0 + self.weights.repeated * (word.times as f32).ln();
        if is_asking(&word.stem) {
            weight *= self.weights.asking;
        }
        let own = self.postings.get(word.key);
        let own_rarity = self.rarity(own.len());
        own.iter().for_each(|(position, value)| scores.add(*position, weight * own_rarity * value));
        let (share, ceiling) = match own {
            [] => (self.weights.synonym_of_unknown, f32::INFINITY),
            _ => (self.weights.synonym, own_rarity),
        };
        let of_synonym = |synonym: u64, scores: &mut Scores| {
            let tools = if question.has(synonym) { &[] } else { self.postings.get(synonym) };
            // A rare synonym says no more than the word that was meant.
            let factor = weight * share * self.rarity(tools.len()).min(ceiling);
            tools.iter().for_each(|(position, value)| scores.offer(*position, factor * value));
        };
        synonyms::of(word.key).iter().for_each(|synonym| of_synonym(*synonym, scores));
        if own.is_empty() {
            self.parts_of(&word.stem).into_iter().flatten().for_each(|part| of_synonym(part, scores));
        }
        scores.take_offers();
    }

    /// The two words that an unknown word is made of (`whiteboard`, where tools say `white board`), if there are such.
    fn parts_of(&self, word: &str) -> Option<[u64; 2]> {
        if !word.bytes().all(|byte| byte.is_ascii_lowercase()) || word.len() < SHORTEST_PART * 2 {
            return None;
        }
        let known = |part: &str| Some(key(&self.words.stemmed(part))).filter(|part| !self.postings.get(*part).is_empty());
        // The longest first part: `timetable` is `time table` and not `tim etable`.
        (SHORTEST_PART..=word.len() - SHORTEST_PART).rev().find_map(|cut| Some([known(&word[..cut])?, known(&word[cut..])?]))
    }

    /// Tools that have every one of these words in their name.
    fn with_all_in_name(&self, words: &[Asked]) -> Vec<u32> {
        let mut lists = words.iter().map(|word| self.in_names.get(word.key));
        let mut common = lists.next().map_or_else(Vec::new, <[u32]>::to_vec);
        for list in lists {
            common.retain(|position| list.binary_search(position).is_ok());
        }
        common
    }

    /// How telling something is that so many of the tools have: the fewer, the more (`idf` of BM25).
    fn rarity(&self, with_it: usize) -> f32 {
        let (tools, with_it) = (self.order.len() as f32, with_it as f32);
        (1.0 + (tools - with_it + 0.5) / (with_it + 0.5)).ln()
    }
}

impl fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchIndex").field("tools", &self.order.len()).field("words", &self.postings.len()).finish_non_exhaustive()
    }
}

/// A query in words.
struct Question {
    /// Each different word, in the query's order.
    words: Vec<Asked>,
    /// Neighbouring words.
    pairs: Vec<u64>,
}

struct Asked {
    key: u64,
    stem: String,
    times: usize,
}

impl Question {
    fn new(words: &Words, query: &str) -> Question {
        let stems = words.of_query(query);
        let mut keys: Vec<u64> = stems.iter().map(|stem| key(stem)).collect();
        let mut at: HashMap<u64, usize> = HashMap::new();
        let mut asked: Vec<Asked> = Vec::new();
        for (number, stem) in stems.into_iter().enumerate() {
            if let Some(known) = at.get(&keys[number]) {
                asked[*known].times += 1;
            } else if asked.len() == QUERY_WORDS {
                keys.truncate(number);
                break;
            } else {
                at.insert(keys[number], asked.len());
                asked.push(Asked { key: keys[number], stem, times: 1 });
            }
        }
        let mut pairs: Vec<u64> = keys.windows(2).filter_map(|two| pair(two[0], two[1])).collect();
        pairs.sort_unstable();
        pairs.dedup();
        Question { words: asked, pairs }
    }

    fn has(&self, word: u64) -> bool {
        self.words.iter().any(|asked| asked.key == word)
    }
}

/// Sums by tool.
struct Scores {
    of: Vec<f32>,
    touched: Vec<u32>,
    /// The best of what one word's synonyms offer each tool.
    offers: Vec<f32>,
    offered: Vec<u32>,
}

impl Scores {
    fn new(tools: usize) -> Scores {
        Scores { of: vec![0.0; tools], touched: Vec::new(), offers: vec![0.0; tools], offered: Vec::new() }
    }

    /// A weight of 0 finds nothing.
    fn add(&mut self, position: u32, weight: f32) {
        if weight <= 0.0 {
            return;
        }
        let score = &mut self.of[position as usize];
        if *score == 0.0 {
            self.touched.push(position);
        }
        *score += weight;
    }

    fn offer(&mut self, position: u32, weight: f32) {
        if weight <= 0.0 {
            return;
        }
        let offer = &mut self.offers[position as usize];
        if *offer == 0.0 {
            self.offered.push(position);
        }
        *offer = offer.max(weight);
    }

    /// Adds the offers and forgets them: one word's synonyms count once, however many of them a tool has.
    fn take_offers(&mut self) {
        for position in std::mem::take(&mut self.offered) {
            let weight = std::mem::take(&mut self.offers[position as usize]);
            self.add(position, weight);
        }
    }
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

fn push(map: &mut HashMap<Box<str>, Vec<u32>>, key: &str, position: u32) {
    if key.is_empty() {
        return;
    }
    match map.get_mut(key) {
        Some(list) => list.push(position),
        None => {
            map.insert(Box::from(key), vec![position]);
        }
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
    let mut seen = HashSet::new();
    found.retain(|position| seen.insert(*position));
}
