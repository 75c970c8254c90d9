//! What a body wrote with `console.*`: the first part and the last, whatever the child sends.
//!
//! The child cuts its entries itself so that less travels; the supervisor keeps to the same limits as if it did not.

use std::borrow::Cow;
use std::collections::VecDeque;

use codemode_protocol::Level;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::cut;

/// An entry costs at least this much of the budget, so that empty lines are bounded as well: 4,096 of them fill 64 KiB.
const LEAST_COST: usize = 16;

/// One `console` call of a body.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LogEntry {
    /// Which method.
    #[serde(deserialize_with = "level")]
    pub level: Level,
    /// Its arguments as text. Guest text: filter it before it reaches a terminal.
    pub text: String,
    /// Bytes cut out of `text`; absent in JSON when nothing was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

fn level<'de, D: Deserializer<'de>>(from: D) -> Result<Level, D::Error> {
    let word = Cow::<str>::deserialize(from)?;
    Level::from_word(&word).ok_or_else(|| D::Error::custom("no level"))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How much of the console is kept.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ConsoleLimits {
    /// Bytes of text kept of the whole run.
    pub run_bytes: usize,
    /// Bytes of text kept of one entry.
    pub entry_bytes: usize,
    /// Bytes sent, kept or not, from which on the run is over.
    pub flood_bytes: u64,
}

/// The body wrote more than any honest body does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Flood {
    /// Bytes it had written by then.
    pub written: u64,
}

/// The console of one run.
#[derive(Debug)]
pub struct Console {
    limits: ConsoleLimits,
    head: Vec<LogEntry>,
    /// Cost of `head`; at most `head_limit`.
    head_cost: usize,
    /// Set by the first entry that did not fit: what comes later must not overtake it.
    head_full: bool,
    tail: VecDeque<LogEntry>,
    /// Cost of `tail`; `head_cost + tail_cost <= limits.run_bytes` after every push.
    tail_cost: usize,
    dropped: u64,
    written: u64,
}

impl Console {
    /// An empty console.
    pub fn new(limits: ConsoleLimits) -> Self {
        Console { limits, head: Vec::new(), head_cost: 0, head_full: false, tail: VecDeque::new(), tail_cost: 0, dropped: 0, written: 0 }
    }

    /// Takes an entry. `already_dropped` is what the child says it cut; it is counted, not believed to be small.
    pub fn push(&mut self, level: Level, text: String, already_dropped: u64) -> Result<(), Flood> {
        let sent = (text.len() as u64).saturating_add(already_dropped);
        self.written = self.written.saturating_add(sent.max(LEAST_COST as u64));
        let (text, lost) = cut::middle(text, self.limits.entry_bytes);
        let dropped = already_dropped.saturating_add(lost);
        self.dropped = self.dropped.saturating_add(dropped);
        self.keep(LogEntry { level, text, dropped });
        if self.written > self.limits.flood_bytes {
            return Err(Flood { written: self.written });
        }
        Ok(())
    }

    /// The entry that came last, as it is kept.
    pub fn latest(&self) -> Option<&LogEntry> {
        self.tail.back().or(self.head.last())
    }

    /// The entries kept, in order, and how many bytes are not among them.
    pub fn into_parts(self) -> (Vec<LogEntry>, u64) {
        let mut entries = self.head;
        entries.extend(self.tail);
        (entries, self.dropped)
    }

    fn keep(&mut self, entry: LogEntry) {
        let cost = entry.cost();
        let head_limit = cut::head_share(self.limits.run_bytes);
        if !self.head_full && self.head_cost + cost <= head_limit {
            self.head_cost += cost;
            self.head.push(entry);
            return;
        }
        self.head_full = true;
        self.tail_cost += cost;
        self.tail.push_back(entry);
        while self.head_cost + self.tail_cost > self.limits.run_bytes {
            let Some(lost) = self.tail.pop_front() else { break };
            self.tail_cost -= lost.cost();
            // An empty line that is lost was still something: it counts its line end.
            self.dropped = self.dropped.saturating_add(lost.text.len().max(1) as u64);
        }
    }
}

impl LogEntry {
    /// What the entry takes of the budget.
    pub fn cost(&self) -> usize {
        self.text.len().max(LEAST_COST)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: ConsoleLimits = ConsoleLimits { run_bytes: 64 * 1024, entry_bytes: 8 * 1024, flood_bytes: 16 * 1024 * 1024 };

    fn log(console: &mut Console, text: &str) -> Result<(), Flood> {
        console.push(Level::Log, text.to_owned(), 0)
    }

    #[test]
    fn a_short_console_is_kept_whole() {
        let mut console = Console::new(LIMITS);
        for line in ["a", "", "ü"] {
            log(&mut console, line).unwrap();
        }
        let (entries, dropped) = console.into_parts();
        assert_eq!(entries.iter().map(|e| e.text.as_str()).collect::<Vec<_>>(), ["a", "", "ü"]);
        assert_eq!(dropped, 0);
    }

    #[test]
    fn first_and_last_lines_survive_a_long_console() {
        let mut console = Console::new(LIMITS);
        for i in 0..1000 {
            log(&mut console, &format!("{i:0>100}")).unwrap();
        }
        let (entries, dropped) = console.into_parts();
        let kept: u64 = entries.iter().map(|e| e.text.len() as u64).sum();
        assert_eq!(kept + dropped, 100_000);
        assert!(kept <= 64 * 1024 && kept > 63 * 1024, "{kept}");
        assert!(entries[0].text.ends_with("00"));
        assert!(entries.last().unwrap().text.ends_with("999"));
    }

    #[test]
    fn one_huge_entry_keeps_both_ends_and_says_what_it_lost() {
        let mut console = Console::new(LIMITS);
        let text = format!("begin{}end", "a".repeat(5_000_000));
        log(&mut console, &text).unwrap();
        let (entries, dropped) = console.into_parts();
        assert!(entries[0].text.starts_with("begin") && entries[0].text.ends_with("end"));
        assert!(entries[0].text.len() <= 8 * 1024);
        assert_eq!(entries[0].dropped, dropped);
        assert_eq!(entries[0].text.len() as u64 - cut::MARK.len() as u64 + dropped, text.len() as u64);
    }

    #[test]
    fn a_flood_is_told_when_it_passes_the_limit_even_of_empty_lines() {
        let mut console = Console::new(LIMITS);
        let mut lines = 0u32;
        while log(&mut console, "").is_ok() {
            lines += 1;
        }
        assert_eq!(lines, 1024 * 1024);
        assert!(console.head.len() + console.tail.len() <= 4096);
    }

    #[test]
    fn a_claimed_number_cannot_overflow() {
        let mut console = Console::new(LIMITS);
        assert!(console.push(Level::Warn, "x".into(), u64::MAX).is_err());
        assert!(console.push(Level::Warn, "x".into(), u64::MAX).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn never_above_the_budget_and_every_byte_accounted_for(lines in prop::collection::vec("\\PC{0,120}", 0..100)) {
            let limits = ConsoleLimits { run_bytes: 2048, entry_bytes: 100, flood_bytes: u64::MAX };
            let mut console = Console::new(limits);
            for line in &lines {
                log(&mut console, line).unwrap();
            }
            let (entries, dropped) = console.into_parts();
            let kept: usize = entries.iter().map(|e| e.text.len()).sum();
            prop_assert!(kept <= limits.run_bytes);
            prop_assert!(entries.iter().all(|e| e.text.len() <= limits.entry_bytes));
            prop_assert!(entries.len() <= lines.len());
            prop_assert!(entries.len() == lines.len() || dropped > 0);
        }
    }
}
