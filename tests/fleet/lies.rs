//! A worker that lies. It has the run, its token and its inbox, and says whatever it likes: what comes of it is a named end, a bounded one, and a report that says what has happened.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codemode::{CallState, ErrorCode, Limit, RunReport, RunRequest};
use codemode_tests::census::{own_pid, resident};
use codemode_tests::rig::{self, code, limits, message};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::counting::Counting;
use super::hands::{Hand, HandWorker};
use super::nats::Nats;
use super::{LOST_WITHIN, alone, gateway};

const WALL_MS: u64 = 1_000;

/// What a gateway waits for a worker that does not end a run: its wall clock, five seconds, and a busy machine.
const LATE_WITHIN: Duration = Duration::from_millis(WALL_MS + 5_000 + 4_000);

/// How much memory the gateway may take on while it is lied to: far above the 16,384 messages of a kibibyte that may wait, and those that wait here to be sent.
const MOST_GROWTH: usize = 100 << 20;

/// What became of a run.
struct Lied {
    report: RunReport,
    took: Duration,
    catalog: Arc<Counting>,
}

impl Lied {
    fn is_broken(&self, by: &str) {
        assert_eq!(code(&self.report), Some(ErrorCode::ProtocolViolation), "{:?}", self.report);
        assert!(message(&self.report).contains(by), "{by}: {}", message(&self.report));
        assert!(self.took < LOST_WITHIN, "{:?}", self.took);
        self.is_honest();
    }

    /// Whatever was called is `ok` or `unknown`, and nothing was called twice.
    fn is_honest(&self) {
        let made = self.report.calls.iter().filter(|call| matches!(call.state, CallState::Ok | CallState::Unknown)).count();
        assert_eq!(made, self.catalog.total(), "{:?}", self.report);
        self.catalog.has_no_twice();
    }
}

/// One run of which a worker by hand says what `lie` has it say. It may make three calls, two at once.
async fn lied(nats: &Nats, lie: impl AsyncFnOnce(&mut Hand)) -> Lied {
    HONEST.get_or_init(honest).await;
    let (gateway, catalog) = (gateway(&nats.url(), "g").await, Counting::new("g"));
    let mut worker = HandWorker::joined(&nats.url()).await;
    let few = limits(&[(Limit::WallMs, WALL_MS), (Limit::Requests, 3), (Limit::InFlight, 2)]);
    let run = gateway.start(RunRequest::new("return 1").with_limits(few), Arc::clone(&catalog) as _);
    let mut hand = worker.claims(1).await;
    let began = Instant::now();
    let mut report = std::pin::pin!(run.report());
    // Who lies may go on when nobody listens any more.
    let report = tokio::select! {
        report = &mut report => report,
        () = lie(&mut hand) => report.await,
    };
    Lied { report, took: began.elapsed(), catalog }
}

fn tick(run: &str, seq: u64, delay_ms: u64) -> Value {
    json!({"run": run, "seq": seq, "id": "client:count:tick", "args": {"key": seq.to_string(), "delayMs": delay_ms}})
}

/// The report of `return null`, here.
static HONEST: OnceCell<Value> = OnceCell::const_new();

async fn honest() -> Value {
    let report = rig::run(&rig::supervisor(), "return null").await;
    serde_json::to_value(report).expect("a report is JSON")
}

/// A report, well or with this code, of these calls.
fn report(error: Option<&str>, calls: &[(u64, &str)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(seq, state)| {
            json!({"seq": seq, "method": "call", "id": "client:count:tick", "source": "client", "state": state, "code": null, "startMs": 0, "durationMs": 0, "argsBytes": 2, "resultBytes": 2})
        })
        .collect();
    let mut report = HONEST.get().expect("it was made").clone();
    report["calls"] = json!(calls);
    if let Some(code) = error {
        report["ok"] = json!(false);
        report["error"] = json!({"code": code, "name": "Error", "message": "so it says"});
    }
    report
}

#[test]
fn who_claims_and_vanishes_has_lost_the_run_and_nobody_else_gets_it() {
    alone(async {
        let nats = Nats::start();
        let mut worker = HandWorker::joined(&nats.url()).await;
        let (gateway, catalog) = (gateway(&nats.url(), "g").await, Counting::new("g"));
        let run = gateway.start(RunRequest::new("return 1"), Arc::clone(&catalog) as _);
        let began = Instant::now();
        // Three times the same claim.
        let hand = worker.claims(3).await;
        let report = run.report().await;
        assert_eq!(code(&report), Some(ErrorCode::WorkerLost), "{report:?}");
        assert!(began.elapsed() < LOST_WITHIN && report.calls.is_empty(), "{report:?}");
        assert!(!worker.is_offered().await, "it is not offered again");
        drop(hand);
    });
}

