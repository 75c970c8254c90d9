//! The example catalogs, and calls of their scripted tools.

use std::time::{Duration, Instant};

use codemode::catalog::{CallCode, CallFailure, Catalog, FileCatalog};
use serde_json::{Value, json};

use super::{context, repository};

fn demo() -> FileCatalog {
    FileCatalog::open(repository("examples/demo.json")).unwrap()
}

async fn call(catalog: &FileCatalog, id: &str, args: Value) -> Result<Value, CallFailure> {
    let tool = catalog.describe(id).await?;
    catalog.call(&tool, args, &context(1)).await
}

#[tokio::test]
async fn every_demo_tool_does_what_it_says() {
    let demo = demo();
    assert_eq!(call(&demo, "demo:echo", json!({"a": [1]})).await, Ok(json!({"a": [1]})));
    assert_eq!(call(&demo, "demo:text", json!({"text": "{\"a\":1}"})).await, Ok(json!("{\"a\":1}")));
    assert_eq!(call(&demo, "demo:big", json!({"n": 5})).await, Ok(json!("xxxxx")));
    assert_eq!(call(&demo, "demo:slow", json!({"ms": 1})).await, Ok(json!({"done": 1})));
    assert_eq!(call(&demo, "demo:boom", json!({})).await.unwrap_err().message, "boom");
}

#[tokio::test]
async fn p18_is_error_fails_the_call_with_its_text_and_nothing_else_is_dispatched() {
    let demo = demo();
    let failure = call(&demo, "demo:iserr", json!({})).await.unwrap_err();
    assert_eq!((failure.code, failure.name.as_str(), failure.message.as_str()), (CallCode::ToolError, "ToolError", "bad input"));
    let reached: Vec<_> = demo.dispatched().into_iter().map(|dispatch| dispatch.tool_id).collect();
    assert_eq!(reached, ["demo:iserr"]);
}

#[tokio::test]
async fn p24_slow_calls_wait_side_by_side() {
    let demo = demo();
    let started = Instant::now();
    let (a, b, c) = tokio::join!(
        call(&demo, "demo:slow", json!({"ms": 300})),
        call(&demo, "demo:slow", json!({"ms": 100})),
        call(&demo, "demo:slow", json!({"ms": 200})),
    );
    assert_eq!([a, b, c], [300, 100, 200].map(|ms| Ok(json!({"done": ms}))));
    assert!(started.elapsed() < Duration::from_millis(600), "{:?}", started.elapsed());
}

#[tokio::test]
async fn p25_a_failure_can_come_late() {
    let demo = demo();
    let started = Instant::now();
    let failure = call(&demo, "demo:slowboom", json!({"ms": 60})).await.unwrap_err();
    assert_eq!(failure.message, "boom");
    assert!(started.elapsed() >= Duration::from_millis(60));
}

#[tokio::test]
async fn dropping_a_call_ends_it_and_the_ledger_still_tells_of_it() {
    let demo = demo();
    let waited = tokio::time::timeout(Duration::from_millis(20), call(&demo, "demo:slow", json!({"ms": 60_000}))).await;
    assert!(waited.is_err());
    assert_eq!(demo.dispatch_count(), 1);
    assert_eq!(demo.dispatched()[0].args, Some(json!({"ms": 60_000})));
}

#[tokio::test]
async fn a_counter_counts_its_own_dispatches() {
    let demo = demo();
    for expected in 1..=3 {
        assert_eq!(call(&demo, "demo:count", json!({})).await, Ok(json!(expected)));
    }
}

#[tokio::test]
async fn a_tool_without_reply_answers_with_a_marked_example() {
    let tools = FileCatalog::open(repository("examples/tools.json")).unwrap();
    let value = call(&tools, "schedule_task", json!({"title": "t", "every": "day"})).await.unwrap();
    assert_eq!(value, json!({"$example": true, "value": {"id": "task-17", "next": "2024-01-01T00:00:00Z"}}));
}

#[tokio::test]
async fn structured_content_is_the_value() {
    let tools = FileCatalog::open(repository("examples/tools.json")).unwrap();
    let value = call(&tools, "get_forecast", json!({"city": "Oslo"})).await.unwrap();
    assert_eq!((&value["city"], &value["days"][1]["high"]), (&json!("Oslo"), &json!(24)));
}

#[tokio::test]
async fn a_tool_of_another_catalog_is_unavailable() {
    let tool = FileCatalog::open(repository("examples/tools.json")).unwrap().describe("read_file").await.unwrap();
    let failure = demo().call(&tool, json!({}), &context(1)).await.unwrap_err();
    assert_eq!(failure.code, CallCode::ToolUnavailable);
}

#[test]
fn the_summary_names_every_source() {
    let summary = FileCatalog::open(repository("examples/tools.json")).unwrap().summary();
    let summary = serde_json::to_value(summary).unwrap();
    assert_eq!(summary, json!({"catalogSize": 5, "sources": {"openclaw": 1, "plugin": 1, "mcp": 2, "client": 1}, "unavailable": []}));
}
