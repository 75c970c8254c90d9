//! The thread that keeps a template alive and forks ready.
//!
//! It has a runtime of its own: a waiting fork belongs to no caller's runtime until it is taken.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::host::{Host, Waiting};
use super::load::Load;
use super::{LaunchError, LaunchOrder, Rehearsal, lend, serves, sys};
use crate::launch::start::Starter;

/// Rehearsals of a fork that will wait: its run finds its pages in place.
const DRY_RUNS: u64 = 1;

/// First and last pause between two tries to start a template.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(5));

/// Tries in a row after which the template way counts as unusable here, until a try of the slow rhythm succeeds.
const TRIES: u32 = 5;

/// The slow rhythm: what kept a template from starting may have passed, e.g. a moment without descriptors.
const TRY_AGAIN: Duration = Duration::from_secs(60);

/// How long a run waits for a fork of its own. A template starts in 25 ms and forks in 4, so it is one that hangs; the run goes the other way.
const DEMAND: Duration = Duration::from_secs(2);

/// How often age and idleness are looked at.
const TICK: Duration = Duration::from_secs(1);

/// The handle to the thread. Dropping it ends the template and what waits.
#[derive(Debug)]
pub(super) struct Keeper {
    shared: Arc<Shared>,
    /// There until it is dropped.
    jobs: Option<mpsc::UnboundedSender<Job>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Keeper {
    /// Waits for the thread, which waits for nothing then: a process that ends right after this leaves no half-started Node behind. One that has not yet
    /// raised its walls, or is no Node, would not notice.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, its runtime took everything down with it.
            let _ = thread.join();
        }
    }
}

#[derive(Debug)]
struct Shared {
    starter: Arc<Starter>,
    rehearsal: Arc<Rehearsal>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    waiting: VecDeque<Waiting>,
    load: Load,
    template_pid: Option<i32>,
    usable: bool,
    /// Whether this host lets a waiting fork be given other limits.
    can_lend: bool,
}

#[derive(Debug)]
enum Job {
    /// One was taken: make up for it.
    Taken,
    /// One is wanted now.
    Demand(LaunchOrder, oneshot::Sender<Waiting>),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // No code under the lock can panic half-way through a change.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper {
    pub(super) fn start(starter: Arc<Starter>, rehearsal: Arc<Rehearsal>) -> io::Result<Keeper> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let load = Load::new(Instant::now(), processors);
        let inner = Inner { waiting: VecDeque::new(), load, template_pid: None, usable: true, can_lend: true };
        let shared = Arc::new(Shared { starter, rehearsal, inner: Mutex::new(inner) });
        let (jobs, work) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let kept = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("codemode-keeper".to_owned())
            .spawn(move || runtime.block_on(Keep::new(kept, 2 * processors).run(work)))?;
        Ok(Keeper { shared, jobs: Some(jobs), thread: Some(thread) })
    }

    /// A waiting fork, with the limits of `order`.
    pub(super) fn take(&self, order: LaunchOrder) -> Option<Waiting> {
        let waiting = {
            let mut inner = self.shared.lock();
            inner.load.wanted(Instant::now());
            // All that wait are armed alike.
            if !inner.can_lend && inner.waiting.front().is_some_and(|waiting| !serves(waiting, order)) {
                return None;
            }
            loop {
                let first = inner.waiting.pop_front();
                // What ended while it waited (the kernel's memory killer takes any process) is no run's verdict.
                if first.as_ref().is_none_or(|waiting| !sys::has_ended(waiting.child.pid())) {
                    break first;
                }
            }
        };
        let waiting = waiting?;
        if !serves(&waiting, order) && lend(&waiting, order).is_err() {
            // Not tried again: what the host forbids once it forbids always, and each try costs a fork.
            self.shared.lock().can_lend = false;
            let _ = self.send(Job::Taken);
            return None;
        }
        // Without the thread nothing can be made up for: then there is no next one either, and the caller starts a Node.
        let _ = self.send(Job::Taken);
        Some(waiting)
    }

    fn send(&self, job: Job) -> Option<()> {
        self.jobs.as_ref()?.send(job).ok()
    }

    /// A fork made for this order; nothing when there is no template to fork.
    pub(super) async fn demand(&self, order: LaunchOrder) -> Option<Waiting> {
        if !self.shared.lock().usable {
            return None;
        }
        let (reply, answer) = oneshot::channel();
        self.send(Job::Demand(order, reply))?;
        // One that comes later waits for another run.
        tokio::time::timeout(DEMAND, answer).await.ok()?.ok()
    }

    pub(super) fn template_pid(&self) -> Option<i32> {
        self.shared.lock().template_pid
    }

    pub(super) fn waiting(&self) -> usize {
        self.shared.lock().waiting.len()
    }
}

