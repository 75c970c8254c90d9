//! One child process, from its start to its reaping.

use std::io::{ErrorKind, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use codemode_jail::wire::{Event, RECORD_LEN, Record};
use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, recv, sendmsg};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::{Pid, read};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::parent::ParentThread;
use super::{Ended, ExitStatus, LastWords, sys};

/// How much of a child's stderr is kept: the end, where the reason of a crash stands.
const STDERR_TAIL: usize = 4096;

/// Reads in a row from one pipe: a child that writes without end must not keep the loop from its other events.
const DRAIN_ROUNDS: usize = 16;

/// How long a killed process may take to be gone. Only a process inside the kernel takes longer than a millisecond.
const DEATH_PATIENCE: Duration = Duration::from_secs(5);

/// The nice value of a child that has stepped back: a third of the share of a process at 0. Less would starve an honest body on a machine that has other work.
const STEPPED_BACK: i32 = 5;

/// A child that has not been reaped. Dropping it kills it and leaves the reaping to the thread that started it.
#[derive(Debug)]
pub struct Child {
    pid: i32,
    pidfd: AsyncFd<OwnedFd>,
    stderr: Option<AsyncFd<OwnedFd>>,
    stderr_tail: Vec<u8>,
    report: Option<AsyncFd<OwnedFd>>,
    nonce: [u8; 16],
    last_words: Option<LastWords>,
    parent: Arc<ParentThread>,
    reaped: bool,
}

impl Child {
    pub(super) fn new(
        pid: i32,
        pidfd: OwnedFd,
        stderr: OwnedFd,
        report: OwnedFd,
        nonce: [u8; 16],
        parent: Arc<ParentThread>,
    ) -> std::io::Result<Child> {
        let pidfd = match sys::watch(pidfd) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                // Nobody else knows this process, and nobody could supervise it.
                sys::kill_unreaped(pid);
                parent.reap(pid);
                return Err(error);
            }
        };
        // From here on dropping the value ends the process.
        let mut child =
            Child { pid, pidfd, stderr: None, stderr_tail: Vec::new(), report: None, nonce, last_words: None, parent, reaped: false };
        child.stderr = Some(sys::watch(stderr)?);
        child.report = Some(sys::watch(report)?);
        Ok(child)
    }

    /// The process id, for messages and witnesses.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// What the kernel says of its processor time and of its main thread; `None` when it cannot be told. Anybody may ask that of any process.
    pub fn activity(&self) -> Option<(Duration, bool)> {
        let cpu = self.cpu()?;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).ok()?;
        // The name before it is the process's own choice; what follows the last bracket is not.
        let state = stat.rsplit_once(") ")?.1.bytes().next()?;
        Some((cpu, state == b'S'))
    }

    /// Processor time of all its threads; `None` when it cannot be told.
    pub fn cpu(&self) -> Option<Duration> {
        let clock = clock_getcpuclockid(Pid::from_raw(self.pid)).ok()?;
        Some(Duration::from(clock_gettime(clock).ok()?))
    }

    /// Lets it and its group go behind others that want a processor, for good. No wall: where the host forbids it, the others wait a little longer.
    pub fn step_back(&self) {
        if let Err(error) = sys::set_nice(self.pid, STEPPED_BACK) {
            tracing::debug!(pid = self.pid, %error, "a child that computes for long could not be told to step back");
        }
        // Where the kernel makes a group of each session, processes of different sessions are weighed by this number alone. Root may write it; without such
        // groups there is no such file.
        let _ = std::fs::write(format!("/proc/{}/autogroup", self.pid), STEPPED_BACK.to_string());
    }

    /// What the child wrote to descriptor 2 so far, its end.
    pub(super) fn stderr_tail(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr_tail);
        text.trim().to_owned()
    }

    /// Resolves when the process has ended; it stays unreaped. Keeps the pipes empty while it waits, so that the child is never held up by them.
    /// Cancel-safe: what was read is kept in `self`.
    pub async fn exited(&mut self) {
        loop {
            tokio::select! {
                biased;
                () = readable(self.report.as_ref()) => self.drain_report(Drain::Ready),
                () = readable(self.stderr.as_ref()) => self.drain_stderr(Drain::Ready),
                _ = self.pidfd.readable() => {
                    self.drain_report(Drain::Rest);
                    self.drain_stderr(Drain::Rest);
                    return;
                }
            }
        }
    }

    /// The next record of the jail, or nothing when the child has closed its end or ended. Keeps stderr empty.
    pub(super) async fn record(&mut self, buffer: &mut [u8]) -> Option<usize> {
        loop {
            let report = self.report.as_ref()?;
            tokio::select! {
                biased;
                ready = report.readable() => {
                    let mut ready = ready.ok()?;
                    match recv(report.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
                        Ok(0) => return None,
                        Ok(length) => return Some(length),
                        Err(Errno::EAGAIN) => ready.clear_ready(),
                        Err(Errno::EINTR) => {}
                        Err(_) => return None,
                    }
                }
                () = readable(self.stderr.as_ref()) => self.drain_stderr(Drain::Ready),
                _ = self.pidfd.readable() => {
                    // Ended: what it said before is still there.
                    let length = recv(report.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT).ok().filter(|length| *length > 0);
                    self.drain_stderr(Drain::Rest);
                    return length;
                }
            }
        }
    }

    /// Sends an order to the jail, with descriptors beside it.
    pub(super) fn order(&self, message: &[u8], fds: &[RawFd]) -> std::io::Result<()> {
        let report = self.report.as_ref().ok_or(ErrorKind::NotConnected)?;
        let rights = [ControlMessage::ScmRights(fds)];
        let rights = if fds.is_empty() { &[][..] } else { &rights[..] };
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        sendmsg::<()>(report.as_raw_fd(), &[IoSlice::new(message)], rights, flags, None)?;
        Ok(())
    }

    fn drain_stderr(&mut self, drain: Drain) {
        let Some(stderr) = &self.stderr else { return };
        let mut buffer = [0; 4096];
        for _ in 0..DRAIN_ROUNDS {
            match drain.from(stderr, |fd| Ok(read(fd, &mut buffer)?)) {
                Ok(length @ 1..) => {
                    self.stderr_tail.extend_from_slice(&buffer[..length]);
                    let excess = self.stderr_tail.len().saturating_sub(STDERR_TAIL);
                    self.stderr_tail.drain(..excess);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // End-of-file, or a pipe that cannot be read any more.
                Ok(0) | Err(_) => {
                    self.stderr = None;
                    return;
                }
            }
        }
    }

    fn drain_report(&mut self, drain: Drain) {
        let Some(report) = &self.report else { return };
        let mut buffer = [0; RECORD_LEN + 1];
        for _ in 0..DRAIN_ROUNDS {
            match drain.from(report, |fd| Ok(recv(fd.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT)?)) {
                Ok(length @ 1..) => {
                    let record = buffer.get(..length).and_then(Record::decode).filter(|record| record.nonce == self.nonce);
                    let words = match record {
                        Some(Record { event: Event::OffList, detail, .. }) => Some(LastWords::OffList(detail as u32)),
                        Some(Record { event: Event::Abort, .. }) => Some(LastWords::Abort),
                        _ => None,
                    };
                    self.last_words = self.last_words.or(words);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(0) | Err(_) => {
                    self.report = None;
                    return;
                }
            }
        }
    }

    fn kill(&self) {
        sys::kill_group(self.pid, self.pidfd.as_raw_fd());
    }

    /// Ends the process and its group, whatever they are doing, and accounts for them.
    pub async fn finish(mut self) -> Ended {
        self.kill();
        let gone = tokio::time::timeout(DEATH_PATIENCE, self.exited()).await;
        // The group again: a member may have been born between the kill and the leader's end.
        self.kill();
        let reaped = match gone {
            Ok(()) => sys::reap(self.pid).ok().flatten(),
            // Stuck inside the kernel: the thread that started it waits on.
            Err(_) => None,
        };
        self.reaped = reaped.is_some();
        let unknown = sys::Reaped { status: ExitStatus::Unknown, cpu: Duration::ZERO, peak_rss_bytes: 0 };
        let sys::Reaped { status, cpu, peak_rss_bytes } = reaped.unwrap_or(unknown);
        Ended { status, last_words: self.last_words, stderr_tail: self.stderr_tail(), cpu, peak_rss_bytes }
    }
}

/// A child that no runtime watches. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Idle {
    /// Taken out when the child is woken.
    parts: Option<(OwnedFd, OwnedFd, OwnedFd)>,
    pid: i32,
    nonce: [u8; 16],
    parent: Arc<ParentThread>,
}

