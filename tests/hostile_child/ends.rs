//! Ways to end, and what they may be taken for.

use std::time::Duration;

use codemode::ErrorCode::{self, ChildCrashed, CpuLimit, IsolationViolation, MemoryLimit, NeverSettles, ProtocolViolation, Timeout};
use codemode_tests::rig::{self, code, json, message};
use codemode_tests::script::{Script, Step, answer, call, console};
use serde_json::json;

use crate::child::{run, serves_on};

#[test]
fn p107_an_exit_without_an_answer_is_a_crash_with_its_raw_status() {
    rig::together(async {
        for status in [0, 1, 7, 124, 137, 139, 143, 159] {
            let report = run(Script::greeted().step(Step::Exit(status)), 5_000).await;
            assert_eq!(code(&report), Some(ChildCrashed), "{status}: {report:?}");
            assert!(message(&report).contains(&format!("exited with {status} ")), "{}", message(&report));
        }
        serves_on().await;
    });
}

#[test]
fn p107_a_signal_is_told_as_what_the_kernel_says_and_no_more() {
    rig::together(async {
        let signals =
            [(9, ChildCrashed), (11, ChildCrashed), (15, ChildCrashed), (6, MemoryLimit), (31, IsolationViolation), (24, CpuLimit)];
        for (signal, verdict) in signals {
            let report = run(Script::greeted().step(Step::Raise(signal)), 5_000).await;
            assert_eq!(code(&report), Some(verdict), "{signal}: {report:?}");
        }
        // None of them can be made to look like ours.
        let ours = [Timeout, ErrorCode::Cancelled, ErrorCode::InternalError];
        assert!(signals.iter().all(|(_, verdict)| !ours.contains(verdict)));
        serves_on().await;
    });
}

#[test]
fn p107_an_answer_counts_whatever_the_exit_code_after_it() {
    rig::together(async {
        for end in [Step::Exit(7), Step::Exit(0), Step::Raise(9), Step::Raise(31)] {
            let report = run(Script::greeted().send(&answer(6)).step(end.clone()), 5_000).await;
            assert!(report.ok, "{end:?}: {report:?}");
            assert_eq!(json(&report), 6);
        }
    });
}

#[test]
fn a_verdict_that_the_child_may_claim_is_taken_as_its_claim() {
    rig::together(async {
        let claim =
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "m", "data": {"code": "never_settles", "name": "N"}}});
        let report = run(Script::greeted().send(&claim), 5_000).await;
        assert_eq!(code(&report), Some(NeverSettles), "{report:?}");
    });
}

#[test]
fn p106_a_child_that_closes_its_bridge_and_goes_on_is_ended_after_the_grace() {
    for (end, after) in [(Step::Close, Step::Spin), (Step::ShutWrite, Step::Spin), (Step::ShutWrite, Step::Sleep)] {
        rig::together(async {
            let report = run(Script::greeted().step(end.clone()).step(after.clone()), 5_000).await;
            assert_eq!(code(&report), Some(ProtocolViolation), "{end:?} {after:?}: {report:?}");
            assert!(report.timing.total < Duration::from_millis(800), "{:?}", report.timing);
        });
    }
}

#[test]
fn a_child_that_answers_and_stays_costs_the_grace_and_no_more() {
    rig::together(async {
        for stays in [Step::Spin, Step::Sleep] {
            let report = run(Script::greeted().send(&answer(1)).step(stays), 5_000).await;
            assert!(report.ok, "{report:?}");
            assert!(report.timing.total < Duration::from_millis(800), "{:?}", report.timing);
        }
    });
}

#[test]
fn a_child_that_says_nothing_is_a_timeout() {
    rig::together(async {
        for silent in [Script::new().step(Step::Sleep), Script::new().step(Step::Spin), Script::greeted().step(Step::Sleep)] {
            let report = run(silent, 600).await;
            assert_eq!(code(&report), Some(Timeout), "{report:?}");
            assert!(report.timing.body.as_millis() < 900, "{:?}", report.timing);
        }
        serves_on().await;
    });
}

#[test]
fn what_a_child_had_said_before_it_broke_the_wire_is_kept() {
    rig::together(async {
        let script = Script::greeted().send(&console("kept")).send(&call(1, "demo:echo", &json!({"n": 1}))).step(Step::Read).bytes(&[0; 4]);
        let report = run(script, 5_000).await;
        assert_eq!(code(&report), Some(ProtocolViolation), "{report:?}");
        assert_eq!(report.logs[0].text, "kept");
        assert_eq!(report.calls.len(), 1);
        assert_eq!(report.calls[0].state, codemode::CallState::Ok);
    });
}