/// What came of something that was under way.
enum Done {
    Started(Result<Arc<Host>, String>),
    Died(Arc<Host>),
    Forked(Result<Waiting, LaunchError>, Option<(LaunchOrder, oneshot::Sender<Waiting>)>),
    Paused,
}

/// The thread's state.
struct Keep {
    shared: Arc<Shared>,
    host: Option<Arc<Host>>,
    starting: bool,
    failures: u32,
    forking: usize,
    refilling: usize,
    most_forking: usize,
    wanted: VecDeque<(LaunchOrder, oneshot::Sender<Waiting>)>,
    under_way: JoinSet<Done>,
}

impl Keep {
    fn new(shared: Arc<Shared>, most_forking: usize) -> Keep {
        Keep {
            shared,
            host: None,
            starting: false,
            failures: 0,
            forking: 0,
            refilling: 0,
            most_forking,
            wanted: VecDeque::new(),
            under_way: JoinSet::new(),
        }
    }

    async fn run(mut self, mut work: mpsc::UnboundedReceiver<Job>) {
        let mut tick = tokio::time::interval(TICK);
        self.start_host(Duration::ZERO);
        loop {
            self.fork_as_needed();
            tokio::select! {
                biased;
                Some(done) = self.under_way.join_next() => {
                    // A task of ours that panicked took its fork with it; the demand behind it is answered by its dropped channel.
                    if let Ok(done) = done {
                        self.settle(done);
                    }
                }
                job = work.recv() => match job {
                    Some(Job::Taken) => {}
                    Some(Job::Demand(order, reply)) => self.wanted.push_back((order, reply)),
                    None => return,
                },
                _ = tick.tick() => self.look_around(),
            }
        }
    }

    fn start_host(&mut self, pause: Duration) {
        if self.starting {
            return;
        }
        self.starting = true;
        let (starter, rehearsal) = (Arc::clone(&self.shared.starter), Arc::clone(&self.shared.rehearsal));
        self.under_way.spawn(async move {
            tokio::time::sleep(pause).await;
            let host = match Host::start(starter).await {
                Ok(host) => host,
                Err(error) => return Done::Started(Err(error.to_string())),
            };
            Done::Started(host.passes_self_test(&rehearsal).await.map(|()| Arc::new(host)))
        });
    }

    fn settle(&mut self, done: Done) {
        match done {
            Done::Started(Ok(host)) => {
                self.starting = false;
                self.failures = 0;
                self.shared.lock().usable = true;
                self.watch(&host);
                // The one before it, if any, ends when its last fork order is answered.
                self.host = Some(host);
            }
            Done::Started(Err(reason)) => {
                self.starting = false;
                self.failures += 1;
                tracing::warn!(reason, "no template");
                let usable = self.failures < TRIES;
                self.shared.lock().usable = usable || self.host.is_some();
                if self.host.is_none() {
                    // Nobody waits for a template that does not come: their launches go the other way.
                    self.wanted.clear();
                }
                let (first, last) = BACK_OFF;
                let pause = if usable { (first * 2_u32.saturating_pow(self.failures - 1)).min(last) } else { TRY_AGAIN };
                self.start_host(pause);
            }
            Done::Died(host) => self.lose(&host),
            Done::Forked(result, demand) => {
                self.forking -= 1;
                self.refilling -= usize::from(demand.is_none());
                self.deliver(result, demand);
            }
            Done::Paused => {}
        }
    }

