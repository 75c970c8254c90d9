//! Configurations: what is read, what is refused and where, and what is left for one run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod policy;

use std::time::Duration;

use codemode::config::{Config, ConfigProblem, McpServer, Mode, RunContext, ToolSearch};
use codemode::gate::ApprovalRule;

fn read(text: &str) -> Config {
    Config::from_bytes(text.as_bytes(), "codemode.json5").unwrap()
}

fn refusal(text: &str) -> String {
    Config::from_bytes(text.as_bytes(), "c").unwrap_err().to_string()
}

fn search(text: &str) -> Option<ToolSearch> {
    read(text).effective(&RunContext::default()).tool_search
}

#[test]
fn p55_comments_commas_and_quotes_are_json5() {
    let config = read(
        "// first\n{ /* a */ tools: { toolSearch: { mode: 'tools', }, }, // b\n  mcpServers: { \"docs\": { url: 'https://example.org//mcp', headers: {'X-Key': 'k'} },\n    local: {command: 'node', args: ['a', ''], env: {A: ''}} }, }\n",
    );
    let McpServer::Url { url, .. } = &config.mcp_servers["docs"] else { panic!() };
    assert_eq!(url, "https://example.org//mcp");
    assert_eq!(config.effective(&RunContext::default()).tool_search.unwrap().mode, Mode::Tools);
    assert!(!format!("{config:?}").contains("\"k\""), "keys of servers are not for logs");
}

#[test]
fn p55_a_file_that_cannot_be_read_is_an_error_with_line_and_column() {
    assert_eq!(refusal("{\n  tools: {,}\n}"), "c:2:11: not JSON5: expected identifier");
    let missing = Config::open("/nonexistent/c.json5").unwrap_err().to_string();
    assert!(missing.starts_with("/nonexistent/c.json5: cannot be read: there is no such file"), "{missing}");
}

#[test]
fn p56_a_byte_order_mark_and_line_ends_change_nothing_but_utf16_is_refused_by_name() {
    let marked = "\u{feff}{\r\n  tools: {toolSearch: true},\r\n  nope: 1\r\n}";
    assert_eq!(
        refusal(marked),
        "c:3:3: unknown key \"nope\"; known are tools, agents, profiles, sessions, channels, runtimes, sandbox, approvals, hooks, mcpServers"
    );
    let wide: Vec<u8> = "{tools: {}}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(Config::from_bytes(&wide, "c").unwrap_err().problem, ConfigProblem::Utf16);
    assert_eq!(Config::from_bytes(b"{a: '\xff'}", "c").unwrap_err().problem, ConfigProblem::NotUtf8 { offset: 5 });
}

#[test]
fn p57_a_number_written_as_text_is_refused_with_key_and_value() {
    for (given, shown) in [
        ("\"8000\"", "the text \"8000\""),
        ("\"10ms\"", "the text \"10ms\""),
        ("\"1.5\"", "the text \"1.5\""),
        ("\"\"", "the text \"\""),
        ("true", "true"),
        ("null", "null"),
        ("8000.7", "8000.7"),
        ("[8000]", "a list"),
    ] {
        let message = refusal(&format!("{{tools: {{\n toolSearch: {{codeTimeoutMs: {given}}}}}}}"));
        assert_eq!(message, format!("c:2:30: tools.toolSearch.codeTimeoutMs: a whole number is wanted, this is {shown}"));
    }
    assert_eq!(search("{tools: {toolSearch: {codeTimeoutMs: 8000}}}").unwrap().code_timeout, Duration::from_secs(8));
    // JSON5 writes whole numbers in more ways than one.
    assert_eq!(search("{tools: {toolSearch: {codeTimeoutMs: 0x1f40}}}").unwrap().code_timeout, Duration::from_secs(8));
}

#[test]
fn unknown_keys_and_wrong_types_have_path_line_and_column() {
    for (text, wanted) in [
        ("{agents: {main: {tools: {alow: []}}}}", "c:1:26: agents.main.tools: unknown key \"alow\"; known are toolSearch, allow, deny"),
        ("{agents: {'a b': {tool: {}}}}", "c:1:19: agents[\"a b\"]: unknown key \"tool\"; known are tools"),
        ("{tools: {allow: 'x'}}", "c:1:17: tools.allow: a list of patterns of tool ids is wanted, this is the text \"x\""),
        ("{tools: {deny: ['x', 7]}}", "c:1:22: tools.deny[1]: a list of patterns of tool ids is wanted, this is 7"),
        ("{tools: {deny: null}}", "c:1:16: tools.deny: a list of patterns of tool ids is wanted, this is null"),
        ("{tools: {deny: ['x'], deny: []}}", "c:1:23: tools: the key \"deny\" stands here twice; leave one of them"),
        ("{tools: {toolSearch: 'code'}}", "c:1:22: tools.toolSearch: true, false or an object is wanted, this is the text \"code\""),
        (
            "{tools: {toolSearch: {mode: 'cod'}}}",
            "c:1:29: tools.toolSearch.mode: \"code\", \"tools\" or \"directory\" is wanted, this is the text \"cod\"",
        ),
        ("{approvals: {'*': 'maybe'}}", "c:1:19: approvals[\"*\"]: \"ask\", \"deny\" or \"allow\" is wanted, this is the text \"maybe\""),
        ("{hooks: {beforeToolCall: [{}]}}", "c:1:27: hooks.beforeToolCall[0]: a hook needs a `command`"),
        (
            "{hooks: {beforeToolCall: [{command: []}]}}",
            "c:1:37: hooks.beforeToolCall[0].command: a program, or a list of a program and its arguments is wanted, this is a list",
        ),
        ("{mcpServers: {a: {}}}", "c:1:18: mcpServers.a: a server needs either `command` or `url`"),
        ("{mcpServers: {a: {command: 'x', url: 'http://y'}}}", "c:1:18: mcpServers.a: a server needs either `command` or `url`"),
        (
            "{mcpServers: {a: {url: 'file:///x'}}}",
            "c:1:24: mcpServers.a.url: an http or https address is wanted, this is the text \"file:///x\"",
        ),
        ("{mcpServers: {a: {url: 'http://y', env: {}}}}", "c:1:36: mcpServers.a: unknown key \"env\"; known are url, headers, roots"),
        ("[]", "c:1:1: an object is wanted, this is a list"),
    ] {
        assert_eq!(refusal(text), wanted);
    }
}

