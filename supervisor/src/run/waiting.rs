//! Whether a child waits or computes, as the kernel sees it.
//!
//! A child has nothing to do exactly while it is blocked in the read of its bridge. It is not asked: its word would be a claim. Two looks at it tell, some
//! time apart: it slept at the second one and used no processor between them. All instants here are durations since the start of the run.

use std::time::Duration;

/// How long lies between two looks. Short beside the patience of a person, and long enough that a process that computes is seen to.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The share of the time between two looks that a child may have computed and still counts as waiting, one part in so many: threads of Node's own
/// wake up now and then. A body that hides behind it computes a fiftieth of the time, which its limit of processor time bounds.
const SHARE: u32 = 50;

/// What the kernel says of a process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Activity {
    /// User and system time of all its threads since it was started.
    pub(crate) cpu: Duration,
    /// Its main thread sleeps: it neither runs nor wants to.
    pub(crate) sleeps: bool,
}

/// The looks at one child.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    last: Option<(Duration, Activity)>,
}

impl Watch {
    /// Takes a look. Whether the child has waited since the one before; without one before, or when nothing could be seen, it has not.
    pub(crate) fn look(&mut self, now: Duration, activity: Option<Activity>) -> bool {
        let last = std::mem::replace(&mut self.last, activity.map(|activity| (now, activity)));
        let (Some((before, last)), Some(activity)) = (last, activity) else { return false };
        let used = activity.cpu.saturating_sub(last.cpu);
        activity.sleeps && last.sleeps && used <= now.saturating_sub(before) / SHARE
    }

    /// Forgets: something has happened that may have woken the child.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn activity(cpu_ms: u64, sleeps: bool) -> Option<Activity> {
        Some(Activity { cpu: ms(cpu_ms), sleeps })
    }

    #[test]
    fn only_sleep_between_two_looks_is_waiting() {
        for (second, waits) in [(activity(5, true), true), (activity(5, false), false), (activity(6, true), false), (None, false)] {
            let mut watch = Watch::default();
            assert!(!watch.look(ms(0), activity(5, true)), "one look says nothing");
            assert_eq!(watch.look(ms(20), second), waits, "{second:?}");
        }
    }

    #[test]
    fn one_that_was_about_to_run_at_the_first_look_has_not_waited() {
        let mut watch = Watch::default();
        watch.look(ms(0), activity(5, false));
        assert!(!watch.look(ms(20), activity(5, true)));
        assert!(watch.look(ms(40), activity(5, true)));
        watch.forget();
        assert!(!watch.look(ms(60), activity(5, true)));
    }
}
