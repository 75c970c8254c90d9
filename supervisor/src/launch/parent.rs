//! The thread that is the parent of every child of one supervisor.
//!
//! The kernel ties the parent-death signal to the *thread* that started a child, not to its process. So children are started from one thread that
//! lives as long as any of them: each [`super::Child`] holds a handle.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use tokio::sync::oneshot;

use super::sys;

/// How long the thread waits for a killed child that nobody else will reap. Longer, and the process is stuck inside the kernel for good.
const REAP_PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct ParentThread {
    jobs: mpsc::Sender<Job>,
    /// Seccomp filters on this thread, which its children inherit: a container's own.
    pub(super) inherited_filters: u64,
}

#[derive(Debug)]
enum Job {
    Start(Box<Command>, mpsc::Sender<Job>, oneshot::Sender<io::Result<Started>>),
    Reap(i32),
}

/// A process that has just been started. Whoever takes it out owns it; dropped untaken, its group is killed and it is reaped.
#[derive(Debug)]
pub(super) struct Started {
    process: Option<(i32, OwnedFd)>,
    jobs: mpsc::Sender<Job>,
}

impl Started {
    /// The process id and its descriptor.
    pub(super) fn take(mut self) -> Option<(i32, OwnedFd)> {
        self.process.take()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some((pid, pidfd)) = &self.process {
            sys::kill_group(*pid, pidfd.as_raw_fd());
            // The thread serves until its last sender is gone, and this is one.
            let _ = self.jobs.send(Job::Reap(*pid));
        }
    }
}

impl ParentThread {
    pub(super) fn start() -> io::Result<ParentThread> {
        let (jobs, work) = mpsc::channel();
        let (ready, first) = mpsc::channel();
        thread::Builder::new().name("codemode-parent".to_owned()).spawn(move || {
            let filters = super::confirm::status_of("/proc/thread-self/status").map_or(0, |status| status.filters);
            // The receiver waits for exactly this.
            let _ = ready.send(filters);
            serve(&work);
        })?;
        let inherited_filters = first.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(ParentThread { jobs, inherited_filters })
    }

    /// Starts a process with this thread as its parent. Between the answer and [`super::Child::new`] nothing may wait: the caller owns the process.
    pub(super) async fn spawn(&self, command: Command) -> io::Result<(i32, OwnedFd)> {
        let (reply, answer) = oneshot::channel();
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        self.jobs.send(Job::Start(Box::new(command), self.jobs.clone(), reply)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())??.take().ok_or_else(gone)
    }

    /// A child of ours that a template made. Where it cannot be supervised it is ended and reaped.
    pub(super) fn adopt(&self, pid: i32) -> io::Result<(i32, OwnedFd)> {
        match sys::pidfd_open(pid) {
            Ok(pidfd) if sys::is_own_child(&pidfd) => Ok((pid, pidfd)),
            // The number of somebody else's process: not ours to touch.
            Ok(_) => Err(io::ErrorKind::NotFound.into()),
            Err(error) => {
                sys::kill_unreaped(pid);
                self.reap(pid);
                Err(error)
            }
        }
    }

    /// Reaps a child that was killed, when it is gone.
    pub(super) fn reap(&self, pid: i32) {
        // The thread lives as long as any handle to it, and this is one.
        let _ = self.jobs.send(Job::Reap(pid));
    }
}

fn serve(work: &mpsc::Receiver<Job>) {
    let mut dying: Vec<(i32, Instant)> = Vec::new();
    loop {
        let job = if dying.is_empty() {
            work.recv().map_err(|_| mpsc::RecvTimeoutError::Disconnected)
        } else {
            work.recv_timeout(Duration::from_millis(1))
        };
        match job {
            Ok(Job::Start(command, jobs, reply)) => {
                // The caller may have given up, now or before it takes the answer: the process then ends with the answer.
                let _ = reply.send(start(*command).map(|process| Started { process: Some(process), jobs }));
            }
            Ok(Job::Reap(pid)) => dying.push((pid, Instant::now() + REAP_PATIENCE)),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) if dying.is_empty() => return reap_unowned(),
            Err(mpsc::RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(1)),
        }
        let now = Instant::now();
        dying.retain(|(pid, until)| matches!(sys::reap(*pid), Ok(None)) && now < *until);
    }
}

/// No handle is left, so no child has an owner: what there still is was copied from a template that could not say so any more. It has nobody to read from and
/// ends by itself. Only children of this thread are looked at: others of this process are their owners' business.
fn reap_unowned() {
    let until = Instant::now() + REAP_PATIENCE;
    while Instant::now() < until {
        match waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WNOTHREAD)) {
            Ok(WaitStatus::StillAlive) => thread::sleep(Duration::from_millis(1)),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return,
        }
    }
}

/// `posix_spawn` underneath: the command sets no uid, no hook and an absolute program, so nothing of ours runs between fork and exec and the cost does
/// not grow with this process.
fn start(mut command: Command) -> io::Result<(i32, OwnedFd)> {
    let child = command.spawn()?;
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    match sys::pidfd_open(pid) {
        Ok(pidfd) => Ok((pid, pidfd)),
        Err(error) => {
            let mut child = child;
            // Without a descriptor it cannot be supervised. It is ours and unreaped, so its number is its own.
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}
