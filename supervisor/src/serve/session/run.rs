//! One run of a gateway: waits for its turn, runs, tells what the gateway wants to hear.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use codemode_protocol::gateway::{RunName, Wants};
use tokio::sync::watch;

use super::{Host, Line, Slot, Turn, told};
use crate::catalog::Catalog;
use crate::catalog::gateway::Peer;
use crate::modes::{note_end, note_event, note_start};
use crate::run::{RunReport, RunRequest, never_begun};

/// The runs of one session that go on or wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs(Arc<Mutex<Register>>);

#[derive(Debug, Default)]
struct Register {
    runs: HashMap<RunName, Registered>,
    held_bytes: usize,
    /// Somebody who waits until there are none.
    count: watch::Sender<usize>,
}

#[derive(Debug)]
struct Registered {
    cancel: watch::Sender<bool>,
    bytes: usize,
}

/// Why a run is not taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NotTaken {
    Exists,
    TooMany,
    TooLarge,
}

/// A run's place among the runs of its session, as long as it goes on.
#[derive(Debug)]
pub(super) struct Place {
    runs: Runs,
    name: RunName,
    cancelled: watch::Receiver<bool>,
}

impl Runs {
    /// Takes a run whose `run.start` has so many bytes.
    pub(super) fn enter(&self, name: &RunName, bytes: usize, host: &Host) -> Result<Place, NotTaken> {
        let mut register = self.register();
        if register.runs.contains_key(name) {
            return Err(NotTaken::Exists);
        }
        if register.runs.len() >= host.limits.runs {
            return Err(NotTaken::TooMany);
        }
        // One always fits: else a large one could never run.
        if !register.runs.is_empty() && register.held_bytes + bytes > host.limits.held_bytes {
            return Err(NotTaken::TooLarge);
        }
        let (cancel, cancelled) = watch::channel(false);
        register.held_bytes += bytes;
        register.runs.insert(name.clone(), Registered { cancel, bytes });
        let count = register.runs.len();
        register.count.send_replace(count);
        Ok(Place { runs: self.clone(), name: name.clone(), cancelled })
    }

    /// Whether there is such a run; it is cancelled then.
    pub(super) fn cancel(&self, name: &RunName) -> bool {
        let register = self.register();
        register.runs.get(name).is_some_and(|run| {
            run.cancel.send_replace(true);
            true
        })
    }

    pub(super) fn cancel_all(&self) {
        self.register().runs.values().for_each(|run| _ = run.cancel.send_replace(true));
    }

    /// Waits until there are none. Cancel-safe.
    pub(super) async fn none(&self) {
        let mut count = self.register().count.subscribe();
        // The sender lives in `self`.
        let _ = count.wait_for(|count| *count == 0).await;
    }

    fn register(&self) -> MutexGuard<'_, Register> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Waits until the run is cancelled. Cancel-safe.
    async fn cancelled(&mut self) {
        // The sender lives as long as the place.
        let _ = self.cancelled.wait_for(|cancelled| *cancelled).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut register = self.runs.register();
        if let Some(run) = register.runs.remove(&self.name) {
            register.held_bytes -= run.bytes;
        }
        let count = register.runs.len();
        register.count.send_replace(count);
    }
}

/// A run that was taken.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) host: Host,
    pub(super) peer: Peer,
    pub(super) place: Place,
    pub(super) turn: Turn,
    pub(super) line: Arc<Line>,
    pub(super) wants: Wants,
    pub(super) request: RunRequest,
    pub(super) catalog: Arc<dyn Catalog>,
}

impl Job {
    /// To its last notice.
    pub(super) async fn done(self) {
        let Job { host, peer, mut place, turn, line, wants, request, catalog } = self;
        let name = place.name.clone();
        let slot = tokio::select! {
            biased;
            () = place.cancelled() => None,
            slot = begins(turn, &line, &peer) => Some(slot),
        };
        let report = match slot {
            None => never_begun(&*catalog, request.limits),
            // The slot is the next one's as soon as the child is reaped, whatever becomes of the report.
            Some(_slot) => run(&host, &peer, &mut place, wants, request, catalog).await,
        };
        if let Some(notice) = told::finished(&name, report) {
            // Without a connection there is nobody to tell.
            let _ = peer.tell(notice).await;
        }
        // Only now the name is free: what comes under it later is another run.
        drop(place);
    }
}

/// Waits for this run's turn, and until the gateway has read enough for a report to have somewhere to go: reports are large, and a gateway that does not read
/// must not have all of its runs done and kept. The slot is another's meanwhile.
async fn begins(mut turn: Turn, line: &Line, peer: &Peer) -> Slot {
    loop {
        let slot = turn.await;
        if peer.has_room() {
            return slot;
        }
        drop(slot);
        peer.room().await;
        turn = line.join();
    }
}

async fn run(host: &Host, peer: &Peer, place: &mut Place, wants: Wants, request: RunRequest, catalog: Arc<dyn Catalog>) -> RunReport {
    let name = place.name.clone();
    let recorder = host.recorder.clone().with_session(request.context.session.clone());
    let run_id: Arc<str> = name.as_str().into();
    note_start(&recorder, &run_id, &request);
    let catalog = if recorder.is_logging() { recorder.watch(catalog, Arc::clone(&run_id)) } else { catalog };
    let mut handle = host.runner.start(request, catalog);
    let mut heard_cancel = false;
    loop {
        let event = tokio::select! {
            biased;
            () = place.cancelled(), if !heard_cancel => {
                heard_cancel = true;
                handle.cancel();
                continue;
            }
            event = handle.event() => event,
        };
        let Some(event) = event else { break };
        note_event(&recorder, &run_id, &event);
        let Some(notice) = told::notice(&name, wants, &event) else { continue };
        // A gateway that does not read must not keep a run from being cancelled.
        tokio::select! {
            biased;
            () = place.cancelled(), if !heard_cancel => {
                heard_cancel = true;
                handle.cancel();
            }
            _ = peer.tell(notice) => {}
        }
    }
    let report = handle.finished().await;
    note_end(&recorder, &run_id, &report);
    report
}
