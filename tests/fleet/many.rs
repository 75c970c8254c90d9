//! Many runs of two gateways on three workers: each call answered once, and by the gateway whose run it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use codemode::fleet::FleetExecutor;
use codemode::{CallState, RunRequest};
use codemode_tests::rig::{code, json};
use serde_json::json;

use super::counting::{Counting, ticking};
use super::nats::Nats;
use super::workers::Fleet;
use super::{alone, gateway, is_busy};

/// Calls of each run.
const CALLS: usize = 3;
/// Runs that each gateway has going on: two of them need fewer places than the three workers have.
const AT_ONCE: usize = 8;

fn runs() -> usize {
    if std::env::var_os("CODEMODE_LONG").is_some() { 5_000 } else { 500 }
}

/// Does every other run of `all`, so many at once.
async fn work(name: &'static str, fleet: FleetExecutor, catalog: Arc<Counting>, all: usize, busy: Arc<AtomicUsize>) {
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..AT_ONCE {
        let (fleet, catalog, next, busy) = (fleet.clone(), Arc::clone(&catalog), Arc::clone(&next), Arc::clone(&busy));
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= all {
                    return;
                }
                let run = format!("{name}/{number}");
                let report = loop {
                    let report = fleet.run(RunRequest::new(ticking(&run, CALLS, 0)), Arc::clone(&catalog) as _).await;
                    if !is_busy(&report) {
                        break report;
                    }
                    // It was not begun: that much is certain.
                    assert_eq!(catalog.count(&format!("{run}/0")), 0);
                    busy.fetch_add(1, Ordering::Relaxed);
                };
                assert_eq!(code(&report), None, "{run}: {report:?}");
                let wanted: Vec<_> = (0..CALLS).map(|n| json!({"gateway": name, "key": format!("{run}/{n}"), "data": null})).collect();
                assert_eq!(json(&report), json!(wanted));
                assert!(report.calls.iter().all(|call| call.state == CallState::Ok) && report.calls.len() == CALLS, "{report:?}");
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("no assertion fails");
    }
}

#[test]
fn every_call_of_every_run_is_answered_once_and_by_the_right_gateway() {
    alone(async {
        let nats = Nats::start();
        let url = nats.url();
        let mut fleet = Fleet::of(&url, 3, AT_ONCE).await;
        let (one, two) = (Counting::new("one"), Counting::new("two"));
        let (all, busy) = (runs(), Arc::new(AtomicUsize::new(0)));
        let began = Instant::now();
        let first = work("one", gateway(&url, "g1").await, Arc::clone(&one), all / 2, Arc::clone(&busy));
        let second = work("two", gateway(&url, "g2").await, Arc::clone(&two), all / 2, Arc::clone(&busy));
        tokio::join!(first, second);
        let took = began.elapsed();
        eprintln!("{all} runs, {} calls in {took:.1?}; offered again after `busy`: {}", all * CALLS, busy.load(Ordering::Relaxed));
        for catalog in [&one, &two] {
            catalog.has_no_twice();
            assert_eq!(catalog.total(), all / 2 * CALLS);
        }
        fleet.is_idle().await;
        fleet.ends().await;
    });
}

#[test]
fn a_run_that_nobody_can_take_is_busy_within_a_moment_and_was_not_begun() {
    alone(async {
        let nats = Nats::start();
        let url = nats.url();
        let (gateway, catalog) = (gateway(&url, "g").await, Counting::new("g"));
        let began = Instant::now();
        let report = gateway.run(RunRequest::new(ticking("none", 1, 0)), Arc::clone(&catalog) as _).await;
        assert!(is_busy(&report) && began.elapsed().as_millis() >= 100, "{report:?} after {:?}", began.elapsed());
        // With one place, and that taken, it is the same.
        let fleet = Fleet::of(&url, 1, 1).await;
        let held = gateway.start(RunRequest::new(ticking("held", 1, 3_000)), Arc::clone(&catalog) as _);
        codemode_tests::patience::until("the run goes on", super::SOON, || catalog.count("held/0") == 1).await;
        let report = gateway.run(RunRequest::new(ticking("late", 1, 0)), Arc::clone(&catalog) as _).await;
        assert!(is_busy(&report), "{report:?}");
        assert_eq!((catalog.count("none/0"), catalog.count("late/0")), (0, 0));
        assert!(held.report().await.ok);
        fleet.ends().await;
    });
}
