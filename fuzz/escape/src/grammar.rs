//! The grammar: sections of alternatives in `grammar.txt`, and text made from them by chance.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use oorandom::Rand64;

const TEXT: &str = include_str!("grammar.txt");

/// Levels of alternatives inside each other. Five make a spy in a getter of an argument of a call at the stack limit; more make long bodies that do no more.
const DEPTH: u32 = 5;

/// Sections that are names or whole statements, no expressions: put in as they are.
const AS_THEY_ARE: [&str; 6] = ["word", "method", "method-of-console", "global", "combinator", "statement"];

/// What a generator draws from.
#[derive(Debug)]
pub struct Chance(Rand64);

impl Chance {
    /// The chance of body `number` of `seed`.
    pub fn of(seed: u64, number: u64) -> Chance {
        Chance(Rand64::new(u128::from(seed) << 64 | u128::from(number)))
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX);
        usize::try_from(self.0.rand_range(0..bound)).unwrap_or(0)
    }

    /// One of these.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// One alternative.
#[derive(Debug)]
struct Alternative {
    text: &'static str,
    is_plain: bool,
}

/// The sections.
#[derive(Debug)]
pub struct Grammar {
    /// Each alternative as often as it is likely.
    sections: BTreeMap<&'static str, Vec<Alternative>>,
}

impl Grammar {
    /// The one of this crate.
    pub fn get() -> &'static Grammar {
        static GRAMMAR: OnceLock<Grammar> = OnceLock::new();
        GRAMMAR.get_or_init(|| Grammar::read(TEXT))
    }

    fn read(text: &'static str) -> Grammar {
        let mut sections: BTreeMap<&str, Vec<Alternative>> = BTreeMap::new();
        let mut current = "";
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|name| is_name(name)) {
                current = name;
                continue;
            }
            let (weight, text) = match line.split_once("* ") {
                Some((digits, rest)) if digits.parse::<usize>().is_ok() => (digits.parse().unwrap_or(1), rest),
                _ => (1, line),
            };
            let is_plain = !text.contains('«');
            sections.entry(current).or_default().extend((0..weight).map(|_| Alternative { text, is_plain }));
        }
        Grammar { sections }
    }

    /// The names of the themes: what statements are about.
    pub fn themes(&self) -> Vec<&'static str> {
        self.sections.keys().filter(|name| name.starts_with("theme:")).copied().collect()
    }

    /// A text of a section. `imports`: whether `import` may be in it.
    ///
    /// # Panics
    ///
    /// When the grammar has no such section; a test looks for that.
    pub fn text(&self, section: &str, imports: bool, chance: &mut Chance) -> String {
        let mut text = String::new();
        self.write(section, imports, DEPTH, chance, &mut text);
        text.replace('⏎', "\n")
    }

    fn write(&self, section: &str, imports: bool, depth: u32, chance: &mut Chance, to: &mut String) {
        if section == "import" && !imports {
            to.push_str("null");
            return;
        }
        let all = self.sections.get(section).unwrap_or_else(|| panic!("the grammar has no section {section}"));
        let plain: Vec<&Alternative>;
        let alternative = if depth == 0 {
            plain = all.iter().filter(|alternative| alternative.is_plain).collect();
            if plain.is_empty() { chance.pick(all) } else { *chance.pick(&plain) }
        } else {
            chance.pick(all)
        };
        let mut rest = alternative.text;
        while let Some((before, after)) = rest.split_once('«') {
            let (name, after) = after.split_once('»').unwrap_or((after, ""));
            let is_expression = !AS_THEY_ARE.contains(&name);
            to.push_str(before);
            to.push_str(if is_expression { "(" } else { "" });
            self.write(name, imports, depth.saturating_sub(1), chance, to);
            to.push_str(if is_expression { ")" } else { "" });
            rest = after;
        }
        to.push_str(rest);
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-' || letter == ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_that_is_named_is_there_and_has_an_end() {
        let grammar = Grammar::get();
        assert!(grammar.sections.len() > 30 && grammar.themes().len() >= 12);
        for (section, all) in &grammar.sections {
            for name in all.iter().flat_map(|alternative| alternative.text.split('«').skip(1)) {
                let (name, _) = name.split_once('»').unwrap_or_else(|| panic!("{section}: « without »"));
                assert!(grammar.sections.contains_key(name), "{section}: no section {name}");
            }
            let ends = section.starts_with("theme:") || ["end", "statement"].contains(section);
            assert!(ends || all.iter().any(|alternative| alternative.is_plain), "{section}: nothing to end with");
        }
    }

    #[test]
    fn the_same_chance_gives_the_same_text() {
        let make = |number| Grammar::get().text("act", true, &mut Chance::of(7, number));
        assert_eq!(make(1), make(1));
        let texts: std::collections::BTreeSet<String> = (0..100).map(make).collect();
        assert!(texts.len() > 60, "{}", texts.len());
    }
}
