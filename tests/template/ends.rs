//! A supervisor of templates that goes.

use std::time::Duration;

use codemode::launch::LaunchConfig;
use codemode::{RunHandle, Supervisor};
use codemode_tests::census::Census;
use codemode_tests::rig;

use super::witness::{ready, supervisor_of, value};

const TIMES: u64 = 20;
const BODIES: [&str; 4] = ["for (;;) {}", "return 1", r#"await openclaw.tools.call("demo:slow", { ms: 60000 })"#, "for (;;) await null"];

fn load(supervisor: &Supervisor) -> Vec<RunHandle> {
    BODIES.iter().cycle().take(8).map(|body| rig::start(supervisor, body)).collect()
}

#[test]
fn a_supervisor_dropped_under_load_leaves_no_process_and_no_descriptor() {
    rig::alone(async {
        for time in 0..TIMES {
            let empty = Census::take();
            let supervisor = supervisor_of(LaunchConfig::default());
            let runs = load(&supervisor);
            // At any stage: before there is a template, while it is tried, with forks under way, and later.
            tokio::time::sleep(Duration::from_millis(time * 7)).await;
            drop(supervisor);
            drop(runs);
            empty.settles(&format!("dropped after {} ms", time * 7)).await;
        }
    });
}

#[test]
fn runs_outlive_the_supervisor_that_started_them() {
    rig::alone(async {
        let empty = Census::take();
        let supervisor = ready(supervisor_of(LaunchConfig::default())).await;
        let body = r#"return (await openclaw.tools.call("demo:slow", { ms: 200 })).done"#;
        let mut runs: Vec<_> = (0..4).map(|_| rig::start(&supervisor, body)).collect();
        for run in &mut runs {
            // Each has its child by then.
            while let Some(event) = run.event().await {
                if matches!(event, codemode::RunEvent::CallSent { .. }) {
                    break;
                }
            }
        }
        drop(supervisor);
        for run in runs {
            let report = run.report().await;
            assert!(report.ok, "{report:?}");
            assert_eq!(rig::json(&report), 200);
        }
        empty.settles("runs that went on").await;
    });
}

#[test]
fn of_two_supervisors_one_goes_and_the_other_serves() {
    rig::alone(async {
        let empty = Census::take();
        let stays = ready(supervisor_of(LaunchConfig::default())).await;
        for time in 0..5 {
            let goes = supervisor_of(LaunchConfig::default());
            let (of_one, of_other) = (load(&goes), load(&stays));
            tokio::time::sleep(Duration::from_millis(time * 20)).await;
            drop((goes, of_one));
            assert_eq!(value(&stays, "return 5").await, 5);
            drop(of_other);
        }
        drop(stays);
        empty.settles("two supervisors").await;
    });
}
