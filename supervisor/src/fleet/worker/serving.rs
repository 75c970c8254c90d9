//! A worker, from its connection to its end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;

use super::run;
use super::status::{Herald, Tally};
use crate::fleet::post::Post;
use crate::fleet::subjects::{End, GROUP};
use crate::fleet::{FleetError, FleetSettings, wire};
use crate::run::Runner;
use crate::serve::session::{Host, HostLimits};
use crate::telemetry::Recorder;

/// How long a run that is cancelled may take to be gone: a child is killed within a tenth of a second, and its report has to go out.
const ENDED_WITHIN: Duration = Duration::from_secs(5);

/// How much a worker takes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WorkerLimits {
    /// Runs that go on at once, at least 1. Each is a process.
    pub places: usize,
    /// How long runs that go on have when the worker is to end; then they are cancelled.
    pub drain: Duration,
}

impl Default for WorkerLimits {
    /// 32 places: as many as one run may have calls in flight; a body that waits for a tool takes no processor. 15 s to drain: the usual wall clock, and some; what stops services
    /// waits for 30 s or more before it kills.
    fn default() -> WorkerLimits {
        WorkerLimits { places: 32, drain: Duration::from_secs(15) }
    }
}

/// How a worker ended that was asked to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Drained {
    /// Runs that went on when it was asked.
    pub running: usize,
    /// Those of them that had to be cancelled.
    pub cancelled: usize,
}

/// What the doctor found; `None` while it is not known.
pub type Doctor = Option<Box<RawValue>>;

/// Runs bodies for the gateways of a fleet.
#[derive(Debug)]
pub struct Worker {
    post: Arc<Post>,
    host: Host,
    limits: WorkerLimits,
    doctor: watch::Receiver<Doctor>,
}

impl Worker {
    /// Connects. Nothing is claimed before [`Worker::serve`].
    ///
    /// # Errors
    ///
    /// [`FleetError`].
    pub async fn connect(settings: &FleetSettings, runner: impl Runner + 'static, limits: WorkerLimits) -> Result<Worker, FleetError> {
        let limits = WorkerLimits { places: limits.places.clamp(1, Semaphore::MAX_PERMITS), ..limits };
        let post = Arc::new(Post::open(settings, End::Worker).await?);
        // Each session has one run, and whoever has a place need not wait for a turn.
        let host = Host::new(runner, HostLimits { at_once: limits.places, runs: 1, ..HostLimits::default() });
        Ok(Worker { post, host, limits, doctor: watch::channel(None).1 })
    }

    /// The same, which notes what happens.
    #[must_use]
    pub fn with_recorder(mut self, recorder: Recorder) -> Worker {
        self.host = self.host.with_recorder(recorder);
        self
    }

    /// The same, which publishes what the doctor finds on this host, any JSON, as soon as it is known.
    #[must_use]
    pub fn with_doctor(mut self, found: watch::Receiver<Doctor>) -> Worker {
        self.doctor = found;
        self
    }

    /// Its name in the fleet.
    pub fn name(&self) -> &str {
        self.post.name().as_str()
    }

    /// Claims and does runs until `stop` is over; then claims none, lets those that go on finish within a bound, cancels the rest, and returns when nothing is left of any.
    ///
    /// # Errors
    ///
    /// When NATS does not let this worker hear what it has to, or the connection is over for good. Nothing is left of any run then, either.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<Drained, FleetError> {
        let Worker { post, host, limits, doctor } = self;
        let places = Arc::new(Semaphore::new(limits.places));
        let herald = Herald::open(&post, doctor).await?;
        let (over, is_over) = watch::channel(false);
        let mut runs = JoinSet::new();
        let tally = Arc::<Tally>::default();
        let told = || tally.status(limits.places, places.available_permits(), host.is_draining());
        let mut stop = std::pin::pin!(stop);
        let served = {
            let mut heralding = std::pin::pin!(herald.keep_telling(&told));
            let mut claiming = std::pin::pin!(claim_all(&post, &host, &tally, &places, &is_over, &mut runs));
            tokio::select! {
                biased;
                () = &mut stop => Ok(()),
                error = post.refused() => Err(error),
                error = &mut claiming => Err(error),
                error = &mut heralding => Err(error),
            }
        };
        host.drain();
        while runs.try_join_next().is_some() {}
        let taken = || limits.places - places.available_permits();
        let running = taken();
        let patience = if served.is_ok() { limits.drain } else { Duration::ZERO };
        let draining = async {
            if timeout(patience, all_of(&mut runs)).await.is_ok() {
                return 0;
            }
            let left = taken();
            over.send_replace(true);
            // Whatever does not end now ends with its task: the children are reaped by their own.
            let _ = timeout(ENDED_WITHIN, all_of(&mut runs)).await;
            left
        };
        let telling = async {
            // Who asks while it drains is told so. Without a connection nobody can.
            herald.keep_telling(&told).await;
            std::future::pending().await
        };
        let cancelled = tokio::select! {
            cancelled = draining => cancelled,
            never = telling => never,
        };
        runs.shutdown().await;
        post.flush().await;
        served.map(|()| Drained { running, cancelled })
    }
}

/// Claims whatever is offered while there is a free place. A worker without one does not listen, so that offers go to others.
async fn claim_all(
    post: &Arc<Post>,
    host: &Host,
    tally: &Arc<Tally>,
    places: &Arc<Semaphore>,
    is_over: &watch::Receiver<bool>,
    runs: &mut JoinSet<()>,
) -> FleetError {
    let mut offers = None;
    loop {
        // A place is taken when there is a run for it: until then it is free, and its status says so. Nobody closes it.
        if places.acquire().await.is_err() {
            return FleetError::Closed;
        }
        while runs.try_join_next().is_some() {}
        let mut listening = match offers.take() {
            Some(listening) => listening,
            None => match post.subscribe(post.subjects().offers(), Some(GROUP)).await {
                Ok(listening) => listening,
                Err(error) => return error,
            },
        };
        let (offer, back) = loop {
            let Some(message) = listening.next().await else { return FleetError::Closed };
            let back = message.reply.as_ref().map(|back| back.to_string()).filter(|back| post.subjects().is_inbox(End::Gateway, back));
            // What is no offer, or wants its answer elsewhere, is nobody's.
            if let (Ok(offer), Some(back)) = (wire::read_offer(&message.payload), back) {
                break (offer, back);
            }
            // However much of it comes, the status goes out.
            yield_now().await;
        };
        // Nobody else takes one.
        let Ok(place) = Arc::clone(places).try_acquire_owned() else { continue };
        runs.spawn(keep(place, run::claim(Arc::clone(post), host.clone(), Arc::clone(tally), offer, back, is_over.clone())));
        if places.available_permits() > 0 {
            offers = Some(listening);
        }
    }
}

/// Waits until none is left. Cancel-safe.
async fn all_of(runs: &mut JoinSet<()>) {
    while runs.join_next().await.is_some() {}
}

/// Keeps the place until the run is over.
async fn keep(place: OwnedSemaphorePermit, run: impl Future<Output = ()>) {
    run.await;
    drop(place);
}
