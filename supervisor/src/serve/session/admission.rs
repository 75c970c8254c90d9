//! Whose run begins next: so many at once, and each connection in its turn.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::sync::oneshot;

/// Lets runs begin: at most so many go on at once, and when one may begin, the connections that wait take turns, however many runs each of them has waiting.
#[derive(Clone, Debug)]
pub struct Admission(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    last: u64,
    lines: HashMap<u64, VecDeque<(u64, oneshot::Sender<Slot>)>>,
    /// The lines in which somebody waits, the next one first.
    ring: VecDeque<u64>,
}

/// Where the runs of one connection wait.
#[derive(Debug)]
pub struct Line {
    admission: Admission,
    number: u64,
}

/// A run that waits for its turn. Dropping it leaves the line.
#[derive(Debug)]
pub struct Turn {
    admission: Admission,
    line: u64,
    number: u64,
    slot: oneshot::Receiver<Slot>,
}

/// A run that may go on. Dropping it lets the next one begin.
#[derive(Debug)]
pub struct Slot(Option<Admission>);

impl Admission {
    /// At most so many at once; at least one.
    pub fn new(at_once: usize) -> Admission {
        let state = State { free: at_once.max(1), last: 0, lines: HashMap::new(), ring: VecDeque::new() };
        Admission(Arc::new(Mutex::new(state)))
    }

    /// A line for a new connection.
    pub fn line(&self) -> Line {
        let number = self.state().next();
        Line { admission: self.clone(), number }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives what is free to who is next.
    fn grant(&self) {
        loop {
            let Some(sender) = self.state().take_next() else { return };
            // Who has left meanwhile did not take it: it is the next one's.
            if let Err(mut untaken) = sender.send(Slot(Some(self.clone()))) {
                untaken.0 = None;
                self.state().free += 1;
            }
        }
    }
}

impl State {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn take_next(&mut self) -> Option<oneshot::Sender<Slot>> {
        if self.free == 0 {
            return None;
        }
        let line = self.ring.pop_front()?;
        let waiting = self.lines.get_mut(&line)?;
        let (_, sender) = waiting.pop_front()?;
        if waiting.is_empty() {
            self.lines.remove(&line);
        } else {
            self.ring.push_back(line);
        }
        self.free -= 1;
        Some(sender)
    }

    fn leave(&mut self, line: u64, number: u64) {
        let Some(waiting) = self.lines.get_mut(&line) else { return };
        waiting.retain(|(own, _)| *own != number);
        if waiting.is_empty() {
            self.lines.remove(&line);
            self.ring.retain(|own| *own != line);
        }
    }
}

impl Line {
    /// Joins the line.
    pub fn join(&self) -> Turn {
        let (sender, slot) = oneshot::channel();
        let number = {
            let mut state = self.admission.state();
            let number = state.next();
            let waiting = state.lines.entry(self.number).or_default();
            waiting.push_back((number, sender));
            if waiting.len() == 1 {
                state.ring.push_back(self.number);
            }
            number
        };
        self.admission.grant();
        Turn { admission: self.admission.clone(), line: self.number, number, slot }
    }
}

impl Future for Turn {
    type Output = Slot;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Slot> {
        // The sender is never dropped while somebody waits: it leaves the line only with a slot.
        match Pin::new(&mut self.slot).poll(context) {
            Poll::Ready(Ok(slot)) => Poll::Ready(slot),
            Poll::Ready(Err(_)) | Poll::Pending => Poll::Pending,
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.admission.state().leave(self.line, self.number);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(admission) = self.0.take() {
            admission.state().free += 1;
            admission.grant();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slot, if it is this one's turn by now.
    async fn now(turn: &mut Turn) -> Option<Slot> {
        tokio::select! {
            biased;
            slot = turn => Some(slot),
            () = std::future::ready(()) => None,
        }
    }

    #[tokio::test]
    async fn lines_take_turns_whoever_came_first() {
        let admission = Admission::new(1);
        let (greedy, modest) = (admission.line(), admission.line());
        let first = greedy.join().await;
        let mut waiting: Vec<Turn> = (0..10).map(|_| greedy.join()).collect();
        let mut other = modest.join();
        drop(first);
        let slot = now(&mut waiting[0]).await.expect("the greedy one came first");
        assert!(now(&mut other).await.is_none());
        drop(slot);
        let slot = now(&mut other).await.expect("then it is the other's turn, before nine that came earlier");
        assert!(now(&mut waiting[1]).await.is_none());
        drop(slot);
        assert!(now(&mut waiting[1]).await.is_some());
    }

    #[tokio::test]
    async fn so_many_go_on_at_once_and_no_slot_is_lost() {
        let admission = Admission::new(2);
        let line = admission.line();
        let held = [line.join().await, line.join().await];
        let mut third = line.join();
        assert!(now(&mut third).await.is_none());
        // It leaves, and one leaves with a slot that was given and never taken.
        drop(third);
        let untaken = line.join();
        drop(held);
        drop(untaken);
        let _both = [line.join().await, line.join().await];
        assert!(now(&mut line.join()).await.is_none());
    }
}
