//! What the index keeps of one tool.

use std::collections::HashMap;
use std::sync::Arc;

use bm25::{Embedder, EmbedderBuilder, Tokenizer};
use serde_json::Value;

use super::weights::{self, FieldWeight};
use super::within;
use super::words::{Words, joined, key};
use crate::catalog::Tool;

/// Bytes of a description that are read; what a longer one says later is examples and instructions.
const DESCRIPTION_BYTES: usize = 4096;
/// Bytes of a name and of a source's name that are read: no file or server gives longer ones.
const NAME_BYTES: usize = 256;
/// Names of parameters that are read, and bytes of all of them: more is a stranger's flood.
const PARAMETERS: usize = 64;
/// Mentions of a word that count in one field; further ones only make the text longer. Without it a page of one word comes before all who say it once.
const MENTIONS: usize = 3;

/// The words of one tool, weighed. It depends on the tool alone, so it is made once and serves every index that has the tool.
#[derive(Debug)]
pub(in crate::catalog) struct Entry {
    /// Each word with its weight over all fields, rarity not included.
    pub(super) words: Box<[(u64, f32)]>,
    /// Words side by side, in the name or in the description.
    pub(super) pairs: Box<[u64]>,
    /// The words of the name.
    pub(super) name: Box<[u64]>,
    /// The name as one word.
    pub(super) joined: Box<str>,
}

/// Reads tools: one embedder of the `bm25` crate a field.
pub(super) struct Reader {
    pub(super) words: Arc<Words>,
    name: FieldReader,
    source_name: FieldReader,
    description: FieldReader,
    parameters: FieldReader,
}

struct FieldReader {
    embedder: Embedder<u64, Given>,
    weight: f32,
}

/// The crate wants to split a text itself; it is handed words that are already split, with line breaks between them.
#[derive(Default)]
struct Given;

impl Tokenizer for Given {
    fn tokenize(&self, text: &str) -> Vec<String> {
        text.split('\n').map(str::to_owned).collect()
    }
}

impl Reader {
    pub(super) fn new() -> Reader {
        let fields = weights::fields();
        Reader {
            words: Arc::new(Words::new()),
            name: FieldReader::new(&fields.name),
            source_name: FieldReader::new(&fields.source_name),
            description: FieldReader::new(&fields.description),
            parameters: FieldReader::new(&fields.parameters),
        }
    }

    pub(super) fn read(&self, tool: &Tool) -> Entry {
        let name = self.words.of(within(&tool.name, NAME_BYTES));
        let description = self.words.of(within(&tool.description, DESCRIPTION_BYTES));
        let mut source_name = self.words.of(within(&tool.source_name, NAME_BYTES));
        source_name.retain(|word| !name.contains(word));
        let mut weighed: Vec<(u64, f32)> = Vec::with_capacity(name.len() + description.len() + source_name.len());
        self.name.weigh(&name, &mut weighed);
        self.description.weigh(&description, &mut weighed);
        self.source_name.weigh(&source_name, &mut weighed);
        self.parameters.weigh(&self.words.of(&parameter_names(tool)), &mut weighed);
        weighed.sort_unstable_by_key(|(word, _)| *word);
        weighed.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        let side_by_side = name.windows(2).chain(description.windows(2)).filter_map(|two| pair(key(&two[0]), key(&two[1])));
        Entry {
            words: weighed.into_boxed_slice(),
            pairs: distinct(side_by_side.collect()),
            // A name of common words alone is still looked for by them.
            name: distinct(self.words.of_query(within(&tool.name, NAME_BYTES)).iter().map(|word| key(word)).collect()),
            joined: joined(within(&tool.name, NAME_BYTES)).into(),
        }
    }
}

impl FieldReader {
    fn new(field: &FieldWeight) -> FieldReader {
        let builder = EmbedderBuilder::<u64, Given>::with_avgdl(field.usual_words);
        FieldReader { embedder: builder.k1(weights::saturation()).b(field.length_matters).build(), weight: field.weight }
    }

    fn weigh(&self, words: &[String], weighed: &mut Vec<(u64, f32)>) {
        if words.is_empty() {
            return;
        }
        // A mention too many still makes the text longer, as the empty word.
        let mut mentions: HashMap<&str, usize> = HashMap::new();
        let counted: Vec<&str> = words
            .iter()
            .map(|word| {
                let times = mentions.entry(word).or_default();
                *times += 1;
                if *times > MENTIONS { "" } else { word }
            })
            .collect();
        // The embedder lists a repeated word once a mention, each time with the whole weight.
        let mut embedding = self.embedder.embed(&counted.join("\n")).0;
        embedding.sort_unstable_by_key(|word| word.index);
        embedding.dedup_by_key(|word| word.index);
        let empty = key("");
        weighed.extend(embedding.iter().filter(|word| word.index != empty).map(|word| (word.index, word.value * self.weight)));
    }
}

/// What stands for two words side by side, in this order; a word after itself is no pair.
pub(super) fn pair(first: u64, second: u64) -> Option<u64> {
    (first != second).then(|| first.rotate_left(23) ^ second.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn distinct(mut keys: Vec<u64>) -> Box<[u64]> {
    keys.sort_unstable();
    keys.dedup();
    keys.into_boxed_slice()
}

fn parameter_names(tool: &Tool) -> String {
    if !tool.source.is_trusted() {
        return String::new();
    }
    let properties = tool.parameters.value().get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(|properties| properties.keys().take(PARAMETERS));
    names.map(|name| within(name, NAME_BYTES)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::{SearchQuery, Source, ToolSet};

    fn weight(description: &str, word: &str) -> Option<f32> {
        let entry = Reader::new().read(&Tool::new(Source::Mcp, "s", "t", description, json!({})));
        let words = Words::new();
        entry.words.iter().find(|(key_of, _)| *key_of == key(&words.stemmed(word))).map(|(_, weight)| *weight)
    }

    #[test]
    fn a_word_that_is_repeated_soon_stops_counting() {
        let (once, thrice) = (weight("weather of a town", "weather"), weight("weather weather weather of a town", "weather"));
        assert!(once < thrice);
        assert!(weight(&"weather ".repeat(500), "weather") < once);
        assert_eq!(weight("weather", "rain"), None);
    }

    #[test]
    fn a_set_that_shares_tools_with_an_earlier_one_reads_the_others_only() {
        let tool = |name: &str| Arc::new(Tool::new(Source::Mcp, "s", name, "Some words.", json!({"type": "object"})));
        let search = |set: &ToolSet| set.search(&SearchQuery { query: "some words".to_owned(), limit: None }).len();
        let (kept, gone) = (tool("kept"), tool("gone"));
        let before = ToolSet::new(vec![Arc::clone(&kept), gone]).unwrap();
        assert!(kept.entry.get().is_none());
        assert_eq!(search(&before), 2);
        let read = std::ptr::from_ref(kept.entry.get().unwrap());
        // The source of the other one has given a new list.
        let after = ToolSet::new(vec![Arc::clone(&kept), tool("new")]).unwrap();
        assert_eq!((search(&after), search(&before)), (2, 2));
        assert!(std::ptr::eq(read, kept.entry.get().unwrap()));
        assert!(after.tools()[1].entry.get().is_some());
    }
}
