//! What a worker publishes of itself.

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
                    if question.is_none() {
                        return FleetError::Closed;
                    }
                    sleep_until(told + AT_MOST_EVERY).await;
                }
            }
        }
    }
}
