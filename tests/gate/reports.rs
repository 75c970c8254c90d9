//! What users of other gateways have reported.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codemode::catalog::{CallCode, Catalog, SearchQuery};
use codemode::gate::{ApprovalRule, Approvals, CommandHook, Gate, Glob, MASK, Policed, Policy, Step, StepOutcome};
use codemode::{CallState, RunEvent, RunRequest};
use codemode_tests::rig;
use serde_json::{Value, json};

use super::stage::{Desk, Does, Hook, Person, asking, body, body_of, demo, failing, refused, script, structured};

/// Both places that policy has: around the catalog, and in the gate for what changes while runs go on.
#[test]
fn p58_a_denied_tool_is_denied_at_the_call() {
    rig::together(async {
        let deny = Policy { allow: None, deny: vec![Glob::new("demo:count")] };
        let names = ["demo:count", "count", " demo:count\n", "\tcount", "DEMO:COUNT", "Count", "demo:Count "];
        for around in [true, false] {
            let file = demo();
            let catalog: Arc<dyn Catalog> = if around {
                let inner: Arc<dyn Catalog> = Arc::clone(&file) as _;
                Arc::new(Policed::new(inner, file.tools(), &deny))
            } else {
                Arc::clone(&file) as _
            };
            let gate = || if around { Gate::new() } else { Gate::new().with_policy(Arc::new(deny.clone())) };
            for name in names {
                let (result, _) = structured(gate(), Arc::clone(&catalog), name, json!({})).await;
                // In other letters it is a name of nothing, unless the catalog knows that there is something to hide.
                let is_exact = name.trim() == name.trim().to_lowercase();
                if around || is_exact {
                    refused(&result, &file, CallCode::Denied, "denied by policy");
                }
                assert!(result.is_err() && file.dispatch_count() == 0, "{name:?}");
            }
            let script = "
                const out = [];
                for (const name of NAMES) {
                    for (const way of ['call', 'describe']) out.push(await openclaw.tools[way](name).then(() => 'through', e => [e.code, e.message, e.data ?? null]));
                }
                const rows = await openclaw.tools.search('adds one to a counter', { limit: 20 });
                return { out, rows: rows.map(row => row.id) };"
                .replace("NAMES", &json!(names).to_string());
            let ran = body(gate(), Arc::clone(&catalog), &script).await;
            let value = ran.value();
            for (index, said) in value["out"].as_array().unwrap().iter().enumerate() {
                let name = names[index / 2];
                if around || name.trim() == name.trim().to_lowercase() {
                    assert_eq!(said[0], "denied", "{name:?}: {said}");
                    assert!(said[1].as_str().unwrap().contains("denied by policy") && said[2].is_null(), "{said}");
                }
                assert!(!said.to_string().contains("counter"), "a word of the tool: {said}");
            }
            let rows = value["rows"].as_array().unwrap();
            assert!(!rows.contains(&json!("demo:count")), "{rows:?}");
            assert_eq!(ran.report.calls[0].state, CallState::Denied);
            assert_eq!((ran.report.calls[0].source, ran.report.telemetry.selected.len()), (None, 0), "nothing is told of the tool");
            assert_eq!(file.dispatch_count(), 0);
        }
        // The control: without the policy each exact name gets through, and the search finds it.
        let file = demo();
        for name in names.iter().filter(|name| name.trim() == name.trim().to_lowercase()) {
            structured(Gate::new(), Arc::clone(&file) as _, name, json!({})).await.0.unwrap();
        }
        let found = file.search(&SearchQuery { query: "adds one to a counter".into(), limit: None }).await.unwrap();
        assert!(found.iter().any(|tool| tool.id == "demo:count"));
    });
}

