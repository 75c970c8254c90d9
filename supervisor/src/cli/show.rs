//! A report for people: the value on standard output and nothing else there; what went wrong on standard error.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use codemode_protocol::Level;

use super::excerpt::excerpt;
use super::paint::Paint;
use crate::catalog::CallFailure;
use crate::catalog::visible::{visible, visible_json, visible_line};
use crate::run::{CallEntry, CallState, ErrorCode, LogEntry, RunError, RunReport};

/// Prints the end of a run; its logs and calls were told while it went on.
pub(super) fn report(report: &RunReport, as_json: bool, body: &str, body_name: &str) {
    if let Some(error) = &report.error {
        to_stderr(&explained(error, body, body_name, Paint::stderr()));
    }
    if as_json {
        let json = serde_json::to_string(report).unwrap_or_else(|_| "null".to_owned());
        json_line(&json);
    } else if report.ok {
        value(report.value.text());
    }
}

/// Prints what went wrong before there was a run.
pub(super) fn error(message: &str) {
    to_stderr(&headline("error", message, Paint::stderr()));
}

/// Prints something that a user should know and that stops nothing.
pub(super) fn note(message: &str) {
    to_stderr(&format!("{} {}\n", Paint::stderr().warning("note:"), visible_line(message)));
}

/// Prints how a request made by hand failed.
pub(super) fn failure(failure: &CallFailure) {
    let head = format!("error[{}]", failure.code.as_str());
    let message = match failure.name == failure.code.error_name() {
        true => failure.message.clone(),
        // A tool's own name for it.
        false => format!("{}: {}", failure.name, failure.message),
    };
    let paint = Paint::stderr();
    let mut text = headline(&head, &visible(&message), paint);
    if !failure.data.is_null() {
        text.push_str(&data_line(&failure.data.to_string(), paint));
    }
    to_stderr(&text);
}

/// What an error has besides its message.
fn data_line(json: &str, paint: Paint) -> String {
    format!("  {} {}\n", paint.aside("data:"), super::table::cut(&visible_line(json), WIDEST))
}

/// Prints a value that is JSON text: a string as it is, everything else as JSON on one line.
pub(super) fn value(json: &str) {
    match serde_json::from_str::<String>(json) {
        Ok(text) if io::stdout().is_terminal() => to_stdout(visible(&text)),
        Ok(text) => to_stdout(text),
        Err(_) => json_line(json),
    }
}

/// Prints JSON on one line. Line ends can stand between its tokens and nowhere else.
pub(super) fn json_line(json: &str) {
    let json = json.replace(['\n', '\r'], " ");
    to_stdout(if io::stdout().is_terminal() { visible_json(&json) } else { json });
}

/// A console entry as a person reads it.
pub(super) fn log(entry: &LogEntry, paint: Paint) -> String {
    let text = visible(&entry.text);
    match entry.level {
        Level::Log => text,
        Level::Warn => format!("{} {text}", paint.warning("warn:")),
        Level::Error => format!("{} {text}", paint.error("error:")),
    }
}

/// A finished request of a body as a person reads it: one line, at most so many columns for the id.
pub(super) fn call(entry: &CallEntry, id_columns: usize, paint: Paint) -> String {
    let method = entry.method.as_str();
    let id =
        entry.id.as_deref().map(|id| format!(" {}", paint.name(&super::table::cut(&visible_line(id), id_columns)))).unwrap_or_default();
    let state = match entry.state {
        CallState::Unknown => "unknown: it was sent and never answered",
        state => state.as_str(),
    };
    let why = entry.code.map(|code| format!(" {}", code.as_str())).filter(|why| why.trim() != state).unwrap_or_default();
    let outcome = format!("{state}{why}");
    let outcome = if entry.state == CallState::Ok { outcome } else { paint.warning(&outcome) };
    let facts = format!("{:.1} ms, {} bytes", entry.duration.as_secs_f64() * 1_000.0, entry.result_bytes);
    format!("{} {method}{id} {outcome} {}", paint.aside(">"), paint.aside(&format!("({facts})")))
}

fn explained(error: &RunError, body: &str, body_name: &str, paint: Paint) -> String {
    let message = match error.code {
        // What the body threw has a name of its own.
        ErrorCode::BodyError | ErrorCode::UnhandledRejection => format!("{}: {}", visible_line(&error.name), visible(&error.message)),
        _ => visible(&error.message),
    };
    let mut text = headline(&format!("error[{}]", error.code), &message, paint);
    if let Some(flag) = flag(error.code) {
        let _ = writeln!(text, "  the flag is `{flag}`");
    }
    if let Some(number) = error.line {
        let column = error.column.unwrap_or(1);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {} {}:{number}:{column}", paint.aside("-->"), visible_line(body_name));
        text.push_str(&excerpt(body, number, column, paint).unwrap_or_default());
    }
    for frame in callers(error) {
        let _ = writeln!(text, "  {} {}", paint.aside("at"), super::table::cut(&visible_line(frame), WIDEST));
    }
    if let Some(data) = error.data.as_ref().filter(|data| data.text() != "null") {
        text.push_str(&data_line(data.text(), paint));
    }
    text
}

