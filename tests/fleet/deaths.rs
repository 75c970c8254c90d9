//! Ends that nobody has asked for, and the one that somebody has: of workers, of NATS, of gateways.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use codemode::fleet::FleetExecutor;
use codemode::{CallState, ErrorCode, RunReport, RunRequest};
use codemode_tests::census::is_alive;
use codemode_tests::patience::until;
use codemode_tests::rig::{self, code, message};
use nix::sys::signal::Signal;
use tokio::task::JoinSet;

use super::counting::{Counting, ticking};
use super::nats::Nats;
use super::proxy::{Proxy, Way};
use super::workers::{Fleet, are_gone};
use super::{LOST_WITHIN, SOON, alone, gateway, is_busy};

/// Calls of each run under load, and how long each takes.
const CALLS: usize = 4;
const CALL_MS: u64 = 40;
/// The wall clock of each: a run is accounted for within it, and what a loss takes to be seen.
const WALL_MS: u64 = 8_000;

/// What became of the runs of a load.
#[derive(Debug, Default)]
struct Tally {
    ok: AtomicUsize,
    lost: AtomicUsize,
    busy: AtomicUsize,
}

/// Runs without a pause until it is told to stop. Each is held to what its catalog has counted.
struct Load {
    tasks: JoinSet<()>,
    stop: Arc<AtomicBool>,
    tally: Arc<Tally>,
}

impl Load {
    fn begin(fleet: &FleetExecutor, catalog: &Arc<Counting>, name: &str, at_once: usize) -> Load {
        let mut load = Load { tasks: JoinSet::new(), stop: Arc::default(), tally: Arc::default() };
        for worker in 0..at_once {
            let (fleet, catalog, stop, tally) = (fleet.clone(), Arc::clone(catalog), Arc::clone(&load.stop), Arc::clone(&load.tally));
            let name = format!("{name}/{worker}");
            load.tasks.spawn(async move {
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let run = format!("{name}/{number}");
                    let began = Instant::now();
                    let report = fleet.run(rig::request(&ticking(&run, CALLS, CALL_MS), WALL_MS), Arc::clone(&catalog) as _).await;
                    assert!(began.elapsed() < Duration::from_millis(WALL_MS) + LOST_WITHIN, "{run}: {:?}", began.elapsed());
                    accounted(&run, &report, &catalog, &tally);
                }
            });
        }
        load
    }

    async fn end(mut self) -> Arc<Tally> {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(done) = self.tasks.join_next().await {
            done.expect("no assertion fails");
        }
        self.tally
    }
}

/// What the report says of each call is what has happened.
fn accounted(run: &str, report: &RunReport, catalog: &Counting, tally: &Tally) {
    let counted: Vec<u32> = (0..CALLS).map(|n| catalog.count(&format!("{run}/{n}"))).collect();
    assert!(counted.iter().all(|count| *count <= 1), "{run}: {counted:?}");
    let made = counted.iter().sum::<u32>() as usize;
    let with = |state: CallState| report.calls.iter().filter(|call| call.state == state).count();
    match code(report) {
        None => {
            assert_eq!((made, with(CallState::Ok)), (CALLS, CALLS), "{run}: {report:?}");
            tally.ok.fetch_add(1, Ordering::Relaxed);
        }
        Some(ErrorCode::Busy) => {
            assert_eq!((made, report.calls.len()), (0, 0), "{run}: {report:?}");
            tally.busy.fetch_add(1, Ordering::Relaxed);
        }
        Some(ErrorCode::WorkerLost | ErrorCode::ProtocolViolation) => {
            // Whatever was made is `ok` or `unknown`, and nothing else was made.
            assert_eq!(made, with(CallState::Ok) + with(CallState::Unknown), "{run}: {report:?}");
            tally.lost.fetch_add(1, Ordering::Relaxed);
        }
        other => panic!("{run}: {other:?}: {report:?}"),
    }
}

