//! What may stand for a word: general English, read from `synonyms.txt`, whose head says its form.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::{Words, key};

/// Read once: the file is part of the program and the same for every catalog.
static TABLE: LazyLock<HashMap<u64, Box<[u64]>>> = LazyLock::new(|| parsed(include_str!("synonyms.txt")));

/// Keys of the stems that may stand for this one.
pub(super) fn of(stem: u64) -> &'static [u64] {
    TABLE.get(&stem).map_or(&[], |found| found)
}

fn parsed(text: &str) -> HashMap<u64, Box<[u64]>> {
    let words = Words::new();
    let stems = |part: &str| -> Vec<u64> { part.split_whitespace().map(|word| key(&words.stemmed(word))).collect() };
    let mut table: HashMap<u64, Vec<u64>> = HashMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (from, to) = match line.split_once('>') {
            Some((kinds, of)) => (stems(kinds), stems(of)),
            None => (stems(line), stems(line)),
        };
        for word in from {
            let known = table.entry(word).or_default();
            known.extend(to.iter().filter(|other| **other != word));
        }
    }
    let distinct = |mut list: Vec<u64>| {
        list.sort_unstable();
        list.dedup();
        list.into_boxed_slice()
    };
    table.into_iter().map(|(word, list)| (word, distinct(list))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Synonyms that one word can have: each is a list of tools to go through for every question with that word.
    const MOST: usize = 32;

    fn stands_for(word: &str, other: &str) -> bool {
        let words = Words::new();
        of(key(&words.stemmed(word))).contains(&key(&words.stemmed(other)))
    }

    #[test]
    fn words_of_a_line_stand_for_each_other_and_kinds_one_way_only() {
        assert!(stands_for("repositories", "repo") && stands_for("repo", "repository"));
        assert!(stands_for("photos", "picture"));
        assert!(stands_for("triangle", "area") && !stands_for("area", "triangle"));
        assert!(!stands_for("photo", "photos"));
    }

    #[test]
    fn a_word_that_is_in_no_line_has_none() {
        assert!(of(key("zzqqxx")).is_empty());
    }

    #[test]
    fn no_word_has_so_many_that_a_search_gets_slow() {
        let most = TABLE.values().map(|list| list.len()).max();
        assert!(most.is_some_and(|most| most <= MOST), "{most:?}");
    }

    #[test]
    fn every_line_has_a_form_and_says_something_new() {
        let mut seen = std::collections::HashSet::new();
        for line in include_str!("synonyms.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let sides: Vec<usize> = line.split('>').map(|side| side.split_whitespace().count()).collect();
            let has_form = match sides[..] {
                [same] => same > 1,
                [kinds, of] => kinds > 0 && of > 0,
                _ => false,
            };
            assert!(has_form, "{line:?}");
            assert!(line.bytes().all(|byte| byte.is_ascii_lowercase() || b" >".contains(&byte)), "{line:?}");
            assert!(seen.insert(line), "twice: {line:?}");
        }
    }
}
