//! Children that get no processor: stopped at each stage. The supervisor ends them at its own limits.

use std::time::{Duration, Instant};

use codemode::ErrorCode::{self, NodeUnavailable, Timeout};
use codemode::{CallState, RunEvent};
use codemode_tests::census::{Census, children_of, own_pid};
use codemode_tests::patience::until;
use codemode_tests::rig::{self, code, demo, request};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::turn;

/// Stops every child of this process as soon as `stage` is told, and gives the verdict.
fn stopped_at(stage: fn(&RunEvent) -> bool, body: &str, expected: &[Option<ErrorCode>], within: Duration) -> Vec<CallState> {
    let _turn = turn();
    let (verdict, states, took) = rig::alone(async {
        let before = Census::take();
        let config = codemode::launch::LaunchConfig::default();
        let supervisor = codemode::Supervisor::builder().launch(config).launcher_choice(codemode::launch::LauncherChoice::Spawn);
        let supervisor = supervisor.build().expect("children can be started");
        let mut run = supervisor.start(request(body, 1_000), demo());
        while let Some(event) = run.event().await {
            if stage(&event) {
                break;
            }
        }
        until("a child", Duration::from_secs(5), || !children_of(own_pid()).is_empty()).await;
        let began = Instant::now();
        for child in children_of(own_pid()) {
            // Ours; it may have ended.
            let _ = kill(Pid::from_raw(child), Signal::SIGSTOP);
        }
        let report = run.report().await;
        let took = began.elapsed();
        drop(supervisor);
        before.settles("a stopped child").await;
        (code(&report), report.calls.iter().map(|call| call.state).collect(), took)
    });
    assert!(expected.contains(&verdict), "{verdict:?}");
    assert!(took < within, "{took:?}");
    states
}

const WITHIN: Duration = Duration::from_millis(1_800);

#[test]
fn a_child_stopped_while_it_is_launched_is_named_and_gone() {
    // A first record within 1 s, the rest within 10.
    let started = |event: &RunEvent| matches!(event, RunEvent::Started);
    stopped_at(started, "return 1", &[Some(NodeUnavailable)], Duration::from_secs(11));
}

#[test]
fn a_child_stopped_when_its_body_is_sent_meets_the_clock() {
    stopped_at(|event| matches!(event, RunEvent::Confined(_)), "for (;;) {}", &[Some(Timeout)], WITHIN);
}

#[test]
fn a_child_stopped_while_its_body_computes_meets_the_clock() {
    stopped_at(|event| matches!(event, RunEvent::Log(_)), r#"console.log("now"); for (;;) {}"#, &[Some(Timeout)], WITHIN);
}

#[test]
fn a_child_stopped_while_a_call_is_open_meets_the_clock_and_its_call_is_unknown() {
    let body = r#"return await openclaw.tools.call("demo:slow", { ms: 60000 })"#;
    let states = stopped_at(|event| matches!(event, RunEvent::CallSent { .. }), body, &[Some(Timeout)], WITHIN);
    assert_eq!(states, [CallState::Unknown]);
}

#[test]
fn a_child_stopped_after_its_answer_costs_the_grace() {
    stopped_at(|event| matches!(event, RunEvent::Concluded { .. }), "return 1", &[None], WITHIN);
}
