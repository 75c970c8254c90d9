//! Servers behind the program, as a person uses it.

use std::path::Path;
use std::time::{Duration, Instant};

use codemode_tests::binary::{Ran, Typed, finish};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::stage::{log, runs, words};

/// An entry of a file of servers.
fn entry(wants: &Value) -> Value {
    let words = words(wants);
    json!({"command": words[0], "args": words[1..]})
}

fn file(folder: &Path, servers: &Value) -> String {
    let path = folder.join("mcp.json");
    std::fs::write(&path, json!({"mcpServers": servers}).to_string()).expect("a file");
    path.display().to_string()
}

fn run(folder: &Path, servers: &Value, body: &str) -> Ran {
    let servers = file(folder, servers);
    Typed::new(folder, ["run", "-", "--json", "--mcp", &servers]).stdin(body).run()
}

fn tree(file: &Path) -> Vec<i64> {
    log(file).iter().flat_map(|line| [line["pid"].as_i64(), line["grandchild"].as_i64()]).flatten().collect()
}

#[test]
fn p36_a_body_learns_of_a_servers_end_and_the_ledger_says_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let servers = json!({"srv": entry(&json!({})), "other": entry(&json!({"name": "other"}))});
    let body = r#"
        let said; try { await openclaw.tools.call("mcp:srv:bye", {}) } catch (e) { said = [e.code, e.message] }
        return [said, await openclaw.tools.call("mcp:other:whoami", {})]"#;
    let report = run(folder.path(), &servers, body).json();
    let value = &report["value"];
    assert_eq!((&value[0][0], &value[1]), (&json!("tool_unavailable"), &json!("other")), "{report}");
    assert!(value[0][1].as_str().unwrap().contains("SIGKILL"), "{report}");
    let states: Vec<_> = report["calls"].as_array().unwrap().iter().map(|call| call["state"].clone()).collect();
    assert_eq!(states, ["unknown", "ok"], "{report}");
    assert!(report["calls"][0]["durationMs"].as_f64().unwrap() < 1_000.0, "{report}");
}

#[test]
fn p18_an_mcp_error_ends_a_body_that_does_not_look() {
    let folder = tempfile::tempdir().unwrap();
    let body = r#"await openclaw.tools.call("mcp:srv:iserr", {}); await openclaw.tools.call("mcp:srv:count", {}); return "saved";"#;
    let ran = run(folder.path(), &json!({"srv": entry(&json!({}))}), body);
    let report = ran.json();
    assert!(ran.code == Some(1) && report["error"]["message"].as_str().unwrap().contains("bad input"), "{report}");
    assert_eq!(report["calls"].as_array().unwrap().len(), 1, "{report}");
}

#[test]
fn p38_a_body_runs_while_servers_are_missing_and_the_report_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let servers = json!({
        "fine": entry(&json!({"name": "fine"})), "silent": entry(&json!({"start": "silent"})), "missing": {"command": "no-such-program-anywhere"},
    });
    let began = Instant::now();
    let report = run(folder.path(), &servers, r#"return await openclaw.tools.call("mcp:fine:whoami", {})"#).json();
    // 3 s are waited for lists, 20 s would be the limit of the silent one.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(report["value"], "fine", "{report}");
    let missing = report["telemetry"]["unavailable"].as_array().unwrap();
    let names: Vec<_> = missing.iter().map(|missing| missing["server"].as_str().unwrap()).collect();
    assert_eq!(names, ["missing", "silent"], "{report}");
    assert!(missing.iter().all(|missing| !missing["reason"].as_str().unwrap().is_empty()), "{report}");
}

#[test]
fn p39_a_servers_environment_has_what_it_needs_and_what_its_entry_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut asking = entry(&json!({}));
    asking["env"] = json!({"FAKE_API_KEY": "own"});
    asking["cwd"] = json!("/");
    let servers = file(folder.path(), &json!({"plain": entry(&json!({})), "asking": asking}));
    let body = r#"const [a, b] = await Promise.all(["plain", "asking"].map((name) => openclaw.tools.call(`mcp:${name}:names`, {}))); return {plain: a, asking: b}"#;
    let typed = Typed::new(folder.path(), ["run", "-", "--json", "--mcp", &servers]).stdin(body);
    let report = typed.env("FAKE_API_KEY", "abc123").env("NODE_OPTIONS", "--no-warnings").env("LC_ALL", "C.UTF-8").run().json();
    let names = |server: &str| report["value"][server]["names"].as_array().unwrap_or_else(|| panic!("{report}")).clone();
    for name in ["PATH", "HOME", "TMPDIR", "LC_ALL"] {
        assert!(names("plain").contains(&json!(name)), "{name}: {report}");
    }
    for name in ["FAKE_API_KEY", "NODE_OPTIONS", "RUST_BACKTRACE"] {
        assert!(!names("plain").contains(&json!(name)), "{name}: {report}");
    }
    assert!(names("asking").contains(&json!("FAKE_API_KEY")), "{report}");
    assert_eq!(report["value"]["asking"]["cwd"], "/");
}

