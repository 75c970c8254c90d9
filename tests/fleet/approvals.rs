//! The gate stands at the gateway: people, hooks and policy, while the body's clock stands or goes on at the worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use codemode::gate::{
    ApprovalAnswer, ApprovalRequest, ApprovalRule, Approvals, Approver, BeforeToolCall, Gate, Glob, HookDecision, HookFault, PendingCall,
    Policy,
};
use codemode::{CallState, RunEvent};
use codemode_tests::rig::{self, json};
use serde_json::json;

use super::counting::{Counting, ticking};
use super::nats::Nats;
use super::workers::Fleet;
use super::{alone, gateway};

/// Thinks for longer than the body's wall clock.
#[derive(Debug)]
struct Slow(bool);

#[async_trait]
impl Approver for Slow {
    async fn ask(&self, _question: &ApprovalRequest) -> ApprovalAnswer {
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        if self.0 { ApprovalAnswer::Granted } else { ApprovalAnswer::Refused { reason: Some("not today".to_owned()) } }
    }
}

/// Asks for no delay, and notes that it was asked.
#[derive(Debug, Default)]
struct Rewriting(AtomicBool);

#[async_trait]
impl BeforeToolCall for Rewriting {
    fn name(&self) -> &str {
        "rewriting"
    }

    async fn before_tool_call(&self, call: PendingCall<'_>) -> Result<HookDecision, HookFault> {
        self.0.store(true, Ordering::Relaxed);
        Ok(HookDecision::Rewrite(json!({"key": call.args["key"], "data": "rewritten"})))
    }
}

fn asks() -> Approvals {
    Approvals::new([(Glob::new("client:count:*"), ApprovalRule::Ask)])
}

#[test]
fn a_person_may_take_longer_than_the_body_and_a_hook_may_change_a_call() {
    alone(async {
        let nats = Nats::start();
        let fleet = Fleet::of(&nats.url(), 1, 4).await;
        let (gateway, catalog, hook) = (gateway(&nats.url(), "g").await, Counting::new("g"), Arc::new(Rewriting::default()));
        let gate = Gate::new().with_approvals(asks()).with_approver(Arc::new(Slow(true))).with_hook(Arc::clone(&hook) as _);
        let request = rig::request(&ticking("asked", 1, 0), 1_500).with_gate(Arc::new(gate));
        let mut run = gateway.start(request, Arc::clone(&catalog) as _);
        let mut approvals = 0;
        while let Some(event) = run.event().await {
            approvals += usize::from(matches!(event, RunEvent::ApprovalStarted { .. } | RunEvent::ApprovalEnded { .. }));
        }
        let report = run.report().await;
        assert_eq!(json(&report), json!([{"gateway": "g", "key": "asked/0", "data": "rewritten"}]), "{report:?}");
        assert!(hook.0.load(Ordering::Relaxed) && approvals == 2, "{approvals}");
        assert_eq!(report.calls[0].rewritten_by, ["rewriting"]);
        assert!(report.timing.approval >= Duration::from_secs(2), "{:?}", report.timing);
        fleet.ends().await;
    });
}

#[test]
fn what_is_refused_is_denied_by_its_own_code_and_was_not_called() {
    alone(async {
        let nats = Nats::start();
        let fleet = Fleet::of(&nats.url(), 1, 4).await;
        let (gateway, catalog) = (gateway(&nats.url(), "g").await, Counting::new("g"));
        let deny = Policy { allow: None, deny: vec![Glob::new("client:count:*")] };
        let gates = [
            ("approval_denied", Gate::new().with_approvals(asks()).with_approver(Arc::new(Slow(false)))),
            ("approval_unavailable", Gate::new().with_approvals(asks())),
            ("denied", Gate::new().with_policy(Arc::new(deny))),
        ];
        for (word, gate) in gates {
            let body = "try { await openclaw.tools.call('client:count:tick', {key: 'k'}); return 'called' } catch (e) { return e.code }";
            let report = gateway.run(rig::request(body, 1_500).with_gate(Arc::new(gate)), Arc::clone(&catalog) as _).await;
            assert_eq!(json(&report), word, "{report:?}");
            assert_eq!(report.calls[0].state, CallState::Denied, "{word}: {report:?}");
            assert_eq!(report.calls[0].code.map(|code| code.as_str()), Some(word));
        }
        assert_eq!(catalog.total(), 0);
        fleet.ends().await;
    });
}
