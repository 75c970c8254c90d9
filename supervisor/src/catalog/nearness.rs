//! Which tools somebody may have meant who asked for one that is not there.

use std::sync::Arc;

use super::Tool;

/// Near tools that a message names.
const NEAR: usize = 3;
/// Likeness (1 is equal) from which a name counts as near: one wrong letter in three, as in `raed` for `read`.
const LIKE_ENOUGH: f64 = 0.6;
/// Letters of an id that are looked at; real ids have at most 109.
const KEPT_CHARS: usize = 128;
/// Letters that are compared each with each, between what two ids have in common at their ends.
const COMPARED_CHARS: usize = 64;
/// Tools that are compared letter by letter for one wanted id.
const MAX_COMPARED: usize = 150;

/// Positions of up to three tools near the wanted id: first those spelled almost so, then what a search for its words finds.
pub(super) fn nearest(tools: &[Arc<Tool>], wanted: &str, search: impl FnOnce(&str) -> Vec<usize>) -> Vec<usize> {
    let wanted: String = wanted.chars().take(KEPT_CHARS).flat_map(char::to_lowercase).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let own_name = wanted.rsplit(':').next().unwrap_or(&wanted);
    // Ids share long beginnings, so a bare name is near none of them by itself.
    let wanted_id = (own_name.len() < wanted.len()).then(|| Wanted::new(&wanted));
    let own_name = Wanted::new(own_name);
    let promise = |tool: &Tool| own_name.promise(&tool.name).max(wanted_id.as_ref().and_then(|id| id.promise(&tool.id)));
    let mut hopeful: Vec<(usize, usize)> =
        tools.iter().enumerate().filter_map(|(position, tool)| promise(tool).map(|shared| (shared, position))).collect();
    if hopeful.len() > MAX_COMPARED {
        hopeful.select_nth_unstable_by(MAX_COMPARED, |a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        hopeful.truncate(MAX_COMPARED);
    }
    let mut near: Vec<(f64, usize)> = hopeful
        .into_iter()
        .filter_map(|(_, position)| {
            let tool = &tools[position];
            let of_id = wanted_id.as_ref().map_or(0.0, |id| id.likeness(&tool.id));
            let likeness = own_name.likeness(&tool.name).max(of_id);
            (likeness >= LIKE_ENOUGH).then_some((likeness, position))
        })
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| tools[a.1].id.cmp(&tools[b.1].id)));
    let mut near: Vec<usize> = near.into_iter().map(|(_, position)| position).take(NEAR).collect();
    if near.len() < NEAR {
        for position in search(&wanted) {
            if near.len() < NEAR && !near.contains(&position) {
                near.push(position);
            }
        }
    }
    near
}

/// A text that others are compared with, in small letters.
struct Wanted<'a> {
    text: &'a str,
    letters: u32,
}

impl<'a> Wanted<'a> {
    fn new(text: &'a str) -> Wanted<'a> {
        Wanted { text, letters: letters(text) }
    }

    /// Bytes that the candidate has in common with this at both ends; `None` when it cannot be near. Takes time in proportion to the texts.
    fn promise(&self, candidate: &str) -> Option<usize> {
        let (shorter, longer) = (self.text.len().min(candidate.len()), self.text.len().max(candidate.len()));
        // Each further letter is one edit, and each letter that only one of the two has costs at least half of one.
        let unshared = || f64::from((self.letters ^ letters(candidate)).count_ones());
        if shorter * 3 < longer * 2 || unshared() / 2.0 > (longer as f64) * (1.0 - LIKE_ENOUGH) {
            return None;
        }
        let same = |(a, b): &(u8, u8)| a.eq_ignore_ascii_case(b);
        let start = self.text.bytes().zip(candidate.bytes()).take_while(same).count();
        let end = self.text.bytes().rev().zip(candidate.bytes().rev()).take_while(same).count();
        Some(start + end)
    }

    /// 1 for equal texts, 0 for unlike ones.
    fn likeness(&self, candidate: &str) -> f64 {
        if self.promise(candidate).is_none() {
            return 0.0;
        }
        let wanted: Vec<char> = self.text.chars().collect();
        let candidate: Vec<char> = candidate.chars().take(KEPT_CHARS).flat_map(char::to_lowercase).collect();
        let longer = wanted.len().max(candidate.len());
        // What both begin and end with takes no edits.
        let start = wanted.iter().zip(&candidate).take_while(|(a, b)| a == b).count();
        let (wanted, candidate) = (&wanted[start..], &candidate[start..]);
        let end = wanted.iter().rev().zip(candidate.iter().rev()).take_while(|(a, b)| a == b).count();
        let middle = |text: &[char]| text[..text.len() - end].iter().take(COMPARED_CHARS).collect::<String>();
        let edits = strsim::osa_distance(&middle(wanted), &middle(candidate));
        1.0 - edits as f64 / longer.max(1) as f64
    }
}

/// The letters of a text as bits.
fn letters(text: &str) -> u32 {
    text.bytes().fold(0u32, |set, byte| set | 1 << (byte.to_ascii_lowercase() & 31))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Source;
    use super::*;

    fn tools(names: &[&str]) -> Vec<Arc<Tool>> {
        names.iter().map(|name| Arc::new(Tool::new(Source::Client, "app", *name, "", json!({"type": "object"})))).collect()
    }

    #[test]
    fn swapped_missing_and_wrong_letters_are_near() {
        let tools = tools(&["echo", "find_symbol", "read_file"]);
        for (wanted, expected) in [("ehco", 0), ("find_simbol", 1), ("readfile", 2), ("ECHO", 0), ("client:app:ech", 0)] {
            assert_eq!(nearest(&tools, wanted, |_| vec![]).first(), Some(&expected), "{wanted}");
        }
    }

    #[test]
    fn unlike_names_are_not_near_and_an_empty_one_is_near_nothing() {
        let tools = tools(&["echo", "find_symbol"]);
        assert!(nearest(&tools, "zzqqxx", |_| vec![]).is_empty());
        assert!(nearest(&tools, "", |_| vec![0]).is_empty());
    }

    #[test]
    fn search_fills_up_to_three() {
        let tools = tools(&["echo", "a", "b", "c"]);
        assert_eq!(nearest(&tools, "ehco", |_| vec![1, 0, 2, 3]), [0, 1, 2]);
    }

    #[test]
    fn many_long_ids_that_are_alike_take_little_time() {
        let name = |number: usize| format!("{}_{:064b}", "list_repository_items".repeat(2), number * 7_919);
        let names: Vec<String> = (0..5_000).map(name).collect();
        let tools = tools(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let wanted = format!("client:app:{}x", names[4_321]);
        let started = std::time::Instant::now();
        assert_eq!(nearest(&tools, &wanted, |_| vec![]).first(), Some(&4_321));
        assert!(started.elapsed() < std::time::Duration::from_millis(700), "{:?}", started.elapsed());
    }
}
