//! What a worker publishes of itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::Subscriber;
use futures_util::StreamExt;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::serving::Doctor;
use crate::fleet::FleetError;
use crate::fleet::post::Post;

/// How often a status is published. NATS keeps nothing: who comes later has it within this time, or asks.
const EVERY: Duration = Duration::from_secs(5);

/// How soon after the last one, at the earliest: however many ask, the answer is one message for all.
const AT_MOST_EVERY: Duration = Duration::from_millis(100);

/// How much a worker has to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct WorkerStatus {
    /// Runs that it can do at once.
    pub places: usize,
    /// Those that it could take now.
    pub free: usize,
    /// Whether it takes none any more.
    pub draining: bool,
    /// Runs that ended here because their gateway was lost: silent, gone, or taking nothing.
    pub lost: u64,
    /// Runs that ended here because a message was forged, missing, or none of this wire. Nobody but this worker hears of them; more than none now and then is
    /// somebody who must not be there, or a NATS that loses messages.
    pub broken: u64,
}

/// Counts, since the worker began, what went wrong between it and gateways.
#[derive(Debug, Default)]
pub(super) struct Tally {
    lost: AtomicU64,
    broken: AtomicU64,
}

impl Tally {
    pub(super) fn lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn broken(&self) {
        self.broken.fetch_add(1, Ordering::Relaxed);
    }

    /// With the rest of the status.
    pub(super) fn status(&self, places: usize, free: usize, draining: bool) -> WorkerStatus {
        let [lost, broken] = [&self.lost, &self.broken].map(|count| count.load(Ordering::Relaxed));
        WorkerStatus { places, free, draining, lost, broken }
    }
}

/// The message.
#[derive(Serialize)]
struct Text<'a> {
    worker: &'a str,
    version: &'static str,
    #[serde(flatten)]
    status: WorkerStatus,
    /// `null` until it is known.
    doctor: Option<&'a RawValue>,
}

/// Publishes the status of one worker.
#[derive(Debug)]
pub(super) struct Herald<'a> {
    post: &'a Post,
    asked: tokio::sync::Mutex<Subscriber>,
    doctor: watch::Receiver<Doctor>,
}

impl Herald<'_> {
    pub(super) async fn open(post: &Post, doctor: watch::Receiver<Doctor>) -> Result<Herald<'_>, FleetError> {
        let asked = post.subscribe(post.subjects().ask_status(), None).await?;
        Ok(Herald { post, asked: tokio::sync::Mutex::new(asked), doctor })
    }

    /// Publishes it now.
    pub(super) async fn tell(&self, status: WorkerStatus) {
        let doctor = self.doctor.borrow().clone();
        let text = Text { worker: self.post.name().as_str(), version: env!("CARGO_PKG_VERSION"), status, doctor: doctor.as_deref() };
        // Texts and numbers. A doctor's page of more than a message is left out: the rest is what a gateway needs.
        let Ok(whole) = serde_json::to_vec(&text) else { return };
        let fits = whole.len() <= self.post.max_payload();
        let message = if fits { whole } else { serde_json::to_vec(&Text { doctor: None, ..text }).unwrap_or_default() };
        // Who misses it gets the next one.
        let _ = self.post.send(&self.post.subjects().status(self.post.name()), message).await;
    }

    /// Publishes it again and again, and when somebody asks. Ends when the connection does.
    pub(super) async fn keep_telling(&self, status: impl Fn() -> WorkerStatus) -> FleetError {
        let mut asked = self.asked.lock().await;
        let mut doctor = self.doctor.clone();
        let mut is_known = false;
        loop {
            self.tell(status()).await;
            let told = Instant::now();
            tokio::select! {
                () = sleep_until(told + EVERY) => {}
                // News of the doctor are told at once; without one there are none.
                found = doctor.changed(), if !is_known => is_known = found.is_err() || doctor.borrow().is_some(),
                question = asked.next() => {
                    if question.is_none() || all_asked(&mut asked, told + AT_MOST_EVERY).await.is_err() {
                        return FleetError::Closed;
                    }
                }
            }
        }
    }
}

/// Takes every question until then: they have one answer, and do not wait in memory for one each, whatever they carry.
async fn all_asked(asked: &mut Subscriber, until: Instant) -> Result<(), FleetError> {
    loop {
        tokio::select! {
            biased;
            () = sleep_until(until) => return Ok(()),
            question = asked.next() => drop(question.ok_or(FleetError::Closed)?),
        }
    }
}
