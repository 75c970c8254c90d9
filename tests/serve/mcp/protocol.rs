//! The protocol itself: versions, ids, errors, what may come before what.

use std::time::Duration;

use serde_json::json;

use super::lines::Lines;

#[test]
fn text_ids_and_integer_ids_come_back_as_they_were() {
    let mut lines = Lines::open(&[]);
    for id in [json!("a"), json!("7"), json!(7), json!(0), json!(-3), json!(9_007_199_254_740_993_i64), json!(""), json!("ü\n\u{1F600}")] {
        lines.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        let answer = lines.answer(&id);
        assert_eq!((&answer["id"], &answer["result"]), (&id, &json!({})), "{answer}");
    }
}

#[test]
fn an_unknown_version_is_answered_with_one_that_is_known() {
    for (asked, given) in [
        ("2025-06-18", "2025-06-18"),
        ("2024-11-05", "2024-11-05"),
        ("1999-01-01", "2025-11-25"),
        ("2099-12-31", "2025-11-25"),
        ("", "2025-11-25"),
        ("nonsense", "2025-11-25"),
    ] {
        let mut lines = Lines::start(&["--mode", "tools"]);
        let params = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
        let answer = lines.request("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], given, "{asked}: {answer}");
        assert!(lines.request("tools/list", json!({}))["result"]["tools"].is_array());
    }
}

#[test]
fn errors_have_the_codes_of_the_protocol() {
    let mut lines = Lines::open(&[]);
    for (method, params, code) in [
        ("no/such", json!({}), -32_601),
        ("resources/list", json!({}), -32_601),
        ("prompts/get", json!({"name": "x"}), -32_601),
        ("tools/call", json!({"name": "no_such_tool"}), -32_602),
        ("tools/call", json!({"name": "tool_search", "arguments": {"query": "x"}}), -32_602),
        ("tools/call", json!({"arguments": {}}), -32_602),
        ("tools/call", json!({"name": "tool_search_code", "arguments": "text"}), -32_602),
        ("tools/list", json!({"cursor": "stranger"}), -32_602),
        ("logging/setLevel", json!({"level": "loud"}), -32_602),
    ] {
        let answer = lines.request(method, params.clone());
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    assert_eq!(lines.request("ping", json!({}))["result"], json!({}));
}

#[test]
fn what_comes_before_the_session_does_no_harm() {
    let mut lines = Lines::start(&["--mode", "tools"]);
    lines.notify("notifications/initialized", json!({}));
    lines.send(&json!({"jsonrpc": "2.0", "id": 4, "result": {}}));
    assert!(lines.request("tools/list", json!({}))["error"]["code"].is_i64());
    assert_eq!(lines.request("ping", json!({}))["result"], json!({}));
    lines.initialize(json!({}));
    assert!(lines.request("tools/list", json!({}))["result"]["tools"].is_array());
}

#[test]
fn standard_output_carries_messages_and_standard_error_the_rest() {
    let mut lines = Lines::open(&["--deny", "no:such"]);
    lines.code("console.error('to the log'); return 1");
    lines.hang_up();
    // Every line of standard output was read as JSON on the way.
    let (status, _, stderr) = lines.end();
    assert!(status.success() && stderr.contains("fits no tool"), "{stderr}");
    assert!(!stderr.contains("to the log"), "{stderr}");
}

#[test]
fn calls_of_one_client_go_side_by_side() {
    let mut lines = Lines::open(&["--mode", "tools"]);
    let slow = lines.ask("tools/call", json!({"name": "tool_call", "arguments": {"id": "demo:slow", "args": {"ms": 1_500}}}));
    assert_eq!(lines.request("ping", json!({}))["result"], json!({}));
    assert!(lines.next(Duration::from_millis(200)).is_none(), "the slow one is not over");
    assert_eq!(lines.answer(&slow)["result"]["structuredContent"], json!({"done": 1_500}));
}