/// The launcher waits for the real server, which has a child of its own; nobody of them ends politely.
fn stubborn(folder: &Path, file: &Path) -> String {
    let fake = words(&json!({"log": file, "stubborn": true, "grandchild": true}));
    let quoted: Vec<String> = fake.iter().map(|word| format!("'{word}'")).collect();
    self::file(folder, &json!({"srv": {"command": "sh", "args": ["-c", format!("{}; true", quoted.join(" "))]}}))
}

fn ended_in_order(file: &Path) {
    let tree = tree(file);
    assert!(tree.len() > 2 && tree.iter().all(|pid| !runs(*pid)), "{tree:?}");
    let order: Vec<_> = log(file).into_iter().map(|line| line["what"].clone()).collect();
    let at = |what: &str| order.iter().position(|seen| seen == what).unwrap_or_else(|| panic!("no {what} in {order:?}"));
    assert!(at("end of input") < at("SIGTERM"), "{order:?}");
}

#[test]
fn p40_a_run_that_ends_leaves_no_process_of_a_servers_tree() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("srv.log");
    let servers = stubborn(folder.path(), &seen);
    let ran =
        Typed::new(folder.path(), ["run", "-", "--mcp", &servers]).stdin(r#"return await openclaw.tools.call("mcp:srv:whoami", {})"#).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "fake\n"), "{ran:?}");
    ended_in_order(&seen);
}

#[test]
fn p40_a_program_that_is_asked_to_end_takes_the_tree_with_it() {
    for words in [&["run", "-"][..], &["tools", "call", "mcp:srv:never"]] {
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().join("srv.log");
        let servers = stubborn(folder.path(), &seen);
        let typed = Typed::new(folder.path(), [words, &["--mcp", &servers]].concat());
        let child = typed.stdin(r#"return await openclaw.tools.call("mcp:srv:never", {})"#).start();
        let began = Instant::now();
        while !log(&seen).iter().any(|line| line["what"] == "call") {
            assert!(began.elapsed() < Duration::from_secs(20), "never called: {:?}", log(&seen));
            std::thread::sleep(Duration::from_millis(10));
        }
        kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
        let asked = Instant::now();
        let ran = finish(child);
        assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
        assert_eq!(ran.code, Some(130), "{ran:?}");
        ended_in_order(&seen);
    }
}

#[test]
fn a_command_without_a_body_lists_searches_and_calls() {
    let folder = tempfile::tempdir().unwrap();
    let servers = file(
        folder.path(),
        &json!({"srv": entry(&json!({"start": "banner"})), "off": {"command": "x", "disabled": true}, "odd": {"command": "no-such-program-anywhere", "timeout": 3}}),
    );
    let by_hand = |words: &[&str]| Typed::new(folder.path(), [&["tools"], words, &["--mcp", &servers]].concat()).run();
    let listed = by_hand(&["list", "--json"]);
    assert!(listed.json().as_array().unwrap().iter().any(|row| row["id"] == "mcp:srv:echo" && row["input"] == "unknown"), "{listed:?}");
    for note in [
        "\"off\" is turned off",
        "\"timeout\" of the MCP server \"odd\" means nothing here",
        "\"odd\" is not available",
        "Server v1.2 ready ✓",
    ] {
        assert!(listed.stderr.contains(note), "{note}: {listed:?}");
    }
    let called = by_hand(&["call", "mcp:srv:echo", "{\"a\": [1]}"]);
    assert_eq!((called.code, called.stdout.as_str()), (Some(0), "{\"a\":[1]}\n"), "{called:?}");
    let failed = by_hand(&["call", "mcp:srv:iserr"]);
    assert!(failed.code == Some(1) && failed.stdout.is_empty() && failed.stderr.contains("bad input"), "{failed:?}");
    let double = folder.path().join("c.json5");
    std::fs::write(&double, "{mcpServers: {srv: {command: 'x'}}}").unwrap();
    let ran = by_hand(&["list", "--config", double.to_str().unwrap()]);
    assert!(ran.code == Some(2) && ran.stderr.contains("stands in both"), "{ran:?}");
}
