//! How many forks should wait, from how many were wanted lately. Pure: time is an argument.

use std::time::{Duration, Instant};

/// The span over which demand is counted. A fork with its dry runs takes 2 to 4 ms to make; demand within several of those must be met from what waits.
const SPAN: Duration = Duration::from_millis(20);

/// How long a peak of demand is remembered. An agent's bodies come seconds apart.
const MEMORY: Duration = Duration::from_secs(30);

/// Always at least this many: the next run finds one, and the one after it too.
const LEAST: usize = 2;

/// Never more than this many, times the processors: what waits beyond what can run at once only takes memory (0.4 to 3 MB each).
const MOST_PER_PROCESSOR: usize = 8;

/// The demand for forks.
#[derive(Debug)]
pub(super) struct Load {
    most: usize,
    span_start: Instant,
    in_span: usize,
    peak: usize,
    peak_at: Instant,
}

impl Load {
    pub(super) fn new(now: Instant, processors: usize) -> Load {
        Load { most: MOST_PER_PROCESSOR * processors, span_start: now, in_span: 0, peak: 0, peak_at: now }
    }

    /// One fork was wanted.
    pub(super) fn wanted(&mut self, now: Instant) {
        if now.duration_since(self.span_start) > SPAN {
            self.span_start = now;
            self.in_span = 0;
        }
        self.in_span += 1;
        if self.in_span >= self.peak {
            self.peak = self.in_span;
            self.peak_at = now;
        }
    }

    /// How many should wait.
    pub(super) fn target(&mut self, now: Instant) -> usize {
        if now.duration_since(self.peak_at) > MEMORY {
            self.peak = if now.duration_since(self.span_start) > SPAN { 0 } else { self.in_span };
            self.peak_at = now;
        }
        self.peak.clamp(LEAST, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demand_raises_the_target_within_bounds_and_idleness_lowers_it() {
        let start = Instant::now();
        let mut load = Load::new(start, 2);
        assert_eq!(load.target(start), LEAST);
        for _ in 0..5 {
            load.wanted(start + Duration::from_millis(5));
        }
        assert_eq!(load.target(start + Duration::from_millis(6)), 5);
        for _ in 0..1000 {
            load.wanted(start + Duration::from_millis(10));
        }
        assert_eq!(load.target(start + Duration::from_millis(11)), 2 * MOST_PER_PROCESSOR);
        assert_eq!(load.target(start + Duration::from_secs(29)), 2 * MOST_PER_PROCESSOR);
        assert_eq!(load.target(start + Duration::from_secs(31)), LEAST);
    }
}
