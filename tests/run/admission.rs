//! A supervisor takes on so much and no more, and says so.

use std::time::Duration;

use codemode::launch::{Danger, LaunchConfig};
use codemode::{Admission, ErrorCode, RunHandle, Supervisor};

use super::confined;
use super::stand_in::{answering, become_sleepers, no_tools, request};

/// As [`stand_in::supervisor`](super::stand_in::supervisor), with a door.
fn supervisor(script: &str, running: usize, waiting: usize) -> Supervisor {
    let stand_in = Some(("/bin/sh".into(), vec!["-c".to_owned(), script.to_owned()]));
    let config = LaunchConfig { danger: Danger { stand_in, ..Danger::default() }, ..LaunchConfig::default() };
    Supervisor::builder().launch(config).admission(Admission { running, waiting }).build().expect("a shell can be started")
}

fn start(supervisor: &Supervisor) -> RunHandle {
    supervisor.start(request(60_000), no_tools())
}

#[tokio::test]
async fn a_run_too_many_is_refused_by_name_and_the_others_go_on() {
    let supervisor = supervisor("sleep 7310", 2, 1);
    let mut running = [start(&supervisor), start(&supervisor)];
    for run in &mut running {
        confined(run).await;
    }
    let waiting = start(&supervisor);
    let refused = start(&supervisor).report().await;
    let error = refused.error.expect("it is refused");
    assert_eq!((error.code, refused.isolation.is_none()), (ErrorCode::Busy, true));
    assert_eq!(error.message.lines().count(), 2, "what, and what to do: {}", error.message);
    assert!(become_sleepers(7310, 2).await, "who waits has no process");
    // Who waits can be called off, and its place is free again.
    waiting.cancel();
    assert_eq!(waiting.report().await.error.map(|error| error.code), Some(ErrorCode::Cancelled));
    let next = start(&supervisor);
    let [first, second] = running;
    first.cancel();
    first.report().await;
    assert!(become_sleepers(7310, 2).await, "its turn has come");
    second.cancel();
    next.cancel();
    second.report().await;
    next.report().await;
    assert!(become_sleepers(7310, 0).await);
}

#[tokio::test]
async fn time_in_the_queue_is_not_the_bodys() {
    let supervisor = supervisor(&format!("sleep 0.3; {}", answering()), 1, 8);
    let first = start(&supervisor);
    let report = supervisor.run(request(1_000), no_tools()).await;
    assert!(report.ok, "{report:?}");
    assert!(report.timing.launch >= Duration::from_millis(250), "{:?}", report.timing);
    assert!(report.timing.body < Duration::from_millis(900), "{:?}", report.timing);
    assert!(first.report().await.ok);
}

#[tokio::test]
async fn everybody_in_the_queue_has_his_turn() {
    let supervisor = supervisor(&answering(), 2, 40);
    let runs: Vec<_> = (0..40).map(|_| start(&supervisor)).collect();
    for run in runs {
        assert!(run.report().await.ok);
    }
}
