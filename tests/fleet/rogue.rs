//! A gateway that keeps to nothing, and noise on every subject: the worker has its places again, takes on no memory, says how often it happened, and serves on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use codemode_tests::census::resident;
use codemode_tests::patience::until;
use codemode_tests::rig;
use serde_json::json;

use super::counting::{Counting, ticking};
use super::hands::HandGateway;
use super::nats::Nats;
use super::workers::Fleet;
use super::{SOON, alone, gateway};

/// How much memory a worker may take on. What is sent is a multiple of it.
const MOST_GROWTH: usize = 150 << 20;

/// One worker with two places, and a gateway by hand.
async fn scene(nats: &Nats) -> (Fleet, HandGateway) {
    (Fleet::of(&nats.url(), 1, 2).await, HandGateway::of(&nats.url()).await)
}

/// An honest gateway's run goes well, and nothing is left of the others.
async fn serves_on(nats: &Nats, mut fleet: Fleet) {
    fleet.is_idle().await;
    let (gateway, catalog) = (gateway(&nats.url(), "honest").await, Counting::new("honest"));
    let report = gateway.run(rig::request(&ticking("on", 2, 0), 5_000), Arc::clone(&catalog) as _).await;
    assert!(report.ok && report.calls.len() == 2, "{report:?}");
    fleet.ends().await;
}

#[test]
fn offers_that_nobody_follows_up_cost_a_place_for_a_moment() {
    alone(async {
        let nats = Nats::start();
        let (mut fleet, rogue) = scene(&nats).await;
        for _ in 0..20 {
            rogue.is_claimed().await;
        }
        fleet.is_idle().await;
        let status = fleet.hears(|_| true).await;
        assert_eq!((&status["lost"], &status["broken"]), (&json!(0), &json!(0)), "nothing went wrong: {status}");
        serves_on(&nats, fleet).await;
    });
}

#[test]
fn a_worker_counts_who_was_lost_and_what_was_broken() {
    alone(async {
        let nats = Nats::start();
        let (mut fleet, rogue) = scene(&nats).await;
        // Instead of a run.
        let inbox = rogue.is_claimed().await;
        rogue.client.publish(inbox, "noise".into()).await.expect("NATS is there");
        fleet.hears(|status| status["broken"] == 1 && status["lost"] == 0).await;
        // A forged token in the middle of one.
        let mut hand = rogue.opens().await;
        hand.starts("return new Promise(() => setTimeout(() => {}, 1e9))").await;
        let mut forged = hand.parcel(b'b', 4, 0, b"");
        forged[3] ^= 1;
        hand.publishes(forged).await;
        fleet.hears(|status| status["broken"] == 2 && status["lost"] == 0).await;
        // A text that is none.
        let mut hand = rogue.opens().await;
        hand.sends(b't', b"noise").await;
        fleet.hears(|status| status["broken"] == 3 && status["lost"] == 0).await;
        // One that says nothing any more.
        let mut hand = rogue.opens().await;
        hand.starts("return openclaw.tools.search('x')").await;
        fleet.hears(|status| status["broken"] == 3 && status["lost"] == 1).await;
        serves_on(&nats, fleet).await;
    });
}

