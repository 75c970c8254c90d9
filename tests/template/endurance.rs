//! Thousands of runs that keep the garbage collector busy.

use std::sync::Arc;

use codemode::{RunRequest, Supervisor};
use codemode_tests::census::Census;
use codemode_tests::rig::{self, demo, json};
use tokio::task::JoinSet;

use super::witness::{is_a_fork, is_long, ready, rss_bytes, supervisor_of, templates};

const AT_A_TIME: usize = 8;
/// What allocators may keep.
const MAY_GROW: u64 = 16 << 20;

/// Short-lived and longer-lived objects, strings, buffers: some 8 MiB go through the young space.
fn body(n: usize) -> String {
    format!(
        r"
        const keep = [];
        for (let i = 0; i < 4000; i++) {{
            keep[i % 100] = {{ i, text: String(i).repeat(20), list: new Array(200).fill(i) }};
            if (i % 100 === 0) keep[i % 100].bytes = new Uint8Array(4096).fill(1);
        }}
        return keep.reduce((sum, one) => sum + one.i + one.list[199], {n});"
    )
}

/// The last hundred numbers below 4000, twice.
const SUM: usize = 2 * (3900 + 3999) * 100 / 2;

async fn runs(supervisor: &Supervisor, count: usize) {
    let mut lanes = JoinSet::new();
    let catalog = demo();
    for lane in 0..AT_A_TIME {
        let (supervisor, catalog) = (supervisor.clone(), Arc::clone(&catalog));
        lanes.spawn(async move {
            for n in (lane..count).step_by(AT_A_TIME) {
                let report = supervisor.run(RunRequest::new(body(n)), catalog.clone()).await;
                assert!(report.ok, "run {n}: {report:?}");
                assert_eq!(json(&report), SUM + n, "run {n}");
                is_a_fork(&report);
            }
        });
    }
    while let Some(lane) = lanes.join_next().await {
        lane.expect("all answers are right");
    }
}

#[test]
fn thousands_of_runs_that_collect_garbage_leave_nothing_and_grow_nothing() {
    rig::alone(async {
        let count = if is_long() { 10_000 } else { 300 };
        let empty = Census::take();
        let supervisor = ready(supervisor_of(codemode::launch::LaunchConfig::default())).await;
        // What only the first runs cost is not growth.
        runs(&supervisor, 80).await;
        let template_rss = || templates().into_iter().map(rss_bytes).max().unwrap_or(0);
        let (before, template_before) = (Census::take(), template_rss());
        runs(&supervisor, count).await;
        let (more, template_after) = (before.grown_by(), template_rss());
        assert!(more <= MAY_GROW, "the supervisor has {more} bytes more");
        assert!(
            template_after > 0 && template_after <= template_before + MAY_GROW,
            "template: {template_before} bytes, then {template_after}"
        );
        drop(supervisor);
        empty.settles("all those runs").await;
    });
}
