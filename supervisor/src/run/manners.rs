//! Who computes for long goes behind those who do not.
//!
//! Most bodies use a few milliseconds of a processor. One that goes on computing, by mistake or to harm, would share the processors evenly with all others until its
//! clock ends it, and be felt by every one of them. So it steps back: it still gets what nobody else wants. All instants are durations since the start of the run.

use std::time::Duration;

/// Processor time after which a body counts as one that computes for long: some ten times an ordinary one.
const LONG: Duration = Duration::from_millis(20);

/// The first glance; the next ones are each twice as far away, so that a body that waits for minutes costs nothing.
const FIRST: Duration = Duration::from_millis(30);

/// Between two glances at most: who waits first and computes then is seen to after this.
const LAST: Duration = Duration::from_secs(1);

/// The glances at one child.
#[derive(Debug)]
pub(crate) struct Manners {
    /// Processor time before the body began: a Node's start is not its fault.
    before: Duration,
    next: Option<Duration>,
    pause: Duration,
}

impl Manners {
    /// Of a child that gets its body now. One whose processor time cannot be told is left alone.
    pub(crate) fn of(now: Duration, cpu: Option<Duration>) -> Manners {
        Manners { before: cpu.unwrap_or_default(), next: cpu.map(|_| now + FIRST), pause: FIRST }
    }

    /// When to glance next.
    pub(crate) fn next(&self) -> Option<Duration> {
        self.next
    }

    /// Takes a glance; whether the child is to step back. It is told so once.
    pub(crate) fn glance(&mut self, now: Duration, cpu: Option<Duration>) -> bool {
        let is_long = cpu.is_some_and(|cpu| cpu.saturating_sub(self.before) >= LONG);
        self.pause = (self.pause * 2).min(LAST);
        self.next = (!is_long && cpu.is_some()).then(|| now + self.pause);
        is_long
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn who_computes_for_long_is_told_once() {
        let mut manners = Manners::of(ms(100), Some(ms(40)));
        assert_eq!(manners.next(), Some(ms(130)));
        assert!(!manners.glance(ms(130), Some(ms(45))), "a start of Node is no body's fault");
        assert_eq!(manners.next(), Some(ms(190)), "twice as far away");
        assert!(manners.glance(ms(190), Some(ms(61))));
        assert_eq!(manners.next(), None);
    }

    #[test]
    fn who_waits_is_looked_at_ever_more_seldom_and_never_forgotten() {
        let mut manners = Manners::of(ms(0), Some(ms(3)));
        let mut glances = 0;
        while let Some(at) = manners.next().filter(|at| *at < Duration::from_secs(60)) {
            assert!(!manners.glance(at, Some(ms(4))));
            glances += 1;
        }
        assert!((55..75).contains(&glances), "{glances} in a minute");
    }

    #[test]
    fn who_cannot_be_seen_is_left_alone() {
        assert_eq!(Manners::of(ms(0), None).next(), None);
        let mut manners = Manners::of(ms(0), Some(ms(3)));
        assert!(!manners.glance(ms(30), None));
        assert_eq!(manners.next(), None);
    }
}
