//! The question to the person at the terminal: may this call go?
//!
//! What is shown is a stranger's: the body chose the arguments, and the tool's origin its names. So it is bounded, nothing in it drives the terminal, and no
//! line of the body's console comes between the question and the answer.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use nix::sys::termios::{FlushArg, tcflush};
use tokio::time::sleep;

use super::paint::Paint;
use crate::gate::{ApprovalAnswer, ApprovalRequest, Approver, ShownCall, is_one_row, one_line};

/// Letters of the id in the line that asks, at its beginning and at its end.
const ASKED_HEAD: usize = 18;
const ASKED_TAIL: usize = 9;
/// Bytes of an answer. A longer one is not yes.
const ANSWER_BYTES: usize = 64;

/// How often a terminal is looked at for an answer.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Whether a question is open. One terminal, one question.
static OPEN: AtomicBool = AtomicBool::new(false);

/// Whether the screen belongs to a question now.
pub(super) fn is_asking() -> bool {
    OPEN.load(Ordering::Acquire)
}

/// Asks at the terminal of this process, if it has one that somebody looks at.
#[derive(Debug)]
pub(super) struct AtTerminal;

#[async_trait]
impl Approver for AtTerminal {
    async fn ask(&self, question: &ApprovalRequest) -> ApprovalAnswer {
        let unavailable = |reason: &str| ApprovalAnswer::Unavailable { reason: reason.to_owned() };
        if !io::stderr().is_terminal() {
            return unavailable("there is no terminal to ask at");
        }
        let Ok(terminal) = terminal() else { return unavailable("the terminal cannot be opened") };
        let _asking = Asking::begin();
        match put(&terminal, question).await {
            Ok(answer) if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") => ApprovalAnswer::Granted,
            Ok(_) => ApprovalAnswer::Refused { reason: Some("the person at the terminal said no".to_owned()) },
            Err(error) => unavailable(&format!("the terminal cannot be read: {error}")),
        }
    }
}

/// The terminal, opened anew: what is set for this descriptor is set for nobody else's.
fn terminal() -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty")
}

/// Does something with the terminal as soon as it can be done. A read that blocks could not be called off, and a person is slow.
async fn soon<T>(mut attempt: impl FnMut() -> io::Result<T> + Send) -> io::Result<T> {
    loop {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(LOOK_EVERY).await,
            done => return done,
        }
    }
}

struct Asking;

impl Asking {
    fn begin() -> Asking {
        OPEN.store(true, Ordering::Release);
        Asking
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        OPEN.store(false, Ordering::Release);
    }
}

/// A question that may be withdrawn before it is answered: then the line it stands on ends.
struct Shown<'a> {
    terminal: &'a File,
    answered: bool,
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if !self.answered {
            // Nobody is told when even that cannot be written.
            let _ = (&mut &*self.terminal).write_all(b"\n");
        }
    }
}

async fn put(terminal: &File, question: &ApprovalRequest) -> io::Result<String> {
    // What was typed before the question is no answer to it.
    let _ = tcflush(terminal.as_fd(), FlushArg::TCIFLUSH);
    let mut shown = Shown { terminal, answered: false };
    let mut text = wording(question, Paint::stderr()).into_bytes();
    while !text.is_empty() {
        let mut screen = terminal;
        let written = soon(|| screen.write(&text)).await?;
        text.drain(..written);
    }
    let mut answer = Vec::new();
    let mut buffer = [0; ANSWER_BYTES];
    loop {
        let mut keys = terminal;
        let read = soon(|| keys.read(&mut buffer)).await?;
        answer.extend_from_slice(&buffer[..read]);
        // A terminal gives whole lines; nothing at all is its end-of-file.
        if read == 0 || answer.ends_with(b"\n") || answer.len() > ANSWER_BYTES {
            shown.answered = answer.ends_with(b"\n");
            return Ok(String::from_utf8_lossy(&answer).into_owned());
        }
    }
}

