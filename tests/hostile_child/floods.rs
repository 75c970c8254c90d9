//! Too much, too slowly, or not listening.

use std::time::{Duration, Instant};

use codemode::ErrorCode::{self, CallLimit, OutputLimit, Timeout};
use codemode::{CallState, RunReport};
use codemode_tests::census::Census;
use codemode_tests::rig::{self, code, demo, json, request};
use codemode_tests::script::{Script, Step, answer, call, console, framed, hex};
use serde_json::json;

use crate::child::{doing, run, serves_on};

const MAY_GROW: u64 = 16 << 20;

/// Runs a flood alone and sees that this process does not swell.
///
/// The script is made within the turn as well: some are as large as what may grow, and would count for the test whose turn it is.
fn stays_flat(script: impl FnOnce() -> Script, wall_ms: u64, ends: &[ErrorCode]) -> RunReport {
    rig::alone(async {
        serves_on().await;
        let script = script().write();
        let before = Census::take();
        let supervisor = doing(&script);
        let report = supervisor.run(request("return 1", wall_ms), demo()).await;
        let verdict = code(&report).expect("a flood gives no value");
        assert!(ends.contains(&verdict), "{:?}", report.error);
        assert!(report.timing.body.as_millis() <= u128::from(wall_ms) + 300, "{:?}", report.timing);
        assert!(before.grown_by() <= MAY_GROW, "{} bytes more", before.grown_by());
        drop(supervisor);
        before.settles("a flood").await;
        serves_on().await;
        report
    })
}

/// Calls with ids in order, glued.
fn calls(count: u64, tool: &str, args: &serde_json::Value) -> Vec<u8> {
    (1..=count).flat_map(|id| framed(&call(id, tool, args).to_string())).collect()
}

#[test]
fn a_flood_of_console_entries_ends_as_the_output_limit() {
    let entry = framed(&console(&"x".repeat(8_000)).to_string());
    let report = stays_flat(|| Script::greeted().step(Step::WriteForEver { hex: hex(&entry) }), 10_000, &[OutputLimit]);
    assert!(report.logs_dropped > 0);
}

#[test]
fn a_flood_of_the_smallest_entries_meets_the_clock_and_stops_nobody_elses() {
    let flood = || Script::greeted().step(Step::WriteForEver { hex: hex(&framed(&console("x").to_string()).repeat(20_000)) });
    stays_flat(flood, 700, &[Timeout, OutputLimit]);
    rig::alone(async {
        let script = flood().write();
        let run = doing(&script).start(request("return 1", 1_500), demo());
        // The runtime has one thread, and the flood is worked off on it.
        let (mut slept, step) = (Vec::new(), Duration::from_millis(50));
        for _ in 0..10 {
            let began = Instant::now();
            tokio::spawn(tokio::time::sleep(step)).await.expect("it sleeps");
            slept.push(began.elapsed());
        }
        run.report().await;
        assert!(slept.iter().all(|slept| *slept < 10 * step), "{slept:?}");
    });
}

#[test]
fn a_flood_of_calls_ends_as_the_call_limit() {
    // It reads its answers, so that it is let go on: 1,024 calls, as many refusals, and one too many.
    let args = json!({"s": "z".repeat(100)});
    let script = || (1..=2_100).fold(Script::greeted(), |script, id| script.send(&call(id, "demo:echo", &args)).step(Step::Read));
    let report = stays_flat(script, 20_000, &[CallLimit]);
    let ok = report.calls.iter().filter(|call| call.state == CallState::Ok).count();
    assert_eq!((report.calls.len(), ok), (2_048, 1_024));
}

#[test]
fn p105_a_child_that_never_reads_holds_itself_up_and_nobody_else() {
    let flood = || Script::greeted().bytes(&calls(400, "demo:echo", &json!({"s": "z".repeat(60_000)}))).step(Step::Sleep);
    let report = stays_flat(flood, 1_500, &[Timeout]);
    assert!(report.calls.len() < 400, "it was let go on without reading: {}", report.calls.len());
}

#[test]
fn a_child_that_asks_for_large_results_and_never_reads_them_keeps_few() {
    // 32 in flight of a megabyte each would be what the limits allow; the calls come one by one and are held up long before.
    let flood = || Script::greeted().bytes(&calls(64, "demo:big", &json!({"n": 100_000}))).step(Step::Sleep);
    stays_flat(flood, 1_500, &[Timeout]);
}

#[test]
fn bytes_without_end_are_refused_at_the_first_frame() {
    rig::together(async {
        let report = run(Script::greeted().step(Step::WriteForEver { hex: "41".repeat(65_536) }), 5_000).await;
        assert_eq!(code(&report), Some(ErrorCode::ProtocolViolation), "{report:?}");
        serves_on().await;
    });
}

#[test]
fn p33_noise_on_descriptor_2_is_kept_to_its_end() {
    rig::together(async {
        // More than any pipe holds, before the child says a word: somebody has to read it.
        let noise = Script::new().step(Step::Stderr(4 << 20));
        let honest =
            run(Script::new().step(Step::Stderr(4 << 20)).send(&codemode_tests::script::hello()).step(Step::Read).send(&answer(2)), 10_000)
                .await;
        assert!(honest.ok, "{honest:?}");
        assert_eq!(json(&honest), 2);
        assert!(honest.logs.is_empty());
        let crashed = run(noise.step(Step::Exit(7)), 10_000).await;
        assert_eq!(code(&crashed), Some(ErrorCode::ChildCrashed), "{crashed:?}");
        let told = rig::message(&crashed);
        assert!(told.contains("nnnn") && told.len() < 4_500, "{} bytes", told.len());
    });
}
