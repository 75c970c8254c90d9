//! What a client lists and gets, mode by mode.

use serde_json::{Value, json};

use super::lines::Lines;
use super::{catalog, words};

fn listed(lines: &mut Lines) -> Vec<Value> {
    let answer = lines.request("tools/list", json!({}));
    assert!(answer["result"].get("nextCursor").is_none(), "one page: {answer}");
    answer["result"]["tools"].as_array().expect("tools").clone()
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect()
}

#[test]
fn mode_code_is_the_usual_one_and_shows_one_tool() {
    for more in [&[][..], &["--mode", "code"]] {
        let mut lines = Lines::open(more);
        assert_eq!(names(&listed(&mut lines)), ["tool_search_code"]);
    }
}

#[test]
fn a_body_comes_back_as_the_envelope_in_structure_and_text() {
    let mut lines = Lines::open(&[]);
    let result = lines.call("tool_search_code", json!({"code": "console.log('hi'); return openclaw.tools.call('demo:echo', {a: [1]})"}));
    let envelope = &result["structuredContent"];
    assert_eq!((&envelope["ok"], &envelope["value"]), (&json!(true), &json!({"a": [1]})), "{result}");
    assert_eq!(envelope["logs"], json!([{"level": "log", "text": "hi"}]));
    assert_eq!(envelope["telemetry"]["callCount"], 1);
    assert_eq!(envelope["telemetry"]["selected"], json!([{"id": "demo:echo", "source": "client"}]));
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert_eq!(&serde_json::from_str::<Value>(text).expect("JSON"), envelope);
    assert_eq!(result["isError"], false);
}

#[test]
fn a_body_that_fails_is_an_error_that_says_where_and_which_calls_had_gone_out() {
    let mut lines = Lines::open(&[]);
    let result = lines.call("tool_search_code", json!({"code": "await openclaw.tools.call('demo:count', {});\nthrow new Error('no');"}));
    let envelope = &result["structuredContent"];
    assert_eq!((&result["isError"], &envelope["ok"]), (&json!(true), &json!(false)), "{result}");
    assert_eq!((&envelope["error"]["code"], &envelope["error"]["line"]), (&json!("body_error"), &json!(2)));
    assert_eq!((&envelope["calls"][0]["id"], &envelope["calls"][0]["state"]), (&json!("demo:count"), &json!("ok")));
    let result = lines.call("tool_search_code", json!({"code": 7}));
    assert_eq!(
        (&result["isError"], &result["structuredContent"]["error"]["code"]),
        (&json!(true), &json!("invalid_arguments")),
        "{result}"
    );
}

#[test]
fn mode_tools_searches_describes_and_calls() {
    let mut lines = Lines::open(&["--mode", "tools"]);
    assert_eq!(names(&listed(&mut lines)), ["tool_search", "tool_describe", "tool_call"]);
    let found = lines.call("tool_search", json!({"query": "adds one to a counter", "limit": 1}));
    assert_eq!(found["structuredContent"]["tools"][0]["id"], "demo:count", "{found}");
    let described = lines.call("tool_describe", json!({"id": "edit"}));
    assert_eq!(described["structuredContent"]["parameters"]["required"], json!(["fields"]));
    let called = lines.call("tool_call", json!({"id": "demo:echo", "args": {"x": 1}}));
    assert_eq!((&called["structuredContent"], &called["isError"]), (&json!({"x": 1}), &json!(false)));
    let text = lines.call("tool_call", json!({"id": "demo:text", "args": {"text": "[plain]"}}));
    assert_eq!((&text["content"][0]["text"], text.get("structuredContent")), (&json!("[plain]"), None));
    let failed = lines.call("tool_call", json!({"id": "demo:boom"}));
    assert_eq!((&failed["isError"], &failed["structuredContent"]["error"]["code"]), (&json!(true), &json!("tool_error")), "{failed}");
    let refused = lines.call("tool_call", json!({"id": "demo:edit", "args": {}}));
    assert_eq!(refused["structuredContent"]["error"]["code"], "invalid_arguments");
}

#[test]
fn mode_directory_lists_names_in_the_instructions_and_takes_them() {
    let mut lines = Lines::start(&["--mode", "directory"]);
    let info = lines.initialize(json!({}));
    assert!(names(&listed(&mut lines)).starts_with(&["tool_search", "tool_describe", "tool_call"]));
    assert!(info["instructions"].as_str().is_some_and(|text| text.contains("tool_describe")), "{info}");
    let (_folder, tools) = catalog(
        r#"[{source: "plugin", sourceName: "p", name: "hidden_one", description: "Hides.", parameters: {type: "object"}, reply: {value: 7}}]"#,
    );
    let mut words = words(&["--mode", "directory"]);
    words[2] = tools.display().to_string();
    let mut lines = Lines::of(&words);
    let info = lines.initialize(json!({}));
    assert!(info["instructions"].as_str().is_some_and(|text| text.contains("- hidden_one: Hides.")), "{info}");
    assert_eq!(lines.call("hidden_one", json!({}))["content"][0]["text"], "7");
}