/// What sets the limit that this error is about.
fn flag(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::Timeout | ErrorCode::CpuLimit => Some("--timeout MS"),
        ErrorCode::MemoryLimit => Some("--memory MIB"),
        _ => None,
    }
}

/// Columns of a frame, or of an error's data, that are shown: enough to go on, and no flood.
const WIDEST: usize = 240;
/// Frames that are shown besides the place itself.
const MOST_FRAMES: usize = 8;

/// Who called the place that is shown already: the further frames of the stack. They are the child's claim.
fn callers(error: &RunError) -> impl Iterator<Item = &str> {
    let frames = error.stack.as_deref().unwrap_or_default().lines().filter_map(|line| line.strip_prefix("    at "));
    frames.skip(1).take(MOST_FRAMES)
}

/// The first line is what, the others are what to do.
fn headline(head: &str, message: &str, paint: Paint) -> String {
    let mut lines = message.lines();
    let mut text = format!("{} {}\n", paint.error(&format!("{head}:")), lines.next().unwrap_or_default());
    for more in lines {
        let _ = writeln!(text, "  {more}");
    }
    text
}

pub(super) fn to_stderr(text: &str) {
    // Nobody left to tell when standard error is closed.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Whether something that belongs on standard output could not be written there.
static LOST: AtomicBool = AtomicBool::new(false);

/// Whether standard output took everything. A command that succeeded has not when its result is lost.
pub(super) fn all_was_written() -> bool {
    !LOST.load(Ordering::Relaxed)
}

pub(super) fn to_stdout(mut text: String) {
    text.push('\n');
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => {}
        // A reader that went away early (`| head`) has what it wanted.
        Err(why) if why.kind() == io::ErrorKind::BrokenPipe => {}
        Err(why) => {
            LOST.store(true, Ordering::Relaxed);
            error(&format!("the result cannot be written to standard output: {why}\nmake room there, or send it elsewhere"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(error: &RunError, body: &str) -> String {
        explained(error, body, "body.js", Paint::off())
    }

    #[test]
    fn an_error_shows_its_place_in_the_callers_text() {
        let mut error = RunError::new(ErrorCode::BodyError, "Cannot read properties of null");
        error.name = "TypeError".into();
        (error.line, error.column) = (Some(2), Some(10));
        assert_eq!(
            shown(&error, "const c = null;\nreturn c.x;"),
            "error[body_error]: TypeError: Cannot read properties of null\n  --> body.js:2:10\n   |\n 2 | return c.x;\n   |          ^\n"
        );
    }

    #[test]
    fn who_called_and_what_else_the_error_has_follow_its_place() {
        let mut error = RunError::new(ErrorCode::BodyError, "deep");
        error.name = "RangeError".into();
        (error.line, error.column) = (Some(1), Some(1));
        error.stack = Some("RangeError: deep\n    at g (body.js:1:1)\n    at f (body.js:3:10)\n    at \u{1b}[2J (body.js:4:1)".into());
        error.data = codemode_protocol::JsonText::of(&serde_json::json!({"code": "E_A"})).ok();
        assert!(
            shown(&error, "g").ends_with("^\n  at f (body.js:3:10)\n  at \\u{1b}[2J (body.js:4:1)\n  data: {\"code\":\"E_A\"}\n"),
            "{}",
            shown(&error, "g")
        );
    }

    #[test]
    fn an_error_of_ours_says_what_and_what_to_do() {
        let error = RunError::new(ErrorCode::Timeout, "the body took longer than 5 ms\nlet it do less");
        assert_eq!(shown(&error, ""), "error[timeout]: the body took longer than 5 ms\n  let it do less\n  the flag is `--timeout MS`\n");
        let error = RunError::new(ErrorCode::OutputLimit, "too much");
        assert_eq!(shown(&error, ""), "error[output_limit]: too much\n", "no flag sets this one");
    }

    #[test]
    fn names_and_messages_of_a_body_do_not_drive_the_terminal() {
        let mut error = RunError::new(ErrorCode::BodyError, "\u{1b}[2J");
        error.name = "\u{1b}]0;x\u{7}\nerror[internal_error]".into();
        let text = shown(&error, "");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()) && text.lines().count() == 1, "{text:?}");
    }
}
