//! Whoever is asked to approve.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use codemode::gate::{ApprovalAnswer, ApprovalRequest, ApprovalRule, Approvals, Approver, Gate, Glob};

use super::hook::calling;
use crate::table::{Party, Plan, Seen, ends};
use crate::witness::Place;
use codemode_tests::fault::Fault;

/// Longer than a question may take in these runs.
const TOO_LONG: Duration = Duration::from_millis(900);

/// Whoever approves.
pub struct Person;

const ONCE: &str = "a future gives one answer, whole, and has no direction to close";

#[async_trait]
impl Party for Person {
    fn name(&self) -> &'static str {
        "approver"
    }

    fn what(&self) -> &'static str {
        "Whoever is asked to approve a call; here an implementation of the trait."
    }

    fn steps(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("asked", "the question is put, the answer is waited for"),
            ("on-thread", "the same by one that keeps its thread busy instead of waiting"),
            ("refusing", "it says no, with a reason"),
        ]
    }

    fn plan(&self, step: &'static str, fault: Fault) -> Plan {
        use Fault::{Deaf, Die, Flood, Garbage, Late, Mute, Slowly, Stop, Twice};
        match (step, fault) {
            (_, Twice | Slowly | Mute | Deaf) => Plan::NoSense(ONCE),
            ("asked" | "on-thread", Garbage | Flood) => Plan::NoSense("a yes has no text"),
            ("refusing", Stop | Die | Late) => Plan::NoSense("before it has said no, it is the step before"),
            (_, Stop) => ends("ok", "denied:approval_timeout", 2_500).with_logs(1),
            (_, Die) => ends("ok", "denied:approval_unavailable", 2_000).with_logs(1),
            (_, Late) => ends("ok", "ok", 2_000).with_logs(1),
            (_, Garbage | Flood) => ends("ok", "denied:approval_denied", 2_000).with_logs(1),
        }
    }

    async fn run(&self, step: &'static str, fault: Fault, _place: &Place) -> Seen {
        let desk = Arc::new(Desk { step, fault });
        let gate = Gate::new().with_approvals(Approvals::new([(Glob::new("*"), ApprovalRule::Ask)])).with_approver(desk);
        calling(gate).await.into()
    }
}

#[derive(Debug)]
struct Desk {
    step: &'static str,
    fault: Fault,
}

#[async_trait]
impl Approver for Desk {
    async fn ask(&self, _question: &ApprovalRequest) -> ApprovalAnswer {
        let wait = match self.fault {
            Fault::Stop => TOO_LONG,
            Fault::Late => Duration::from_millis(120),
            _ => Duration::ZERO,
        };
        match (self.step, self.fault) {
            (_, Fault::Die) => panic!("an approver of a test"),
            (_, Fault::Garbage) => ApprovalAnswer::Refused { reason: Some("no\u{1b}[2J\r\n\u{202e}\0".to_owned()) },
            (_, Fault::Flood) => ApprovalAnswer::Refused { reason: Some("no ".repeat(1 << 22)) },
            ("on-thread", _) => {
                std::thread::sleep(wait);
                ApprovalAnswer::Granted
            }
            (_, Fault::Stop) => std::future::pending().await,
            _ => {
                tokio::time::sleep(wait).await;
                ApprovalAnswer::Granted
            }
        }
    }
}
