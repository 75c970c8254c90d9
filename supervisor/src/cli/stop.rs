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
