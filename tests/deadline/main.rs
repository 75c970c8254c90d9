//! Deadlines: whatever a child does, a run ends in time, and nothing of it is left.

mod approvals;
#[path = "../run/stand_in.rs"]
mod stand_in;

use std::time::{Duration, Instant};

use codemode::ErrorCode;
use stand_in::{answering, become_sleepers, no_tools, request, supervisor};

/// What a run may take longer than its limit: the kill, the reaping, and a machine that is busy with other tests.
const SLACK: Duration = Duration::from_millis(700);

/// Runs a script at a limit and checks that it ends in time.
async fn verdict(script: &str, wall_ms: u64) -> ErrorCode {
    let supervisor = supervisor(script);
    let began = Instant::now();
    let report = supervisor.run(request(wall_ms), no_tools()).await;
    let took = began.elapsed();
    assert!(took < Duration::from_millis(wall_ms) + SLACK, "{took:?}: {report:?}");
    report.error.expect("these runs fail").code
}

#[tokio::test]
async fn a_silent_child_is_ended_at_its_limit_and_not_before() {
    let began = Instant::now();
    assert_eq!(verdict("sleep 7401", 600).await, ErrorCode::Timeout);
    assert!(began.elapsed() >= Duration::from_millis(600));
    assert!(become_sleepers(7401, 0).await);
}

#[tokio::test]
async fn a_descendant_that_keeps_the_pipes_open_holds_nobody_up() {
    assert_eq!(verdict("sleep 7402 & exec sleep 7402", 600).await, ErrorCode::Timeout);
    assert!(become_sleepers(7402, 0).await);
}

#[tokio::test]
async fn a_descendant_of_a_child_that_exits_holds_nobody_up() {
    let began = Instant::now();
    assert_eq!(verdict("sleep 7403 & exit 9", 5_000).await, ErrorCode::ChildCrashed);
    assert!(began.elapsed() < SLACK);
    assert!(become_sleepers(7403, 0).await);
}

#[tokio::test]
async fn a_child_that_ignores_signals_is_ended_all_the_same() {
    assert_eq!(verdict("trap '' TERM INT HUP XCPU; while :; do sleep 7404; done", 600).await, ErrorCode::Timeout);
    assert!(become_sleepers(7404, 0).await);
}

#[tokio::test]
async fn a_child_that_closes_its_bridge_and_stays_is_ended_after_the_grace() {
    let began = Instant::now();
    assert_eq!(verdict("exec </dev/null >/dev/null; sleep 7405", 5_000).await, ErrorCode::ProtocolViolation);
    assert!(began.elapsed() < SLACK);
    assert!(become_sleepers(7405, 0).await);
}

#[tokio::test]
async fn a_child_that_stays_after_its_answer_costs_the_grace_and_no_more() {
    let began = Instant::now();
    let report = supervisor(&format!("{}; exec sleep 7406", answering())).run(request(5_000), no_tools()).await;
    assert!(report.ok, "{report:?}");
    assert!(began.elapsed() < SLACK);
    assert!(become_sleepers(7406, 0).await);
}

#[tokio::test]
async fn an_endless_stream_of_rubbish_on_stderr_holds_nobody_up() {
    assert_eq!(verdict("while :; do echo rubbish rubbish rubbish >&2; done", 600).await, ErrorCode::Timeout);
}

#[tokio::test]
async fn the_next_run_is_served_at_once() {
    let supervisor = supervisor(&format!("test -e /proc/self && {}", answering()));
    for _ in 0..20 {
        let began = Instant::now();
        assert!(supervisor.run(request(1_000), no_tools()).await.ok);
        assert!(began.elapsed() < SLACK);
    }
}
