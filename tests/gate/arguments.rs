//! What a call's arguments go through.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codemode::catalog::{CallCode, CallContext, CallFailure, Catalog, FileCatalog, Source, Tool};
use codemode::gate::{CheckedArguments, check_arguments};
use serde_json::{Value, json};

async fn demo(id: &str) -> (FileCatalog, Arc<Tool>) {
    let catalog = FileCatalog::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/demo.json")).unwrap();
    let tool = catalog.describe(id).await.unwrap();
    (catalog, tool)
}

fn context() -> CallContext {
    CallContext { run_id: "run".into(), seq: 1 }
}

async fn check(tool: &Tool, args: Value) -> Result<CheckedArguments, CallFailure> {
    check_arguments(tool, args)
}

#[tokio::test]
async fn p19_an_object_sent_as_text_is_decoded_and_told() {
    let (catalog, tool) = demo("demo:edit").await;
    let checked = check(&tool, json!({"fields": "{\"a\":1}"})).await.unwrap();
    assert_eq!(checked.decoded, ["/fields"]);
    assert_eq!(catalog.call(&tool, checked.args, &context()).await, Ok(json!({"fields": {"a": 1}})));
}

#[tokio::test]
async fn p19_a_text_that_is_no_object_is_refused_with_field_wanted_and_given() {
    let (_, tool) = demo("demo:edit").await;
    for text in ["{\"a\":", "[1]", "7", "plain"] {
        let failure = check(&tool, json!({"fields": text})).await.unwrap_err();
        assert_eq!(failure.code, CallCode::InvalidArguments);
        assert!(failure.message.contains("/fields must be object, "), "{}", failure.message);
    }
}

#[tokio::test]
async fn p19_a_text_where_text_is_wanted_is_never_decoded() {
    let (_, tool) = demo("demo:edit").await;
    let args = json!({"fields": {}, "note": "{\"a\":1}"});
    let checked = check(&tool, args.clone()).await.unwrap();
    assert_eq!((checked.args, checked.decoded), (args, vec![]));
}

#[tokio::test]
async fn p20_no_arguments_are_an_empty_object() {
    let (_, tool) = demo("demo:count").await;
    assert_eq!(check(&tool, Value::Null).await.unwrap().args, json!({}));
}

#[tokio::test]
async fn a_refused_call_is_in_no_ledger() {
    let (catalog, tool) = demo("demo:slow").await;
    let failure = check(&tool, json!({"ms": "soon"})).await.unwrap_err();
    assert!(failure.message.contains("/ms must be number, string given"), "{}", failure.message);
    assert_eq!(catalog.dispatch_count(), 0);
}

#[tokio::test]
async fn hostile_schemas_end_quickly_and_let_nothing_through() {
    let mut doubling = json!({"$defs": {"d30": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/d0"}}});
    for level in 0..30 {
        let next = format!("#/$defs/d{}", level + 1);
        doubling["$defs"][format!("d{level}")] = json!({"allOf": [{"$ref": next}, {"$ref": next}]});
    }
    let wide: Vec<Value> = (0..50_000).map(|number| json!({"const": number})).collect();
    let started = Instant::now();
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$dynamicAnchor": "me", "$dynamicRef": "#me"}),
        json!({"properties": {"a": {"$id": "http://inner/", "$ref": "#"}}}),
        doubling,
        json!({"properties": {"a": {"anyOf": wide}}}),
        json!({"$ref": "file:///etc/passwd"}),
        json!({"$ref": "http://127.0.0.1:9/schema"}),
        json!({"type": "objekt"}),
    ] {
        let tool = Tool::new(Source::Mcp, "evil", "t", "", schema.clone());
        let failure = check(&tool, json!({"a": "x".repeat(1000)})).await.unwrap_err();
        assert_eq!(failure.code, CallCode::ToolUnavailable, "{schema:.100}");
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_schema_that_doubles_at_every_level_does_not_hold_us_up() {
    let twice = json!({"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]});
    let tool = Tool::new(Source::Mcp, "evil", "t", "", twice);
    let deep = (0..60).fold(json!({}), |inner, _| json!({"a": inner}));
    let started = Instant::now();
    assert_eq!(check(&tool, deep).await.unwrap_err().code, CallCode::TooLarge);
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}

#[tokio::test]
async fn hostile_patterns_take_linear_time() {
    let started = Instant::now();
    for pattern in ["^(a+)+$", "^(a|a)*$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$"] {
        let tool =
            Tool::new(Source::Mcp, "evil", "t", "", json!({"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}));
        let failure = check(&tool, json!({"a": format!("{}!", "a".repeat(20_000))})).await.unwrap_err();
        assert_eq!(failure.code, CallCode::InvalidArguments);
        assert!(failure.message.len() < 1000, "the value must not be in the message");
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_recursive_schema_is_checked_at_every_level() {
    let schema = json!({
        "$defs": {"node": {"type": "object", "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}, "additionalProperties": false}},
        "$ref": "#/$defs/node",
    });
    let tool = Tool::new(Source::Mcp, "s", "t", "", schema);
    assert!(check(&tool, json!({"value": 1, "next": {"value": 2}})).await.is_ok());
    let failure = check(&tool, json!({"next": {"next": {"value": "x"}}})).await.unwrap_err();
    assert!(failure.message.contains("/next/next/value must be integer, string given"), "{}", failure.message);
}
