//! A fleet as an operator has it: a real NATS, workers in processes of their own, gateways of the library.
//!
//! `CODEMODE_LONG=1` makes ten times as many runs. Tests take turns: each has processes of its own, and what is measured here is who answers whom, not how fast.

mod approvals;
mod commands;
mod counting;
mod credentials;
mod deaths;
mod forged;
mod hands;
mod lies;
mod many;
mod nats;
mod permissions;
mod proxy;
mod rogue;
mod same;
mod sizes;
mod tls;
mod workers;

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codemode::fleet::{FleetExecutor, FleetSettings};
use codemode::{ErrorCode, RunReport, RunRequest};
use codemode_tests::patience::PACE;
use codemode_tests::rig;

use counting::{Counting, ticking};

/// Longer than anything here takes on a machine that is busy with others.
const SOON: Duration = Duration::from_secs(40);

/// How soon after the loss of the other end a run is to have ended: a second, a beat, and a busy machine.
const LOST_WITHIN: Duration = Duration::from_secs(4);

/// One test at a time.
fn alone<T>(test: impl Future<Output = T>) -> T {
    rig::alone(test)
}

fn settings(url: &str, name: &str) -> FleetSettings {
    FleetSettings { name: Some(name.to_owned()), ..FleetSettings::new(url) }
}

async fn gateway(url: &str, name: &str) -> FleetExecutor {
    FleetExecutor::connect(&settings(url, name)).await.unwrap_or_else(|error| panic!("{error}"))
}

/// A run that calls twice, as soon as there is a worker.
async fn first_run(gateway: &FleetExecutor, name: &str) -> RunReport {
    let catalog = Counting::new(name);
    let began = Instant::now();
    loop {
        let report = gateway.run(RunRequest::new(ticking(name, 2, 0)), Arc::clone(&catalog) as _).await;
        if !is_busy(&report) {
            return report;
        }
        assert!(began.elapsed() < SOON, "the worker is not there");
        tokio::time::sleep(PACE).await;
    }
}

fn is_busy(report: &RunReport) -> bool {
    rig::code(report) == Some(ErrorCode::Busy)
}
