//! What a client hears while a body runs.

use serde_json::{Value, json};

use super::lines::Lines;

const BODY: &str = "console.log('one'); console.warn('two'); console.error('three'); \
                    await openclaw.tools.call('demo:echo', {}); await openclaw.tools.call('demo:boom', {}).catch(() => {}); return 1";

fn told(lines: &mut Lines, method: &str, meta: Value) -> Vec<Value> {
    lines.aside.clear();
    let answer = lines.request("tools/call", json!({"name": "tool_search_code", "arguments": {"code": BODY}, "_meta": meta}));
    assert_eq!(answer["result"]["structuredContent"]["ok"], true, "{answer}");
    lines.aside.iter().filter(|message| message["method"] == method).map(|message| message["params"].clone()).collect()
}

#[test]
fn each_call_of_a_body_is_progress_if_the_client_gave_a_token() {
    let mut lines = Lines::open(&[]);
    for token in [json!("text"), json!(17)] {
        let progress = told(&mut lines, "notifications/progress", json!({"progressToken": token}));
        assert!(progress.iter().all(|one| one["progressToken"] == token), "{progress:?}");
        let numbers: Vec<f64> = progress.iter().filter_map(|one| one["progress"].as_f64()).collect();
        assert_eq!(numbers, [1.0, 2.0, 3.0, 4.0], "it goes up: {progress:?}");
        let messages: Vec<&str> = progress.iter().filter_map(|one| one["message"].as_str()).collect();
        assert_eq!(messages[0], "calling demo:echo");
        assert!(
            messages[1].starts_with("call demo:echo: ok after") && messages[3].starts_with("call demo:boom: error after"),
            "{messages:?}"
        );
    }
    assert_eq!(told(&mut lines, "notifications/progress", json!({})), Vec::<Value>::new(), "without a token there is none");
}

#[test]
fn lines_of_the_console_are_log_messages_from_the_level_that_was_set() {
    let mut lines = Lines::open(&[]);
    let heard = |lines: &mut Lines| -> Vec<(String, String)> {
        let text = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
        told(lines, "notifications/message", json!({})).iter().map(|one| (text(one, "level"), text(one, "data"))).collect()
    };
    let all = [("info", "one"), ("warning", "two"), ("error", "three")].map(|(level, data)| (level.to_owned(), data.to_owned()));
    assert_eq!(heard(&mut lines), all);
    assert_eq!(lines.request("logging/setLevel", json!({"level": "warning"}))["result"], json!({}));
    assert_eq!(heard(&mut lines), all[1..]);
    lines.request("logging/setLevel", json!({"level": "emergency"}));
    assert_eq!(heard(&mut lines), []);
    lines.request("logging/setLevel", json!({"level": "debug"}));
    assert_eq!(heard(&mut lines), all);
}

#[test]
fn news_never_come_behind_the_result() {
    let mut lines = Lines::open(&[]);
    let code = "for (let i = 0; i < 200; i++) console.log(String(i)); return 1";
    lines.request("tools/call", json!({"name": "tool_search_code", "arguments": {"code": code}}));
    let before = lines.aside.len();
    assert!(before > 100, "{before}");
    lines.request("ping", json!({}));
    assert_eq!(lines.aside.len(), before);
}