#[test]
fn whoever_answers_and_does_not_beat_is_lost_with_the_calls_that_it_made() {
    alone(async {
        let nats = Nats::start();
        let lied = lied(&nats, async |hand| {
            let run = hand.takes().await;
            hand.asks("catalog.call", tick(&run, 1, 0)).await;
            hand.asks("catalog.call", tick(&run, 2, 60_000)).await;
        })
        .await;
        assert_eq!(code(&lied.report), Some(ErrorCode::WorkerLost), "{:?}", lied.report);
        assert!(lied.took < LOST_WITHIN);
        let states: Vec<_> = lied.report.calls.iter().map(|call| call.state).collect();
        assert_eq!(states, [CallState::Ok, CallState::Unknown]);
        lied.is_honest();
    });
}

#[test]
fn an_honest_worker_by_hand_is_believed() {
    // The control of everything below: the hand speaks the wire.
    alone(async {
        let nats = Nats::start();
        let lied = lied(&nats, async |hand| {
            let run = hand.takes().await;
            hand.asks("catalog.call", tick(&run, 1, 0)).await;
            assert_eq!(hand.hears().await["result"]["key"], "1");
            hand.tells("run.finished", json!({"run": run, "report": report(None, &[(1, "ok")])})).await;
        })
        .await;
        assert!(lied.report.ok && lied.report.calls.len() == 1, "{:?}", lied.report);
        lied.is_honest();
    });
}

#[test]
fn a_lie_about_the_run_ends_it_by_name() {
    alone(async {
        let nats = Nats::start();
        let finished = |run: &str, report: Value| json!({"run": run, "report": report});
        lied(&nats, async |hand| {
            hand.takes().await;
            hand.tells("run.finished", finished("another", report(None, &[]))).await;
        })
        .await
        .is_broken("it speaks of another run");
        lied(&nats, async |hand| {
            hand.takes().await;
            hand.asks("catalog.call", tick("another", 1, 0)).await;
        })
        .await
        .is_broken("it speaks of another run");
        lied(&nats, async |hand| {
            let run = hand.takes().await;
            hand.asks(
                "hook.beforeToolCall",
                json!({"run": run, "seq": 1, "tool": {"id": "a", "source": "mcp", "sourceName": "a", "name": "a"}, "args": {}}),
            )
            .await;
        })
        .await
        .is_broken("it asks for what it was not told to ask for");
        let untaken = lied(&nats, async |hand| {
            let run = hand.greets().await;
            hand.asks("catalog.call", tick(&run, 1, 0)).await;
            // What would have been `busy`, not begun, and run again.
            hand.says(&json!({"jsonrpc": "2.0", "id": 2, "error": {"code": -32_000, "message": "no", "data": {"code": "busy"}}})).await;
        })
        .await;
        untaken.is_broken("before it has taken it");
        assert_eq!(untaken.catalog.total(), 0, "{:?}", untaken.report);
        lied(&nats, async |hand| {
            let run = hand.takes().await;
            hand.asks("catalog.call", tick(&run, 1, 0)).await;
            hand.hears().await;
            hand.tells("run.finished", finished(&run, report(Some("busy"), &[]))).await;
        })
        .await
        .is_broken("said of runs that were not begun");
        lied(&nats, async |hand| {
            let run = hand.takes().await;
            hand.tells("run.finished", finished(&run, report(None, &[(1, "ok")]))).await;
        })
        .await
        .is_broken("was never asked for");
        lied(&nats, async |hand| {
            hand.takes().await;
            hand.answers(2, json!({})).await;
        })
        .await
        .is_broken("broke the wire");
    });
}

