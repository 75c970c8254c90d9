//! The log of a session and the page that is drawn from it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Cursor;
use std::os::unix::fs::PermissionsExt;

use codemode::telemetry::{History, SessionLog};
use serde_json::{Value, json};

fn lines(path: &std::path::Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn p63_an_event_is_a_line_its_secrets_are_masked_and_the_file_is_its_owners() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    // A file that was there before, and that everybody could read.
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let log = SessionLog::open(&path).unwrap();
    let key = "sk-test-abcdef0123456789abcdef";
    log.write(Some("s"), Some("r"), &json!({"event": "x", "note": "line1\nline2 \u{1b}[0m \\n", "text": format!("use {key}!")}));
    log.write(None, None, &json!({"event": "y"}));
    let written = lines(&path);
    assert_eq!((written.len(), mode(&path)), (2, 0o600));
    assert_eq!(written[0]["note"], "line1\nline2 \u{1b}[0m \\n");
    assert_eq!(written[0]["text"], "use [masked]!");
    assert_eq!((&written[0]["session"], &written[0]["run"], written[0]["at"].is_u64()), (&json!("s"), &json!("r"), true));
    SessionLog::open(&path).unwrap().without_masks().write(None, None, &json!({"event": "z", "text": key}));
    assert_eq!(lines(&path)[2]["text"], key, "the control: it is the mask that hides it");
}

#[test]
fn escapes_are_whole_wherever_a_text_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    for length in 4_080..4_110 {
        let path = folder.path().join(format!("{length}.jsonl"));
        let text = format!("{}\n\"\\\u{1f600}\u{7}", "x".repeat(length));
        SessionLog::open(&path).unwrap().write(None, None, &json!({"event": "x", "text": text}));
        // It reads as JSON, and what is left of the text is its beginning.
        let read = lines(&path)[0]["text"].as_str().unwrap().to_owned();
        let kept = read.split("… ").next().unwrap();
        assert!(text.starts_with(kept) && kept.len() >= 4_000, "{length}");
    }
}

#[test]
fn a_full_disk_loses_events_and_never_a_run() {
    let log = SessionLog::open("/dev/full").unwrap();
    assert_eq!(log.loss(), None);
    for _ in 0..3 {
        log.write(None, None, &json!({"event": "x"}));
    }
    let loss = log.loss().unwrap();
    assert_eq!(loss.events, 3);
    assert!(loss.reason.contains("No space left"), "{loss:?}");
}

#[test]
fn a_log_that_cannot_be_opened_says_where_and_why() {
    let error = SessionLog::open("/nonexistent/log.jsonl").unwrap_err().to_string();
    assert!(error.starts_with("the session log /nonexistent/log.jsonl cannot be opened: No such file"), "{error}");
}

fn read(text: &str) -> History {
    History::read(Cursor::new(text.to_owned())).unwrap()
}

#[test]
fn a_log_that_was_cut_or_written_by_a_stranger_is_read_as_far_as_it_goes() {
    let history = read(
        "\n{\"event\":\"run_started\",\"run\":\"a\"}\nnot json\n{\"event\":7}\n[1]\n{\"event\":\"call_ended\",\"run\":\"a\",\"seq\":-1,\"id\":[],\"durationMs\":\"x\"}\n{\"event\":\"log_gap\",\"lost\":4}\n{\"event\":\"run_e",
    );
    assert_eq!((history.runs.len(), history.unreadable, history.lost), (1, 4, 4));
    assert_eq!((history.runs[0].verdict.as_deref(), history.runs[0].calls.len()), (None, 1));
    let long = format!("{{\"event\":\"x\",\"a\":\"{}\"}}\n{{\"event\":\"run_started\",\"run\":\"b\"}}\n", "y".repeat(3 << 20));
    assert_eq!(read(&long).runs.len(), 1);
}

#[test]
fn the_page_needs_nothing_else_and_every_text_in_it_is_escaped() {
    let evil = "<script>alert(1)</script>\"'&\u{202e}\u{1b}";
    let surface = json!({"event": "surface", "shown": evil, "reason": evil, "bytesSent": 10, "bytesDirect": 100_000, "definitions": ["a"], "catalogSize": 9});
    let search = json!({"event": "search", "run": evil, "query": evil, "rows": []});
    let call = json!({"event": "call_ended", "run": evil, "seq": 1, "method": evil, "id": evil, "state": "ok", "code": evil, "source": evil, "startMs": 1e308, "durationMs": 1e308});
    let text = [surface, search, call.clone(), json!({"event": "run_ended", "run": evil, "code": evil, "timing": {"totalMs": 3.0}})]
        .map(|event| event.to_string())
        .join("\n");
    let page = read(&text).page();
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\u{fffd}\u{fffd}"));
    assert!(!page.contains("<script") && !page.contains(['\u{202e}', '\u{1b}']));
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<link", "<img", "<iframe"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'") && !page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn the_page_shows_runs_bytes_and_what_was_not_found() {
    let events = [
        json!({"at": 1000, "event": "surface", "shown": "code", "bytesSent": 1_900, "bytesDirect": 120_000, "definitions": ["tool_search_code"], "catalogSize": 300, "schemasUpFront": 0}),
        json!({"at": 1000, "event": "run_started", "run": "r/1"}),
        json!({"at": 1001, "event": "search", "run": "r/1", "query": "teleport", "rows": []}),
        json!({"at": 1001, "event": "call_ended", "run": "r/1", "seq": 1, "method": "search", "state": "ok", "startMs": 0.1, "durationMs": 0.2}),
        json!({"at": 1002, "event": "call_ended", "run": "r/1", "seq": 2, "method": "call", "id": "plugin:p:x", "source": "plugin", "state": "ok", "startMs": 1.0, "durationMs": 2.0, "resultBytes": 12}),
        json!({"at": 1004, "event": "run_ended", "run": "r/1", "ok": true, "code": null, "timing": {"totalMs": 4.0}}),
    ];
    let page = read(&events.map(|event| event.to_string()).join("\n")).page();
    for part in
        ["115.3 KiB", "saved in prompts", "teleport", "plugin:p:x", "Final call", "<svg", "1900 B", "117.2 KiB", "at +0.0 s, 4.0 ms"]
    {
        assert!(page.contains(part), "{part}");
    }
}