    fn deliver(&mut self, result: Result<Waiting, LaunchError>, demand: Option<(LaunchOrder, oneshot::Sender<Waiting>)>) {
        match (result, demand) {
            (Ok(waiting), Some((_, reply))) => {
                // Given up meanwhile: it waits for another.
                if let Err(waiting) = reply.send(waiting) {
                    self.keep(waiting);
                }
            }
            (Ok(waiting), None) => self.keep(waiting),
            (Err(error), demand) => {
                tracing::warn!(%error, "no fork");
                // The dropped reply sends that launch the other way. A refill that failed is tried again at the next look around, not at once.
                drop(demand);
                if let Some(host) = self.host.clone()
                    && host.is_lost()
                {
                    self.lose(&host);
                }
            }
        }
    }

    fn keep(&self, waiting: Waiting) {
        let usual = self.shared.rehearsal.usual;
        // One with limits of its own serves only the run it was made for.
        if waiting.order == usual {
            self.shared.lock().waiting.push_back(waiting);
        }
    }

    /// Tells when this host's process ends.
    fn watch(&mut self, host: &Arc<Host>) {
        let (host, shared) = (Arc::downgrade(host), Arc::clone(&self.shared));
        self.under_way.spawn(async move {
            let Some(strong) = host.upgrade() else { return Done::Paused };
            let Ok(pidfd) = strong.pidfd().await else { return Done::Died(strong) };
            shared.lock().template_pid = Some(strong.pid());
            drop(strong);
            if let Ok(pidfd) = sys::watch(pidfd) {
                let _ = AsyncFd::readable(&pidfd).await;
            }
            host.upgrade().map_or(Done::Paused, Done::Died)
        });
    }

    fn lose(&mut self, host: &Arc<Host>) {
        if self.host.as_ref().is_some_and(|current| Arc::ptr_eq(current, host)) {
            self.host = None;
            self.shared.lock().template_pid = None;
            self.start_host(Duration::ZERO);
        }
    }

    fn look_around(&mut self) {
        if self.host.as_ref().is_some_and(|host| host.is_old()) {
            // The old one serves until the new one stands.
            self.start_host(Duration::ZERO);
        }
        let mut inner = self.shared.lock();
        let target = inner.load.target(Instant::now());
        while inner.waiting.len() > target {
            inner.waiting.pop_back();
        }
    }

    fn fork_as_needed(&mut self) {
        let Some(host) = self.host.clone() else { return };
        let (usual, hard_memory) = (self.shared.rehearsal.usual, self.shared.rehearsal.hard_memory);
        while self.forking < self.most_forking {
            // Whoever waits comes first, and without rehearsal: that would only be more to wait for.
            let demand = self.wanted.pop_front();
            let (order, dry_runs) = match &demand {
                Some((_, reply)) if reply.is_closed() => continue,
                Some((order, _)) => (*order, 0),
                None => {
                    let mut inner = self.shared.lock();
                    let (coming, target) = (inner.waiting.len() + self.refilling, inner.load.target(Instant::now()));
                    if coming >= target {
                        return;
                    }
                    // Running low, a fork that comes soon is worth more than one that is fast.
                    (usual, if coming * 2 < target { 0 } else { DRY_RUNS })
                }
            };
            self.forking += 1;
            self.refilling += usize::from(demand.is_none());
            let host = Arc::clone(&host);
            self.under_way.spawn(async move {
                let hard = if order == usual { hard_memory } else { order.memory_bytes };
                Done::Forked(host.fork(order, hard, dry_runs).await, demand)
            });
        }
    }
}