#[test]
fn p59_a_hook_that_fails_lets_nothing_through() {
    rig::together(async {
        let folder = tempfile::tempdir().unwrap();
        let hook = |name: &str, lines: &str| {
            let program = script(folder.path(), name, lines).display().to_string();
            Gate::new().with_hook(Arc::new(CommandHook::new(vec![program]).with_limit(Duration::from_millis(400))))
        };
        let missing = Gate::new().with_hook(Arc::new(CommandHook::new(vec!["/nonexistent/hook".to_owned()])));
        let cases = [
            ("exits", hook("exits", r#"echo '{"decision":"allow"}'; exit 1"#), "exit code 1"),
            ("sleeps", hook("sleeps", "sleep 30"), "no answer within 400 ms"),
            ("half", hook("half", r#"printf '{"decision":"al'"#), "its answer is no decision"),
            ("says nothing", hook("silent", "exit 0"), "its answer is no decision"),
            ("is killed", hook("killed", "kill -9 $$"), "signal 9"),
            ("is missing", missing, "cannot be started"),
            ("is endless", hook("endless", "exec yes"), "its answer is"),
            ("fails", Gate::new().with_hook(Hook::new("own", Does::Fail)), "no record of this user"),
            ("panics", Gate::new().with_hook(Hook::new("own", Does::Panic)), "it broke down"),
            ("stalls", Gate::new().with_hook(Hook::new("own", Does::Stall)), "no answer within 200 ms"),
        ];
        for (name, gate, how) in cases {
            let catalog = demo();
            let began = Instant::now();
            let (result, diary) = structured(gate.clone(), Arc::clone(&catalog) as _, "demo:count", json!({})).await;
            assert!(began.elapsed() < Duration::from_secs(3), "{name}: {:?}", began.elapsed());
            refused(&result, &catalog, CallCode::HookFailed, how);
            assert!(result.unwrap_err().message.contains("failed"), "{name}");
            assert_eq!(diary.steps().last().map(|taken| (taken.step, taken.outcome)), Some((Step::Hooks, StepOutcome::Stopped)));

            let ran = body(gate, Arc::clone(&catalog) as _, &failing("demo:count")).await;
            let value = ran.value();
            assert!(value[0] == "hook_failed" && value[1].as_str().unwrap().contains(how), "{name}: {value}");
            assert_eq!((ran.call().state, ran.call().code), (CallState::Denied, Some(CallCode::HookFailed)), "{name}");
            assert_eq!(catalog.dispatch_count(), 0, "{name}");
        }
    });
}

#[test]
fn p60_rewritten_arguments_are_what_everybody_after_the_hook_sees() {
    rig::together(async {
        let tmp = json!({"path": "/tmp"});
        for by_body in [false, true] {
            let (first, second) = (Hook::new("first", Does::Rewrite(tmp.clone())), Hook::new("second", Does::Allow));
            let desk = Desk::new(Person::Grants);
            let gate = Gate::new()
                .with_hook(Arc::clone(&first) as _)
                .with_hook(Arc::clone(&second) as _)
                .with_approvals(asking("demo:echo"))
                .with_approver(Arc::clone(&desk) as _);
            let catalog = demo();
            let steps = if by_body {
                let ran = body(gate, Arc::clone(&catalog) as _, r#"return await openclaw.tools.call("demo:echo", { path: "/etc" })"#).await;
                assert_eq!(ran.value(), tmp);
                assert_eq!((ran.call().args_bytes, &ran.call().rewritten_by[..]), (15, &["first".to_owned()][..]));
                ran.steps(1)
            } else {
                let (result, diary) = structured(gate, Arc::clone(&catalog) as _, "demo:echo", json!({"path": "/etc"})).await;
                assert_eq!(result, Ok(tmp.clone()));
                diary.steps()
            };
            assert_eq!(first.saw(), [json!({"path": "/etc"})]);
            assert_eq!((second.saw(), desk.asked()), (vec![tmp.clone()], vec![tmp.clone()]));
            assert_eq!(catalog.dispatched()[0].args, Some(tmp.clone()));
            // The log: the body's own arguments before the hooks, and no others than the rewritten ones after them.
            assert_eq!(steps.iter().map(|taken| taken.step).collect::<Vec<_>>(), Step::ALL);
            for taken in &steps {
                match taken.step {
                    Step::Arguments => assert_eq!(taken.shown, Some(json!({"path": "/etc"}))),
                    Step::Policy | Step::Output => assert_eq!(taken.shown, None),
                    _ => assert_eq!(taken.shown, Some(tmp.clone()), "{taken:?}"),
                }
            }
            assert_eq!(steps[2].by, ["first", "second"]);
            assert_eq!(steps[2].outcome, StepOutcome::Changed);
        }
        // What breaks the tool's schema goes nowhere, and the next hook does not even see it.
        let next = Hook::new("next", Does::Allow);
        let gate = Gate::new().with_hook(Hook::new("bad", Does::Rewrite(json!({"ms": "soon"})))).with_hook(Arc::clone(&next) as _);
        let catalog = demo();
        let (result, _) = structured(gate, Arc::clone(&catalog) as _, "demo:slow", json!({"ms": 1})).await;
        refused(&result, &catalog, CallCode::HookFailed, "/ms must be number, string given");
        assert!(next.saw().is_empty());
    });
}

#[test]
fn p61_a_hook_runs_once_for_each_call_and_for_nothing_else() {
    rig::together(async {
        let hook = Hook::new("count", Does::Allow);
        let gate = Arc::new(Gate::new().with_hook(Arc::clone(&hook) as _));
        let script = r#"
            await openclaw.tools.search("echo");
            await openclaw.tools.describe("demo:echo");
            await openclaw.tools.call("demo:echo", { n: 1 });
            await Promise.all([openclaw.tools.call("demo:echo", { n: 2 }), openclaw.tools.call("echo", { n: 3 })]);
            await openclaw.tools.call("demo:slow", { ms: "no" }).catch(() => 0);
            await openclaw.tools.call("nobody", {}).catch(() => 0);
            return 1;"#;
        let request = RunRequest::new(script).with_gate(Arc::clone(&gate));
        let ran = body_of(&rig::supervisor(), request, demo()).await;
        assert_eq!(ran.value(), 1);
        let mut saw = hook.saw.lock().unwrap().clone();
        saw.sort_by_key(|(seq, _)| *seq);
        assert_eq!(saw, [(3, json!({"n": 1})), (4, json!({"n": 2})), (5, json!({"n": 3}))], "each with a number of its own");
        hook.saw.lock().unwrap().clear();
        let (result, _) = structured((*gate).clone(), demo(), "demo:echo", json!({"n": 4})).await;
        assert!(result.is_ok());
        assert_eq!(hook.saw(), [json!({"n": 4})]);
    });
}

#[test]
fn p61_a_program_runs_once_for_each_call_each_with_its_own_id() {
    rig::together(async {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let lines = format!(r#"cat >> '{}'; echo '{{"decision":"allow"}}'"#, log.display());
        let program = script(folder.path(), "log-calls", &lines).display().to_string();
        let gate = Gate::new().with_hook(Arc::new(CommandHook::new(vec![program])));
        let script = r#"for (const n of [1, 2, 3]) await openclaw.tools.call("demo:echo", { n }); return 1"#;
        let ran = body(gate, demo(), script).await;
        assert_eq!(ran.value(), 1);
        let log = std::fs::read_to_string(log).unwrap();
        let calls: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ids: std::collections::BTreeSet<String> = calls.iter().map(|call| call["callId"].to_string()).collect();
        assert_eq!((calls.len(), ids.len()), (3, 3), "{log}");
        assert_eq!(calls[1]["args"], json!({"n": 2}));
        assert_eq!(calls[1]["tool"], json!({"id": "demo:echo", "source": "client", "sourceName": "demo", "name": "echo"}));
    });
}

#[test]
fn p62_an_approval_that_nobody_answers_is_refused() {
    rig::together(async {
        let nobody = Gate::new().with_approvals(asking("demo:count"));
        let asleep = Desk::new(Person::Sleeps);
        let silent = nobody.clone().with_approver(Arc::clone(&asleep) as _);
        for (gate, code, words, waits) in [
            (nobody, CallCode::ApprovalUnavailable, "approval needed, no approver", false),
            (silent, CallCode::ApprovalTimeout, "left unanswered for 300 ms", true),
        ] {
            let catalog = demo();
            let began = Instant::now();
            let (result, _) = structured(gate.clone(), Arc::clone(&catalog) as _, "demo:count", json!({})).await;
            refused(&result, &catalog, code, words);
            assert_eq!(began.elapsed() >= Duration::from_millis(300), waits);

            let ran = body(gate, Arc::clone(&catalog) as _, &failing("demo:count")).await;
            assert!(ran.value()[1].as_str().unwrap().contains(words), "{}", ran.value());
            assert_eq!((ran.call().state, ran.call().code), (CallState::Denied, Some(code)));
            assert_eq!(catalog.dispatch_count(), 0);
            let told = |wanted: fn(&RunEvent) -> bool| ran.events.iter().filter(|event| wanted(event)).count();
            let (started, ended) = (
                told(|event| matches!(event, RunEvent::ApprovalStarted { seq: 1 })),
                told(|event| matches!(event, RunEvent::ApprovalEnded { seq: 1 })),
            );
            assert_eq!((started, ended), (usize::from(waits), usize::from(waits)));
            // The run counts from when it hears of the question, which the gate has put a moment before.
            let heard = Duration::from_millis(300 - 20);
            assert_eq!(ran.report.timing.approval >= heard, waits, "{:?}", ran.report.timing);
        }
        assert_eq!(*asleep.withdrawn.lock().unwrap(), 2, "a question is withdrawn when its time is over");
        // The control: an answer lets it through.
        let gate = Gate::new().with_approvals(asking("demo:count")).with_approver(Desk::new(Person::Grants));
        assert_eq!(structured(gate, demo(), "demo:count", json!({})).await.0, Ok(json!(1)));
        // Rules alone can say no, and a person can with a reason.
        let deny = Approvals::new([(Glob::new("*"), ApprovalRule::Ask), (Glob::new("demo:count"), ApprovalRule::Deny)]);
        let catalog = demo();
        let gate = Gate::new().with_approvals(deny).with_approver(Desk::new(Person::Grants));
        refused(&structured(gate, Arc::clone(&catalog) as _, "demo:count", json!({})).await.0, &catalog, CallCode::ApprovalDenied, "rules");
        let gate = Gate::new().with_approvals(asking("*")).with_approver(Desk::new(Person::Refuses));
        refused(
            &structured(gate, Arc::clone(&catalog) as _, "demo:count", json!({})).await.0,
            &catalog,
            CallCode::ApprovalDenied,
            "too risky",
        );
        let gate = Gate::new().with_approvals(asking("*")).with_approver(Desk::new(Person::Breaks));
        refused(&structured(gate, Arc::clone(&catalog) as _, "count", json!({})).await.0, &catalog, CallCode::ApprovalUnavailable, "broke");
    });
}

#[test]
fn p63_secrets_are_masked_for_logs_and_for_nobody_else() {
    rig::together(async {
        let script =
            r#"await openclaw.tools.call("demo:echo", { token: "sk-test-abcdef0123456789abcdef", note: "line1\nline2" }); return 1;"#;
        let desk = Desk::new(Person::Grants);
        let hook = Hook::new("look", Does::Allow);
        let gate = Gate::new().with_hook(Arc::clone(&hook) as _).with_approvals(asking("*")).with_approver(Arc::clone(&desk) as _);
        let catalog = demo();
        let ran = body(gate, Arc::clone(&catalog) as _, script).await;
        assert_eq!(ran.value(), 1);
        let real = json!({"token": "sk-test-abcdef0123456789abcdef", "note": "line1\nline2"});
        assert_eq!(catalog.dispatched()[0].args, Some(real.clone()));
        assert_eq!((hook.saw(), desk.asked()), (vec![real.clone()], vec![real]));
        let masked = json!({"token": MASK, "note": "line1\nline2"});
        let mut shown = 0;
        for event in &ran.events {
            let line = serde_json::to_string(event).unwrap();
            assert!(!line.contains("sk-test") && !line.contains('\n'), "{line}");
            if let RunEvent::Gate { taken, .. } = event
                && let Some(one) = &taken.shown
            {
                assert_eq!(one, &masked);
                shown += 1;
            }
        }
        assert_eq!(shown, 4, "arguments, approval, call, and the value, which is the same");
    });
}
