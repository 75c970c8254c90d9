//! Where the time of a run went, and the clock that can stop.
//!
//! All instants here are durations since the start of the run: nothing in this file reads a clock.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The report's times. Each is wall time, but `child_cpu`.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// From the request to the report.
    #[serde(rename = "totalMs", serialize_with = "millis", deserialize_with = "from_millis")]
    pub total: Duration,
    /// Until the child had proved its walls.
    #[serde(rename = "launchMs", serialize_with = "millis", deserialize_with = "from_millis")]
    pub launch: Duration,
    /// From the first body byte to the answer, or to the end that came instead.
    #[serde(rename = "bodyMs", serialize_with = "millis", deserialize_with = "from_millis")]
    pub body: Duration,
    /// With at least one `call` open.
    #[serde(rename = "toolMs", serialize_with = "millis", deserialize_with = "from_millis")]
    pub tool: Duration,
    /// With at least one approval waited for.
    #[serde(rename = "approvalMs", serialize_with = "millis", deserialize_with = "from_millis")]
    pub approval: Duration,
    /// User and system time of the child.
    #[serde(rename = "childCpuMs", serialize_with = "millis", deserialize_with = "from_millis")]
    pub child_cpu: Duration,
}

/// Milliseconds with three places: a microsecond is what the clocks here are good for.
pub(crate) fn millis<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    // Exact for 285 years, f64 has 53 bits for the microseconds.
    to.serialize_f64(time.as_micros() as f64 / 1000.0)
}

/// What [`millis`] wrote.
pub(crate) fn from_millis<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let micros = f64::deserialize(from)? * 1000.0;
    // A year: what is longer is no time of a run.
    if !(0.0..=3.2e13).contains(&micros) {
        return Err(D::Error::custom("no time of a run"));
    }
    // Inside the bounds above, and whole after rounding.
    Ok(Duration::from_micros(micros.round() as u64))
}

/// Adds up the time in which at least one of several overlapping things is open.
#[derive(Debug, Default)]
pub(crate) struct Overlap {
    open: usize,
    since: Duration,
    total: Duration,
}

impl Overlap {
    pub(crate) fn begin(&mut self, now: Duration) {
        if self.open == 0 {
            self.since = now;
        }
        self.open += 1;
    }

    pub(crate) fn end(&mut self, now: Duration) {
        let Some(left) = self.open.checked_sub(1) else { return };
        self.open = left;
        if left == 0 {
            self.total += now.saturating_sub(self.since);
        }
    }

    pub(crate) fn total(&self) -> Duration {
        self.total
    }
}

/// A wall clock with a limit, which stands still while a person decides.
#[derive(Debug)]
pub(crate) struct WallClock {
    limit: Duration,
    used: Duration,
    running_since: Option<Duration>,
}

impl WallClock {
    pub(crate) fn start(limit: Duration, now: Duration) -> Self {
        WallClock { limit, used: Duration::ZERO, running_since: Some(now) }
    }

    pub(crate) fn pause(&mut self, now: Duration) {
        if let Some(since) = self.running_since.take() {
            self.used += now.saturating_sub(since);
        }
    }

    pub(crate) fn resume(&mut self, now: Duration) {
        self.running_since.get_or_insert(now);
    }

    /// When the limit is reached if nothing changes; `None` while it stands still.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        Some(self.running_since? + self.limit.saturating_sub(self.used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn overlapping_calls_count_once() {
        let mut overlap = Overlap::default();
        overlap.begin(ms(10));
        overlap.begin(ms(12));
        overlap.end(ms(15));
        overlap.end(ms(20));
        overlap.begin(ms(30));
        overlap.end(ms(31));
        overlap.end(ms(99));
        assert_eq!(overlap.total(), ms(11));
    }

    #[test]
    fn a_stopped_clock_has_no_deadline_and_goes_on_where_it_was() {
        let mut clock = WallClock::start(ms(100), ms(5));
        assert_eq!(clock.deadline(), Some(ms(105)));
        clock.pause(ms(45));
        assert_eq!(clock.deadline(), None);
        clock.pause(ms(50));
        clock.resume(ms(1000));
        clock.resume(ms(1010));
        assert_eq!(clock.deadline(), Some(ms(1060)));
    }

    #[test]
    fn times_are_milliseconds_with_microseconds() {
        let timing = Timing { total: Duration::from_nanos(1_234_567), ..Timing::default() };
        let json = serde_json::to_value(timing).unwrap();
        assert_eq!(json["totalMs"], 1.234);
        assert_eq!(json["childCpuMs"], 0.0);
    }
}
