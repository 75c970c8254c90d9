//! A template that dies.

use std::time::{Duration, Instant};

use codemode::launch::LauncherKind;
use codemode::{ErrorCode, RunRequest};
use codemode_tests::census::Census;
use codemode_tests::patience::until;
use codemode_tests::rig::{self, code, demo, json};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::witness::{allowed, ready, supervisor_of, template, templates};

/// Computes, waits for a call, computes.
const BODY: &str = r#"
    const spin = (ms) => { const end = Date.now() + ms; while (Date.now() < end) {} };
    spin(5);
    const { done } = await openclaw.tools.call("demo:slow", { ms: 300 });
    spin(5);
    return done;"#;

/// How soon the template way serves again.
const AGAIN_WITHIN: Duration = Duration::from_secs(5);

#[test]
fn sigkill_of_the_template_in_the_middle_of_eight_runs_harms_none_and_the_next_is_served() {
    rig::alone(async {
        let empty = Census::take();
        let supervisor = ready(supervisor_of(codemode::launch::LaunchConfig::default())).await;
        let next = allowed(200, 1_000);
        for _ in 0..3 {
            let catalog = demo();
            let runs: Vec<_> = (0..8).map(|_| supervisor.start(RunRequest::new(BODY), catalog.clone())).collect();
            until("all eight are inside", AGAIN_WITHIN, || catalog.dispatch_count() == 8).await;
            let killed = template();
            kill(Pid::from_raw(killed), Signal::SIGKILL).expect("it is ours");
            // More than wait, so that some find no template.
            for _ in 0..6 {
                let began = Instant::now();
                let report = rig::run(&supervisor, "return 6 * 7").await;
                let took = began.elapsed();
                assert!(report.ok, "{report:?}");
                assert_eq!(json(&report), 42);
                assert!(took <= next, "{took:?}");
            }
            for run in runs {
                let report = run.report().await;
                // Nothing ties a fork to its template.
                assert!(report.ok, "{report:?}");
                assert_eq!(json(&report), 300);
            }
            until("another template", AGAIN_WITHIN, || {
                let now = templates();
                now.len() == 1 && !now.contains(&killed)
            })
            .await;
            let began = Instant::now();
            loop {
                let report = rig::run(&supervisor, "return 1").await;
                assert!(report.ok, "{report:?}");
                if report.isolation.is_some_and(|isolation| isolation.launcher == LauncherKind::Template) {
                    break;
                }
                assert!(began.elapsed() < AGAIN_WITHIN, "no fork any more");
            }
        }
        drop(supervisor);
        empty.settles("three templates killed").await;
    });
}

#[test]
fn a_template_killed_under_load_again_and_again_costs_no_run_its_honest_verdict() {
    rig::alone(async {
        let empty = Census::take();
        let supervisor = ready(supervisor_of(codemode::launch::LaunchConfig::default())).await;
        let end = Instant::now() + Duration::from_secs(2);
        let lanes: Vec<_> = (0..8)
            .map(|_| {
                let supervisor = supervisor.clone();
                tokio::spawn(async move {
                    let mut bad = Vec::new();
                    while Instant::now() < end {
                        let report = rig::run(&supervisor, "return [1, 2].map((n) => n * 2)").await;
                        // A fork that was being made when its template died is no verdict on a body: such a run is started another way.
                        if !report.ok {
                            bad.push((code(&report), report.error));
                        }
                    }
                    bad
                })
            })
            .collect();
        while Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(150)).await;
            for template in templates() {
                // It may be a Node of the spawn way, or gone by now: whoever it was, its run has an honest verdict.
                let _ = kill(Pid::from_raw(template), Signal::SIGKILL);
            }
        }
        for lane in lanes {
            for (code, error) in lane.await.expect("runs end") {
                assert!(
                    matches!(code, Some(ErrorCode::ChildCrashed | ErrorCode::NodeUnavailable | ErrorCode::IsolationUnavailable)),
                    "{error:?}"
                );
            }
        }
        let report = rig::run(&supervisor, "return 1").await;
        assert!(report.ok, "{report:?}");
        drop(supervisor);
        empty.settles("templates killed under load").await;
    });
}
