//! The order of the steps, questions one after the other, and calls that are called off.

use std::sync::Arc;
use std::time::Duration;

use codemode::catalog::CallCode;
use codemode::gate::{Gate, Step};
use codemode::{CallState, ErrorCode, Limit, RunEvent, RunRequest};
use codemode_tests::patience::until;
use codemode_tests::rig;
use serde_json::{Value, json};

use super::stage::{Desk, Does, Hook, Person, asking, body, body_of, demo, structured};

#[test]
fn a_call_takes_each_step_once_in_their_order_by_whatever_way_it_comes() {
    rig::together(async {
        let gate =
            Gate::new().with_hook(Hook::new("look", Does::Allow)).with_approvals(asking("*")).with_approver(Desk::new(Person::Grants));
        let (result, diary) = structured(gate.clone(), demo(), "demo:echo", json!({})).await;
        assert!(result.is_ok());
        let names: Vec<Step> = diary.steps().iter().map(|taken| taken.step).collect();
        assert_eq!(names, Step::ALL);
        let ran = body(gate, demo(), r#"return await openclaw.tools.call("echo")"#).await;
        assert_eq!(ran.names(1), Step::ALL);
        // The approval lies inside its step, and the ledger's word before the call's.
        let place = |wanted: fn(&RunEvent) -> bool| ran.events.iter().position(wanted).unwrap();
        let sent = place(|event| matches!(event, RunEvent::CallSent { .. }));
        let of =
            |step: Step| ran.events.iter().position(|event| matches!(event, RunEvent::Gate { taken, .. } if taken.step == step)).unwrap();
        assert!(of(Step::Hooks) < place(|event| matches!(event, RunEvent::ApprovalStarted { .. })));
        assert!(place(|event| matches!(event, RunEvent::ApprovalEnded { .. })) < of(Step::Approval));
        assert!(of(Step::Approval) < sent && sent < of(Step::Call));
    });
}

#[test]
fn a_call_takes_no_step_after_the_one_that_stops_it() {
    rig::together(async {
        let plain = Gate::new;
        for (gate, id, args, last, code) in [
            (plain(), "nobody", json!({}), Step::Policy, CallCode::UnknownTool),
            (plain(), "demo:slow", json!({"ms": "x"}), Step::Arguments, CallCode::InvalidArguments),
            (plain().with_hook(Hook::new("no", Does::Block)), "demo:echo", json!({}), Step::Hooks, CallCode::HookBlocked),
            (plain().with_approvals(asking("*")), "demo:echo", json!({}), Step::Approval, CallCode::ApprovalUnavailable),
            (plain(), "demo:boom", json!({}), Step::Call, CallCode::ToolError),
        ] {
            let (result, diary) = structured(gate, demo(), id, args).await;
            assert_eq!(result.unwrap_err().code, code);
            let steps = diary.steps();
            let names: Vec<Step> = steps.iter().map(|taken| taken.step).collect();
            assert!(Step::ALL.starts_with(&names) && names.last() == Some(&last), "{names:?}");
            assert_eq!(steps.last().unwrap().code, Some(code));
        }
    });
}

#[test]
fn a_blocking_hook_is_denied_in_the_ledger_with_its_reason() {
    rig::together(async {
        let gate = Gate::new().with_hook(Hook::new("guard", Does::Block));
        let ran =
            body(gate, demo(), r#"return await openclaw.tools.call("demo:count").catch(e => [e.code, e.message, e.data.reason])"#).await;
        let value = ran.value();
        assert!(value[0] == "hook_blocked" && value[1].as_str().unwrap().contains("not today") && value[2] == "not today", "{value}");
        assert_eq!((ran.call().state, ran.call().code), (CallState::Denied, Some(CallCode::HookBlocked)));
    });
}

#[test]
fn questions_of_one_run_come_one_after_the_other_in_order() {
    rig::together(async {
        let desk = Desk::new(Person::Is(Duration::from_millis(20)));
        let gate = Gate::new().with_approvals(asking("*")).with_approver(Arc::clone(&desk) as _);
        let script = r#"
            const all = Array.from({ length: 8 }, (_, n) => openclaw.tools.call("demo:echo", { n }));
            return (await Promise.all(all)).length"#;
        let ran = body(gate, demo(), script).await;
        assert_eq!(ran.value(), 8);
        assert_eq!(*desk.most_open.lock().unwrap(), 1);
        let seqs: Vec<u64> = desk.asked.lock().unwrap().iter().map(|request| request.seq).collect();
        assert_eq!(seqs, (1..=8).collect::<Vec<_>>());
    });
}

#[test]
fn one_run_cannot_ask_a_person_without_end() {
    rig::together(async {
        let desk = Desk::new(Person::Refuses);
        let gate = Gate::new().with_approvals(asking("*")).with_approver(Arc::clone(&desk) as _);
        let script = r#"
            const codes = {};
            for (let n = 0; n < 200; n += 1) {
                const code = await openclaw.tools.call("demo:echo", { n }).catch(e => e.code);
                codes[code] = (codes[code] ?? 0) + 1;
            }
            return codes"#;
        let ran = body(gate, demo(), script).await;
        assert_eq!(ran.value(), json!({"approval_denied": 64, "approval_unavailable": 136}));
        assert_eq!(desk.asked().len(), 64);
    });
}

#[test]
fn a_cancelled_run_withdraws_its_question() {
    rig::together(async {
        let desk = Desk::new(Person::Sleeps);
        let gate = Gate::new().with_approvals(asking("*")).with_approver(Arc::clone(&desk) as _);
        let catalog = demo();
        let supervisor = rig::supervisor();
        let script = r#"return await Promise.all([1, 2, 3].map(n => openclaw.tools.call("demo:count", { n })))"#;
        let run = supervisor.start(RunRequest::new(script).with_gate(Arc::new(gate)), Arc::clone(&catalog) as _);
        until("the question is open", Duration::from_secs(5), || desk.asked().len() == 1).await;
        run.cancel();
        let report = run.report().await;
        assert_eq!(rig::code(&report), Some(ErrorCode::Cancelled));
        assert!(report.calls.iter().all(|call| call.state == CallState::Cancelled), "{:?}", report.calls);
        until("it is withdrawn", Duration::from_secs(2), || *desk.withdrawn.lock().unwrap() == 1).await;
        assert_eq!((desk.asked().len(), catalog.dispatch_count()), (1, 0), "no other question follows");
    });
}

/// A policy that a gateway's operator tightens while a person still thinks.
#[test]
fn what_was_forbidden_while_a_person_thought_does_not_go() {
    use std::sync::atomic::{AtomicBool, Ordering};

    #[derive(Debug)]
    struct Switch(AtomicBool);
    impl codemode::catalog::Permission for Switch {
        fn permits(&self, _: &str) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }
    rig::together(async {
        for (forbid, state) in [(false, CallState::Ok), (true, CallState::Denied)] {
            let switch = Arc::new(Switch(AtomicBool::new(true)));
            let desk = Desk::new(Person::Is(Duration::from_millis(150)));
            let gate = Gate::new().with_policy(Arc::clone(&switch) as _).with_approvals(asking("*")).with_approver(Arc::clone(&desk) as _);
            let catalog = demo();
            let supervisor = rig::supervisor();
            let script = r#"return await openclaw.tools.call("demo:count").catch(e => e.code)"#;
            let run = supervisor.start(RunRequest::new(script).with_gate(Arc::new(gate)), Arc::clone(&catalog) as _);
            until("the question is open", Duration::from_secs(5), || desk.asked().len() == 1).await;
            switch.0.store(!forbid, Ordering::Relaxed);
            let report = run.report().await;
            assert_eq!(report.calls[0].state, state, "{report:?}");
            assert_eq!(catalog.dispatch_count(), u64::from(!forbid));
        }
    });
}

#[test]
fn a_run_that_is_not_watched_tells_and_copies_nothing_and_goes_the_same_way() {
    rig::together(async {
        let hook = Hook::new("look", Does::Rewrite(json!({"n": 2})));
        let gate = Arc::new(Gate::new().with_hook(Arc::clone(&hook) as _));
        let request = RunRequest::new(r#"return await openclaw.tools.call("demo:echo", { n: 1 })"#).with_gate(gate);
        let report = rig::supervisor().run(request, demo()).await;
        assert_eq!(rig::json(&report), json!({"n": 2}));
        assert_eq!(report.calls[0].rewritten_by, ["look"]);
        assert!(matches!(&report.calls[0].id, Some(id) if id == "demo:echo"));
    });
}

#[test]
fn arguments_that_are_short_as_a_text_and_large_in_memory_do_not_go() {
    rig::together(async {
        // A megabyte of it takes 150 in memory, and many calls may wait for a person at once.
        let body = r#"
            const call = (a) => openclaw.tools.call("demo:echo", { a }).then((r) => r.a.length, (e) => [e.code, e.data.limit]);
            const nest = (levels) => levels === 0 ? [] : [nest(levels - 1)];
            return [await call(Array(5000).fill(nest(90))), await call(Array(200000).fill(12)), await call("x".repeat(1000000))]"#;
        let report = rig::supervisor().run(RunRequest::new(body), demo()).await;
        assert_eq!(rig::json(&report), json!([["too_large", 32 << 20], 200_000, 1_000_000]), "{:?}", report.error);
        assert_eq!(report.calls[0].state, CallState::Refused);
    });
}

#[test]
fn arguments_that_a_hook_made_too_large_do_not_go() {
    rig::together(async {
        let gate = Gate::new().with_hook(Hook::new("grow", Does::Rewrite(json!({"x": "y".repeat(5_000)}))));
        let limits = rig::limits(&[(Limit::ArgsBytes, 4_096)]);
        let request = RunRequest::new(r#"return await openclaw.tools.call("demo:echo").catch(e => e.code)"#);
        let ran = body_of(&rig::supervisor(), request.with_limits(limits).with_gate(Arc::new(gate)), demo()).await;
        assert_eq!((ran.value(), ran.call().state), (Value::from("hook_failed"), CallState::Denied));
    });
}
