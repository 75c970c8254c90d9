//! How many runs go on at once, and how many may wait for their turn.
//!
//! A caller that starts runs faster than they end is told so, by name and at once. Nothing piles up without a bound: neither processes nor bodies in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::report::{ErrorCode, RunError};

/// How much one [`Supervisor`](crate::Supervisor) takes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Admission {
    /// Runs that go on at once, at least 1. Each is a process.
    pub running: usize,
    /// Runs that wait for their turn, first come, first served. One more is refused as `busy`. The time in the queue is `timing.launchMs`, and counts for
    /// the run's ceiling, not for the body's clock.
    pub waiting: usize,
}

impl Default for Admission {
    /// 64 at once: a body that waits for a tool or a person costs 4 MiB and no processor, one that computes takes turns. 1,024 waiting: at 10 ms a run on one of two
    /// processors the last has its turn within the default wall clock, and their bodies at the default limit are 256 MiB.
    fn default() -> Self {
        Admission { running: 64, waiting: 1_024 }
    }
}

/// The door of one supervisor.
#[derive(Debug)]
pub(crate) struct Door {
    admission: Admission,
    turns: Arc<Semaphore>,
    /// Runs inside and in the queue.
    taken: Arc<AtomicUsize>,
}

impl Door {
    pub(crate) fn new(admission: Admission) -> Door {
        let admission = Admission { running: admission.running.clamp(1, Semaphore::MAX_PERMITS), ..admission };
        Door { admission, turns: Arc::new(Semaphore::new(admission.running)), taken: Arc::default() }
    }

    /// A place in the queue, or the refusal.
    pub(crate) fn enter(&self) -> Result<Place, RunError> {
        let Admission { running, waiting } = self.admission;
        let most = running.saturating_add(waiting);
        let place = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| (taken < most).then_some(taken + 1));
        if place.is_err() {
            let message =
                format!("{running} runs go on and {waiting} wait\nstart this one again later, or let the supervisor take on more");
            return Err(RunError::new(ErrorCode::Busy, message));
        }
        Ok(Place { turns: Arc::clone(&self.turns), turn: None, taken: Arc::clone(&self.taken) })
    }
}

/// A run's place. It is given up by dropping it.
#[derive(Debug)]
pub(crate) struct Place {
    turns: Arc<Semaphore>,
    turn: Option<OwnedSemaphorePermit>,
    taken: Arc<AtomicUsize>,
}

impl Place {
    /// Waits for this run's turn. Cancel-safe, at the price of the place in the order.
    pub(crate) async fn turn(&mut self) {
        if self.turn.is_none() {
            // Nobody closes it.
            self.turn = Arc::clone(&self.turns).acquire_owned().await.ok();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn who_comes_too_many_is_refused_by_name_and_a_place_that_is_given_up_is_free() {
        let door = Door::new(Admission { running: 1, waiting: 1 });
        let mut first = door.enter().unwrap();
        let mut second = door.enter().unwrap();
        assert_eq!(door.enter().unwrap_err().code, ErrorCode::Busy);
        first.turn().await;
        assert!(timeout(SOON, second.turn()).await.is_err(), "one at a time");
        drop(first);
        timeout(SOON, second.turn()).await.unwrap();
        drop(door.enter().unwrap());
        let third = door.enter().unwrap();
        assert_eq!(door.enter().unwrap_err().code, ErrorCode::Busy);
        drop((second, third));
        door.enter().unwrap();
    }

    #[tokio::test]
    async fn no_queue_and_no_room_at_all_still_let_one_run() {
        let door = Door::new(Admission { running: 0, waiting: 0 });
        let mut only = door.enter().unwrap();
        only.turn().await;
        assert_eq!(door.enter().unwrap_err().code, ErrorCode::Busy);
    }
}
