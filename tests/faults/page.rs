//! `supervisor/docs/faults.md`: the table, for people.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use codemode_tests::fault::Fault;
use codemode_tests::host;

use crate::table::{Party, Plan, cells};

fn path() -> PathBuf {
    host::repository().join("supervisor/docs/faults.md")
}

/// Writes the page.
///
/// # Panics
///
/// When it cannot be written.
pub fn write(parties: &[Box<dyn Party>]) {
    fs::write(path(), text(parties)).expect("the page can be written");
}

/// What is wrong with the page; nothing when it is the table.
pub fn differs(parties: &[Box<dyn Party>]) -> Option<String> {
    let page = fs::read_to_string(path()).unwrap_or_default();
    (page != text(parties)).then(|| "supervisor/docs/faults.md is another table: write it with --write".to_owned())
}

const WORDS: &str = "# Faults\n\nWhat becomes of a run when something it depends on fails. Written by `cargo test -p codemode-tests --test faults -- --write`; without \
`--write` that command runs every cell, and fails when this page is not what it ran.\n\nA cell has the verdict of the run and, behind a semicolon, the state of each of its \
requests, with the code of an error behind a colon; in italics, what becomes of a connection that may outlive the run. After each cell nothing may be left within a second: no process, no descriptor, no file. Every report is whole: what had been \
written to the console is in it, and every request has its one final state. A number in brackets points to the reason why a cell makes no sense.\n";

fn text(parties: &[Box<dyn Party>]) -> String {
    let all: Vec<_> = parties.iter().flat_map(|party| cells(&**party)).collect();
    let run = all.iter().filter(|cell| cell.expected().is_some()).count();
    let mut page = WORDS.to_owned();
    let _ = write!(page, "\n{} cells: {run} are run, {} make no sense.\n", all.len(), all.len() - run);
    page.push_str("\n| fault | what it is |\n|---|---|\n");
    for (fault, what) in Fault::ALL.iter().zip(MEANINGS) {
        let _ = writeln!(page, "| {} | {what} |", fault.name());
    }
    for party in parties {
        let mut reasons: Vec<&str> = Vec::new();
        let _ = write!(page, "\n## {}\n\n{}\n\n", party.name(), party.what());
        for (step, what) in party.steps() {
            let _ = writeln!(page, "- *{step}*: {what}");
        }
        let names: Vec<&str> = party.steps().iter().map(|(step, _)| *step).collect();
        let _ = write!(page, "\n| fault | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()));
        for fault in Fault::ALL {
            let row: Vec<String> = names
                .iter()
                .map(|step| match party.plan(step, fault) {
                    Plan::NoSense(why) => {
                        let at = reasons.iter().position(|reason| *reason == why).unwrap_or_else(|| {
                            reasons.push(why);
                            reasons.len() - 1
                        });
                        format!("n/a [{}]", at + 1)
                    }
                    plan => plan.to_string().replace('|', " or "),
                })
                .collect();
            let _ = writeln!(page, "| {} | {} |", fault.name(), row.join(" | "));
        }
        if !reasons.is_empty() {
            page.push('\n');
        }
        for (reason, number) in reasons.iter().zip(1..) {
            let _ = writeln!(page, "{number}. {reason}");
        }
    }
    page
}

const MEANINGS: [&str; 9] = [
    "nothing comes any more",
    "it is gone: killed, crashed, panicked",
    "it stalls, and then goes on as if nothing had been",
    "it says the same once more",
    "it says what is no word of this conversation",
    "it says the right thing, a byte or a piece at a time",
    "it says more than anybody reads",
    "it closes the direction in which it speaks, and stays",
    "it closes the direction in which it listens, and stays",
];
