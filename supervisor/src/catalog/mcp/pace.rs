//! How often a stream is taken up again: a server that closes each at once, and asks for it again at once, gets us no more often than this.

use std::time::Duration;

use tokio::time::Instant;

/// Streams that are opened without a wait: those of as many calls as may wait for one server at once.
const AT_ONCE: u32 = 16;
/// The wait for the next one after those, the first time; a server that has reason to close a stream says so about once a second.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// It doubles up to this.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// When streams may be opened.
#[derive(Debug)]
pub(super) struct Pace {
    left: u32,
    wait: Duration,
    /// When the last one was opened, or will be.
    last: Option<Instant>,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { left: AT_ONCE, wait: FIRST_WAIT, last: None }
    }
}

impl Pace {
    /// How long the next one has to wait. A minute without one begins anew.
    pub(super) fn next(&mut self, now: Instant) -> Duration {
        if self.last.is_some_and(|last| now >= last + LONGEST_WAIT) {
            *self = Pace::default();
        }
        let at = if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            now
        } else {
            let at = self.last.map_or(now, |last| last + self.wait).max(now);
            self.wait = (2 * self.wait).min(LONGEST_WAIT);
            at
        };
        self.last = Some(at);
        at - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_closes_at_once_is_asked_ever_less_often() {
        let mut pace = Pace::default();
        let start = Instant::now();
        let mut now = start;
        let waits: Vec<u64> = (0..26)
            .map(|_| {
                let wait = pace.next(now);
                now += wait;
                wait.as_secs()
            })
            .collect();
        assert_eq!(waits[..16], [0; 16]);
        assert_eq!(waits[16..], [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        assert_eq!(pace.next(now + LONGEST_WAIT), Duration::ZERO, "after a quiet minute");
    }
}
