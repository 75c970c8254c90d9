//! The user's wish to stop.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Listens for the signals that ask a program to end.
#[derive(Debug)]
pub(super) struct Stop {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Stop {
    /// From here on a signal is ours to answer.
    pub(super) fn listen() -> io::Result<Stop> {
        let on = |kind| signal(kind);
        // A file at its limit (`ulimit -f`) asks a program to end as well. Ours hears of it from the write, and goes on without its log. Once heard, a
        // signal stays heard, whatever becomes of this handle.
        drop(on(SignalKind::from_raw(libc::SIGXFSZ))?);
        Ok(Stop { interrupt: on(SignalKind::interrupt())?, terminate: on(SignalKind::terminate())?, hangup: on(SignalKind::hangup())? })
    }

    /// Waits for the next one. Cancel-safe.
    pub(super) async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