#[test]
fn twenty_workers_are_killed_under_load_and_every_run_is_accounted_for() {
    const KILLS: usize = 20;
    alone(async {
        let nats = Nats::start();
        let url = nats.url();
        let mut fleet = Fleet::of(&url, 3, 8).await;
        let (one, two) = (Counting::new("one"), Counting::new("two"));
        let loads = [Load::begin(&gateway(&url, "g1").await, &one, "one", 4), Load::begin(&gateway(&url, "g2").await, &two, "two", 4)];
        for kill in 0..KILLS {
            // Until it has some of the runs.
            let victim = fleet.workers[0].name.clone();
            fleet.hears(|status| status["worker"] == *victim && status["free"].as_u64() < status["places"].as_u64()).await;
            let children = fleet.workers.remove(0).killed();
            are_gone(&children).await;
            fleet.joined_by(&url, &format!("again-{kill}"), &["--concurrency", "8"]).await;
        }
        let [first, second] = loads;
        let tallies = [first.end().await, second.end().await];
        eprintln!("{KILLS} kills: {tallies:?}");
        let sum = |of: fn(&Tally) -> &AtomicUsize| tallies.iter().map(|tally| of(tally).load(Ordering::Relaxed)).sum::<usize>();
        assert!(sum(|tally| &tally.ok) > KILLS && sum(|tally| &tally.lost) > 0, "the load went on, and was hit: {tallies:?}");
        one.has_no_twice();
        two.has_no_twice();
        fleet.is_idle().await;
        fleet.ends().await;
    });
}

#[test]
fn nats_is_stopped_and_started_under_load_and_the_fleet_goes_on() {
    alone(async {
        let mut nats = Nats::start();
        let url = nats.url();
        let fleet = Fleet::of(&url, 2, 8).await;
        let (gateway, catalog) = (gateway(&url, "g").await, Counting::new("g"));
        let load = Load::begin(&gateway, &catalog, "load", 6);
        let tally = Arc::clone(&load.tally);
        let made = || tally.ok.load(Ordering::Relaxed);
        until("runs are made", SOON, || made() > 6).await;
        for _ in 0..2 {
            nats.stop();
            let lost = tally.lost.load(Ordering::Relaxed);
            until("runs are lost, and said to be", SOON, || tally.lost.load(Ordering::Relaxed) > lost).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            nats.again();
            let before = made();
            until("runs are made again", SOON, || made() > before + 6).await;
        }
        eprintln!("NATS stopped twice: {:?}", load.end().await);
        catalog.has_no_twice();
        let mut fleet = fleet;
        fleet.is_idle().await;
        fleet.ends().await;
    });
}

#[test]
fn a_gateway_that_is_cut_off_ends_its_run_at_both_ends() {
    for way in [Way::Cut, Way::Still] {
        alone(async {
            let nats = Nats::start();
            let url = nats.url();
            let mut fleet = Fleet::of(&url, 1, 4).await;
            let proxy = Proxy::to(nats.port).await;
            let (cut, whole) = (gateway(&proxy.url(), "cut").await, gateway(&url, "whole").await);
            let (lost, kept) = (Counting::new("cut"), Counting::new("whole"));
            let slow = rig::request(&ticking("slow", 1, 30_000), 40_000);
            let run = cut.start(slow, Arc::clone(&lost) as _);
            let other = whole.start(rig::request(&ticking("other", 12, 500), 20_000), Arc::clone(&kept) as _);
            until("both go on", SOON, || lost.count("slow/0") == 1 && kept.count("other/0") == 1).await;
            fleet.hears(|status| status["free"] == 2).await;
            proxy.is(way);
            let began = Instant::now();
            let report = run.report().await;
            assert!(began.elapsed() < LOST_WITHIN, "{way:?}: {:?}", began.elapsed());
            assert_eq!(code(&report), Some(ErrorCode::WorkerLost), "{report:?}");
            assert_eq!(report.calls[0].state, CallState::Unknown);
            fleet.hears(|status| status["free"] == 3).await;
            assert!(began.elapsed() < LOST_WITHIN + Duration::from_secs(2), "{way:?}: the worker ends it too");
            let other = other.report().await;
            assert!(other.ok, "another gateway's run goes on: {other:?}");
            fleet.is_idle().await;
            fleet.ends().await;
        });
    }
}

