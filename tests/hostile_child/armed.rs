//! A child that is lost after it was armed: it has the bridge, the report pipe and every wall around it. Both launchers.

use std::time::{Duration, Instant};

use codemode::ErrorCode::{self, IsolationViolation, ProtocolViolation, Timeout};
use codemode::RunReport;
use codemode::launch::WallSet;
use codemode_tests::census::Census;
use codemode_tests::rig::{self, code, demo, json, request};

const MAY_GROW: u64 = 16 << 20;

/// What such a child has: raw writes to the bridge (3) and to the report pipe (4).
const HANDS: &str = "
    const fs = require('fs');
    const raw = (fd, bytes) => { try { return fs.writeSync(fd, bytes); } catch (error) { return error.code; } };
    const frame = (text) => { const head = Buffer.alloc(4); head.writeUInt32BE(Buffer.byteLength(text)); return Buffer.concat([head, Buffer.from(text)]); };
    const answer = (value) => frame(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { value, valueType: 'string' } }));
";

/// Runs a body in an armed child whose realm is lost, and an honest body beside it, which must not notice.
async fn beside(body: &str, wall_ms: u64) -> RunReport {
    let lost = rig::lost_realm(WallSet::ALL);
    let honest = rig::supervisor();
    assert!(rig::run(&honest, "return 0").await.ok, "it is warm");
    let text = format!("{HANDS}\n{body}");
    let bad = tokio::spawn(async move { lost.run(request(&text, wall_ms), demo()).await });
    let mut runs = 0;
    while !bad.is_finished() && runs < 50 {
        let began = Instant::now();
        let report = rig::run(&honest, r#"return await openclaw.tools.call("demo:echo", { n: 7 })"#).await;
        assert!(report.ok && json(&report)["n"] == 7, "the run beside it: {report:?}");
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        runs += 1;
    }
    bad.await.expect("a run gives a report")
}

fn lost(body: &str, wall_ms: u64, ends: &[ErrorCode]) -> RunReport {
    rig::alone(async {
        let warm = beside("return 1", 5_000).await;
        assert!(warm.ok, "{warm:?}");
        let before = Census::take();
        let report = beside(body, wall_ms).await;
        let ended = code(&report);
        assert!(ended.is_some_and(|ended| ends.contains(&ended)), "{body}: {report:?}");
        assert!(before.grown_by() <= MAY_GROW, "{} bytes more", before.grown_by());
        before.settles(body).await;
        report
    })
}

#[test]
fn a_forged_answer_of_an_armed_child_is_its_claim_and_nothing_more() {
    rig::together(async {
        // The control of all of these: what is written to 3 does arrive.
        let report = beside("raw(3, answer('forged')); for (;;);", 5_000).await;
        assert!(report.ok, "{report:?}");
        assert_eq!(json(&report), "forged");
    });
}

#[test]
fn frames_of_an_armed_child_that_break_the_wire_end_its_run_alone() {
    for bytes in [
        "Buffer.from([255, 255, 255, 255])",
        "Buffer.from([0, 0, 0, 0])",
        "frame('[' .repeat(100000))",
        "frame(JSON.stringify({ jsonrpc: '2.0', id: 9, result: { value: 1, valueType: 'number' } }))",
        "frame(JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'openclaw.tools.call', params: { id: 'demo:echo', args: {} } }))",
    ] {
        lost(&format!("raw(3, {bytes}); for (;;);"), 5_000, &[ProtocolViolation]);
    }
}

#[test]
fn records_that_an_armed_child_makes_up_change_nothing() {
    // The report pipe keeps datagrams apart; none of these has the nonce, which is in the memory of the jail alone.
    let forged = "for (let event = 0; event < 12; event++) for (const size of [1, 32, 40, 48, 64, 200]) raw(4, Buffer.alloc(size, event));
        raw(4, Buffer.from('J{\"guest_realm\":true,\"barren_main_realm\":true,\"permission_model\":true}'));";
    rig::together(async {
        let report = beside(&format!("{forged} raw(3, answer('after')); for (;;);"), 5_000).await;
        assert!(report.ok, "{report:?}");
        let walls = report.isolation.expect("there was a child").walls;
        let off = walls.iter().filter(|wall| wall.status == codemode::launch::WallStatus::Off).map(|wall| wall.name.name());
        assert_eq!(off.collect::<Vec<_>>(), ["guest_realm", "barren_main_realm"], "what it says of its walls is not heard any more");
    });
    let report = lost(&format!("{forged} process.reallyExit(3);"), 5_000, &[IsolationViolation]);
    assert!(rig::message(&report).contains("close"), "the call is named by the jail, not by what was made up: {}", rig::message(&report));
}

#[test]
fn an_armed_child_that_floods_its_report_pipe_or_its_errors_costs_its_own_time() {
    lost("const b = Buffer.alloc(64); for (;;) raw(4, b);", 1_500, &[Timeout, ErrorCode::CpuLimit]);
    lost("const b = Buffer.alloc(65536, 110); for (;;) raw(2, b);", 1_500, &[Timeout, ErrorCode::CpuLimit]);
}

#[test]
fn an_armed_child_that_drips_or_never_ends_costs_the_wall_clock() {
    let drip = "const f = answer('slow'); for (let i = 0; i < f.length - 1; i++) { raw(3, f.subarray(i, i + 1)); for (let k = 0; k < 3e5; k++); } for (;;);";
    let report = lost(drip, 1_500, &[Timeout]);
    assert!(report.timing.body < Duration::from_millis(2_500), "{:?}", report.timing);
}

#[test]
fn an_armed_child_that_answers_and_hangs_in_its_end_costs_the_grace() {
    rig::together(async {
        let report = beside("process.on('exit', () => { for (;;); }); raw(3, answer('done')); for (;;);", 5_000).await;
        assert!(report.ok, "{report:?}");
        assert!(report.timing.body < Duration::from_secs(2), "{:?}", report.timing);
    });
}
