//! The question at the terminal before a call.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use codemode_tests::binary::{Typed, codemode, demo};

use super::{folder, together, write};

/// How long a question may take to come.
const SHOWN_WITHIN: Duration = Duration::from_secs(20);

const ASKING: &str = r#"{ approvals: { "demo:count": "ask" } }"#;

/// The program at a terminal, which `script` makes.
struct AtTerminal {
    child: Child,
    keys: ChildStdin,
    screen: Receiver<Vec<u8>>,
    seen: String,
}

impl AtTerminal {
    fn start(place: &Path, words: &str) -> AtTerminal {
        let mut command = Command::new("script");
        let line = format!("{} {words} --tools {} --config config.json5", codemode().display(), demo().display());
        command.args(["-qec", &line, "/dev/null"]).current_dir(place).env("TERM", "xterm").env("NO_COLOR", "1");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("script starts");
        let (keys, mut out) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (send, screen) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = out.read(&mut buffer) {
                let _ = send.send(buffer[..read].to_vec());
            }
        });
        AtTerminal { child, keys, screen, seen: String::new() }
    }

    fn sees(&mut self, words: &str) {
        let began = Instant::now();
        while !self.seen.contains(words) {
            assert!(began.elapsed() < SHOWN_WITHIN, "no {words:?} in {:?}", self.seen);
            if let Ok(bytes) = self.screen.recv_timeout(Duration::from_millis(100)) {
                self.seen.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it listens");
    }

    /// Everything on the screen, and the exit code.
    fn ends(mut self) -> (String, Option<i32>) {
        let status = self.child.wait().expect("it ends");
        while let Ok(bytes) = self.screen.recv_timeout(Duration::from_millis(500)) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        (self.seen, status.code())
    }
}

fn has_script() -> bool {
    codemode_tests::host::has("script", codemode_tests::host::program("script").is_some())
}

#[test]
fn a_person_at_the_terminal_is_asked_and_only_yes_is_yes() {
    if !has_script() {
        return;
    }
    let _turn = together();
    let folder = folder();
    write(folder.path(), "config.json5", ASKING);
    write(
        folder.path(),
        "body.js",
        "return await openclaw.tools.call('demo:count', { why: '\\u001b[2Jhello' }).catch(e => e.code + ': ' + e.message)",
    );
    for words in ["run body.js", r#"tools call demo:count '{"why": "\u001b[2Jhello"}'"#] {
        for (keys, goes) in [("y\n", true), ("YES\n", true), ("\n", false), ("n\n", false), ("yes please\n", false), ("\u{4}", false)] {
            let mut at = AtTerminal::start(folder.path(), words);
            at.sees("[y/N]");
            assert!(
                at.seen.contains("demo:count")
                    && at.seen.contains("demo:count go? [y/N]")
                    && at.seen.contains("client, demo")
                    && at.seen.contains("hello"),
                "{:?}",
                at.seen
            );
            assert!(!at.seen.contains("\u{1b}[2J"), "the arguments drive the terminal: {:?}", at.seen);
            at.types(keys);
            let (screen, code) = at.ends();
            let after = screen.split("[y/N]").nth(1).expect("it was asked");
            assert_eq!(after.contains("approval_denied"), !goes, "{keys:?}: {screen:?}");
            assert_eq!(code, Some(if goes || words.starts_with("run") { 0 } else { 1 }), "{keys:?}: {screen:?}");
        }
    }
}

#[test]
fn what_was_typed_before_the_question_is_no_answer_and_nothing_is_written_into_it() {
    if !has_script() {
        return;
    }
    let _turn = together();
    let folder = folder();
    write(folder.path(), "config.json5", ASKING);
    let body = "
        await openclaw.tools.call('demo:slow', { ms: 600 });
        const call = openclaw.tools.call('demo:count');
        await openclaw.tools.call('demo:slow', { ms: 300 });
        console.log('a line of the body');
        return await call.catch(e => e.code)";
    write(folder.path(), "body.js", body);
    let mut at = AtTerminal::start(folder.path(), "run body.js");
    at.types("y\n");
    at.sees("[y/N]");
    thread::sleep(Duration::from_millis(900));
    at.types("\n");
    let (screen, _) = at.ends();
    let after = screen.split("[y/N]").nth(1).expect("it was asked");
    assert!(after.contains("approval_denied"), "{screen:?}");
    let (question, _) = after.split_once("\r\n").expect("the answer ends its line");
    assert!(!question.contains("a line of the body") && after.contains("a line of the body"), "{screen:?}");
}

#[test]
fn an_interrupt_withdraws_the_question() {
    if !has_script() {
        return;
    }
    let _turn = together();
    let folder = folder();
    write(folder.path(), "config.json5", ASKING);
    write(folder.path(), "body.js", "return await openclaw.tools.call('demo:count')");
    let mut at = AtTerminal::start(folder.path(), "run body.js");
    at.sees("[y/N]");
    at.types("\u{3}");
    let (screen, code) = at.ends();
    assert_eq!(code, Some(130), "{screen:?}");
    assert!(screen.contains("cancelled"), "{screen:?}");
}

#[test]
fn without_a_terminal_the_call_is_refused_and_says_so() {
    let _turn = together();
    let folder = folder();
    write(folder.path(), "config.json5", ASKING);
    let tools = demo().display().to_string();
    let flags = ["--tools", &tools, "--config", "config.json5"];
    let body = "return await openclaw.tools.call('demo:count').catch(e => e.code + ': ' + e.message)";
    let ran = Typed::new(folder.path(), [&["run", "-"], &flags[..]].concat()).stdin(body).run();
    assert!(ran.stdout.contains("approval_unavailable: approval needed, no approver") && ran.stdout.contains("no terminal"), "{ran:?}");
    let ran = Typed::new(folder.path(), [&["tools", "call", "demo:count"], &flags[..]].concat()).run();
    assert!(ran.code == Some(1) && ran.stderr.contains("error[approval_unavailable]") && ran.stderr.contains("no terminal"), "{ran:?}");
}

#[test]
fn hooks_of_the_configuration_stand_before_every_call() {
    let _turn = together();
    let folder = folder();
    let program = r#"command: ["/bin/sh", "-c", "cat >> log; echo '{\"decision\":\"allow\",\"args\":{\"by\":\"hook\"}}'"]"#;
    write(folder.path(), "config.json5", format!("{{ hooks: {{ beforeToolCall: [{{ {program} }}] }} }}"));
    let tools = demo().display().to_string();
    let flags = ["--tools", &tools, "--config", "config.json5"];
    let body = "return await openclaw.tools.call('demo:echo', { by: 'body' })";
    let ran = Typed::new(folder.path(), [&["run", "-"], &flags[..]].concat()).stdin(body).run();
    assert_eq!(ran.stdout, "{\"by\":\"hook\"}\n", "{ran:?}");
    let ran = Typed::new(folder.path(), [&["tools", "call", "demo:echo", "{}"], &flags[..]].concat()).run();
    assert_eq!(ran.stdout, "{\"by\":\"hook\"}\n", "{ran:?}");
    let log = std::fs::read_to_string(folder.path().join("log")).expect("the hook wrote it");
    assert_eq!(log.lines().count(), 2, "{log}");
}
