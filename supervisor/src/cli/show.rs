//! A report for people: the value on standard output and nothing else there; logs and errors on standard error.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use codemode_protocol::Level;

use super::screen::{visible, visible_json, visible_line};
use crate::run::{ErrorCode, RunError, RunReport};

/// Letters of a source line that are shown on each side of the place.
const EXCERPT_SIDE: usize = 60;

/// Prints a report.
pub(super) fn report(report: &RunReport, as_json: bool, body: &str, body_name: &str) {
    to_stderr(&messages(report, body, body_name));
    let shown = if as_json {
        let json = serde_json::to_string(report).unwrap_or_else(|_| "null".to_owned());
        Some(one_line(&json))
    } else if report.ok {
        Some(value(report))
    } else {
        None
    };
    if let Some(shown) = shown {
        to_stdout(shown);
    }
}

/// Prints what went wrong before there was a run.
pub(super) fn error(message: &str) {
    let mut text = String::new();
    headline(&mut text, "error", message);
    to_stderr(&text);
}

fn value(report: &RunReport) -> String {
    let json = one_line(report.value.text());
    match serde_json::from_str::<String>(&json) {
        Ok(text) if io::stdout().is_terminal() => visible(&text),
        Ok(text) => text,
        Err(_) => json,
    }
}

/// Line ends can stand between the tokens of JSON and nowhere else.
fn one_line(json: &str) -> String {
    let json = json.replace(['\n', '\r'], " ");
    if io::stdout().is_terminal() { visible_json(&json) } else { json }
}

fn messages(report: &RunReport, body: &str, body_name: &str) -> String {
    let mut text = String::new();
    for entry in &report.logs {
        let mark = match entry.level {
            Level::Log => "",
            Level::Warn => "warn: ",
            Level::Error => "error: ",
        };
        line(&mut text, &format!("{mark}{}", visible(&entry.text)));
    }
    if report.logs_dropped > 0 {
        line(&mut text, &format!("note: {} bytes of the console are left out", report.logs_dropped));
    }
    if let Some(error) = &report.error {
        explain(&mut text, error, body, body_name);
    }
    text
}

fn explain(text: &mut String, error: &RunError, body: &str, body_name: &str) {
    let message = match error.code {
        // What the body threw has a name of its own.
        ErrorCode::BodyError | ErrorCode::UnhandledRejection => format!("{}: {}", visible_line(&error.name), visible(&error.message)),
        _ => visible(&error.message),
    };
    headline(text, &format!("error[{}]", error.code), &message);
    if let Some(number) = error.line {
        let column = error.column.unwrap_or(1);
        line(text, &format!("  --> {}:{number}:{column}", visible_line(body_name)));
        excerpt(text, body, number, column);
    }
}

/// The first line is what, the others are what to do.
fn headline(text: &mut String, head: &str, message: &str) {
    let mut lines = message.lines();
    line(text, &format!("{head}: {}", lines.next().unwrap_or_default()));
    for more in lines {
        line(text, &format!("  {more}"));
    }
}

/// The line of the body that an error names. The place is the child's claim, so it may lie outside.
fn excerpt(text: &mut String, body: &str, number: u64, column: u64) {
    let Some(index) = usize::try_from(number).ok().and_then(|number| number.checked_sub(1)) else { return };
    let Some(source) = body.lines().nth(index) else { return };
    let Ok(column) = usize::try_from(column) else { return };
    // Columns count UTF-16 units, as JavaScript does.
    let mut units = 0;
    let before = source.chars().take_while(|letter| {
        units += letter.len_utf16();
        units < column
    });
    let at = before.count();
    let from = at.saturating_sub(EXCERPT_SIDE);
    let show = |from, count| visible_line(&source.chars().skip(from).take(count).collect::<String>());
    let lead = show(from, at - from);
    let rest = show(at, EXCERPT_SIDE);
    let gutter = " ".repeat(number.to_string().len());
    let indent = " ".repeat(lead.chars().count());
    line(text, &format!(" {gutter} |\n {number} | {lead}{rest}\n {gutter} | {indent}^"));
}

fn line(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{line}");
}

fn to_stderr(text: &str) {
    // Nobody left to tell when standard error is closed.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn to_stdout(mut text: String) {
    text.push('\n');
    let mut out = io::stdout().lock();
    // A reader that went away early (`| head`) has what it wanted.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(error: &RunError, body: &str) -> String {
        let mut text = String::new();
        explain(&mut text, error, body, "body.js");
        text
    }

    #[test]
    fn an_error_shows_its_place_in_the_callers_text() {
        let mut error = RunError::new(ErrorCode::BodyError, "Cannot read properties of null");
        error.name = "TypeError".into();
        (error.line, error.column) = (Some(2), Some(10));
        assert_eq!(
            explained(&error, "const c = null;\nreturn c.x;"),
            "error[body_error]: TypeError: Cannot read properties of null\n  --> body.js:2:10\n   |\n 2 | return c.x;\n   |          ^\n"
        );
    }

    #[test]
    fn a_claimed_place_outside_the_body_is_no_panic() {
        let mut error = RunError::new(ErrorCode::SyntaxError, "no");
        for (line, column) in [(0, 0), (1, 0), (1, u64::MAX), (2, 1), (u64::MAX, 1)] {
            (error.line, error.column) = (Some(line), Some(column));
            assert!(explained(&error, "é").starts_with("error[syntax_error]: no\n"));
        }
    }

    #[test]
    fn an_error_of_ours_says_what_and_what_to_do() {
        let error = RunError::new(ErrorCode::Timeout, "the body took longer than 5 ms\nlet it do less");
        assert_eq!(explained(&error, ""), "error[timeout]: the body took longer than 5 ms\n  let it do less\n");
    }
}