#[test]
fn a_worker_that_does_not_keep_the_limits_of_its_run_is_held_to_them() {
    alone(async {
        let nats = Nats::start();
        let often = lied(&nats, async |hand| {
            let run = hand.takes().await;
            for seq in 1..=20 {
                hand.asks("catalog.call", tick(&run, seq, 0)).await;
                if seq < 4 {
                    hand.hears().await;
                }
            }
        })
        .await;
        often.is_broken("it calls more often than the run may, 3 times");
        assert_eq!(often.catalog.total(), 3);
        let together = lied(&nats, async |hand| {
            let run = hand.takes().await;
            for seq in 1..=3 {
                hand.asks("catalog.call", tick(&run, seq, 60_000)).await;
            }
        })
        .await;
        together.is_broken("it asks for more than its run may");
        assert!(together.catalog.total() <= 2);
        lied(&nats, async |hand| {
            let run = hand.takes().await;
            for _ in 0..100 {
                hand.asks("catalog.search", json!({"run": run, "query": "x"})).await;
                hand.hears().await;
            }
        })
        .await
        .is_broken("it asks for more than its run may");
        lied(&nats, async |hand| {
            let run = hand.takes().await;
            hand.asks("catalog.search", json!({"run": run, "query": "x".repeat(1 << 20)})).await;
        })
        .await
        .is_broken("it asks for more than its run may");
        let again = lied(&nats, async |hand| {
            let run = hand.takes().await;
            hand.asks("catalog.call", tick(&run, 1, 0)).await;
            hand.hears().await;
            hand.asks("catalog.call", tick(&run, 1, 0)).await;
        })
        .await;
        again.is_broken("call 1 was asked for twice");
        assert_eq!(again.catalog.total(), 1);
        lied(&nats, async |hand| {
            let run = hand.takes().await;
            let call = json!({"jsonrpc": "2.0", "id": 7, "method": "catalog.call", "params": tick(&run, 1, 0)});
            hand.says(&call).await;
        })
        .await
        .is_broken("broke the wire");
    });
}

#[test]
fn parcels_that_are_none_end_the_run_by_name() {
    alone(async {
        let nats = Nats::start();
        for (what, by) in [
            ("empty", "it is too short"),
            ("large", "a text has 307200 bytes or more, the limit is 262144"),
            ("latin", "a text is not UTF-8"),
            ("ahead", "it has heard message 99"),
            ("zero", "parcels are counted from 1"),
            ("noise", "the text is not JSON"),
        ] {
            let lied = lied(&nats, async |hand| match what {
                "empty" => hand.publishes(Vec::new()).await,
                "large" => hand.sends(b't', &[b' '; 300 << 10]).await,
                "latin" => hand.sends(b't', b"\xff").await,
                "ahead" => hand.publishes(hand.parcel(b'b', 1, 99, b"")).await,
                "zero" => hand.publishes(hand.parcel(b'b', 0, 0, b"")).await,
                _ => hand.sends(b't', b"noise").await,
            })
            .await;
            lied.is_broken(if what == "noise" { "broke the wire" } else { by });
        }
    });
}

#[test]
fn a_flood_holds_up_neither_the_clock_nor_the_caller_and_is_not_kept() {
    alone(async {
        let nats = Nats::start();
        for (what, end) in [
            // As fast as it goes: of those that count some are missing soon.
            ("replays", ErrorCode::WorkerLost),
            ("parts", ErrorCode::ProtocolViolation),
            // As fast as a gateway can bear: nothing is wrong but that it does not end.
            ("beats", ErrorCode::Timeout),
            ("notices", ErrorCode::Timeout),
        ] {
            let before = resident(own_pid()).expect("this process is there");
            let lied = lied(&nats, async |hand| {
                hand.takes().await;
                // Small: what waits to be sent is in this process, too.
                let again = hand.parcel(b't', 1, 0, &[b'x'; 1 << 10]);
                for number in 0.. {
                    if number % 20 == 0 && end == ErrorCode::Timeout {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                    match what {
                        "replays" => hand.publishes(again.clone()).await,
                        "beats" => hand.beats().await,
                        "notices" => hand.tells("request.cancel", json!({"id": 1})).await,
                        _ => hand.sends(b'p', &[b'x'; 1 << 10]).await,
                    }
                }
            })
            .await;
            let grown = resident(own_pid()).expect("this process is there").saturating_sub(before);
            eprintln!("{what}: {:?} after {:?}, {} KiB more", code(&lied.report), lied.took, grown >> 10);
            assert!(lied.took < LATE_WITHIN, "{what}: {:?}", lied.took);
            assert_eq!(code(&lied.report), Some(end), "{what}: {:?}", lied.report);
            assert!(grown < MOST_GROWTH, "{what}: {grown} bytes");
            lied.is_honest();
        }
    });
}
