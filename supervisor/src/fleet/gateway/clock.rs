//! How long a gateway waits for the end of a run: pure.
//!
//! The worker keeps the limits of a run. These here are for a worker that does not.

use std::time::Duration;

use codemode_protocol::RunLimits;

/// What a run may take beside its body: a child that has to be started, one that has to be killed, and messages between.
const SLACK: Duration = Duration::from_secs(5);

/// How long a run may take to end once it is cancelled: that of a child which is killed, and some.
const CANCELLED_WITHIN: Duration = Duration::from_secs(2);

/// When the gateway ends the run. Instants are durations since the hand-over; `approvals` is the time with at least one approval open so far, during which the
/// body's clock may have stood.
pub(super) fn ends_at(limits: &RunLimits, approvals: Duration, cancelled: Option<Duration>) -> Duration {
    let wall = Duration::from_millis(limits.wall_ms()) + approvals;
    let own = wall.min(Duration::from_millis(limits.ceiling_ms())) + SLACK;
    cancelled.map_or(own, |at| own.min(at + CANCELLED_WITHIN))
}

#[cfg(test)]
mod tests {
    use codemode_protocol::Limit;

    use super::*;

    #[test]
    fn a_run_has_its_wall_clock_its_approvals_and_some_slack_and_no_more_than_its_ceiling() {
        let limits = RunLimits::default().with(Limit::WallMs, 1_000).unwrap();
        let secs = Duration::from_secs;
        assert_eq!(ends_at(&limits, Duration::ZERO, None), secs(6));
        assert_eq!(ends_at(&limits, secs(100), None), secs(106));
        assert_eq!(ends_at(&limits, secs(100_000), None), Duration::from_millis(limits.ceiling_ms()) + SLACK);
        assert_eq!(ends_at(&limits, Duration::ZERO, Some(secs(1))), secs(3));
        assert_eq!(ends_at(&limits, Duration::ZERO, Some(secs(5))), secs(6));
    }
}
