//! Very many runs: nothing may grow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::arguments::Arguments;
use crate::mix::{Bodies, Pieces};
use crate::process::Holdings;
use crate::way::{Way, WayName};

/// At a time.
const LANES: usize = 8;

/// The supervisor's resident memory at the end, above that at the middle.
const GROWN_AT_MOST_KIB: u64 = 16 * 1024;

/// A pool is as it is without load by then.
const SETTLES_WITHIN: Duration = Duration::from_secs(2);

/// Looks at the start, at the middle and at the end, each time at rest.
pub async fn soak(arguments: &Arguments, runs: u64) -> bool {
    let way = Way::open(WayName::Library, arguments).await;
    // The first runs make what is made once.
    some(&way, runs / 20 + 1).await;
    let start = at_rest(&way).await;
    let began = Instant::now();
    some(&way, runs / 2).await;
    let middle = at_rest(&way).await;
    some(&way, runs - runs / 2).await;
    let took = began.elapsed();
    let end = at_rest(&way).await;
    println!("{runs} runs, {LANES} at a time, in {:.0} s: {:.0} a second", took.as_secs_f64(), runs as f64 / took.as_secs_f64());
    for (when, holdings) in [("start", start), ("middle", middle), ("end", end)] {
        let Holdings { rss_kib, descriptors, threads, children } = holdings;
        println!("  {when:<6}  RSS {rss_kib:>7} KiB  {descriptors:>4} descriptors  {threads:>3} threads  {children:>3} children");
    }
    let grown = end.rss_kib.saturating_sub(middle.rss_kib);
    let same = (start.descriptors, start.threads) == (end.descriptors, end.threads);
    println!(
        "  grown by {grown} KiB after the middle (at most {GROWN_AT_MOST_KIB}); descriptors and threads are {}",
        if same { "equal" } else { "NOT equal" }
    );
    grown <= GROWN_AT_MOST_KIB && same
}

async fn at_rest(way: &Way) -> Holdings {
    tokio::time::sleep(SETTLES_WITHIN).await;
    Holdings::of(way.pid())
}

/// So many well-behaved runs.
async fn some(way: &Way, runs: u64) {
    let left = Arc::new(AtomicU64::new(runs));
    let mut lanes = JoinSet::new();
    for lane in 0..LANES {
        let (way, left) = (way.clone(), Arc::clone(&left));
        lanes.spawn(async move {
            let mut pieces = Pieces::of(lane, Bodies::Usual, false);
            let one_more = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
            while one_more() {
                let (piece, _) = pieces.next();
                piece.check(&way.run(&piece).await);
            }
        });
    }
    lanes.join_all().await;
}
