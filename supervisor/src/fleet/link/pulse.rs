//! Whether the other end is there: pure, the time is an argument.

use std::time::Duration;

/// How often an end says that it is there.
const BEAT: Duration = Duration::from_millis(250);

/// An end of which nothing was heard for so many beats is gone: a second.
const SILENT_BEATS: u32 = 4;

/// The other end is silent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Silent;

/// The beats of one end. Silence is counted in own beats, not read from a clock: an end that was not given the processor for a second has heard nothing, and
/// that says nothing about the other one.
#[derive(Debug)]
pub(super) struct Pulse {
    due: Duration,
    heard: bool,
    said: bool,
    quiet: u32,
}

impl Pulse {
    pub(super) fn new(now: Duration) -> Pulse {
        Pulse { due: now + BEAT, heard: false, said: false, quiet: 0 }
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

    /// A beat is over. True: nothing was sent meanwhile, so say that this end is there.
    pub(super) fn beat(&mut self, now: Duration) -> Result<bool, Silent> {
        if now < self.due {
            return Ok(false);
        }
        self.due = now + BEAT;
        self.quiet = if std::mem::take(&mut self.heard) { 0 } else { self.quiet + 1 };
        if self.quiet >= SILENT_BEATS { Err(Silent) } else { Ok(!std::mem::take(&mut self.said)) }
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
        assert_eq!(pulse.beat(ms(100)), Ok(false), "it is not time");
        assert_eq!(pulse.beat(ms(250)), Ok(true));
        for at in [500, 750, 1_000] {
            assert_eq!(pulse.beat(ms(at)), Ok(true), "{at}");
        }
        assert_eq!(pulse.beat(ms(1_250)), Err(Silent));
    }

    #[test]
    fn an_end_that_slept_does_not_take_itself_for_the_other() {
        let mut pulse = Pulse::new(ms(0));
        pulse.heard();
        assert!(pulse.beat(ms(5_000)).is_ok());
        assert!(pulse.beat(ms(9_000)).is_ok());
        pulse.heard();
        assert!(pulse.beat(ms(20_000)).is_ok());
    }

    #[test]
    fn who_has_said_something_need_not_beat() {
        let mut pulse = Pulse::new(ms(0));
        pulse.heard();
        pulse.said();
        assert_eq!(pulse.beat(ms(250)), Ok(false));
        assert_eq!(pulse.beat(ms(500)), Ok(true));
    }
}