#[test]
fn a_gateway_that_beats_and_gives_nothing_to_run_has_a_place_for_ten_seconds() {
    alone(async {
        let nats = Nats::start();
        let (mut fleet, rogue) = scene(&nats).await;
        let mut hand = rogue.opens().await;
        let began = Instant::now();
        tokio::select! {
            () = hand.beats_for(Duration::from_secs(60)) => panic!("it has the place for ever"),
            () = async {
                fleet.hears(|status| status["free"] == 1).await;
                fleet.is_idle().await;
            } => {}
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        serves_on(&nats, fleet).await;
    });
}

#[test]
fn a_gateway_that_never_stops_talking_has_its_place_no_longer_than_its_run() {
    alone(async {
        let nats = Nats::start();
        let (mut fleet, rogue) = scene(&nats).await;
        for what in ["texts", "replays", "beats"] {
            let mut hand = rogue.opens().await;
            hand.starts("const began = Date.now(); while (Date.now() - began < 700); return 1").await;
            let began = Instant::now();
            let talking = async {
                let again = hand.parcel(b't', 1, 0, &[b'x'; 10 << 10]);
                for number in 0.. {
                    // As fast as a worker can bear: of a faster one messages are missing, and it is over at once.
                    if number % 20 == 0 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                    match what {
                        "texts" => hand.asks("run.cancel", json!({"run": "none"})).await,
                        "replays" => hand.publishes(again.clone()).await,
                        _ => hand.beats().await,
                    }
                }
            };
            tokio::select! {
                () = talking => {}
                () = async {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    fleet.is_idle().await;
                } => {}
            }
            eprintln!("{what}: free again after {:?}", began.elapsed());
            // Whoever takes nothing of what waits for it is given up after ten seconds.
            assert!(began.elapsed() < Duration::from_secs(20), "{what}: {:?}", began.elapsed());
        }
        serves_on(&nats, fleet).await;
    });
}

#[test]
fn questions_for_the_status_do_not_pile_up() {
    alone(async {
        const QUESTIONS: usize = 600;
        let nats = Nats::start();
        let (mut fleet, rogue) = scene(&nats).await;
        let pid = fleet.workers[0].pid();
        let before = resident(pid).expect("it is there");
        let question = vec![b'?'; 1 << 20];
        let mut most = 0;
        for _ in 0..QUESTIONS {
            rogue.client.publish("codemode.runs.status", question.clone().into()).await.expect("NATS is there");
            rogue.client.flush().await.expect("NATS is there");
            most = most.max(resident(pid).expect("it is there"));
        }
        fleet.is_idle().await;
        let grown = most.max(resident(pid).expect("it is there")).saturating_sub(before);
        eprintln!("{QUESTIONS} MiB of questions: {} KiB more", grown >> 10);
        assert!(grown < MOST_GROWTH, "{grown} bytes");
        serves_on(&nats, fleet).await;
    });
}

#[test]
fn noise_on_every_subject_is_nothing() {
    alone(async {
        let nats = Nats::start();
        let (fleet, rogue) = scene(&nats).await;
        let pid = fleet.workers[0].pid();
        let (gateway, catalog) = (gateway(&nats.url(), "g").await, Counting::new("g"));
        let run = gateway.start(rig::request(&ticking("noise", 3, 700), 20_000), Arc::clone(&catalog) as _);
        until("it goes on", SOON, || catalog.count("noise/0") == 1).await;
        let before = resident(pid).expect("it is there");
        let id = "0123456789abcdef0123456789abcdef";
        let mut headers = HeaderMap::new();
        (0..20).for_each(|n| headers.insert(format!("h{n}"), "v"));
        headers.insert("traceparent", "00-not-one");
        for subject in ["", ".status", ".workers.w1", ".workers.g", ".g.g", ".w.w1", ".g", ".w", ".x"] {
            for inbox in ["", id, "x", "*", "0123"] {
                let subject = format!("codemode.runs{subject}{}{inbox}", if inbox.is_empty() { "" } else { "." });
                for payload in [
                    vec![],
                    vec![1],
                    vec![1, b'o'],
                    vec![1, b'd'],
                    [&[1, b'o'][..], &[7; 16]].concat(),
                    [&[1, b't', b'w'][..], &[0; 40]].concat(),
                    vec![0xff; 20 << 10],
                ] {
                    for reply in [
                        None,
                        Some(format!("codemode.runs.g.g.{id}")),
                        Some(format!("codemode.runs.w.w1.{id}")),
                        Some("codemode.runs".to_owned()),
                    ] {
                        let (client, subject, payload) = (&rogue.client, subject.clone(), payload.clone().into());
                        let said = match reply {
                            Some(reply) => client.publish_with_reply_and_headers(subject, reply, headers.clone(), payload).await,
                            None => client.publish_with_headers(subject, headers.clone(), payload).await,
                        };
                        said.expect("NATS is there");
                    }
                }
            }
        }
        rogue.client.flush().await.expect("NATS is there");
        let report = run.report().await;
        assert!(report.ok && report.calls.len() == 3, "{report:?}");
        catalog.has_no_twice();
        let grown = resident(pid).expect("it is there").saturating_sub(before);
        assert!(grown < MOST_GROWTH, "{grown} bytes");
        serves_on(&nats, fleet).await;
    });
}
