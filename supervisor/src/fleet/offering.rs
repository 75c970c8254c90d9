//! How long a run is offered, and how often: pure, the time is an argument.

use std::time::Duration;

/// An offer that nobody claims within this is `busy`.
pub(super) const OFFERED_FOR: Duration = Duration::from_millis(100);

/// An offer goes to one worker, which does not answer when its last place went a moment ago. Another one may have one: five tries, and far longer each than a claim takes
/// that is on its way.
const OFFERED_EVERY: Duration = Duration::from_millis(20);

/// What to do now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Offering {
    /// Offer it.
    Offer,
    /// Wait for a claim until then.
    WaitUntil(Duration),
    /// Nobody has a place.
    Busy,
}

/// The offers of one run. Instants are durations since the first.
#[derive(Debug, Default)]
pub(super) struct Offers {
    last: Option<Duration>,
}

impl Offers {
    pub(super) fn next(&mut self, now: Duration) -> Offering {
        if now >= OFFERED_FOR {
            return Offering::Busy;
        }
        match self.last {
            Some(last) if now < last + OFFERED_EVERY => Offering::WaitUntil((last + OFFERED_EVERY).min(OFFERED_FOR)),
            _ => {
                self.last = Some(now);
                Offering::Offer
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn it_is_offered_five_times_and_then_nobody_has_a_place() {
        let mut offers = Offers::default();
        let (mut now, mut made) = (ms(0), 0);
        loop {
            match offers.next(now) {
                Offering::Offer => made += 1,
                Offering::WaitUntil(until) => {
                    assert!(until > now && until <= OFFERED_FOR);
                    now = until;
                }
                Offering::Busy => break,
            }
        }
        assert_eq!((made, now), (5, OFFERED_FOR));
    }

    #[test]
    fn a_late_look_makes_one_offer_and_no_more() {
        let mut offers = Offers::default();
        assert_eq!(offers.next(ms(0)), Offering::Offer);
        assert_eq!(offers.next(ms(95)), Offering::Offer);
        assert_eq!(offers.next(ms(95)), Offering::WaitUntil(OFFERED_FOR));
        assert_eq!(offers.next(ms(400)), Offering::Busy);
    }
}