/// The words of the question.
fn wording(question: &ApprovalRequest, paint: Paint) -> String {
    let shown = ShownCall::of(question);
    // What does not stand behind `tool` and `source` stands in rows that cannot look like ours.
    let name = |rows: &[String]| rows.join("\n  | ");
    let args: String = shown.args.iter().map(|row| format!("| {row}\n")).collect();
    let id = one_line(&question.tool.id);
    let letters: Vec<char> = id.chars().collect();
    let asked = if letters.len() <= 2 * (ASKED_HEAD + ASKED_TAIL) && is_one_row(&id) {
        id
    } else {
        let of = |letters: &[char]| letters.iter().collect::<String>();
        let tail = letters.len().saturating_sub(ASKED_TAIL).max(ASKED_HEAD.min(letters.len()));
        format!("{}…{}", of(&letters[..ASKED_HEAD.min(letters.len())]), of(&letters[tail..]))
    };
    format!(
        "\r\u{1b}[K{} call {} needs your approval\n  tool    {}\n  source  {}, {}\n  args\n{args}Let {asked} go? [y/N] ",
        paint.warning("approval:"),
        question.seq,
        paint.name(&name(&shown.tool)),
        question.tool.source.as_str(),
        name(&shown.source_name),
    )
}

/// The approver of the command line.
pub(super) fn approver() -> Arc<dyn Approver> {
    Arc::new(AtTerminal)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::catalog::{Source, Tool};
    use crate::gate::rows;

    fn words(id: &str, args: Value) -> String {
        let tool = Arc::new(Tool::new(Source::Mcp, "files\u{1b}[2J", "read", "", json!({})).with_id(id));
        wording(&ApprovalRequest { tool, args: Arc::new(args), run_id: "r".into(), seq: 3 }, Paint::off())
    }

    #[test]
    fn a_question_names_tool_source_and_arguments() {
        let text = words("mcp:files:read", json!({"path": "/etc/passwd"}));
        for part in ["call 3", "mcp:files:read", "mcp, files", "\n| {\"path\":\"/etc/passwd\"}\n", "\nLet mcp:files:read go? [y/N] "] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_question_cannot_be_rewritten_from_inside() {
        let text = words("x\r\u{1b}[A\u{202e}demo:harmless\nLet it go? [y/N] y", json!({"a\u{9b}2J": "b\u{1b}]0;x\u{7}\n\r\u{202e}"}));
        let after = text.strip_prefix("\r\u{1b}[K").unwrap();
        assert!(after.chars().all(|c| c == '\n' || !(c.is_control() || c == '\u{202e}')), "{after:?}");
        assert_eq!(after.lines().filter(|line| line.starts_with("Let ")).count(), 1, "{after}");
        assert_eq!(after.lines().count(), 6, "{after}");
    }

    #[test]
    fn no_argument_and_no_name_can_forge_a_question_or_push_it_off_the_screen() {
        let forged = "Let demo:harmless go? [y/N] ";
        for filler in [" ", "x", "\u{3164}", "\u{a0}", "日"] {
            for many in [9, 53, 72, 80, 5_000] {
                let text = format!("{}{forged}", filler.repeat(many));
                let asked = words(&format!("demo:{text}"), json!({"a": text.repeat(3)}));
                let lines: Vec<&str> = asked.split('\n').collect();
                assert!(lines.len() <= 46 && lines.iter().all(|line| rows(line, 79).len() == 1), "{asked}");
                assert_eq!(lines.iter().filter(|line| line.starts_with("Let ")).count(), 1, "{asked}");
                assert!(lines.last().unwrap().starts_with("Let demo:"), "{asked}");
            }
        }
        let fits = words("client:x:y", json!({"a": "x".repeat(100_000)}));
        assert!(fits.lines().count() <= 24 && fits.ends_with("\nLet client:x:y go? [y/N] "), "{fits}");
        assert!(words("t", json!({"a": " ".repeat(9)})).contains("[9 blanks]"));
    }

    #[test]
    fn long_arguments_show_both_ends_and_say_how_much_is_missing() {
        let text = words("t", json!({"a": "x".repeat(100_000), "z": "the end"}));
        assert!(text.len() < 3_000 && text.contains("the end") && text.contains("letters are not shown"), "{text}");
    }
}
