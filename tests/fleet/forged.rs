//! Messages that are repeated, made up, or meant for somebody else. Whoever sends them here may hear and say everything: more than the permissions of supervisor/docs/fleet.md give.

use std::sync::Arc;
use std::time::Duration;

use async_nats::{Message, Subscriber};
use codemode::{ErrorCode, RunReport, TraceParent};
use codemode_tests::patience::until;
use codemode_tests::rig::{self, code, message};
use futures_util::StreamExt;

use super::counting::{Counting, ticking};
use super::nats::Nats;
use super::workers::Fleet;
use super::{SOON, alone, gateway};

/// Where the kind, the token and the number of a parcel stand.
const KIND: usize = 1;
const TOKEN: usize = 3;
const NUMBER: std::ops::Range<usize> = 19..27;

/// Everything that was said, until it is quiet.
async fn heard(ears: &mut Subscriber) -> Vec<Message> {
    let mut all = Vec::new();
    while let Ok(Some(message)) = tokio::time::timeout(Duration::from_millis(100), ears.next()).await {
        all.push(message);
    }
    all
}

fn is_parcel(message: &Message) -> bool {
    message.payload.len() >= 35 && matches!(message.payload[KIND], b'p' | b't' | b'b')
}

/// Parcels to an inbox of this end.
fn to<'a>(all: &'a [Message], end: &str) -> Vec<&'a Message> {
    let place = format!("codemode.runs.{end}.");
    all.iter().filter(|message| message.subject.as_str().starts_with(&place) && is_parcel(message)).collect()
}

/// A run that waits for its first call, and everything that was said of it.
struct Scene {
    _nats: Nats,
    fleet: Fleet,
    ears: Subscriber,
    gateway: codemode::fleet::FleetExecutor,
    catalog: Arc<Counting>,
}

impl Scene {
    async fn open() -> Scene {
        let nats = Nats::start();
        let url = nats.url();
        let fleet = Fleet::of(&url, 1, 4).await;
        let ears = fleet.raw.subscribe("codemode.runs.>").await.expect("anybody may listen here");
        fleet.raw.flush().await.expect("it is there");
        let gateway = gateway(&url, "g").await;
        Scene { _nats: nats, fleet, ears, gateway, catalog: Counting::new("g") }
    }

    async fn start(&mut self, run: &str) -> (codemode::RunHandle, Vec<Message>) {
        heard(&mut self.ears).await;
        let request = rig::request(&ticking(run, 2, 1_500), 20_000);
        let handle = self.gateway.start(request, Arc::clone(&self.catalog) as _);
        until("it goes on", SOON, || self.catalog.count(&format!("{run}/0")) == 1).await;
        (handle, heard(&mut self.ears).await)
    }

    async fn say(&self, message: &Message, payload: Vec<u8>) {
        self.fleet.raw.publish(message.subject.clone(), payload.into()).await.expect("NATS is there");
    }

    async fn ends(mut self) {
        self.catalog.has_no_twice();
        self.fleet.is_idle().await;
        self.fleet.ends().await;
    }
}

fn is_well(report: &RunReport) {
    assert!(report.ok && report.calls.len() == 2, "{report:?}");
}

#[test]
fn whatever_is_said_twice_is_done_once() {
    alone(async {
        let mut scene = Scene::open().await;
        let (run, said) = scene.start("twice").await;
        let both = [to(&said, "g"), to(&said, "w")].concat();
        assert!(both.len() >= 4, "{said:?}");
        // The opening, too.
        let opening: Vec<&Message> = said.iter().filter(|message| message.payload.get(KIND) == Some(&b'o')).collect();
        for message in both.into_iter().chain(opening) {
            for _ in 0..3 {
                scene.say(message, message.payload.to_vec()).await;
            }
        }
        is_well(&run.report().await);
        scene.ends().await;
    });
}

#[test]
fn what_is_made_up_ends_the_run_it_is_made_up_for_and_no_other() {
    alone(async {
        let mut scene = Scene::open().await;
        let (hit, said) = scene.start("hit").await;
        let (other, _) = scene.start("other").await;
        let last = *to(&said, "g").last().expect("the worker has asked");
        let mut forged = last.payload.to_vec();
        forged[TOKEN] ^= 1;
        scene.say(last, forged).await;
        let report = hit.report().await;
        assert_eq!(code(&report), Some(ErrorCode::ProtocolViolation), "{report:?}");
        assert!(message(&report).contains("does not bear the run's token"), "{report:?}");
        is_well(&other.report().await);
        scene.ends().await;
    });
}

