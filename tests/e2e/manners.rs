//! A body that computes for long goes behind those that do not.

use std::time::Duration;

use codemode_tests::census::{nice_of, own_pid};
use codemode_tests::embedding::{Embedder, Order};
use codemode_tests::patience::until;
use codemode_tests::rig;

use super::EMBEDDER;

/// The glances are 30 ms and 90 ms after the first byte of the body, and a busy machine is late.
const SEEN_WITHIN: Duration = Duration::from_secs(3);

#[test]
fn a_body_that_computes_for_long_steps_back() {
    rig::alone(async {
        let mut embedder = Embedder::start(EMBEDDER, &Order::new(r#"console.log("now"); while (true) {}"#, 20_000));
        embedder.event("log").await;
        let child = embedder.busy_child().await;
        until("the child has stepped back", SEEN_WITHIN, || nice_of(child) == Some(5)).await;
        assert_eq!(nice_of(embedder.pid()), nice_of(own_pid()), "its supervisor has not");
    });
}

#[test]
fn a_body_that_waits_does_not() {
    rig::alone(async {
        let body = r#"await openclaw.tools.call("demo:slow", { ms: 600000 })"#;
        let mut embedder = Embedder::start(EMBEDDER, &Order::new(body, 20_000));
        embedder.event("call_sent").await;
        let children = embedder.children().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        let own = nice_of(own_pid());
        assert!(children.iter().all(|child| nice_of(*child) == own), "{children:?}");
    });
}
