//! Names that a provider takes, for tools whose own names are anything.

use std::collections::{HashMap, HashSet};

use super::control::Control;
use crate::catalog::Tool;

/// Letters of a name: what every provider takes.
pub(super) const MOST_LETTERS: usize = 64;
/// Letters of the mark that tells names apart: 32 bits in hexadecimal, and the sign before them.
const MARK_LETTERS: usize = 9;

/// Whether a provider takes this name.
pub(super) fn is_takeable(name: &str) -> bool {
    !name.is_empty() && name.len() <= MOST_LETTERS && name.bytes().all(is_letter)
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// One name for each tool, in their order: its own where that is takeable and nobody else's, else one made of it and a mark of its id, which
/// is the same in every process. `taken` are names that nobody gets.
pub(super) fn assigned<'t>(tools: impl Iterator<Item = &'t Tool> + Clone, taken: &HashSet<&str>) -> Vec<String> {
    let mut wanted: HashMap<String, usize> = HashMap::new();
    for tool in tools.clone() {
        *wanted.entry(base(&tool.name)).or_default() += 1;
    }
    let mut given: HashSet<String> = HashSet::new();
    let is_free = |name: &str| !taken.contains(name) && Control::named(name).is_none();
    tools
        .map(|tool| {
            let base = base(&tool.name);
            let name = if wanted[&base] == 1 && is_free(&base) && !given.contains(&base) {
                base
            } else {
                let fits = |name: &String| is_free(name) && !wanted.contains_key(name) && !given.contains(name);
                // A mark that somebody has already gets another one: 2^32 ids that are all alike are not expected.
                let tries = (0u32..).map(|round| marked(&base, &tool.id, round)).find(fits);
                tries.unwrap_or(base)
            };
            given.insert(name.clone());
            name
        })
        .collect()
}

fn base(name: &str) -> String {
    let letters: String = name.chars().map(|letter| if u8::try_from(letter).is_ok_and(is_letter) { letter } else { '_' }).collect();
    let mut base = if letters.is_empty() { "tool".to_owned() } else { letters };
    base.truncate(MOST_LETTERS);
    base
}

fn marked(base: &str, id: &str, round: u32) -> String {
    let kept = &base[..base.len().min(MOST_LETTERS - MARK_LETTERS)];
    format!("{kept}_{:08x}", fold(id, round))
}

/// FNV-1a, folded: the same for the same id wherever and whenever it is computed, which the hashes of the standard library are not.
fn fold(id: &str, round: u32) -> u32 {
    let start = 0xcbf2_9ce4_8422_2325_u64 ^ u64::from(round);
    let hash = id.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash >> 32) as u32 ^ hash as u32
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalog::Source;

    fn names(tools: &[(&str, &str)]) -> Vec<String> {
        let tools: Vec<Tool> = tools.iter().map(|(source, name)| Tool::new(Source::Mcp, *source, *name, "", json!({}))).collect();
        assigned(tools.iter(), &HashSet::new())
    }

    #[test]
    fn a_name_is_the_tools_own_where_it_can_be() {
        assert_eq!(names(&[("a", "read_file"), ("b", "list-all")]), ["read_file", "list-all"]);
        let marked = names(&[("a", "send"), ("b", "send"), ("a", "tool_call"), ("a", "x.y"), ("a", "x_y")]);
        assert!(marked.iter().all(|name| is_takeable(name)), "{marked:?}");
        assert_eq!(marked.iter().collect::<HashSet<_>>().len(), 5, "{marked:?}");
        assert!(marked[0].starts_with("send_") && marked[2].starts_with("tool_call_"), "{marked:?}");
        // The same in another process, and beside other tools.
        assert_eq!(names(&[("b", "send"), ("c", "send"), ("a", "send")])[2], marked[0]);
    }

    #[test]
    fn names_of_all_lengths_and_scripts_are_takeable() {
        let long = "x".repeat(100);
        let given = names(&[("a", &long), ("b", &long), ("a", "sök"), ("a", "söк"), ("a", "日本"), ("a", "")]);
        assert!(given.iter().all(|name| is_takeable(name)), "{given:?}");
        assert_eq!(given.iter().collect::<HashSet<_>>().len(), 6, "{given:?}");
    }

    proptest::proptest! {
        #[test]
        fn any_names_are_takeable_and_told_apart(all in proptest::collection::vec(("[ab:]{1,2}", "[a_.é]{0,3}|tool_search"), 0..40)) {
            let mut seen = HashSet::new();
            let tools: Vec<Tool> = all.iter().map(|(source, name)| Tool::new(Source::Mcp, source.as_str(), name.as_str(), "", json!({}))).filter(|tool| seen.insert(tool.id.clone())).collect();
            let names = assigned(tools.iter(), &HashSet::from(["a"]));
            proptest::prop_assert!(names.iter().all(|name| is_takeable(name) && name != "a" && Control::named(name).is_none()));
            proptest::prop_assert_eq!(names.iter().collect::<HashSet<_>>().len(), tools.len());
        }
    }
}
