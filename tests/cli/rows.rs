//! A table of bad inputs: each row is a command, and every cell of it is asserted.

use std::path::Path;

use codemode_tests::binary::{Before, Typed};

/// One bad input, and what is to come of it.
pub struct Row {
    pub name: String,
    /// Shell words before the program: limits, another user.
    pub setup: String,
    pub words: Vec<String>,
    pub stdin: Vec<u8>,
    pub environment: Vec<(&'static str, String)>,
    pub code: i32,
    /// What the first line of standard error must say.
    pub what: &'static str,
    /// What the second must say; empty: the first says both.
    pub to_do: &'static str,
}

impl Row {
    pub fn new(name: impl Into<String>, words: &[&str], code: i32, what: &'static str, to_do: &'static str) -> Row {
        Row {
            name: name.into(),
            setup: String::new(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            stdin: Vec::new(),
            environment: Vec::new(),
            code,
            what,
            to_do,
        }
    }

    pub fn stdin(mut self, bytes: impl AsRef<[u8]>) -> Row {
        self.stdin = bytes.as_ref().to_vec();
        self
    }

    pub fn after(mut self, setup: &str) -> Row {
        self.setup = setup.to_owned();
        self
    }

    pub fn env(mut self, name: &'static str, value: impl Into<String>) -> Row {
        self.environment.push((name, value.into()));
        self
    }
}

/// Runs every row and asserts every cell; a wrong one fails the test when all have been seen. `started` tells what a row has started that it may not.
pub fn check(table: &str, rows: &[Row], folder: &Path, started: impl Fn() -> Option<String>) {
    let (mut cells, mut wrong) = (0, Vec::new());
    for row in rows {
        let before = Before::look(folder);
        let typed = if row.setup.is_empty() { Typed::new(folder, &row.words) } else { Typed::after(&row.setup, folder, &row.words) };
        let typed = row.environment.iter().fold(typed, |typed, (name, value)| typed.env(name, value));
        let ran = typed.stdin(row.stdin.clone()).run();
        let lines: Vec<&str> = ran.stderr.lines().collect();
        let first = lines.first().copied().unwrap_or_default();
        let second = lines.get(1).copied().unwrap_or_default();
        let left = before.leftovers();
        let started = started();
        for (cell, holds) in [
            ("exit code", ran.code == Some(row.code)),
            ("one line or two", (1..=2).contains(&lines.len())),
            ("starts as an error", first.starts_with("error")),
            ("what", first.contains(row.what)),
            ("what to do", if row.to_do.is_empty() { true } else { second.contains(row.to_do) }),
            ("no control characters", !ran.stderr.chars().any(|c| c.is_control() && c != '\n')),
            ("empty standard output", ran.stdout.is_empty()),
            ("nothing started", started.is_none()),
            ("nothing left", left.is_empty()),
        ] {
            cells += 1;
            if !holds {
                wrong.push(format!("{}: {cell}: {:?} {} left {left:?} started {started:?}", row.name, ran.code, ran.stderr));
            }
        }
    }
    println!("{table}: {} inputs, {cells} cells, {} wrong", rows.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
