//! Bodies until the time is over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use codemode::ErrorCode;

use crate::body::Body;
use crate::range::{Find, Outcome, Range};

/// Bodies at once: enough that none of two to four processors waits for a template.
const AT_ONCE: usize = 8;

/// Bodies between two looks at the witnesses: if one of these was touched, so many are run again, alone.
const BATCH: u64 = 64;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Makes the bodies.
    pub seed: u64,
    /// The number of the first body.
    pub first: u64,
    /// Stop after this time,
    pub time: Duration,
    /// or after this many bodies.
    pub bodies: u64,
    /// Stop at the first find.
    pub until_found: bool,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Statistics {
    /// Bodies that were run.
    pub bodies: u64,
    /// Those of them that were compiled and executed.
    pub ran: u64,
    /// How they ended.
    pub ends: BTreeMap<&'static str, u64>,
    /// Numbers of bodies that reached something, and what.
    pub finds: Vec<(u64, Find)>,
    /// A witness was touched, and no body of its batch did it again when it was alone.
    pub unexplained: u64,
    /// How long it took.
    pub time: Duration,
    /// When the first find was known.
    pub first_find_after: Option<Duration>,
}

impl Statistics {
    fn count(&mut self, number: u64, outcome: Outcome) {
        self.bodies += 1;
        self.ran += u64::from(outcome.ran);
        *self.ends.entry(outcome.code.map_or("ok", ErrorCode::as_str)).or_default() += 1;
        self.finds.extend(outcome.find.map(|find| (number, find)));
    }

    /// Bodies that ran, in percent of all.
    pub fn share_that_ran(&self) -> f64 {
        if self.bodies == 0 { 0.0 } else { self.ran as f64 * 100.0 / self.bodies as f64 }
    }
}

/// Runs bodies in batches and looks at the witnesses between them.
pub async fn hunt(range: Arc<Range>, plan: Plan) -> Statistics {
    let mut statistics = Statistics::default();
    let start = Instant::now();
    let mut first = plan.first;
    range.touched();
    let end = plan.first.saturating_add(plan.bodies);
    while first < end && start.elapsed() < plan.time && (statistics.finds.is_empty() || !plan.until_found) {
        let known = statistics.finds.len();
        let next = end.min(first.saturating_add(BATCH));
        for (number, outcome) in batch(&range, plan, first..next, start).await {
            statistics.count(number, outcome);
        }
        if range.touched() && statistics.finds.len() == known {
            let mut again = 0;
            for number in first..next {
                if let Some(find) = range.find(&Body::make(plan.seed, number)).await {
                    statistics.finds.push((number, find));
                    again += 1;
                }
            }
            statistics.unexplained += u64::from(again == 0);
        }
        if statistics.first_find_after.is_none() && !statistics.finds.is_empty() {
            statistics.first_find_after = Some(start.elapsed());
        }
        first = next;
        statistics.time = start.elapsed();
    }
    statistics
}

async fn batch(range: &Arc<Range>, plan: Plan, numbers: std::ops::Range<u64>, start: Instant) -> Vec<(u64, Outcome)> {
    let next = Arc::new(AtomicU64::new(numbers.start));
    let workers = (0..AT_ONCE).map(|_| {
        let (range, next) = (Arc::clone(range), Arc::clone(&next));
        tokio::spawn(async move {
            let mut outcomes = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= numbers.end || start.elapsed() > plan.time {
                    return outcomes;
                }
                outcomes.push((number, range.run(&Body::make(plan.seed, number)).await));
            }
        })
    });
    let mut outcomes = Vec::new();
    for worker in workers.collect::<Vec<_>>() {
        // A worker does nothing that panics; were it to, its bodies would be missing from the count.
        outcomes.extend(worker.await.unwrap_or_default());
    }
    outcomes.sort_by_key(|(number, _)| *number);
    outcomes
}
