//! A person who thinks stops the clock of a child that waits, and of no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use codemode::gate::{ApprovalAnswer, ApprovalRequest, ApprovalRule, Approvals, Approver, Gate, Glob};
use codemode::{ErrorCode, RunReport, RunRequest};
use codemode_tests::rig;

use super::SLACK;

/// Grants everything, after a while.
#[derive(Debug)]
struct Slow(Duration, AtomicUsize);

#[async_trait]
impl Approver for Slow {
    async fn ask(&self, _: &ApprovalRequest) -> ApprovalAnswer {
        self.1.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(self.0).await;
        ApprovalAnswer::Granted
    }
}

const LIMIT_MS: u64 = 1_000;

/// Runs a body of which the call of `demo:count` needs an approval that takes so long. Every other call needs none.
async fn run(body: &str, approval_ms: u64) -> (RunReport, Duration) {
    let approver = Arc::new(Slow(Duration::from_millis(approval_ms), AtomicUsize::new(0)));
    let gate = Gate::new()
        .with_approvals(Approvals::new([(Glob::new("demo:count"), ApprovalRule::Ask)]))
        .with_approver(Arc::clone(&approver) as _);
    let request = RunRequest::new(body).with_limits(rig::limits(&[(codemode::Limit::WallMs, LIMIT_MS)])).with_gate(Arc::new(gate));
    let supervisor = rig::supervisor();
    let began = Instant::now();
    let report = supervisor.run(request, rig::demo()).await;
    let took = began.elapsed() - report.timing.launch;
    assert_eq!(approver.1.load(Ordering::Relaxed), 1, "it was asked: {report:?}");
    (report, took)
}

#[test]
fn a_body_that_waits_for_a_person_may_take_longer_than_its_limit() {
    rig::together(async {
        let (report, took) = run("return await openclaw.tools.call('demo:count')", 3 * LIMIT_MS).await;
        assert!(report.ok, "{report:?}");
        assert!(took >= Duration::from_millis(3 * LIMIT_MS) && report.timing.approval >= Duration::from_millis(3 * LIMIT_MS));
    });
}

#[test]
fn a_body_that_opens_an_approval_and_then_spins_does_not_stop_the_clock() {
    rig::together(async {
        for body in [
            // The answer to `describe` shows that the call before it is on its way.
            "openclaw.tools.call('demo:count'); await openclaw.tools.describe('demo:echo'); for (;;);",
            "openclaw.tools.call('demo:count'); await openclaw.tools.describe('demo:echo'); for (;;) JSON.parse(JSON.stringify({ a: [1, 2, 3] }));",
        ] {
            let (report, took) = run(body, 60_000).await;
            assert_eq!(rig::code(&report), Some(ErrorCode::Timeout), "{report:?}");
            assert!(took >= Duration::from_millis(LIMIT_MS) && took < Duration::from_millis(LIMIT_MS) + SLACK, "{took:?}");
        }
    });
}

#[test]
fn what_a_body_computes_beside_an_approval_it_pays_for_and_what_it_waits_it_does_not() {
    rig::together(async {
        let body = "
            const call = openclaw.tools.call('demo:count');
            await openclaw.tools.describe('demo:echo');
            const end = Date.now() + 400;
            while (Date.now() < end);
            return await call";
        let (report, took) = run(body, 2 * LIMIT_MS).await;
        assert!(report.ok && took > Duration::from_millis(2 * LIMIT_MS), "{took:?} {report:?}");
        let longer = body.replace("+ 400", "+ 5000");
        let (report, took) = run(&longer, 2 * LIMIT_MS).await;
        assert_eq!(rig::code(&report), Some(ErrorCode::Timeout), "{report:?}");
        assert!(took < Duration::from_millis(LIMIT_MS) + SLACK, "{took:?}");
    });
}

#[test]
fn another_open_call_keeps_the_clock_going() {
    rig::together(async {
        let body = "return await Promise.all([openclaw.tools.call('demo:count'), openclaw.tools.call('demo:slow', { ms: 60000 })])";
        let (report, took) = run(body, 60_000).await;
        assert_eq!(rig::code(&report), Some(ErrorCode::Timeout), "{report:?}");
        assert!(took < Duration::from_millis(LIMIT_MS) + SLACK, "{took:?}");
    });
}
