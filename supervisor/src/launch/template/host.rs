//! One template process: a Node at the gate that is copied for each run and never sees a body.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use codemode_jail::wire::Order;
use nix::sys::socket::SockType;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::super::confirm::{Reports, Trouble};
use super::super::plan::Purpose;
use super::super::start::{AtGate, Starter, host, nonce, pair, pipe};
use super::super::{Child, ExitStatus, Idle, LaunchError, LaunchOrder, WallReport, sys};
use super::Rehearsal;

/// Forks of one template have the same addresses: what one body learns of them, a later one can use. After this many, or after this long, the addresses are
/// new. 5,000 forks are about five seconds of a fully loaded machine, and a new template costs 25 ms of one processor: half a percent.
const FORKS: u32 = 5_000;
/// See [`FORKS`]; for a machine with little to do.
const AGE: Duration = Duration::from_secs(600);

/// A template process.
#[derive(Debug)]
pub(super) struct Host {
    starter: Arc<Starter>,
    /// Held from an order to its answer: they come one after the other.
    conversation: Mutex<(Child, Reports)>,
    pid: i32,
    stage_one: Reports,
    data_bytes: u64,
    born: Instant,
    forks: AtomicU32,
    is_lost: AtomicBool,
    /// Our end of the template's own bridge: its end-of-file would end the template.
    _bridge: OwnedFd,
}

/// A fork that is armed and waits for its run.
#[derive(Debug)]
pub(in super::super) struct Waiting {
    pub(in super::super) child: Idle,
    pub(in super::super) bridge: OwnedFd,
    pub(in super::super) walls: Vec<WallReport>,
    /// What it was armed for.
    pub(in super::super) order: LaunchOrder,
    /// Data memory it had when it was armed, in bytes.
    pub(in super::super) data_bytes: u64,
}

impl Host {
    pub(super) async fn start(starter: Arc<Starter>) -> Result<Host, LaunchError> {
        let AtGate { child, bridge, reports, nonce: _, data_bytes } = starter.start(Purpose::Template).await?;
        Ok(Host {
            starter,
            pid: child.pid(),
            conversation: Mutex::new((child, reports.clone())),
            stage_one: reports,
            data_bytes,
            born: Instant::now(),
            forks: AtomicU32::new(0),
            is_lost: AtomicBool::new(false),
            _bridge: bridge,
        })
    }

    /// Whether its address layout has served long enough.
    pub(super) fn is_old(&self) -> bool {
        self.forks.load(Ordering::Relaxed) >= self.starter.config.forks_per_template(FORKS) || self.born.elapsed() >= AGE
    }

    /// The process id.
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it serves no more: its process has ended, or it has left an order unanswered. The process is our child and stays unreaped until this
    /// value goes.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed) || sys::has_ended(self.pid)
    }

    /// A descriptor of the process. Takes its turn with the orders.
    pub(super) async fn pidfd(&self) -> io::Result<OwnedFd> {
        self.conversation.lock().await.0.pidfd()
    }

    /// Copies the template; the copy is armed with `order` after `dry_runs` rehearsals.
    pub(super) async fn fork(&self, order: LaunchOrder, hard_memory: u64, dry_runs: u64) -> Result<Waiting, LaunchError> {
        self.forks.fetch_add(1, Ordering::Relaxed);
        let nonce = nonce()?;
        let (bridge, bridge_child) = pair(SockType::Stream)?;
        let (report, report_child) = pair(SockType::SeqPacket)?;
        let (stderr, stderr_child) = pipe()?;
        let message = Order {
            nonce,
            data_soft: self.data_bytes.saturating_add(order.memory_bytes),
            data_hard: self.data_bytes.saturating_add(hard_memory.max(order.memory_bytes)),
            cpu_seconds: order.cpu_seconds,
            dry_runs,
        };
        let forked = {
            let mut conversation = self.conversation.lock().await;
            let (template, reports) = &mut *conversation;
            if self.is_lost() {
                // While this order stood in line: one that has left another unanswered does not get to keep it waiting, too.
                return Err(self.told(Trouble::Ended));
            }
            let fds = [bridge_child.as_raw_fd(), stderr_child.as_raw_fd(), report_child.as_raw_fd()];
            let sent = template.order(&message.encode(), &fds).map_err(|source| Trouble::Host(host("a fork order", source)));
            match sent {
                Ok(()) => reports.until_forked(template, nonce).await,
                Err(trouble) => Err(trouble),
            }
        };
        drop((bridge_child, report_child, stderr_child));
        let pid = forked.map_err(|trouble| self.told(trouble))?;
        let parent = Arc::clone(&self.starter.parent);
        let child = parent.adopt(pid).and_then(|(pid, pidfd)| Child::new(pid, pidfd, stderr, report, nonce, parent));
        let mut child = child.map_err(|source| host("the runtime's I/O driver", source))?;
        let mut reports = self.stage_one.of_fork(nonce);
        if let Err(trouble) = reports.until_armed(&mut child).await {
            return Err(self.starter.explain(&reports, trouble, child).await);
        }
        let walls = self.starter.confirm(&reports, pid)?;
        let child = child.into_idle().map_err(|source| host("a waiting fork", source))?;
        Ok(Waiting { child, bridge, walls, order, data_bytes: self.data_bytes })
    }

    fn told(&self, trouble: Trouble) -> LaunchError {
        // A refusal is an answer. Anything else, and what it would say next could be to any of our orders: it serves no more.
        if !matches!(trouble, Trouble::Refused(_) | Trouble::Host(_)) {
            self.is_lost.store(true, Ordering::Relaxed);
        }
        match trouble {
            Trouble::Ended => host("a fork: the template has ended", io::ErrorKind::BrokenPipe.into()),
            Trouble::Silent(_) => host("a fork: the template does not answer", io::ErrorKind::TimedOut.into()),
            Trouble::Garbage => LaunchError::Internal("the template's answer to a fork order is not one".to_owned()),
            Trouble::Refused(errno) => host("a fork", io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(libc::EIO))),
            Trouble::Host(error) => error,
        }
    }

    /// Ends the process and waits until it is gone.
    pub(super) async fn finish(self) {
        self.conversation.into_inner().0.finish().await;
    }

    /// Whether forks of this template work on this host: two of them answer the self-test, differently, and end by themselves.
    pub(super) async fn passes_self_test(&self, rehearsal: &Rehearsal) -> Result<(), String> {
        let order = rehearsal.usual;
        let mut answers = Vec::new();
        for (frames, dry_runs) in rehearsal.self_tests.iter().zip([0, 1]) {
            let waiting = self.fork(order, order.memory_bytes, dry_runs).await.map_err(|error| error.to_string())?;
            let child = waiting.child.wake().map_err(|error| error.to_string())?;
            let trial = super::trial(waiting.bridge, child, frames, &rehearsal.passed);
            let (answer, status) = trial.await.map_err(|error| format!("no answer to the self-test: {error}"))?;
            if status != ExitStatus::Exited(0) {
                return Err(format!("the self-test did not end cleanly: {status:?}"));
            }
            answers.push(answer);
        }
        match answers.as_slice() {
            [first, second] if first == second => Err("two forks gave the same random numbers".to_owned()),
            _ => Ok(()),
        }
    }
}
