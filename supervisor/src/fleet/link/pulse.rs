//! Whether the other end is there: pure, the time is an argument.

use std::time::Duration;

/// How often an end says that it is there.
const BEAT: Duration = Duration::from_millis(250);

/// An end of which nothing was heard for so many beats is gone: a second.
const SILENT_BEATS: u32 = 4;

/// An end that is done with nothing of ours for so many beats, while something waits for it, is not waited for: ten seconds, in which the slowest line carries a piece.
const STUCK_BEATS: u32 = 40;

/// The other end is not waited for any more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Over {
    /// It says nothing.
    Silent,
    /// It says that it is there, and takes nothing.
    Stuck,
}

/// The beats of one end. Silence is counted in own beats, not read from a clock: an end that was not given the processor for a second has heard nothing, and
/// that says nothing about the other one.
#[derive(Debug)]
pub(super) struct Pulse {
    due: Duration,
    heard: bool,
    said: bool,
    quiet: u32,
    stuck: u32,
}

impl Pulse {
    pub(super) fn new(now: Duration) -> Pulse {
        Pulse { due: now + BEAT, heard: false, said: false, quiet: 0, stuck: 0 }
    }

    /// When to look next.
    pub(super) fn due(&self) -> Duration {
        self.due
    }

    /// Something of the other end came that only it can have sent.
    pub(super) fn heard(&mut self) {
        self.heard = true;
    }

    /// Something was sent to it.
    pub(super) fn said(&mut self) {
        self.said = true;
    }

    /// Whether a beat is over.
    pub(super) fn is_due(&self, now: Duration) -> bool {
        now >= self.due
    }

    /// A beat is over, and something waited all through it for an end that takes nothing, or not. True: nothing was sent meanwhile, so say that this end is there.
    pub(super) fn beat(&mut self, now: Duration, is_stuck: bool) -> Result<bool, Over> {
        self.due = now + BEAT;
        self.quiet = if std::mem::take(&mut self.heard) { 0 } else { self.quiet + 1 };
        self.stuck = if is_stuck { self.stuck + 1 } else { 0 };
        if self.quiet >= SILENT_BEATS {
            return Err(Over::Silent);
        }
        if self.stuck >= STUCK_BEATS {
            return Err(Over::Stuck);
        }
        Ok(!std::mem::take(&mut self.said))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn an_end_is_silent_a_second_after_it_was_heard_last() {
        let mut pulse = Pulse::new(ms(0));
        pulse.heard();
        assert!(!pulse.is_due(ms(249)) && pulse.is_due(ms(250)));
        assert_eq!(pulse.beat(ms(250), false), Ok(true));
        for at in [500, 750, 1_000] {
            assert_eq!(pulse.beat(ms(at), false), Ok(true), "{at}");
        }
        assert_eq!(pulse.beat(ms(1_250), false), Err(Over::Silent));
    }

    #[test]
    fn an_end_that_slept_does_not_take_itself_for_the_other() {
        let mut pulse = Pulse::new(ms(0));
        pulse.heard();
        assert!(pulse.beat(ms(5_000), false).is_ok());
        assert!(pulse.beat(ms(9_000), false).is_ok());
        pulse.heard();
        assert!(pulse.beat(ms(20_000), false).is_ok());
    }

    #[test]
    fn who_has_said_something_need_not_beat() {
        let mut pulse = Pulse::new(ms(0));
        pulse.heard();
        pulse.said();
        assert_eq!(pulse.beat(ms(250), false), Ok(false));
        assert_eq!(pulse.beat(ms(500), false), Ok(true));
    }

    #[test]
    fn an_end_that_is_there_and_takes_nothing_is_not_waited_for_longer_than_ten_seconds() {
        let mut pulse = Pulse::new(ms(0));
        let mut beats = |many: u32, is_stuck: bool| {
            (0..many)
                .map(|_| {
                    pulse.heard();
                    pulse.beat(pulse.due(), is_stuck).err()
                })
                .last()
                .flatten()
        };
        assert_eq!(beats(39, true), None);
        assert_eq!(beats(1, false), None, "it has taken something");
        assert_eq!(beats(39, true), None);
        assert_eq!(beats(1, true), Some(Over::Stuck));
    }
}
