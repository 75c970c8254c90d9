//! How often a server may be started.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Starts within [`WINDOW`] at most. A server that crashes once an hour is always there again; one that crashes at each call is left alone after five.
const MOST: usize = 5;
const WINDOW: Duration = Duration::from_secs(60);
/// The wait before the second start in a window; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The starts of one server lately.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    starts: VecDeque<Instant>,
}

/// There were too many starts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct TooMany {
    /// When one more is allowed.
    pub(super) after: Duration,
}

impl Restarts {
    /// Notes a start at `now`; gives how long to wait before it.
    pub(super) fn start(&mut self, now: Instant) -> Result<Duration, TooMany> {
        while self.starts.front().is_some_and(|start| now.duration_since(*start) >= WINDOW) {
            self.starts.pop_front();
        }
        if self.starts.len() >= MOST {
            let after = self.starts.front().map_or(WINDOW, |first| WINDOW.saturating_sub(now.duration_since(*first)));
            return Err(TooMany { after });
        }
        let before = u32::try_from(self.starts.len()).unwrap_or(u32::MAX);
        self.starts.push_back(now);
        Ok(before.checked_sub(1).map_or(Duration::ZERO, |doublings| FIRST_WAIT * 2_u32.saturating_pow(doublings)))
    }
}

impl TooMany {
    pub(super) fn words(self) -> String {
        format!(
            "it was started {MOST} times within {} s; it is started again in {} s at the earliest",
            WINDOW.as_secs(),
            self.after.as_secs() + 1
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_get_slower_then_stop_and_come_back_with_time() {
        let mut restarts = Restarts::default();
        let t0 = Instant::now();
        let waits: Vec<_> = (0..5).map(|n| restarts.start(t0 + Duration::from_secs(n)).unwrap().as_millis()).collect();
        assert_eq!(waits, [0, 100, 200, 400, 800]);
        assert_eq!(restarts.start(t0 + Duration::from_secs(5)), Err(TooMany { after: Duration::from_secs(55) }));
        assert!(restarts.start(t0 + Duration::from_secs(60)).is_ok());
        assert!(restarts.start(t0 + Duration::from_secs(60)).is_err());
        assert_eq!(restarts.start(t0 + Duration::from_secs(200)), Ok(Duration::ZERO));
    }
}