#[test]
fn a_slow_gateway_is_slow_and_no_more() {
    alone(async {
        let nats = Nats::start();
        let url = nats.url();
        let mut fleet = Fleet::of(&url, 1, 4).await;
        let proxy = Proxy::to(nats.port).await;
        let (gateway, catalog) = (gateway(&proxy.url(), "slow").await, Counting::new("slow"));
        // A claim comes back in time, and then everything takes a third of a second.
        let run = gateway.start(rig::request(&ticking("slow", 3, 0), 20_000), Arc::clone(&catalog) as _);
        until("it goes on", SOON, || catalog.count("slow/0") == 1).await;
        proxy.is(Way::Slow(Duration::from_millis(300)));
        let report = run.report().await;
        assert!(report.ok && report.calls.len() == 3, "{report:?}");
        catalog.has_no_twice();
        fleet.is_idle().await;
        fleet.ends().await;
    });
}

#[test]
fn a_worker_that_stands_still_is_lost_and_what_it_says_later_is_not_heard() {
    alone(async {
        let nats = Nats::start();
        let url = nats.url();
        let mut fleet = Fleet::of(&url, 1, 2).await;
        let (gateway, catalog) = (gateway(&url, "g").await, Counting::new("g"));
        let run = gateway.start(rig::request(&ticking("still", 3, 200), 20_000), Arc::clone(&catalog) as _);
        until("it goes on", SOON, || catalog.count("still/0") == 1).await;
        fleet.workers[0].signal(Signal::SIGSTOP);
        let began = Instant::now();
        let report = run.report().await;
        let took = began.elapsed();
        fleet.workers[0].signal(Signal::SIGCONT);
        assert!(code(&report) == Some(ErrorCode::WorkerLost) && took < LOST_WITHIN, "{took:?}: {report:?}");
        assert!(message(&report).contains("nothing was heard"), "{report:?}");
        let made = catalog.total();
        fleet.is_idle().await;
        assert_eq!(catalog.total(), made, "nothing is called for a run that is over");
        fleet.ends().await;
    });
}

#[test]
fn a_worker_that_is_asked_to_end_lets_its_runs_end_and_takes_no_more() {
    alone(async {
        let nats = Nats::start();
        let url = nats.url();
        let mut fleet = Fleet::heard(&url).await;
        fleet.joined_by(&url, "w", &["--concurrency", "4", "--drain", "3"]).await;
        let (gateway, catalog) = (gateway(&url, "g").await, Counting::new("g"));
        let short = gateway.start(rig::request(&ticking("short", 1, 1_000), 20_000), Arc::clone(&catalog) as _);
        let long = gateway.start(rig::request(&ticking("long", 1, 60_000), 60_000), Arc::clone(&catalog) as _);
        until("both go on", SOON, || catalog.total() == 2).await;
        let worker = fleet.workers.remove(0);
        worker.signal(Signal::SIGTERM);
        fleet.hears(|status| status["draining"] == true).await;
        let late = gateway.run(RunRequest::new(ticking("late", 1, 0)), Arc::clone(&catalog) as _).await;
        assert!(is_busy(&late), "{late:?}");
        assert!(short.report().await.ok, "what was begun is done");
        let cancelled = long.report().await;
        assert_eq!(code(&cancelled), Some(ErrorCode::WorkerLost), "{cancelled:?}");
        assert_eq!(cancelled.calls[0].state, CallState::Unknown);
        let (ran, children) = worker.end();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("2 runs went on, 1 of them were cancelled"), "{}", ran.stderr);
        are_gone(&children).await;
        assert_eq!(catalog.count("late/0"), 0);
    });
}

#[test]
fn a_run_that_is_cancelled_is_over_at_its_worker_too() {
    alone(async {
        let nats = Nats::start();
        let url = nats.url();
        let mut fleet = Fleet::of(&url, 1, 2).await;
        let (gateway, catalog) = (gateway(&url, "g").await, Counting::new("g"));
        let run = gateway.start(rig::request(&ticking("c", 1, 60_000), 60_000), Arc::clone(&catalog) as _);
        until("it goes on", SOON, || catalog.total() == 1).await;
        let children = fleet.workers[0].children();
        assert!(!children.is_empty());
        run.cancel();
        let report = run.report().await;
        assert_eq!(code(&report), Some(ErrorCode::Cancelled), "{report:?}");
        assert_eq!(report.calls[0].state, CallState::Unknown);
        fleet.is_idle().await;
        // Whoever drops the handle does not want it either.
        drop(gateway.start(rig::request(&ticking("d", 1, 60_000), 60_000), Arc::clone(&catalog) as _));
        fleet.is_idle().await;
        assert!(fleet.workers.iter().all(|worker| is_alive(worker.pid())));
        fleet.ends().await;
    });
}
