//! What comes back: values against the tool's own schema, and calls that take too long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codemode::CallState;
use codemode::catalog::{CallCode, FileCatalog};
use codemode::gate::{Gate, Step};
use codemode_tests::rig;
use serde_json::{Value, json};

use super::stage::{body, refused, structured};

fn catalog(output: &Value, value: &Value) -> Arc<FileCatalog> {
    let tool = json!({"id": "demo:read", "name": "read", "description": "", "parameters": {"type": "object"}, "outputSchema": output, "reply": {"value": value}});
    rig::catalog(&json!([tool]).to_string())
}

#[test]
fn a_value_that_breaks_its_schema_says_that_the_call_was_made_and_brings_the_value() {
    rig::together(async {
        let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        for value in [json!({"n": "one"}), json!({}), json!([1]), json!({"n": "x".repeat(300_000)})] {
            let catalog = catalog(&schema, &value);
            let (result, diary) = structured(Gate::new(), Arc::clone(&catalog) as _, "demo:read", json!({})).await;
            let failure = result.unwrap_err();
            assert_eq!(failure.code, CallCode::InvalidResult);
            assert!(failure.message.contains("was called"), "{}", failure.message);
            assert_eq!((&failure.data["result"], &failure.data["called"]), (&value, &json!(true)));
            assert_eq!(diary.steps().last().map(|taken| taken.step), Some(Step::Output), "a value that is refused is in no log");

            let script = r#"return await openclaw.tools.call("demo:read").catch(e => [e.code, e.data.called, e.data.result])"#;
            let ran = body(Gate::new(), Arc::clone(&catalog) as _, script).await;
            assert_eq!(ran.value(), json!(["invalid_result", true, value]));
            assert_eq!(ran.call().state, CallState::Error, "the effect has happened");
            assert_eq!(catalog.dispatch_count(), 2);
        }
        let good = json!({"n": 1});
        assert_eq!(structured(Gate::new(), catalog(&schema, &good), "demo:read", json!({})).await.0, Ok(good));
    });
}

#[test]
fn a_broken_or_costly_schema_of_the_value_is_known_before_the_call() {
    rig::together(async {
        let wide: Vec<Value> = (0..50_000).map(|number| json!({"const": number})).collect();
        for schema in [json!({"type": "objekt"}), json!({"$ref": "#"}), json!({"$ref": "http://127.0.0.1:9/"}), json!({"anyOf": wide})] {
            let catalog = catalog(&schema, &json!(1));
            let began = Instant::now();
            let (result, _) = structured(Gate::new(), Arc::clone(&catalog) as _, "demo:read", json!({})).await;
            refused(&result, &catalog, CallCode::ToolUnavailable, "was not called");
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
            let ran =
                body(Gate::new(), Arc::clone(&catalog) as _, r#"return await openclaw.tools.call("demo:read").catch(e => e.code)"#).await;
            assert_eq!((ran.value(), ran.call().state), (json!("tool_unavailable"), CallState::Refused));
        }
    });
}

#[test]
fn a_call_has_a_limit_of_its_own() {
    rig::together(async {
        let gate = Gate::new().with_call_limit(Duration::from_millis(300));
        let catalog = rig::demo();
        let began = Instant::now();
        let (result, _) = structured(gate.clone(), Arc::clone(&catalog) as _, "demo:slow", json!({"ms": 60_000})).await;
        let failure = result.unwrap_err();
        assert!(failure.code == CallCode::ToolTimeout && failure.message.contains("it was called"), "{failure:?}");
        assert!(began.elapsed() < Duration::from_secs(2));
        let script = r#"return await openclaw.tools.call("demo:slow", { ms: 60000 }).catch(e => e.code)"#;
        let ran = body(gate, catalog, script).await;
        assert_eq!((ran.value(), ran.call().state), (json!("tool_timeout"), CallState::Unknown));
    });
}
