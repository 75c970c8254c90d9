//! `codemode tools`: the catalog as a body sees it.

use codemode_tests::binary::Typed;
use serde_json::{Value, json};

use super::{folder, run, together, tools, write};

#[test]
fn a_list_fits_eighty_columns_and_drives_no_terminal() {
    let _turn = together();
    let folder = folder();
    let long = "日本語 and \u{1b}[2J words that go on and on, ".repeat(20);
    let all = json!([
        {"name": "one", "description": long, "parameters": {"type": "object"}},
        {"name": "n".repeat(90), "description": "short", "parameters": {"type": "object"}},
    ]);
    let file = write(folder.path(), "t.json", all.to_string()).display().to_string();
    let ran = Typed::new(folder.path(), ["tools", "list", "--tools", &file]).run();
    assert!(ran.code == Some(0) && ran.stderr.is_empty(), "{ran:?}");
    assert!(ran.stdout.chars().all(|c| c == '\n' || !c.is_control()), "{ran:?}");
    let wide = |c: char| if c.is_ascii() || c == '…' { 1 } else { 2 };
    for line in ran.stdout.lines().filter(|line| !line.contains("nnn")) {
        assert!(line.chars().map(wide).sum::<usize>() <= 80, "{line}");
    }
    assert!(ran.stdout.contains(&"n".repeat(90)), "an id is never cut: {ran:?}");
}

#[test]
fn by_hand_and_from_a_body_are_the_same() {
    let _turn = together();
    for (words, body) in [
        (&["search", "text", "--json"][..], "return await openclaw.tools.search('text')"),
        (&["describe", "demo:slow", "--json"], "return await openclaw.tools.describe('demo:slow')"),
    ] {
        assert_eq!(tools(words).json(), run(body, &[]).json());
    }
    let listed = tools(&["list", "--json"]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(9), "{listed}");
}

#[test]
fn a_call_by_hand_passes_the_checks_of_a_bodys_call() {
    let _turn = together();
    assert_eq!(tools(&["call", "demo:echo", r#"{"a": [1]}"#]).stdout, "{\"a\":[1]}\n");
    assert_eq!(tools(&["call", "demo:echo"]).stdout, "{}\n");
    assert_eq!(tools(&["call", "demo:text", r#"{"text": "plain"}"#]).stdout, "plain\n");
    let decoded = tools(&["call", "demo:edit", r#"{"fields": "{\"a\": 1}"}"#, "--json"]).json();
    assert_eq!((&decoded["ok"], &decoded["decoded"]), (&json!(true), &json!(["/fields"])), "{decoded}");
    let ran = tools(&["call", "demo:slow", r#"{"ms": "no"}"#]);
    assert!(ran.code == Some(1) && ran.stdout.is_empty() && ran.stderr.contains("/ms must be number, string given"), "{ran:?}");
    let ran = tools(&["call", "demo:boom"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("error[tool_error]") && ran.stderr.contains("boom"), "{ran:?}");
    let body = run(r#"return await openclaw.tools.call("demo:slow", { ms: "no" }).catch(e => e.message)"#, &[]);
    assert!(tools(&["call", "demo:slow", r#"{"ms": "no"}"#]).stderr.contains(body.stdout.trim()), "{body:?}");
}

#[test]
fn arguments_come_from_standard_input_too() {
    let _turn = together();
    let folder = folder();
    let demo = codemode_tests::binary::demo().display().to_string();
    let words = ["tools", "call", "demo:echo", "-", "--tools", &demo];
    let ran = Typed::new(folder.path(), words).stdin("\u{feff}{\"a\": \"é\"}\r\n").run();
    assert_eq!((ran.stdout.as_str(), ran.code), ("{\"a\":\"é\"}\n", Some(0)), "{ran:?}");
}

#[test]
fn denied_tools_are_nowhere() {
    let _turn = together();
    let deny = ["--deny", "demo:count"];
    assert!(!tools(&["list", "--deny", "demo:count"]).stdout.contains("count"));
    for id in ["demo:count", "count", " demo:count\n"] {
        let ran = tools(&["call", id, "--deny", "demo:count"]);
        assert!(ran.code == Some(1) && ran.stderr.contains("error[denied]") && ran.stderr.contains("denied by policy"), "{ran:?}");
        let body = format!("return await openclaw.tools.call({}).catch(e => [e.code, e.message])", json!(id));
        let report = run(&body, &[&deny[..], &["--json"]].concat()).json();
        assert_eq!(report["value"][0], "denied", "{report}");
        assert_eq!((&report["calls"][0]["state"], &report["telemetry"]["catalogSize"]), (&json!("denied"), &json!(8)), "{report}");
    }
    let body =
        r#"return [(await openclaw.tools.search("counter")).map(t => t.id), await openclaw.tools.describe("count").catch(e => e.code)]"#;
    let value = run(body, &deny).json();
    assert!(!value[0].to_string().contains("count") && value[1] == "denied", "{value}");
    let report = run("return (await openclaw.tools.search('echo')).length", &["--allow", "", "--json"]).json();
    assert_eq!((&report["value"], &report["telemetry"]["catalogSize"]), (&json!(0), &json!(0)), "{report}");
    let ran = run("return 1", &["--deny", "demo:cuont"]);
    assert!(ran.stdout == "1\n" && ran.stderr.contains("--deny \"demo:cuont\" fits no tool"), "{ran:?}");
    assert_eq!(run("return 1", &[]).stderr, "", "without a pattern there is nothing to note");
}

#[test]
fn failures_have_a_form_for_programs() {
    let _turn = together();
    let ran = tools(&["describe", "demo:ecoh", "--json"]);
    let told = ran.json();
    assert_eq!((ran.code, &told["ok"], &told["error"]["code"]), (Some(1), &Value::Bool(false), &json!("unknown_tool")), "{ran:?}");
    assert_eq!(told["error"]["data"]["near"][0], "demo:echo");
}
