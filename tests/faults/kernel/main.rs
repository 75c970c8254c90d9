//! The kernel's side of failing: no memory, no descriptors, no processes, no room on the disk; interrupted calls, stopped processes, and a supervisor that is ended
//! at any moment. Each time nothing may be left, and what was written down has to be whole.
//!
//! Programs under test are started for themselves alone, so that what is taken from them is not taken from the tests. `CODEMODE_LONG=1` turns on full lengths.

mod ended;
mod paused;
mod scarce;
mod storm;

use std::sync::{Mutex, MutexGuard, PoisonError};

static TURN: Mutex<()> = Mutex::new(());

/// Each of these tests counts processes; one at a time.
fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether full lengths are wanted.
fn is_long() -> bool {
    std::env::var_os("CODEMODE_LONG").is_some_and(|value| value == "1")
}

/// Both ways of starting a child.
const WAYS: [&str; 2] = ["spawn", "template"];
