//! Bodies as models write them, what became of each, and the message: a page that a reader can judge by the messages alone.
//!
//! `CODEMODE_BLESS=1 cargo test -p codemode-tests --test run page` writes the page anew.

use std::fmt::Write as _;
use std::fs;

use codemode_tests::host;
use codemode_tests::rig;

const BODIES: &str = include_str!("bodies.txt");

fn bodies() -> Vec<&'static str> {
    BODIES.split("\n====\n").map(|body| body.trim_end_matches('\n')).collect()
}

/// A text in a cell of a table: Markdown takes nothing in it for its own.
fn cell(text: &str) -> String {
    let ticks = if text.contains('`') { "``" } else { "`" };
    let pad = if ticks.len() > 1 { " " } else { "" };
    let text = text.replace('|', "\\|");
    let lines: Vec<_> =
        text.split('\n').filter(|line| !line.trim().is_empty()).map(|line| format!("{ticks}{pad}{line}{pad}{ticks}")).collect();
    lines.join("<br>")
}

async fn page() -> String {
    let supervisor = rig::supervisor();
    let mut page = "# Bodies as models write them\n\nMade by a test, which keeps it current. Each body runs with `examples/demo.json`.\n\n| body | outcome | value, or place and message |\n|---|---|---|\n".to_owned();
    for body in bodies() {
        let report = rig::run(&supervisor, body).await;
        let warned: String = report
            .logs
            .iter()
            .filter(|entry| entry.level.as_str() == "warn")
            .fold(String::new(), |told, entry| told + "\nwarn: " + &entry.text);
        let (outcome, told) = match &report.error {
            None => ("ok".to_owned(), report.value.text().to_owned()),
            Some(error) => {
                let place = error.line.map_or_else(String::new, |line| format!("{line}:{} ", error.column.unwrap_or(1)));
                (error.code.to_string(), format!("{place}{}", error.message))
            }
        };
        // Writing to a String cannot fail.
        let _ = writeln!(page, "| {} | {outcome} | {} |", cell(body), cell(&format!("{told}{warned}")));
    }
    page
}

#[test]
fn the_page_of_bodies_says_what_becomes_of_each() {
    rig::together(async {
        assert!(bodies().len() >= 40, "{}", bodies().len());
        let made = page().await;
        let file = host::repository().join("supervisor/docs/bodies.md");
        if std::env::var_os("CODEMODE_BLESS").is_some() {
            fs::write(&file, &made).expect("the page can be written");
        }
        let kept = fs::read_to_string(&file).expect("the page is there");
        for (made, kept) in made.lines().zip(kept.lines()) {
            assert_eq!(made, kept, "CODEMODE_BLESS=1 writes the page anew");
        }
        assert_eq!(made.lines().count(), kept.lines().count(), "CODEMODE_BLESS=1 writes the page anew");
    });
}

#[test]
fn every_failure_on_the_page_says_what_to_do() {
    rig::together(async {
        let supervisor = rig::supervisor();
        for body in bodies() {
            let report = rig::run(&supervisor, body).await;
            let Some(error) = report.error else { continue };
            let says = [
                "`",
                "missing",
                "closed",
                "send",
                "there are no",
                "return less",
                "use ",
                "not awaited",
                "near ones",
                "must be",
                "thrown:",
                "awaited or caught",
                "write the code",
                "await ",
                "search with",
                "put a semicolon",
                "pass the object",
                "give text",
                "the first of",
            ];
            assert!(says.iter().any(|word| error.message.contains(word)), "{body}\n{}", error.message);
        }
    });
}
