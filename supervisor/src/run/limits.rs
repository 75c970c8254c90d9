//! What follows from the limits of a run, and how a report shows them.

use std::collections::BTreeMap;
use std::time::Duration;

use codemode_protocol::{Limit, RunLimits};
use serde::de::Error;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serializer};

use super::console::ConsoleLimits;
use crate::launch::LaunchOrder;

/// CPU time: the wall limit rounded up to a second, which is what the kernel counts in, and one more, so that a body that computes all the
/// time meets the wall clock first.
pub(crate) fn cpu_seconds(limits: &RunLimits) -> u64 {
    limits.wall_ms().div_ceil(1000) + 1
}

pub(crate) fn order(limits: &RunLimits) -> LaunchOrder {
    LaunchOrder { memory_bytes: limits.memory_bytes(), cpu_seconds: cpu_seconds(limits) }
}

pub(crate) fn wall(limits: &RunLimits) -> Duration {
    Duration::from_millis(limits.wall_ms())
}

pub(crate) fn ceiling(limits: &RunLimits) -> Duration {
    Duration::from_millis(limits.ceiling_ms())
}

pub(crate) fn approval(limits: &RunLimits) -> Duration {
    Duration::from_millis(limits.approval_ms())
}

pub(crate) fn grace(limits: &RunLimits) -> Duration {
    Duration::from_millis(limits.kill_grace_ms())
}

pub(crate) fn console(limits: &RunLimits) -> ConsoleLimits {
    let run_bytes = size(limits.console_bytes());
    // One entry never pushes out all others.
    let entry_bytes = size(limits.console_entry_bytes()).min(run_bytes / 4);
    ConsoleLimits { run_bytes, entry_bytes, flood_bytes: limits.console_flood_bytes() }
}

/// A size limit as this machine counts.
pub(crate) fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// All limits under their names, and the CPU time that follows from them.
pub(crate) fn serialize<S: Serializer>(limits: &RunLimits, to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(Limit::ALL.len() + 1))?;
    for limit in Limit::ALL {
        map.serialize_entry(limit.name(), &limits.get(limit))?;
    }
    map.serialize_entry("cpuSeconds", &cpu_seconds(limits))?;
    map.end()
}

/// What [`serialize`] wrote; a limit outside its bounds is refused.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<RunLimits, D::Error> {
    let given = BTreeMap::<String, u64>::deserialize(from)?;
    Limit::ALL.into_iter().try_fold(RunLimits::default(), |limits, limit| match given.get(limit.name()) {
        Some(value) => limits.with(limit, *value).map_err(D::Error::custom),
        None => Ok(limits),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_the_wall_limit_rounded_up_and_one_second() {
        let with = |ms| cpu_seconds(&RunLimits::default().with(Limit::WallMs, ms).unwrap());
        assert_eq!((with(1), with(1000), with(1001), with(10_000)), (2, 2, 3, 11));
    }
}
