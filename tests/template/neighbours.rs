//! Bodies that take all they can get, beside one that does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use codemode::{ErrorCode, Supervisor};
use codemode_tests::rig::{self, code, demo, request};
use tokio::task::JoinHandle;

use super::witness::{median, supervisor};

const RUNS: usize = 60;
/// A person or an agent does not ask faster than this.
const PACE: Duration = Duration::from_millis(20);
/// A debug build spends its time on the flood, not on what is shared.
const AT_MOST: u32 = if cfg!(debug_assertions) { 12 } else { 4 };

const WELL_BEHAVED: &str = r#"
    const { n } = await openclaw.tools.call("demo:echo", { n: 20 });
    return Array.from({ length: n }, (_, at) => at * at).filter((one) => one % 2).length;"#;

const BOMB: &str = "const keep = []; for (;;) keep.push(new Uint8Array(1 << 20).fill(1))";
const FLOOD: &str = r#"for (;;) console.log("x".repeat(8000))"#;
const SPIN: &str = "for (;;) {}";

async fn times(supervisor: &Supervisor) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        tokio::time::sleep(PACE).await;
        let began = Instant::now();
        let report = rig::run(supervisor, WELL_BEHAVED).await;
        times.push(began.elapsed());
        assert!(report.ok, "{report:?}");
        assert_eq!(rig::json(&report), 10);
    }
    times
}

/// One after the other, until told to stop; counts the ends that are as they should be.
fn over_and_over(
    supervisor: &Supervisor,
    (body, wall_ms, end): (&'static str, u64, ErrorCode),
    stop: &Arc<AtomicBool>,
) -> (Arc<AtomicU32>, JoinHandle<()>) {
    let ends = Arc::new(AtomicU32::new(0));
    let (supervisor, stop, counted) = (supervisor.clone(), Arc::clone(stop), Arc::clone(&ends));
    let task = tokio::spawn(async move {
        while !stop.load(Ordering::Relaxed) {
            let report = supervisor.run(request(body, wall_ms), demo()).await;
            let code = code(&report);
            // On a machine this busy the clock may come first.
            assert!(code == Some(end) || code == Some(ErrorCode::Timeout), "{body}: {report:?}");
            counted.fetch_add(u32::from(code == Some(end)), Ordering::Relaxed);
        }
    });
    (ends, task)
}

#[test]
fn a_bomb_a_flood_and_a_spin_slow_a_fourth_run_by_no_more_than_four_times() {
    rig::alone(async {
        let supervisor = supervisor().await;
        let alone = median(&times(&supervisor).await);
        let stop = Arc::new(AtomicBool::new(false));
        // What has a limit other than the clock has the time to reach it, beside the other two.
        let hogs = [(BOMB, 10_000, ErrorCode::MemoryLimit), (FLOOD, 10_000, ErrorCode::OutputLimit), (SPIN, 1_000, ErrorCode::Timeout)]
            .map(|hog| over_and_over(&supervisor, hog, &stop));
        let beside = median(&times(&supervisor).await);
        stop.store(true, Ordering::Relaxed);
        for (ends, task) in hogs {
            task.await.expect("each ends as it should");
            assert!(ends.load(Ordering::Relaxed) > 0, "one of them never got where it wanted");
        }
        println!("alone {alone:?}, beside the three {beside:?}");
        assert!(beside <= alone * AT_MOST, "alone {alone:?}, beside the three {beside:?}");
    });
}
