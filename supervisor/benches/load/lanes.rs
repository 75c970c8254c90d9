//! Callers, each of whom always wants something.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::figures::Figures;
use crate::mix::Pieces;
use crate::way::Way;

/// What is left out at the start: a pool fits itself to the load.
const WARM_UP: Duration = Duration::from_secs(1);

/// What came of it.
#[derive(Debug, Default)]
pub struct Measured {
    /// Milliseconds of well-behaved runs, as their callers saw them.
    pub good: Figures,
    /// All ends a second.
    pub rate: f64,
    /// Well-behaved ends a second.
    pub good_rate: f64,
    /// Well-behaved runs of the caller who got fewest, and of the one who got most.
    pub fewest: usize,
    /// See `fewest`.
    pub most: usize,
}

/// So many callers for this long.
pub async fn measure(way: &Way, callers: usize, with_hostile: bool, each: Duration) -> Measured {
    let began = Instant::now() + WARM_UP;
    let end = began + each;
    let mut lanes = JoinSet::new();
    for caller in 0..callers {
        let way = way.clone();
        lanes.spawn(async move {
            let mut pieces = Pieces::of(caller, with_hostile);
            let (mut good, mut all) = (Vec::new(), 0_usize);
            while Instant::now() < end {
                let (piece, behaves) = pieces.next();
                let start = Instant::now();
                piece.check(&way.run(&piece).await);
                // By their ends: a row of slow runs would else lose those that cross its edge.
                if (began..=end).contains(&Instant::now()) {
                    all += 1;
                    good.extend(behaves.then(|| start.elapsed()));
                }
            }
            (good, all)
        });
    }
    let lanes = lanes.join_all().await;
    let mut measured = Measured { fewest: usize::MAX, ..Measured::default() };
    for (good, all) in &lanes {
        measured.rate += *all as f64 / each.as_secs_f64();
        measured.good_rate += good.len() as f64 / each.as_secs_f64();
        measured.fewest = measured.fewest.min(good.len());
        measured.most = measured.most.max(good.len());
        good.iter().for_each(|took| measured.good.add(took.as_secs_f64() * 1e3));
    }
    measured
}
