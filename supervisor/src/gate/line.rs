//! The line of one run's calls before a person: one question at a time, in the order in which the calls were made.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Those who stand in line, by the number of their call.
#[derive(Debug, Default)]
pub(super) struct Line {
    standing: Mutex<BTreeSet<u64>>,
    moved: Notify,
}

impl Line {
    /// Joins the line. A call stands in it from its first step on: one whose hook is slow is still asked about before those that were made after it.
    pub(super) fn join(self: &Arc<Line>, seq: u64) -> Place {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).insert(seq);
        Place { line: Arc::clone(self), seq }
    }

    fn is_first(&self, seq: u64) -> bool {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).first() == Some(&seq)
    }
}

/// A place in the line; left by dropping it.
#[derive(Debug)]
pub(crate) struct Place {
    line: Arc<Line>,
    pub(super) seq: u64,
}

impl Place {
    /// Waits until nobody stands before it. Cancel-safe.
    pub(super) async fn turn(&self) {
        loop {
            let moved = self.line.moved.notified();
            tokio::pin!(moved);
            // From here on no move is missed.
            moved.as_mut().enable();
            if self.line.is_first(self.seq) {
                return;
            }
            moved.await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.line.standing.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.seq);
        self.line.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_lowest_number_is_first_whoever_waits_first_and_a_place_that_is_left_moves_the_line() {
        let line = Arc::new(Line::default());
        let places: Vec<Place> = (1..=3).map(|seq| line.join(seq)).collect();
        let order = Arc::new(Mutex::new(Vec::new()));
        let waiting: Vec<_> = places
            .into_iter()
            .rev()
            .map(|place| {
                let order = Arc::clone(&order);
                tokio::spawn(async move {
                    place.turn().await;
                    order.lock().unwrap().push(place.seq);
                })
            })
            .collect();
        for one in waiting {
            one.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [1, 2, 3]);
        let (first, second) = (line.join(7), line.join(8));
        drop(first);
        second.turn().await;
    }
}
