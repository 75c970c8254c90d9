//! Structured calls: the same gate, the same words, and what the log says of them.

use std::sync::Arc;

use codemode::catalog::CallCode;
use codemode::config::Config;
use codemode::gate::{ApprovalRule, Approvals, Gate, Glob};
use codemode::modes::{Executor, Outcome, PlanRequest};
use codemode::telemetry::{Counters, History, Recorder, SessionLog};
use codemode_tests::rig;
use serde_json::{Value, json};

use super::{Gateway, in_mode};

async fn executor(gateway: &Gateway, mode: &str, gate: Gate) -> Executor {
    Executor::new(Arc::new(gateway.plan(&in_mode(mode)).await), gate, Recorder::default(), "r".into())
}

fn value(outcome: Outcome) -> Value {
    match outcome {
        Outcome::Value(value) => value,
        other => panic!("{other:?}"),
    }
}

fn code(outcome: Outcome) -> CallCode {
    match outcome {
        Outcome::Failed(failure) => failure.code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn search_describe_and_call_give_what_a_body_gets() {
    let gateway = Gateway::new();
    let executor = executor(&gateway, "tools", Gate::new()).await;
    let rows = value(executor.execute("tool_search", &json!({"query": "send an email", "limit": 2})).await);
    assert_eq!((rows.as_array().unwrap().len() <= 2, &rows[0]["id"]), (true, &json!("mcp:mail:send_email")));
    let whole = value(executor.execute("tool_describe", &json!({"id": rows[0]["id"]})).await);
    assert_eq!(whole["parameters"]["properties"]["n"]["type"], "integer");
    let answer = value(executor.execute("tool_call", &json!({"id": rows[0]["id"], "args": {"n": 3}})).await);
    assert_eq!(answer, json!({"source": "mail", "tool": "send_email", "args": {"n": 3}}));
}

#[tokio::test]
async fn p38_a_search_of_a_partial_catalog_says_so() {
    let gateway = Gateway::new();
    gateway.server.set_failing(Some("it is on holiday"));
    let executor = executor(&gateway, "tools", Gate::new()).await;
    let found = value(executor.execute("tool_search", &json!({"query": "weather"})).await);
    assert!(found["tools"].as_array().unwrap().iter().any(|row| row["id"] == "plugin:weather:current_weather"), "{found}");
    assert_eq!(found["unavailable"], json!([{"server": "mail", "reason": "it is on holiday"}]));
}

#[tokio::test]
async fn p19_and_p20_hold_for_structured_calls_too() {
    let gateway = Gateway::new();
    let executor = executor(&gateway, "tools", Gate::new()).await;
    // Arguments as text, none at all, and null.
    for args in [json!({"id": "send_email", "args": "{\"n\": 3}"}), json!({"id": "send_email"}), json!({"id": "send_email", "args": {}})] {
        value(executor.execute("tool_call", &args).await);
    }
    let reached: Vec<Value> = gateway.server.calls().into_iter().map(|(_, args)| args).collect();
    assert_eq!(reached, [json!({"n": 3}), json!({}), json!({})]);
    for wrong in [
        json!({"id": "send_email", "args": {"n": "x"}}),
        json!({"id": "send_email", "args": [1]}),
        json!({"args": {}}),
        json!({"id": "send_email", "extra": 1}),
    ] {
        assert_eq!(code(executor.execute("tool_call", &wrong).await), CallCode::InvalidArguments, "{wrong}");
    }
    assert_eq!(gateway.server.calls().len(), 3);
}

#[tokio::test]
async fn approvals_stand_before_every_surface() {
    let gateway = Gateway::new();
    for mode in ["tools", "directory"] {
        let gate = Gate::new().with_approvals(Approvals::new([(Glob::new("mcp:*"), ApprovalRule::Ask)]));
        let executor = executor(&gateway, mode, gate).await;
        assert_eq!(code(executor.execute("tool_call", &json!({"id": "send_email"})).await), CallCode::ApprovalUnavailable);
        value(executor.execute("tool_call", &json!({"id": "read_file"})).await);
        if mode == "directory" {
            assert_eq!(code(executor.execute("send_email", &json!({})).await), CallCode::ApprovalUnavailable);
        }
    }
    assert!(gateway.server.calls().is_empty());
}

#[tokio::test]
async fn only_what_a_mode_shows_can_be_asked_for() {
    let gateway = Gateway::new();
    for (mode, names) in [
        ("code", &["tool_search", "tool_call", "send_email"][..]),
        ("tools", &["tool_search_code", "send_email"]),
        ("directory", &["tool_search_code"]),
    ] {
        let executor = executor(&gateway, mode, Gate::new()).await;
        for name in names {
            assert_eq!(
                code(executor.execute(name, &json!({"id": "send_email", "query": "x", "code": "1"})).await),
                CallCode::UnknownTool,
                "{mode} {name}"
            );
        }
    }
    // A code surface without anybody who runs bodies is an answer, not a panic.
    let code_mode = executor(&gateway, "code", Gate::new()).await;
    assert_eq!(code(code_mode.execute("tool_search_code", &json!({"code": "1"})).await), CallCode::ToolUnavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_runs_within_the_configurations_time_and_through_the_same_gate() {
    let gateway = Gateway::new();
    let plan = gateway.plan("{tools: {toolSearch: {codeTimeoutMs: 1000}}, }").await;
    let executor = Executor::new(Arc::new(plan), Gate::new(), Recorder::default(), "r".into()).with_supervisor(rig::supervisor());
    let body = "const [tool] = await openclaw.tools.search('send an email'); console.log(tool.id); return (await openclaw.tools.call(tool.id, {n: 1})).tool";
    let told = executor.execute("tool_search_code", &json!({"code": body})).await.for_model();
    assert_eq!(told, json!({"ok": true, "value": "send_email", "logs": ["mcp:mail:send_email"]}));
    let endless = executor.execute("tool_search_code", &json!({"code": "while (true) {}"})).await.for_model();
    assert_eq!((&endless["ok"], &endless["error"]["code"]), (&json!(false), &json!("timeout")));
    assert_eq!(endless["error"]["message"].as_str().unwrap().lines().next(), Some("the body took longer than 1000 ms"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_answers_what_was_shown_searched_and_called() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let gateway = Gateway::new();
    let counters = Arc::new(Counters::new());
    let recorder =
        || Recorder::new(Arc::clone(&counters)).with_session(Some("s1".into())).with_log(Arc::new(SessionLog::open(&path).unwrap()));

    let code = Executor::new(Arc::new(gateway.plan(&in_mode("code")).await), Gate::new(), recorder(), "turn1".into())
        .with_supervisor(rig::supervisor());
    let body = "await openclaw.tools.search('zzqqxx'); const [t] = await openclaw.tools.search('current weather'); await openclaw.tools.describe(t.id); return openclaw.tools.call(t.id, {n: 1})";
    assert!(code.execute("tool_search_code", &json!({"code": body})).await.for_model()["ok"].as_bool().unwrap());
    let tools = Executor::new(Arc::new(gateway.plan(&in_mode("tools")).await), Gate::new(), recorder(), "turn2".into());
    value(tools.execute("tool_search", &json!({"query": "send an email"})).await);
    value(tools.execute("tool_call", &json!({"id": "send_email", "args": {}})).await);
    tools.execute("tool_call", &json!({"id": "nobody"})).await;

    let history = History::open(&path).unwrap();
    assert_eq!((history.surfaces.len(), history.runs.len(), history.unreadable), (2, 2, 0));
    assert_eq!([history.count("search"), history.count("describe"), history.count("call")], [3, 1, 3]);
    let shown: Vec<(&str, u64, u64)> =
        history.surfaces.iter().map(|surface| (surface.shown.as_str(), surface.definitions, surface.schemas_up_front)).collect();
    assert_eq!(shown, [("code", 1, 0), ("tools", 3, 0)]);
    let last = history.final_call().unwrap();
    assert_eq!((last.id.as_deref(), last.source.as_deref()), (Some("mcp:mail:send_email"), Some("mcp")));
    assert_eq!(history.fruitless().map(|search| search.query.as_str()).collect::<Vec<_>>(), ["zzqqxx"]);
    assert_eq!(history.runs[0].verdict.as_deref(), Some("ok"));
    let answers = history.answers().join("\n");
    for part in [
        "made       1 bodies, 3 searches, 1 descriptions, 3 calls",
        "final call mcp:mail:send_email, answered by mcp",
        "not ok     nobody: refused (unknown_tool)",
        "not found  zzqqxx",
    ] {
        assert!(answers.contains(part), "{answers}");
    }
    let metrics = counters.prometheus();
    for part in [
        "codemode_searches_total{found=\"no\"} 1",
        "codemode_searches_total{found=\"yes\"} 2",
        "codemode_calls_total{source=\"plugin\",state=\"ok\"} 1",
        "codemode_calls_total{source=\"mcp\",state=\"ok\"} 1",
        "codemode_calls_total{source=\"none\",state=\"refused\"} 1",
        "codemode_runs_total{verdict=\"ok\"} 1",
        "codemode_surfaces_total{shown=\"code\"} 1",
    ] {
        assert!(metrics.contains(part), "{metrics}");
    }
}

#[tokio::test]
async fn a_fallback_is_said_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let gateway = Gateway::new();
    let plan = gateway.plan_of(&in_mode("code"), PlanRequest { no_isolation: Some("not Linux".into()), ..gateway.request() }).await;
    let recorder = Recorder::default().with_log(Arc::new(SessionLog::open(&path).unwrap()));
    drop(Executor::new(Arc::new(plan), Gate::new(), recorder, "r".into()));
    let history = History::open(&path).unwrap();
    assert_eq!(history.surfaces[0].shown, "tools");
    assert!(history.surfaces[0].reason.as_deref().unwrap().contains("not Linux"));
    // Eight small tools: showing them directly is the smaller prompt, and the report says so.
    assert!(history.advice().unwrap().contains("toolSearch: false"));
}

#[tokio::test]
async fn a_configuration_is_enough_to_make_an_executor() {
    let gateway = Gateway::new();
    let config = Config::from_bytes(b"{tools: {toolSearch: {mode: 'tools', maxSearchLimit: 2}}}", "c").unwrap();
    let plan = codemode::modes::plan(&config, &gateway.sources, gateway.request()).await;
    let executor = Executor::new(Arc::new(plan), Gate::new(), Recorder::default(), "r".into());
    let rows = value(executor.execute("tool_search", &json!({"query": "tool"})).await);
    assert!(rows.as_array().unwrap().len() <= 2);
    assert_eq!(code(executor.execute("tool_search", &json!({"query": "tool", "limit": 3})).await), CallCode::InvalidArguments);
}
