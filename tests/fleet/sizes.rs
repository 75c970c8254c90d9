//! Texts that are larger than a message of NATS.

use std::sync::Arc;

use codemode::fleet::{FleetError, FleetExecutor};
use codemode::{ErrorCode, Limit, RunRequest};
use codemode_tests::rig::{self, code, json, limits};

use super::counting::Counting;
use super::nats::Nats;
use super::workers::Fleet;
use super::{alone, gateway, settings};

#[test]
fn bodies_calls_and_values_go_through_in_pieces() {
    alone(async {
        // The smallest that helps, and the usual one.
        for max_payload in [4_096, 1 << 20] {
            let nats = Nats::with(&format!("max_payload: {max_payload}"));
            let mut fleet = Fleet::of(&nats.url(), 1, 2).await;
            let (gateway, catalog) = (gateway(&nats.url(), "g").await, Counting::new("g"));
            let comment = "x".repeat(200 << 10);
            let body = format!(
                "/* {comment} */ const data = 'y'.repeat({}); const said = await openclaw.tools.call('client:count:tick', {{key: 'k', data}}); return said.data + 'z'.repeat({})",
                900 << 10,
                100 << 10
            );
            let report = gateway.run(RunRequest::new(body), Arc::clone(&catalog) as _).await;
            assert_eq!(code(&report), None, "{report:?}");
            assert_eq!(json(&report).as_str().map(str::len), Some(1_000 << 10));
            assert_eq!((report.calls[0].args_bytes, catalog.count("k")), ((900 << 10) + 21, 1));
            fleet.is_idle().await;
            fleet.ends().await;
        }
    });
}

#[test]
fn the_limits_of_a_run_hold_as_they_do_here() {
    alone(async {
        let nats = Nats::start();
        let mut fleet = Fleet::of(&nats.url(), 1, 2).await;
        let gateway = gateway(&nats.url(), "g").await;
        let large = |result: u64| limits(&[(Limit::ResultBytes, result), (Limit::ValueBytes, 8 << 20), (Limit::ArgsBytes, 4 << 20)]);
        // 3 MiB there, 6 MiB back, at the largest limits.
        let body = "const d = 'y'.repeat(3 << 20); const t = await openclaw.tools.call('client:count:tick', {key: 'k', data: d}); return (t.data + t.data).length";
        let report = gateway.run(RunRequest::new(body).with_limits(large(16 << 20)), Counting::new("g") as _).await;
        assert_eq!(json(&report), 6 << 20, "{report:?}");
        // One call too large fails alone, and says so as it does here.
        let body = "try { await openclaw.tools.call('client:count:tick', {key: 'k', data: 'y'.repeat(5000)}); return 'no' } catch (e) { return e.code }";
        let report = gateway.run(RunRequest::new(body).with_limits(large(4_096)), Counting::new("g") as _).await;
        assert_eq!(json(&report), "too_large", "{report:?}");
        let report = gateway.run(RunRequest::new("return 'x'.repeat(9 << 20)").with_limits(large(4_096)), Counting::new("g") as _).await;
        assert_eq!(code(&report), Some(ErrorCode::OutputLimit), "{report:?}");
        let report = gateway.run(rig::request("for (;;);", 300), Counting::new("g") as _).await;
        assert_eq!(code(&report), Some(ErrorCode::Timeout), "{report:?}");
        fleet.is_idle().await;
        fleet.ends().await;
    });
}

#[test]
fn a_nats_whose_messages_are_too_small_is_refused_by_name() {
    alone(async {
        let nats = Nats::with("max_payload: 512");
        let refused = FleetExecutor::connect(&settings(&nats.url(), "g")).await.expect_err("512 bytes are nothing");
        assert!(matches!(refused, FleetError::SmallPayload { max_payload: 512, least: 1_059 }), "{refused}");
    });
}
