//! When a client goes, or gives up a request, everything of it goes.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use codemode_tests::census::{children_of, is_alive};
use codemode_tests::program::codemode;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::lines::{GONE_WITHIN, Lines, PATIENCE, all_gone};
use super::words;

const ENDLESS: &str = "console.log('begun'); for (;;);";
/// What the words of the server promise.
const PROMISED: Duration = Duration::from_secs(2);

/// A server with a body that has begun and does not end; the id of its request, and the processes of the server.
fn busy() -> (Lines, serde_json::Value, BTreeSet<i32>) {
    let mut lines = Lines::open(&[]);
    let id = lines.ask("tools/call", json!({"name": "tool_search_code", "arguments": {"code": ENDLESS}}));
    let line = lines.next(PATIENCE).expect("the body's first line");
    assert_eq!(line["params"]["data"], "begun", "{line}");
    let children = lines.children();
    (lines, id, children)
}

#[test]
fn a_cancelled_request_ends_its_run_and_is_not_answered() {
    let (mut lines, id, children) = busy();
    lines.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    let second = lines.code("return 2");
    assert_eq!(second["value"], 2, "the connection goes on");
    assert!(!lines.aside.iter().any(|message| message["id"] == id), "{:?}", lines.aside);
    // Whatever was there with the body and is no template is gone.
    let left = children_of(lines.pid());
    let gone: BTreeSet<i32> = children.difference(&left).copied().collect();
    assert!(!gone.is_empty(), "the body's process is still there: {left:?}");
    all_gone(&gone);
}

#[test]
fn a_client_that_closes_its_pipe_leaves_no_process() {
    let (mut lines, _, children) = busy();
    lines.hang_up();
    let (status, took, stderr) = lines.end();
    assert!(status.success() && took < PROMISED, "{status:?} after {took:?}: {stderr}");
    all_gone(&children);
}

#[test]
fn signals_end_it_as_well() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let (lines, _, children) = busy();
        kill(Pid::from_raw(lines.pid()), signal).expect("it is ours");
        let (status, took, stderr) = lines.end();
        assert!(status.success() && took < PROMISED, "{signal}: {status:?} after {took:?}: {stderr}");
        all_gone(&children);
    }
}

#[test]
fn a_client_that_reads_no_more_does_not_hold_up_the_end() {
    let mut command = Command::new(codemode());
    let mut child = command.args(words(&[])).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}});
    // Nothing is ever read: its pipe is full long before this is answered.
    let flood = thread::spawn(move || {
        let mut lines = format!("{initialize}\n");
        for id in 2..5_000 {
            lines.push_str(&format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})));
        }
        // The server stops reading when it cannot write.
        let _ = stdin.write_all(lines.as_bytes());
    });
    thread::sleep(Duration::from_secs(2));
    let pid = i32::try_from(child.id()).expect("a pid");
    let memory = fs::read_to_string(format!("/proc/{pid}/status")).expect("it is there");
    let rss: u64 = memory
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .expect("a size");
    assert!(rss < 200 << 10, "{rss} KiB for a client that does not read");
    kill(Pid::from_raw(pid), Signal::SIGTERM).expect("it is ours");
    let began = Instant::now();
    while child.try_wait().expect("it is ours").is_none() {
        assert!(began.elapsed() < GONE_WITHIN, "it waits for a client that does not read");
        thread::sleep(Duration::from_millis(5));
    }
    flood.join().expect("it ends with the pipe");
}

#[test]
fn a_killed_client_leaves_no_process() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let input = folder.path().join("input");
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "tool_search_code", "arguments": {"code": ENDLESS}}}),
    ];
    fs::write(&input, messages.map(|message| format!("{message}\n")).concat()).expect("it is ours");
    // The client is the process that holds the pipe: it writes two messages and sleeps.
    let script = r#"{ cat "$0"; exec sleep 600; } | "$@" >/dev/null 2>&1"#;
    let mut shell = Command::new("sh").arg("-c").arg(script).arg(&input).arg(codemode()).args(words(&[])).spawn().expect("a shell");
    let pid = i32::try_from(shell.id()).expect("a pid");
    let began = Instant::now();
    let (client, server, bodies) = loop {
        let named = |name: &str| {
            children_of(pid)
                .into_iter()
                .find(|child| fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|comm| comm.trim() == name))
        };
        if let (Some(client), Some(server)) = (named("sleep"), named("codemode")) {
            let bodies = children_of(server);
            let burns = bodies.iter().any(|body| codemode_tests::census::cpu_of(*body) > Duration::from_millis(300));
            if burns {
                break (client, server, bodies);
            }
        }
        assert!(began.elapsed() < PATIENCE, "the body does not start");
        thread::sleep(Duration::from_millis(20));
    };
    kill(Pid::from_raw(client), Signal::SIGKILL).expect("it is ours");
    let began = Instant::now();
    while is_alive(server) {
        assert!(began.elapsed() < PROMISED, "the server outlives its client");
        thread::sleep(Duration::from_millis(5));
    }
    all_gone(&bodies);
    let _ = shell.wait();
}

#[test]
fn requests_that_wait_for_their_turn_go_with_the_client_too() {
    let mut lines = Lines::open(&[]);
    for _ in 0..40 {
        lines.ask(
            "tools/call",
            json!({"name": "tool_search_code", "arguments": {"code": "await openclaw.tools.call('demo:slow', {ms: 8000})"}}),
        );
    }
    let children = lines.children();
    lines.hang_up();
    let (status, took, _) = lines.end();
    assert!(status.success() && took < PROMISED, "{status:?} after {took:?}");
    all_gone(&children);
}
