//! Waiting for a condition, with a bound.

use std::time::{Duration, Instant};

/// How often a condition is looked at.
pub const PACE: Duration = Duration::from_millis(5);

/// Waits until `holds`, at most `patience`. Gives how long it took.
///
/// # Panics
///
/// When it does not hold in time; `what` names the condition.
pub async fn until(what: &str, patience: Duration, mut holds: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    loop {
        if holds() {
            return began.elapsed();
        }
        assert!(began.elapsed() < patience, "not within {patience:?}: {what}");
        tokio::time::sleep(PACE).await;
    }
}
