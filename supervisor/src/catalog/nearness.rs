//! Which tools somebody may have meant who asked for one that is not there.

use std::sync::Arc;

use super::Tool;

/// Near tools that a message names.
const NEAR: usize = 3;
/// Likeness (1 is equal) from which a name counts as near: one wrong letter in three, as in `raed` for `read`.
const LIKE_ENOUGH: f64 = 0.6;
/// Letters of the wanted id that are compared; real ids have at most 109.
const COMPARED_CHARS: usize = 128;

/// Positions of up to three tools near the wanted id: first those spelled almost so, then what a search for its words finds.
pub(super) fn nearest(tools: &[Arc<Tool>], wanted: &str, search: impl FnOnce(&str) -> Vec<usize>) -> Vec<usize> {
    let wanted: String = wanted.chars().take(COMPARED_CHARS).flat_map(char::to_lowercase).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let own_name = wanted.rsplit(':').next().unwrap_or(&wanted);
    let mut near: Vec<(f64, usize)> = tools
        .iter()
        .enumerate()
        .filter_map(|(position, tool)| {
            // Ids share long beginnings, so a bare name is near none of them by itself.
            let of_id = if own_name.len() < wanted.len() { likeness(&wanted, &tool.id) } else { 0.0 };
            let likeness = likeness(own_name, &tool.name).max(of_id);
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

/// 1 for equal texts, 0 for unlike ones; the wanted text is in small letters.
fn likeness(wanted: &str, candidate: &str) -> f64 {
    let (shorter, longer) = (wanted.len().min(candidate.len()), wanted.len().max(candidate.len()));
    // Each further letter is one edit: most of a catalog falls here, before the quadratic comparison.
    if shorter == 0 || (shorter as f64) < (longer as f64) * LIKE_ENOUGH || !shares_letters(wanted, candidate, longer) {
        return 0.0;
    }
    strsim::normalized_damerau_levenshtein(wanted, &candidate.to_lowercase())
}

/// A cheap bound: each letter that only one of the two has costs at least half an edit.
fn shares_letters(a: &str, b: &str, longer: usize) -> bool {
    let letters = |text: &str| text.bytes().fold(0u32, |set, byte| set | 1 << (byte.to_ascii_lowercase() & 31));
    let unshared = (letters(a) ^ letters(b)).count_ones();
    f64::from(unshared) / 2.0 <= (longer as f64) * (1.0 - LIKE_ENOUGH)
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
}
