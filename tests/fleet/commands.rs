//! `codemode worker` and the commands that can run bodies on a fleet, as a person starts them.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Instant;

use codemode_tests::binary::{Typed, demo, finish};
use codemode_tests::patience::PACE;
use codemode_tests::program::codemode;
use serde_json::{Value, json};

use super::nats::Nats;
use super::workers::Fleet;
use super::{SOON, alone};

/// What `codemode mcp` with these words says to one body.
fn asked(words: &[&str]) -> Value {
    let mut command = Command::new(codemode());
    command.args(["mcp", "--tools"]).arg(demo()).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    let arguments = json!({"name": "tool_search_code", "arguments": {"code": "return openclaw.tools.call('demo:echo', {a: 1})"}});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": arguments}),
    ] {
        writeln!(stdin, "{message}").expect("it reads");
    }
    let answer = loop {
        let line = lines.next().expect("an answer").expect("a line");
        let message: Value = serde_json::from_str(&line).expect("JSON");
        if message["id"] == 2 {
            break message["result"]["structuredContent"].clone();
        }
    };
    drop(stdin);
    assert!(child.wait().expect("it is ours").success());
    answer
}

#[test]
fn mcp_runs_bodies_on_a_fleet_when_it_is_told_to() {
    alone(async {
        let nats = Nats::start();
        let url = nats.url();
        // Without a worker nobody runs it: so it is the fleet that does.
        let refused = asked(&["--fleet", &url]);
        assert_eq!((&refused["ok"], &refused["error"]["code"]), (&json!(false), &json!("busy")), "{refused}");
        let fleet = Fleet::of(&url, 1, 2).await;
        let done = asked(&["--fleet", &url]);
        assert_eq!((&done["ok"], &done["value"]), (&json!(true), &json!({"a": 1})), "{done}");
        fleet.ends().await;
    });
}

/// What `codemode serve` with these words reports of one body.
fn reported(words: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("s");
    let path = socket.display().to_string();
    let child = Typed::new(folder.path(), [&["serve", "--socket", &path], words].concat()).start();
    let began = Instant::now();
    let mut stream = loop {
        match UnixStream::connect(&socket) {
            Ok(stream) => break stream,
            Err(error) => assert!(began.elapsed() < SOON, "it does not serve: {error}"),
        }
        std::thread::sleep(PACE);
    };
    stream.set_read_timeout(Some(SOON)).expect("it is open");
    let hello = json!({"protocol": 1, "name": "test", "capabilities": ["catalog"]});
    let start = json!({"run": "r", "body": "return 6 * 7", "catalog": {"tools": []}});
    for (id, method, params) in [(1, "hello", hello), (2, "run.start", start)] {
        let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        let length = u32::try_from(text.len()).expect("it is short").to_be_bytes();
        stream.write_all(&[&length[..], text.as_bytes()].concat()).expect("it reads");
    }
    let report = loop {
        let mut length = [0; 4];
        stream.read_exact(&mut length).expect("a frame");
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut text).expect("a frame");
        let message: Value = serde_json::from_slice(&text).expect("JSON");
        if message["method"] == "run.finished" {
            break message["params"]["report"].clone();
        }
    };
    drop(stream);
    let group = nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a pid"));
    nix::sys::signal::kill(group, nix::sys::signal::Signal::SIGTERM).expect("it is ours");
    assert_eq!(finish(child).code, Some(0));
    report
}

#[test]
fn serve_runs_bodies_on_a_fleet_when_it_is_told_to() {
    alone(async {
        let nats = Nats::start();
        let url = nats.url();
        let refused = reported(&["--fleet", &url]);
        assert_eq!(refused["error"]["code"], "busy", "{refused}");
        let fleet = Fleet::of(&url, 1, 2).await;
        let done = reported(&["--fleet", &url]);
        assert_eq!((&done["ok"], &done["value"]), (&json!(true), &json!(42)), "{done}");
        fleet.ends().await;
    });
}

#[test]
fn a_worker_tells_what_it_has_and_what_the_doctor_found() {
    alone(async {
        let nats = Nats::start();
        let mut fleet = Fleet::of(&nats.url(), 1, 3).await;
        let status = fleet.hears(|status| !status["doctor"].is_null()).await;
        assert_eq!((&status["worker"], &status["places"], &status["free"]), (&json!("w1"), &json!(3), &json!(3)), "{status}");
        assert_eq!(status["doctor"]["runs"]["default"]["starts"], true);
        assert!(status["doctor"]["walls"].as_array().is_some_and(|walls| walls.len() > 5), "{status}");
        fleet.ends().await;
    });
}

#[test]
fn words_that_cannot_be_meant_and_places_that_are_not_there_are_two_lines() {
    alone(async {
        let folder = tempfile::tempdir().expect("a folder");
        let typed = |words: &[&str]| Typed::new(folder.path(), words).run();
        for (code, words) in [
            (2, &["worker"][..]),
            (2, &["worker", "--nats", "nats://127.0.0.1:1", "--subject", "a.*"]),
            (2, &["worker", "--nats", "nats://127.0.0.1:1", "--concurrency", "0"]),
            (2, &["worker", "--nats", "nats://127.0.0.1:1", "--creds", "nowhere"]),
            (4, &["worker", "--nats", "nats://127.0.0.1:1"]),
            (4, &["worker", "--nats", "nats://127.0.0.1:1", "--node", "/nowhere/node"]),
            (2, &["mcp", "--tools", "nowhere", "--creds", "x"]),
        ] {
            let ran = typed(words);
            assert_eq!(ran.code, Some(code), "{words:?}: {ran:?}");
            assert!(ran.stdout.is_empty() && ran.stderr.lines().count() >= 2, "{words:?}: {ran:?}");
        }
        let help = typed(&["worker", "--help"]);
        assert!(help.stdout.contains("Examples:") && help.stdout.contains("--drain"), "{help:?}");
    });
}
