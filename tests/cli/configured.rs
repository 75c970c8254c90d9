//! `--config` and the ids of a run, `--session-log`, and `codemode report`.

use std::os::unix::fs::PermissionsExt;

use codemode_tests::binary::{Typed, demo};

use super::{folder, together, write};

const CONFIG: &str = "{tools: {deny: ['demo:boom']}, agents: {reader: {tools: {allow: ['demo:echo', 'demo:boom']}}}, sessions: {s: {tools: {deny: ['demo:echo']}}}}";

#[test]
fn the_rules_of_every_scope_are_in_force_for_bodies_and_by_hand() {
    let _turn = together();
    let folder = folder();
    let config = write(folder.path(), "c.json5", CONFIG).display().to_string();
    let demo = demo().display().to_string();
    let listed = |words: &[&str]| {
        let ran = Typed::new(folder.path(), [&["tools", "list", "--json", "--tools", &demo, "--config", &config], words].concat()).run();
        ran.json().as_array().map(Vec::len)
    };
    assert_eq!(listed(&[]), Some(8), "nine without the one that is denied");
    assert_eq!(listed(&["--agent", "reader"]), Some(1));
    assert_eq!(listed(&["--agent", "reader", "--session", "s"]), Some(0));
    assert_eq!(listed(&["--agent", "stranger", "--deny", "demo:echo"]), Some(7));
    let told =
        Typed::new(folder.path(), ["tools", "list", "--tools", &demo, "--config", &config, "--agent", "raeder", "--session", "s"]).run();
    assert!(told.code == Some(0) && told.stderr.contains("--agent \"raeder\" has no rules in the configuration"), "{told:?}");
    assert!(!told.stderr.contains("--session"), "{told:?}");
    let body = "return await openclaw.tools.call('demo:boom').catch(e => e.code)";
    let ran = Typed::new(folder.path(), ["run", "-", "--tools", &demo, "--config", &config]).stdin(body).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "denied\n"), "{ran:?}");
}

#[test]
fn a_configuration_with_a_fault_stops_the_command_and_a_clamp_does_not() {
    let _turn = together();
    let folder = folder();
    let bad = write(folder.path(), "bad.json5", "{\n tools: {alow: []}}").display().to_string();
    let ran = Typed::new(folder.path(), ["run", "-", "--config", &bad]).stdin("return 1").run();
    assert!(ran.code == Some(2) && ran.stdout.is_empty() && ran.stderr.contains("bad.json5:2:10: tools: unknown key \"alow\""), "{ran:?}");
    let clamped = write(folder.path(), "clamped.json5", "{tools: {toolSearch: {codeTimeoutMs: 1}}}").display().to_string();
    let ran = Typed::new(folder.path(), ["run", "-", "--config", &clamped]).stdin("return 1").run();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "1\n"), "{ran:?}");
    assert_eq!(ran.stderr.matches("codeTimeoutMs is 1 and may be 1000 to 60000; 1000 is used").count(), 1, "{ran:?}");
}

#[test]
fn a_session_log_is_kept_and_reported_on() {
    let _turn = together();
    let folder = folder();
    let demo = demo().display().to_string();
    let body = "await openclaw.tools.search('zzqqxx'); return await openclaw.tools.call('demo:echo', {token: 'sk-test-abcdef0123456789abcdef', note: 'line1\\nline2'})";
    let ran = Typed::new(folder.path(), ["run", "-", "--tools", &demo, "--session-log", "s.jsonl", "--session", "s"]).stdin(body).run();
    assert!(ran.code == Some(0) && ran.stdout.contains("sk-test-abcdef0123456789abcdef"), "the backend gets the real one: {ran:?}");
    let path = folder.path().join("s.jsonl");
    let log = std::fs::read_to_string(&path).expect("a log");
    assert!(!log.contains("sk-test") && log.contains("[masked]") && log.contains("line1\\nline2"), "{log}");
    assert_eq!(std::fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
    let told = Typed::new(folder.path(), ["report", "s.jsonl", "--html", "s.html"]).run();
    for part in
        ["made       1 bodies, 1 searches, 0 descriptions, 1 calls", "final call demo:echo, answered by client", "not found  zzqqxx"]
    {
        assert!(told.code == Some(0) && told.stdout.contains(part), "{told:?}");
    }
    assert!(std::fs::read_to_string(folder.path().join("s.html")).expect("a page").contains("demo:echo"));
}

#[test]
fn p54_a_log_that_cannot_be_made_is_one_error_before_the_body_runs() {
    let _turn = together();
    let folder = folder();
    let ran = Typed::new(folder.path(), ["run", "-", "--session-log", "/nonexistent/s.jsonl"]).stdin("return 1").run();
    assert!(ran.code == Some(2) && ran.stdout.is_empty() && ran.stderr.contains("/nonexistent/s.jsonl cannot be opened"), "{ran:?}");
    let full = Typed::new(folder.path(), ["run", "-", "--session-log", "/dev/full"]).stdin("return 1").run();
    assert!(full.code == Some(0) && full.stdout == "1\n" && full.stderr.contains("events are missing from the session log"), "{full:?}");
    write(folder.path(), "body.js", "return 1\n");
    let foreign = Typed::new(folder.path(), ["report", "body.js", "--html", "s.html"]).run();
    assert!(foreign.code == Some(2) && foreign.stdout.is_empty() && foreign.stderr.contains("body.js is no session log"), "{foreign:?}");
    assert!(!folder.path().join("s.html").exists(), "a page of nothing");
    let missing = Typed::new(folder.path(), ["report", "nothing.jsonl"]).run();
    assert!(missing.code == Some(2) && missing.stderr.contains("nothing.jsonl cannot be read"), "{missing:?}");
}
