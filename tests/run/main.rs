//! Runs from outside: what a caller of the library gets, and what is left behind.

mod admission;
mod as_written;
mod language;
mod outcomes;
mod properties;
mod stand_in;
mod table;

use std::sync::Arc;
use std::time::Duration;

use codemode::launch::{Confined, LaunchConfig, LaunchError, LaunchOrder, Launcher};
use codemode::{ErrorCode, RunEvent, RunHandle, RunRequest, Supervisor};
use stand_in::{answering, become_sleepers, no_tools, request, supervisor};

/// From the first sight of a child to its being in the hands of the run. The moment before that has a test of its own.
const SETTLED: Duration = Duration::from_millis(100);

/// Waits until a run has its child.
async fn confined(handle: &mut RunHandle) {
    while let Some(event) = handle.event().await {
        if matches!(event, RunEvent::Confined(_)) {
            return;
        }
    }
    panic!("the run has no child");
}

#[tokio::test]
async fn an_answer_comes_back_with_its_report() {
    let report = supervisor(&answering()).run(request(2_000), no_tools()).await;
    assert!(report.ok, "{report:?}");
    assert_eq!(report.value.text(), "1");
    let timing = report.timing;
    assert!(timing.total >= timing.launch + timing.body, "{timing:?}");
    assert!(report.resources.peak_rss_bytes > 0);
}

#[tokio::test]
async fn a_leftover_of_a_good_run_is_gone_when_the_report_is_there() {
    let script = format!("sleep 7301 & {}", answering());
    let report = supervisor(&script).run(request(2_000), no_tools()).await;
    assert!(report.ok, "{report:?}");
    assert!(become_sleepers(7301, 0).await);
}

#[tokio::test]
async fn the_rig_can_see_a_leftover() {
    let mut sleeper = tokio::process::Command::new("sleep").arg("7300").kill_on_drop(true).spawn().expect("sleep starts");
    assert!(become_sleepers(7300, 1).await);
    sleeper.kill().await.expect("it is ours to kill");
    assert!(become_sleepers(7300, 0).await);
}

#[tokio::test]
async fn dropping_the_handle_ends_the_child() {
    let mut handle = supervisor("sleep 7302").start(request(60_000), no_tools());
    confined(&mut handle).await;
    assert!(become_sleepers(7302, 1).await);
    drop(handle);
    assert!(become_sleepers(7302, 0).await);
}

#[tokio::test]
async fn dropping_the_future_of_a_run_ends_the_child() {
    let supervisor = supervisor("sleep 7303");
    let run = tokio::spawn(async move { supervisor.run(request(60_000), no_tools()).await });
    assert!(become_sleepers(7303, 1).await);
    tokio::time::sleep(SETTLED).await;
    run.abort();
    assert!(become_sleepers(7303, 0).await);
}

#[tokio::test]
async fn cancelling_gives_a_report_after_the_child_is_gone() {
    let mut handle = supervisor("sleep 7304").start(request(60_000), no_tools());
    confined(&mut handle).await;
    assert!(become_sleepers(7304, 1).await);
    handle.cancel();
    let report = handle.finished().await;
    assert_eq!(report.error.map(|error| error.code), Some(ErrorCode::Cancelled));
    assert!(become_sleepers(7304, 0).await);
    let mut last = None;
    while let Some(event) = handle.event().await {
        last = Some(event);
    }
    assert!(matches!(last, Some(RunEvent::Ended { code: Some(ErrorCode::Cancelled) })), "{last:?}");
}

#[tokio::test]
async fn a_child_that_was_launched_ahead_and_not_used_is_ended() {
    let supervisor = supervisor("sleep 7305");
    let ahead = supervisor.launch_ahead(&request(60_000).limits);
    assert!(become_sleepers(7305, 1).await);
    tokio::time::sleep(SETTLED).await;
    drop(ahead);
    assert!(become_sleepers(7305, 0).await);
}

/// A child that is started while its run is given up, at every moment of the start.
#[tokio::test(flavor = "multi_thread")]

async fn a_run_given_up_during_the_start_leaves_no_child() {
    let supervisor = supervisor("exec sleep 7306");
    for step in 0..200u64 {
        let ahead = supervisor.launch_ahead(&request(60_000).limits);
        tokio::time::sleep(Duration::from_micros(step * 10)).await;
        drop(ahead);
    }
    assert!(become_sleepers(7306, 0).await);
}

#[tokio::test]
async fn two_supervisors_live_in_one_process() {
    let (one, two) = (supervisor(&answering()), supervisor("exit 3"));
    let (one, two) = tokio::join!(one.run(request(2_000), no_tools()), two.run(request(2_000), no_tools()));
    assert!(one.ok, "{one:?}");
    assert_eq!(two.error.map(|error| error.code), Some(ErrorCode::ChildCrashed));
}

/// Fails every test in which a child is asked for.
#[derive(Debug)]
struct NoChild;

#[async_trait::async_trait]
impl Launcher for NoChild {
    async fn launch(&self, _: LaunchOrder) -> Result<Confined, LaunchError> {
        panic!("a child was asked for")
    }
}

#[tokio::test]
async fn an_invalid_body_costs_no_child() {
    let supervisor = Supervisor::builder().launcher(Arc::new(NoChild)).build().expect("a launcher is given");
    for body in [b" \n".to_vec(), b"\xff\xfe1\0".to_vec(), b"ab\xff".to_vec(), vec![b'1'; 256 * 1024 + 1]] {
        let report = supervisor.run(RunRequest::new(body), no_tools()).await;
        assert_eq!(report.error.map(|error| error.code), Some(ErrorCode::InvalidBody));
        assert!(report.isolation.is_none());
    }
    // The same supervisor does ask for one when the body is worth it, so the launcher above can fail.
    let report = supervisor.run(RunRequest::new("1"), no_tools()).await;
    assert_eq!(report.error.map(|error| error.code), Some(ErrorCode::InternalError));
}

#[tokio::test]
async fn a_node_that_is_not_there_is_named() {
    let config = LaunchConfig { node: Some("/nonexistent/node".into()), ..LaunchConfig::default() };
    let error = Supervisor::builder().launch(config).build().expect_err("there is no such Node");
    assert!(matches!(error, LaunchError::Node(_)), "{error:?}");
    assert!(error.to_string().contains("/nonexistent/node") && error.to_string().contains("--node"), "{error}");
}