#[test]
fn what_is_missing_ends_the_run_by_name() {
    alone(async {
        let mut scene = Scene::open().await;
        let (run, said) = scene.start("gap").await;
        let last = *to(&said, "g").last().expect("the worker has asked");
        let mut later = last.payload.to_vec();
        let number = u64::from_be_bytes(later[NUMBER].try_into().expect("eight bytes")) + 50;
        later[NUMBER].copy_from_slice(&number.to_be_bytes());
        scene.say(last, later).await;
        let report = run.report().await;
        assert_eq!(code(&report), Some(ErrorCode::ProtocolViolation), "{report:?}");
        assert!(message(&report).contains("a message is missing"), "{report:?}");
        scene.ends().await;
    });
}

#[test]
fn what_is_no_message_of_this_wire_ends_the_run_by_name() {
    alone(async {
        let mut scene = Scene::open().await;
        let (run, said) = scene.start("noise").await;
        let last = *to(&said, "g").last().expect("the worker has asked");
        scene.say(last, b"noise".to_vec()).await;
        let report = run.report().await;
        assert_eq!(code(&report), Some(ErrorCode::ProtocolViolation), "{report:?}");
        assert!(message(&report).contains("no message of this wire"), "{report:?}");
        scene.ends().await;
    });
}

#[test]
fn a_message_of_one_run_is_none_of_another() {
    alone(async {
        let mut scene = Scene::open().await;
        let (one, said_one) = scene.start("one").await;
        let (two, said_two) = scene.start("two").await;
        // A call of the second run at the first one's inbox: it would be made for the wrong one.
        let from = to(&said_two, "g");
        let call = from.iter().find(|message| message.payload.windows(12).any(|part| part == b"catalog.call")).expect("it has called");
        let into = *to(&said_one, "g").last().expect("it has asked");
        scene.say(into, call.payload.to_vec()).await;
        let report = one.report().await;
        assert_eq!(code(&report), Some(ErrorCode::ProtocolViolation), "{report:?}");
        is_well(&two.report().await);
        scene.ends().await;
    });
}

#[test]
fn a_worker_that_is_lied_to_ends_the_run_and_serves_on() {
    alone(async {
        let mut scene = Scene::open().await;
        let (run, said) = scene.start("lied").await;
        let last = *to(&said, "w").last().expect("the gateway has spoken");
        let mut forged = last.payload.to_vec();
        forged[TOKEN] ^= 1;
        scene.say(last, forged).await;
        let report = run.report().await;
        // The worker says nothing any more to whoever it may be.
        assert_eq!(code(&report), Some(ErrorCode::WorkerLost), "{report:?}");
        // Offers that are none, and offers that want their answer where no gateway is.
        for (reply, payload) in [("codemode.runs.g.x", &b"\x01o"[..]), ("elsewhere", &[&b"\x01o"[..], &[7; 16]].concat()[..])] {
            let mut ears = scene.fleet.raw.subscribe(reply.to_owned()).await.expect("anybody may listen here");
            scene.fleet.raw.publish_with_reply("codemode.runs", reply.to_owned(), payload.to_vec().into()).await.expect("NATS is there");
            assert!(tokio::time::timeout(Duration::from_millis(300), ears.next()).await.is_err(), "{reply} is not answered");
        }
        let (next, _) = scene.start("next").await;
        is_well(&next.report().await);
        scene.ends().await;
    });
}

#[test]
fn the_callers_span_goes_along() {
    alone(async {
        let mut scene = Scene::open().await;
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let request = rig::request("return 1", 5_000).with_trace_parent(TraceParent::new(parent).expect("one"));
        heard(&mut scene.ears).await;
        assert!(scene.gateway.run(request, Arc::clone(&scene.catalog) as _).await.ok);
        let said = heard(&mut scene.ears).await;
        let headers: Vec<String> =
            said.iter().filter_map(|message| Some(message.headers.as_ref()?.get("traceparent")?.as_str().to_owned())).collect();
        assert_eq!(headers, [parent]);
        scene.ends().await;
    });
}

#[test]
fn a_call_is_one_question_and_an_unknown_tool_one_more() {
    alone(async {
        let mut scene = Scene::open().await;
        heard(&mut scene.ears).await;
        let request = rig::request(&ticking("asked", 10, 0), 5_000);
        assert!(scene.gateway.run(request, Arc::clone(&scene.catalog) as _).await.ok);
        let said = heard(&mut scene.ears).await;
        let asked = |method: &str| {
            let has = |message: &&&Message| message.payload.windows(method.len()).any(|part| part == method.as_bytes());
            to(&said, "g").iter().filter(has).count()
        };
        let questions = ["catalog.call", "catalog.describe", "catalog.search", "approval.request"].map(asked);
        assert_eq!(questions, [10, 1, 0, 0]);
        scene.ends().await;
    });
}
