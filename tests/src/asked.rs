//! What a test program with a `main` of its own was asked for on its command line.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// The words of the command line.
#[derive(Debug, Default)]
pub struct Asked {
    flags: BTreeSet<&'static str>,
    chosen: BTreeMap<&'static str, String>,
}

impl Asked {
    /// Reads the words of this process. `flags` stand alone, `options` have a value behind them; a word without dashes is the value of the last
    /// of `options`, since a plain `cargo test NAME` asks every test program for tests of that name.
    ///
    /// # Errors
    ///
    /// A line for whoever wrote something else.
    pub fn read(flags: &[&'static str], options: &[&'static str]) -> Result<Asked, String> {
        Asked::of(std::env::args().skip(1), flags, options)
    }

    fn of(mut words: impl Iterator<Item = String>, flags: &[&'static str], options: &[&'static str]) -> Result<Asked, String> {
        let mut asked = Asked::default();
        while let Some(word) = words.next() {
            if let Some(flag) = flags.iter().find(|flag| **flag == word) {
                asked.flags.insert(flag);
            } else if let Some(option) = options.iter().find(|option| **option == word) {
                let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
                asked.chosen.insert(option, value);
            } else if let (false, Some(option)) = (word.starts_with("--"), options.last()) {
                asked.chosen.insert(option, word);
            } else {
                return Err(format!("unknown: {word}; known are {}", [flags, options].concat().join(" ")));
            }
        }
        Ok(asked)
    }

    /// Whether a flag was there.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.contains(flag)
    }

    /// The value of an option.
    pub fn value(&self, option: &str) -> Option<&str> {
        self.chosen.get(option).map(String::as_str)
    }

    /// Nothing was chosen: everything is meant.
    pub fn is_whole(&self) -> bool {
        self.chosen.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Result<Asked, String> {
        Asked::of(line.split_whitespace().map(str::to_owned), &["--list", "--write"], &["--party", "--cell"])
    }

    #[test]
    fn flags_values_and_a_bare_name() {
        let all = asked("--list --party child flood").unwrap();
        assert!(all.has("--list") && !all.has("--write") && !all.is_whole());
        assert_eq!((all.value("--party"), all.value("--cell")), (Some("child"), Some("flood")));
        assert!(asked("--write").unwrap().is_whole());
    }

    #[test]
    fn what_is_not_known_is_said() {
        assert_eq!(asked("--lsit").unwrap_err(), "unknown: --lsit; known are --list --write --party --cell");
        assert_eq!(asked("--cell").unwrap_err(), "--cell needs a value");
    }
}
