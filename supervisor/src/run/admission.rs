//! How many runs go on at once, and how many may wait for their turn.
//!
//! A caller that starts runs faster than they end is told so, by name and at once. Nothing piles up without a bound: neither processes nor bodies in memory.
//!
//! Most bodies are over in a few milliseconds, and more of them at once than the processors can serve only makes all of them late. So of the runs that are let in a
//! few begin at a time; one that waits for a tool or a person, or goes on for long, is in nobody's way to begin.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{AbortHandle, JoinHandle};

/// Runs that begin at once, for each processor: while one child ends another runs and a third is made.
const BEGINNING_EACH: usize = 4;

/// A run that is not over after this time, its launch included, lets the next one begin: ten times an ordinary run.
const BEGINNING: Duration = Duration::from_millis(50);

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
    beginnings: Arc<Semaphore>,
    /// Runs inside and in the queue.
    taken: Arc<AtomicUsize>,
}

impl Door {
    pub(crate) fn new(admission: Admission) -> Door {
        let admission = Admission { running: admission.running.clamp(1, Semaphore::MAX_PERMITS), ..admission };
        let beginning = BEGINNING_EACH * available_parallelism().map_or(1, usize::from);
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        Door { admission, turns: semaphore(admission.running), beginnings: semaphore(beginning), taken: Arc::default() }
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
        let (turns, beginnings) = (Arc::clone(&self.turns), Arc::clone(&self.beginnings));
        Ok(Place { turns, beginnings, turn: None, beginning: None, taken: Arc::clone(&self.taken) })
    }
}

/// A run's place. It is given up by dropping it.
#[derive(Debug)]
pub(crate) struct Place {
    turns: Arc<Semaphore>,
    beginnings: Arc<Semaphore>,
    turn: Option<OwnedSemaphorePermit>,
    /// Keeps the right to begin until it is over.
    beginning: Option<JoinHandle<()>>,
    taken: Arc<AtomicUsize>,
}

impl Place {
    /// Waits for this run's turn.
    pub(crate) async fn turn(&mut self) -> Beginning {
        // Nobody closes the semaphores.
        self.turn = Arc::clone(&self.turns).acquire_owned().await.ok();
        let beginning = Arc::clone(&self.beginnings).acquire_owned().await.ok();
        let beginning = self.beginning.insert(tokio::spawn(async move {
            tokio::time::sleep(BEGINNING).await;
            drop(beginning);
        }));
        Beginning(beginning.abort_handle())
    }
}

/// That a run begins, and others wait for it.
#[derive(Debug)]
pub(crate) struct Beginning(AbortHandle);

impl Beginning {
    /// Lets the next one begin.
    pub(crate) fn end(&self) {
        self.0.abort();
    }

    /// Whether the next one may begin already.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_finished()
    }

    #[cfg(test)]
    pub(crate) fn of(task: &JoinHandle<()>) -> Beginning {
        Beginning(task.abort_handle())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(beginning) = &self.beginning {
            beginning.abort();
        }
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
    async fn who_goes_on_for_long_keeps_nobody_from_beginning() {
        let door = Door::new(Admission::default());
        let few = door.beginnings.available_permits();
        let mut places = Vec::new();
        for _ in 0..=few {
            let mut place = door.enter().unwrap();
            let begun = timeout(SOON, place.turn()).await;
            assert_eq!(begun.is_ok(), places.len() < few, "{few} begin at once");
            places.push(place);
        }
        timeout(BEGINNING * 4, places[few].turn()).await.expect("the first have gone on for long by now");
        drop(places);
        tokio::task::yield_now().await;
        assert_eq!(door.beginnings.available_permits(), few, "an end gives it back at once");
    }

    #[tokio::test]
    async fn who_says_that_it_waits_lets_the_next_one_begin_at_once_and_only_one() {
        let door = Door::new(Admission::default());
        let few = door.beginnings.available_permits();
        let mut places: Vec<Place> = (0..few + 2).map(|_| door.enter().unwrap()).collect();
        let mut begun = Vec::new();
        for place in &mut places[..few] {
            begun.push(place.turn().await);
        }
        begun[0].end();
        timeout(SOON, places[few].turn()).await.expect("it takes the place of the one that waits");
        assert!(begun[0].is_over() && !begun[1].is_over());
        assert!(timeout(SOON, places[few + 1].turn()).await.is_err(), "the others still begin");
    }

    #[tokio::test]
    async fn no_queue_and_no_room_at_all_still_let_one_run() {
        let door = Door::new(Admission { running: 0, waiting: 0 });
        let mut only = door.enter().unwrap();
        only.turn().await;
        assert_eq!(door.enter().unwrap_err().code, ErrorCode::Busy);
    }
}
