//! Clients that mean no good, over pipes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::lines::Lines;

fn works(lines: &mut Lines) {
    assert_eq!(lines.request("ping", json!({}))["result"], json!({}), "it goes on");
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_read() {
    let mut lines = Lines::open(&["--mode", "tools"]);
    let mut long = vec![b'x'; 20 << 20];
    long.push(b'\n');
    lines.raw(&long);
    let refused = lines.answer(&Value::Null);
    assert_eq!(refused["error"]["code"], -32_600, "{refused}");
    works(&mut lines);
    let memory = std::fs::read_to_string(format!("/proc/{}/status", lines.pid())).expect("it is there");
    let peak: u64 = memory
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .expect("a size");
    assert!(peak < 100 << 10, "{peak} KiB for a line of 20 MiB");
}

#[test]
fn an_argument_of_the_largest_size_is_still_taken() {
    let mut lines = Lines::open(&["--mode", "tools"]);
    let text = "x".repeat(3 << 20);
    let called = lines.call("tool_call", json!({"id": "demo:text", "args": {"text": text}}));
    // 3 MiB are more than a call takes by default: that is the gate's word, with the message read.
    assert_eq!(called["structuredContent"]["error"]["code"], "too_large", "{}", called.to_string().len());
    works(&mut lines);
}

#[test]
fn json_of_any_depth_is_an_error_and_no_crash() {
    let mut lines = Lines::open(&["--mode", "tools"]);
    for text in [
        "[".repeat(100_000),
        format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\",\"params\":{}1{}}}", "{\"a\":".repeat(100_000), "}".repeat(100_000)),
    ] {
        lines.raw(format!("{text}\n").as_bytes());
        assert_eq!(lines.answer(&Value::Null)["error"]["code"], -32_700);
    }
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    lines.raw(format!("{{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{{\"name\":\"tool_call\",\"arguments\":{{\"id\":\"demo:echo\",\"args\":{{\"a\":{deep}}}}}}}}}\n").as_bytes());
    let answer = lines.answer(&json!(8));
    assert!(answer.get("result").is_some(), "{answer}");
    works(&mut lines);
}

#[test]
fn garbage_is_answered_or_passed_over_and_never_fatal() {
    let mut lines = Lines::open(&["--mode", "tools"]);
    lines.raw(b"\n\r\n  \n");
    for (bytes, id, code) in [
        (&b"hello\n"[..], Value::Null, -32_700),
        (b"\xff\xfe\x00\n", Value::Null, -32_700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1\n", Value::Null, -32_700),
        (b"7\n", Value::Null, -32_600),
        (b"[]\n", Value::Null, -32_600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":\"k\",\"method\":\"ping\"}\n", json!("k"), -32_600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}\n", Value::Null, -32_600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1e300,\"method\":\"ping\"}\n", Value::Null, -32_600),
        (b"{\"id\":5,\"method\":7}\n", json!(5), -32_600),
    ] {
        lines.raw(bytes);
        let refused = lines.answer(&id);
        assert_eq!(refused["error"]["code"], code, "{}: {refused}", String::from_utf8_lossy(bytes));
    }
    lines.notify("notifications/cancelled", json!({"requestId": "nobody"}));
    lines.notify("notifications/cancelled", json!({}));
    lines.notify("no/such", json!({"x": 1}));
    lines.send(&json!({"jsonrpc": "2.0", "id": 77, "result": {"roots": []}}));
    lines.send(&json!({"jsonrpc": "2.0", "id": 78, "error": {"code": 1, "message": "x"}}));
    lines.raw(b"{\"jsonrpc\":\"2.0\",\"id\":\"half\",");
    std::thread::sleep(Duration::from_millis(50));
    lines.raw(b"\"method\":\"ping\"}\n");
    assert_eq!(lines.answer(&json!("half"))["result"], json!({}), "a line may come in pieces");
    works(&mut lines);
}

#[test]
fn requests_above_the_bound_are_refused_and_the_others_answered() {
    let mut lines = Lines::open(&["--mode", "tools"]);
    for id in 0..100 {
        lines.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "tool_call", "arguments": {"id": "demo:slow", "args": {"ms": 2_500}}}}));
    }
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..100 {
        let answer = lines.next(Duration::from_secs(30)).expect("each is answered");
        let kind = match answer["error"]["code"].as_i64() {
            None => "done",
            Some(-32_000) => "refused",
            Some(_) => panic!("{answer}"),
        };
        *ends.entry(kind).or_default() += 1;
    }
    assert_eq!(ends, BTreeMap::from([("done", 64), ("refused", 36)]));
    works(&mut lines);
}

#[test]
fn an_id_that_is_still_open_is_not_taken_twice() {
    let mut lines = Lines::open(&["--mode", "tools"]);
    let slow = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "tool_call", "arguments": {"id": "demo:slow", "args": {"ms": 700}}}});
    lines.send(&slow);
    lines.send(&slow);
    assert_eq!(lines.answer(&json!(1))["error"]["code"], -32_600);
    assert_eq!(lines.answer(&json!(1))["result"]["isError"], false);
    lines.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    assert_eq!(lines.answer(&json!(1))["result"], json!({}), "afterwards it is free");
}

#[test]
fn cancelled_requests_give_their_room_back() {
    let mut lines = Lines::open(&["--mode", "tools"]);
    for id in 0..200 {
        lines.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "tool_call", "arguments": {"id": "demo:slow", "args": {"ms": 20_000}}}}));
        lines.notify("notifications/cancelled", json!({"requestId": id}));
    }
    works(&mut lines);
    assert_eq!(lines.aside, Vec::<Value>::new());
}