impl Idle {
    /// The process id.
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Puts the child under the caller's runtime.
    pub(super) fn wake(mut self) -> std::io::Result<Child> {
        let (pidfd, stderr, report) = self.parts.take().ok_or(ErrorKind::NotConnected)?;
        Child::new(self.pid, pidfd, stderr, report, self.nonce, Arc::clone(&self.parent))
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        if let Some((pidfd, ..)) = &self.parts {
            sys::kill_group(self.pid, pidfd.as_raw_fd());
            self.parent.reap(self.pid);
        }
    }
}

impl Child {
    /// Takes the child from its runtime.
    pub(super) fn into_idle(mut self) -> std::io::Result<Idle> {
        let pidfd = self.pidfd()?;
        let (Some(stderr), Some(report)) = (self.stderr.take(), self.report.take()) else { return Err(ErrorKind::BrokenPipe.into()) };
        self.reaped = true;
        let parts = Some((pidfd, stderr.into_inner(), report.into_inner()));
        Ok(Idle { parts, pid: self.pid, nonce: self.nonce, parent: Arc::clone(&self.parent) })
    }

    /// A descriptor of the process, of the caller's own.
    pub(super) fn pidfd(&self) -> std::io::Result<OwnedFd> {
        self.pidfd.get_ref().try_clone()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            self.parent.reap(self.pid);
        }
    }
}

async fn readable(fd: Option<&AsyncFd<OwnedFd>>) {
    match fd {
        // An error shows again at the read that follows.
        Some(fd) => drop(fd.readable().await),
        None => std::future::pending().await,
    }
}

/// How to read without waiting.
#[derive(Clone, Copy)]
enum Drain {
    /// When the runtime says there is something; it forgets that when there is not.
    Ready,
    /// Whatever is there, the process having ended.
    Rest,
}

impl Drain {
    fn from(self, fd: &AsyncFd<OwnedFd>, mut read: impl FnMut(&OwnedFd) -> std::io::Result<usize>) -> std::io::Result<usize> {
        match self {
            Drain::Ready => fd.try_io(Interest::READABLE, read),
            Drain::Rest => read(fd.get_ref()),
        }
    }
}
