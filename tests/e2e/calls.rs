//! Calls, the classes of failure, and what a failed call gives away.

use std::time::{Duration, Instant};

use codemode::{CallState, ErrorCode};
use codemode_tests::rig::{self, code, demo, json, message, request};
use serde_json::json;

#[test]
fn p24_independent_calls_run_at_the_same_time() {
    rig::together(async {
        let body = r#"
        const t = Date.now();
        const r = await Promise.all([300, 100, 200].map(ms => openclaw.tools.call("demo:slow", { ms })));
        return [r.map(x => x.done), Date.now() - t];"#;
        let value = rig::value(&rig::supervisor(), body, demo()).await;
        assert_eq!(value[0], json!([300, 100, 200]));
        let took = value[1].as_u64().expect("milliseconds");
        // Less than the longest would mean that they did not run at all; the sum is 600.
        assert!((300..600).contains(&took), "{took} ms");
    });
}

#[test]
fn p26_a_timeout_covers_waiting_and_computing_and_the_next_run_is_served() {
    rig::alone(async {
        let bodies = [r#"await openclaw.tools.call("demo:slow", { ms: 60000 });"#, "while (true) {}", "for (;;) await null"];
        for body in bodies {
            let watched = rig::Watched::new().await;
            let supervisor = &watched.supervisor;
            let catalog = demo();
            let began = Instant::now();
            let report = supervisor.run(request(body, 1_000), catalog.clone()).await;
            let took = began.elapsed();
            assert_eq!(code(&report), Some(ErrorCode::Timeout), "{body}");
            let allowed = Duration::from_millis(1_300) + report.timing.launch;
            assert!(took <= allowed, "{body}: {took:?}");
            assert!(report.timing.body >= Duration::from_millis(1_000), "{body}: early");
            if body.contains("slow") {
                assert_eq!(report.calls[0].state, CallState::Unknown, "it was sent and not answered");
                assert_eq!(catalog.dispatch_count(), 1);
            }
            assert_eq!(json(&rig::run(supervisor, "return 7").await), 7, "after {body}");
            watched.leaves_nothing(body).await;
        }
    });
}

#[test]
fn p27_classes_of_failure_are_told_apart() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let run = async |body| supervisor.run(request(body, 1_000), demo()).await;

        assert_eq!(code(&run("while (true) {}").await), Some(ErrorCode::Timeout));
        let thrown = run(r#"throw new Error("x")"#).await;
        assert_eq!(code(&thrown), Some(ErrorCode::BodyError));
        assert_eq!(message(&thrown), "x");
        assert_eq!(code(&run("return (").await), Some(ErrorCode::SyntaxError));
        let unknown = run(r#"await openclaw.tools.call("demo:nope", {})"#).await;
        assert_eq!(code(&unknown), Some(ErrorCode::BodyError));
        let caught = run(r#"try { await openclaw.tools.call("demo:nope", {}) } catch (e) { return e.code }"#).await;
        assert_eq!(json(&caught), "unknown_tool");
        assert_eq!(caught.calls[0].state, CallState::Refused);

        let config = rig::config(|config| config.node = Some("/nonexistent/node".into()));
        let error = rig::build(config).expect_err("there is no such Node");
        assert!(matches!(error, codemode::launch::LaunchError::Node(_)), "{error:?}");
    });
}

#[test]
fn p27_a_node_that_goes_away_is_node_unavailable() {
    rig::together(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let node = folder.path().join("node");
        std::os::unix::fs::symlink(codemode_tests::host::nodes()[0].as_path(), &node).expect("a link");
        let config = rig::config(|config| config.node = Some(node.clone()));
        let supervisor = rig::supervisor_of(config);
        std::fs::remove_file(&node).expect("it is ours");
        let report = rig::run(&supervisor, "return 1").await;
        // A template that was started meanwhile serves on: it needs the file no more.
        if report.isolation.as_ref().is_some_and(|isolation| isolation.launcher == codemode::launch::LauncherKind::Template) {
            assert!(report.ok, "{report:?}");
            return;
        }
        assert_eq!(code(&report), Some(ErrorCode::NodeUnavailable), "{report:?}");
        assert!(message(&report).contains(&node.display().to_string()), "{}", message(&report));
    });
}

#[test]
fn p53_what_the_bridge_hands_out_leads_nowhere() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let ways = [
            r#"try { await openclaw.tools.call("demo:boom", {}) } catch (e) { return climb(e) }"#,
            r#"return openclaw.tools.call("demo:boom", {}).then(() => "resolved", climb)"#,
            r#"const p = openclaw.tools.call("demo:boom", {}); p.catch(() => {}); return climb(p)"#,
            "return climb(openclaw.tools.call)",
            "return climb(openclaw.tools)",
            "return climb(console.log)",
            "return climb(console)",
            r#"try { null.x } catch (e) { return climb(e) }"#,
            r#"const r = await openclaw.tools.call("demo:echo", { a: [] }); return climb(r.a)"#,
        ];
        for way in ways {
            let body = format!(
                "const climb = (x) => {{ try {{ return x.constructor.constructor('return typeof process + typeof require')() }} catch (e) {{ return 'held: ' + e.name }} }};\n{way}"
            );
            let value = rig::value(&supervisor, &body, demo()).await;
            let text = value.as_str().expect("a text");
            assert!(text == "undefinedundefined" || text.starts_with("held: "), "{way}: {text}");
        }
        // The same climb does reach the main realm's `process` where nothing holds it.
        let free = rig::lost_realm(codemode::launch::WallSet::NONE);
        let report = rig::run(&free, "return typeof process + typeof require").await;
        assert_eq!(json(&report), "objectfunction");
    });
}
