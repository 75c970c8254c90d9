//! A body that will not end by itself ends at its limit, and costs the supervisor nothing.

use std::time::Duration;

use codemode::ErrorCode::{self, MemoryLimit, NeverSettles, OutputLimit, Timeout};
use codemode_tests::rig::{self, code, demo, message, request};

const WALL: Duration = Duration::from_millis(1_000);
const SLACK: Duration = Duration::from_millis(300);
const MAY_GROW: u64 = 16 << 20;

/// Runs a body alone and holds it to its verdict, its time, and what it may leave behind.
fn held_to(body: &str, verdicts: &[ErrorCode]) -> codemode::RunReport {
    held_to_within(WALL, body, verdicts)
}

fn held_to_within(wall: Duration, body: &str, verdicts: &[ErrorCode]) -> codemode::RunReport {
    rig::alone(async {
        let watched = rig::Watched::new().await;
        let wall_ms = u64::try_from(wall.as_millis()).expect("a second");
        let report = watched.supervisor.run(request(body, wall_ms), demo()).await;
        let verdict = code(&report).unwrap_or_else(|| panic!("{body} gave a value"));
        assert!(verdicts.contains(&verdict), "{body}: {:?}", report.error);
        assert!(report.timing.body <= wall + SLACK, "{body}: {:?}", report.timing);
        assert!(watched.grown_by() <= MAY_GROW, "{body}: {} bytes more", watched.grown_by());
        watched.leaves_nothing(body).await;
        report
    })
}

#[test]
fn an_endless_loop_is_a_timeout() {
    held_to("while(true){}", &[Timeout]);
}

#[test]
fn an_endless_chain_of_micro_tasks_is_a_timeout() {
    held_to("for(;;) await null", &[Timeout]);
}

#[test]
fn an_exploding_regular_expression_is_a_timeout() {
    held_to(r"return /^(\w+\s?)+$/.test('aaaa '.repeat(40) + '!')", &[Timeout]);
}

#[test]
fn a_call_that_never_answers_is_a_timeout() {
    let report = held_to(r#"await openclaw.tools.call("demo:slow", { ms: 600000 })"#, &[Timeout]);
    assert_eq!(report.calls.len(), 1);
}

#[test]
fn a_promise_that_nothing_settles_is_known_at_once() {
    let report = held_to("await new Promise(()=>{})", &[NeverSettles]);
    assert!(report.timing.body < WALL / 2, "{:?}", report.timing);
}

#[test]
fn a_heap_bomb_is_a_memory_limit() {
    let report = held_to_within(10 * WALL, "const a = []; for (;;) a.push(new Array(1e6).fill(1))", &[MemoryLimit]);
    assert!(message(&report).contains("128 MiB"), "{}", message(&report));
}

#[test]
fn a_heap_bomb_of_small_objects_is_a_memory_limit() {
    // Memory runs out in the middle of V8's own allocations, not at a large one that it asks for politely.
    held_to_within(10 * WALL, "const a = []; for (;;) a.push({ a: [1, 2, 3] })", &[MemoryLimit]);
}

#[test]
fn a_single_array_above_the_limit_is_a_memory_limit() {
    held_to_within(10 * WALL, "return new Array(2 ** 27).fill(7).length", &[MemoryLimit]);
}

#[test]
fn a_typed_array_bomb_is_a_memory_limit() {
    held_to_within(10 * WALL, "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))", &[MemoryLimit]);
}

#[test]
fn a_log_flood_is_an_output_limit_or_a_timeout() {
    held_to(r#"for (;;) console.log("x".repeat(8000))"#, &[OutputLimit, Timeout]);
}

#[test]
fn p48_out_of_memory_names_the_limit_and_leaves_no_core() {
    rig::together(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let order = codemode_tests::embedding::Order::new("const a = []; while (true) a.push(new Array(1e6).fill(1));", 10_000);
        let mut command = codemode_tests::embedding::under("ulimit -c unlimited", super::EMBEDDER.as_ref(), &order);
        command.current_dir(folder.path());
        let last = codemode_tests::embedding::Embedder::of(command).last().await;
        assert_eq!(last["error"]["code"], "memory_limit", "{last}");
        let told = last["error"]["message"].as_str().expect("a message");
        assert!(told.contains("128 MiB") && told.len() < 1_000, "{told}");
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("it is ours").collect();
        assert!(left.is_empty(), "{left:?}");
    });
}