#[test]
fn what_is_outside_its_range_is_put_at_its_end_and_told_once() {
    let config = read(
        "{tools: {toolSearch: {codeTimeoutMs: 90000, maxSearchLimit: 0,\n searchDefaultLimit: 9, directorySchemas: 13}}, agents: {a: {tools: {toolSearch: {codeTimeoutMs: -5, maxSearchLimit: 1e300}}}},\n hooks: {beforeToolCall: [{command: 'h', timeoutMs: 999999}]}}",
    );
    let told: Vec<String> = config.clamps.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "1:61: tools.toolSearch.maxSearchLimit is 0 and may be 1 to 50; 1 is used",
            "2:22: tools.toolSearch.searchDefaultLimit is 9 and may be 1 to 1; 1 is used",
            "1:38: tools.toolSearch.codeTimeoutMs is 90000 and may be 1000 to 60000; 60000 is used",
            "2:43: tools.toolSearch.directorySchemas is 13 and may be 0 to 12; 12 is used",
            "2:118: agents.a.tools.toolSearch.maxSearchLimit is 9223372036854775807 and may be 1 to 50; 50 is used",
            "2:98: agents.a.tools.toolSearch.codeTimeoutMs is -5 and may be 1000 to 60000; 1000 is used",
            "3:53: hooks.beforeToolCall[0].timeoutMs is 999999 and may be 10 to 60000; 60000 is used",
        ]
    );
    let agent = config.effective(&RunContext { agent: Some("a".into()), ..RunContext::default() }).tool_search.unwrap();
    assert_eq!((agent.code_timeout, agent.max_limit, agent.default_limit), (Duration::from_secs(1), 50, 8));
    assert!(read("{tools: {toolSearch: {codeTimeoutMs: 1000, maxSearchLimit: 50, searchDefaultLimit: 50}}}").clamps.is_empty());
}

#[test]
fn tool_search_is_off_unless_asked_for_and_in_mode_code_when_it_is() {
    assert_eq!(search("{}"), None);
    assert_eq!(search("{tools: {toolSearch: false}}"), None);
    for text in ["{tools: {toolSearch: true}}", "{tools: {toolSearch: {}}}"] {
        let on = search(text).unwrap();
        assert_eq!((on.mode, on.code_timeout, on.default_limit, on.max_limit), (Mode::Code, Duration::from_secs(10), 8, 20));
    }
    // A default above the maximum that somebody chose is no clamp: nobody wrote it.
    let small = read("{tools: {toolSearch: {maxSearchLimit: 5}}}");
    assert_eq!((small.tools.tool_search.flatten().unwrap().default_limit, small.clamps.len()), (5, 0));
}

#[test]
fn size_and_depth_are_bounded() {
    let large = format!("{{tools: {{deny: ['{}']}}}}", "x".repeat(1 << 20));
    assert!(refusal(&large).ends_with("is larger than 1024 KiB; it is meant to be written by people"));
    assert_eq!(refusal(&"{a:".repeat(100_000)), "c:1:97: nests deeper than 32 levels");
}

#[test]
fn approvals_hooks_and_servers_are_read_in_their_order() {
    let config =
        read("{approvals: {'*': 'ask', 'mcp:x': 'deny'}, hooks: {beforeToolCall: [{command: 'a'}, {command: ['b', 'c'], timeoutMs: 50}]}}");
    assert_eq!(
        config.approvals.iter().map(|(glob, mode)| (glob.to_string(), *mode)).collect::<Vec<_>>(),
        [("*".to_owned(), ApprovalRule::Ask), ("mcp:x".to_owned(), ApprovalRule::Deny)]
    );
    let hooks: Vec<_> = config.before_tool_call.iter().map(|hook| (hook.command.join(" "), hook.timeout.as_millis())).collect();
    assert_eq!(hooks, [("a".to_owned(), 5_000), ("b c".to_owned(), 50)]);
}