#[test]
fn every_tool_has_annotations_and_a_schema_that_strict_clients_take() {
    let (_folder, tools) = catalog(
        r#"[{name: "a", description: "A.", parameters: {type: "object", properties: {x: true, y: false}}}, {name: "b", description: "B.", parameters: {}},
            {name: "c", description: "C.", parameters: {$ref: "\#/$defs/n", $defs: {n: {properties: {n: {$ref: "\#/$defs/n"}}}}}}]"#
            .replace("\\#", "#")
            .as_str(),
    );
    for mode in ["code", "tools", "directory"] {
        let mut words = words(&["--mode", mode]);
        words[2] = tools.display().to_string();
        let mut lines = Lines::of(&words);
        lines.initialize(json!({}));
        for tool in listed(&mut lines) {
            assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
            let properties = tool["inputSchema"]["properties"].as_object().cloned().unwrap_or_default();
            assert!(properties.values().all(Value::is_object), "{tool}");
            let looks = ["tool_search", "tool_describe"].contains(&tool["name"].as_str().unwrap_or_default());
            assert_eq!(
                (&tool["annotations"]["readOnlyHint"], &tool["annotations"]["destructiveHint"]),
                (&json!(looks), &json!(!looks)),
                "{tool}"
            );
        }
    }
}

#[test]
fn a_model_is_taught_the_three_calls_before_its_first() {
    let mut lines = Lines::start(&[]);
    let info = lines.initialize(json!({}));
    let text = info["instructions"].as_str().expect("instructions");
    for call in ["openclaw.tools.search(", "openclaw.tools.describe(", "openclaw.tools.call("] {
        assert!(text.contains(call), "{text}");
    }
    assert_eq!(info["serverInfo"]["name"], "codemode");
}

#[test]
fn what_policy_takes_away_is_neither_found_nor_called() {
    let mut lines = Lines::open(&["--mode", "tools", "--deny", "demo:count"]);
    let found = lines.call("tool_search", json!({"query": "counter", "limit": 20}));
    assert!(!found.to_string().contains("demo:count"), "{found}");
    let called = lines.call("tool_call", json!({"id": "demo:count"}));
    assert_eq!(called["structuredContent"]["error"]["code"], "denied", "{called}");
}

#[test]
fn without_an_isolated_child_code_becomes_tools_and_says_so() {
    let mut lines = Lines::start(&["--node", "/nowhere/node"]);
    let info = lines.initialize(json!({}));
    assert_eq!(names(&listed(&mut lines)), ["tool_search", "tool_describe", "tool_call"]);
    assert!(info["instructions"].as_str().is_some_and(|text| text.contains("mode tools in its place")), "{info}");
    assert_eq!(lines.call("tool_call", json!({"id": "demo:echo", "args": {"x": 1}}))["structuredContent"], json!({"x": 1}));
    lines.hang_up();
    assert!(lines.end().2.contains("mode tools in its place"));
}

#[test]
fn a_call_that_needs_a_person_is_refused_when_nobody_can_be_asked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = folder.path().join("codemode.json5");
    std::fs::write(&config, "{approvals: {'demo:count': 'ask'}}").expect("it is ours");
    let mut lines = Lines::open(&["--config", config.to_str().expect("a path")]);
    let envelope = lines.code("return openclaw.tools.call('demo:count', {})");
    assert_eq!((&envelope["ok"], &envelope["calls"][0]["code"]), (&json!(false), &json!("approval_unavailable")), "{envelope}");
    assert_eq!(envelope["calls"][0]["state"], "denied");
}

#[test]
fn the_configuration_chooses_the_mode_and_the_command_line_wins() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = folder.path().join("codemode.json5");
    std::fs::write(&config, "{tools: {toolSearch: {mode: 'tools', maxSearchLimit: 3}}}").expect("it is ours");
    let config = config.to_str().expect("a path");
    let mut lines = Lines::open(&["--config", config]);
    let tools = listed(&mut lines);
    assert_eq!(names(&tools), ["tool_search", "tool_describe", "tool_call"]);
    assert_eq!(tools[0]["inputSchema"]["properties"]["limit"]["maximum"], 3);
    let mut lines = Lines::open(&["--config", config, "--mode", "code", "--timeout", "300"]);
    assert_eq!(names(&listed(&mut lines)), ["tool_search_code"]);
    assert_eq!(lines.code("for (;;);")["error"]["code"], "timeout");
}

#[test]
fn what_an_mcp_tool_gives_as_content_stays_content_and_lists_of_others_stay_values() {
    let image = r#"{type: "image", mimeType: "image/png", data: "iVBORw0KGgo="}"#;
    let tool = |source: &str, name: &str, reply: &str| {
        format!(
            "{{source: '{source}', sourceName: 's', name: '{name}', description: 'D.', parameters: {{type: 'object'}}, reply: {{{reply}}}}}"
        )
    };
    let text = format!(
        "[{}, {}, {}]",
        tool("mcp", "picture", &format!("mcp: {{content: [{{type: 'text', text: 'see'}}, {image}]}}")),
        tool("mcp", "numbers", "value: [1, 2]"),
        tool("plugin", "alike", &format!("value: [{image}]")),
    );
    let (_folder, tools) = catalog(&text);
    let mut words = words(&["--mode", "directory"]);
    words[2] = tools.display().to_string();
    let mut lines = Lines::of(&words);
    lines.initialize(json!({}));
    for result in [lines.call("picture", json!({})), lines.call("tool_call", json!({"id": "mcp:s:picture"}))] {
        let kinds: Vec<&Value> = result["content"].as_array().expect("content").iter().map(|block| &block["type"]).collect();
        assert_eq!(kinds, ["text", "image"], "{result}");
    }
    assert_eq!(lines.call("numbers", json!({}))["content"], json!([{"type": "text", "text": "[1,2]"}]));
    assert_eq!(lines.call("alike", json!({}))["content"][0]["type"], "text", "a plug-in's list is a value, whatever it looks like");
}
