//! The kernel calls that no crate of ours has a safe face for. The only `unsafe` of the supervisor.
#![expect(unsafe_code, reason = "this file is one of the two addresses of unsafe; each block names the contract it keeps")]

use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::ExitStatus;

/// What `wait4` tells of a reaped child.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reaped {
    pub(super) status: ExitStatus,
    pub(super) cpu: Duration,
    pub(super) peak_rss_bytes: u64,
}

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A descriptor for the process `pid`, which is a child of ours that nobody has reaped.
pub(super) fn pidfd_open(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes two numbers.
    let fd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })?;
    // SAFETY: the kernel has just made this descriptor for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Whether the process behind `pidfd` is a child of this one: only then is it ours to wait for.
pub(super) fn is_own_child(pidfd: &OwnedFd) -> bool {
    // Looks without reaping; any other process is ECHILD.
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::PIDFd(pidfd.as_fd()), flags).is_ok()
}

/// Whether the unreaped child `pid` has ended; it stays unreaped.
pub(super) fn has_ended(pid: i32) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    !matches!(waitid(Id::Pid(Pid::from_raw(pid)), flags), Ok(WaitStatus::StillAlive))
}

/// Sends `signal` to the process behind `pidfd`; never to another one that got its number.
fn pidfd_send_signal(pidfd: RawFd, signal: i32) -> io::Result<()> {
    // SAFETY: pidfd_send_signal takes numbers and a null siginfo, which means "as kill(2)".
    check(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd, signal, std::ptr::null::<libc::siginfo_t>(), 0) }).map(|_| ())
}

/// Kills the unreaped child `pid` and its group by number: it is ours until it is reaped.
pub(super) fn kill_unreaped(pid: i32) {
    let pid = Pid::from_raw(pid);
    // Gone already, or not yet the leader of a group: what is wanted, and the second call's business.
    let _ = killpg(pid, Signal::SIGKILL);
    let _ = kill(pid, Signal::SIGKILL);
}

/// Kills the unreaped child `pid` and its group. The group first, while the leader keeps its number from being used again; then the process itself,
/// which may have left the group. Both may be gone already: that is what is wanted.
pub(super) fn kill_group(pid: i32, pidfd: RawFd) {
    let _ = killpg(Pid::from_raw(pid), Signal::SIGKILL);
    let _ = pidfd_send_signal(pidfd, Signal::SIGKILL as i32);
}

/// Gives the group of the unreaped child `pid` this nice value, all threads included.
pub(super) fn set_nice(pid: i32, nice: i32) -> io::Result<()> {
    let group = libc::id_t::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    // SAFETY: setpriority takes three numbers.
    check(unsafe { libc::setpriority(libc::PRIO_PGRP, group, nice) }.into()).map(|_| ())
}

/// Reaps the child `pid` if it has ended. `Ok(None)`: it has not.
pub(super) fn reap(pid: i32) -> io::Result<Option<Reaped>> {
    let mut status = 0;
    // SAFETY: all-zero bytes are a value of `struct rusage`, which is numbers only.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both addresses are those of locals with the types wait4 asks for, and outlive the call.
    let got = check(unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) }.into())?;
    if got == 0 {
        return Ok(None);
    }
    let status = if libc::WIFSIGNALED(status) {
        ExitStatus::Signaled(libc::WTERMSIG(status))
    } else {
        ExitStatus::Exited(libc::WEXITSTATUS(status))
    };
    let time = |t: libc::timeval| Duration::from_secs(t.tv_sec.unsigned_abs()) + Duration::from_micros(t.tv_usec.unsigned_abs());
    // Linux counts the peak in units of 1024 bytes.
    let peak_rss_bytes = usage.ru_maxrss.unsigned_abs().saturating_mul(1024);
    Ok(Some(Reaped { status, cpu: time(usage.ru_utime) + time(usage.ru_stime), peak_rss_bytes }))
}

/// The Landlock ABI of this kernel; an error where it has none or a filter refuses to tell.
pub(super) fn landlock_abi() -> io::Result<i32> {
    const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
    // SAFETY: with this flag the kernel takes no attribute: a null address of size 0.
    let abi = check(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, LANDLOCK_CREATE_RULESET_VERSION)
    })?;
    Ok(abi as i32)
}

/// A sealable memory file. `no_exec`: it can never be made executable by `execve` (not known before Linux 6.3).
pub(super) fn memfd(name: &std::ffi::CStr, no_exec: bool) -> io::Result<OwnedFd> {
    const MFD_NOEXEC_SEAL: libc::c_uint = 8;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING | if no_exec { MFD_NOEXEC_SEAL } else { 0 };
    // SAFETY: the name ends with 0 by type and is copied by the kernel.
    let fd = check(unsafe { libc::memfd_create(name.as_ptr(), flags) }.into())?;
    // SAFETY: the kernel has just made this descriptor for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Registers a descriptor with the runtime, for reading.
pub(super) fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the descriptor must stay open and the same while it is registered: an `OwnedFd` is both until it is dropped, and `AsyncFd` gives it
    // out only by reference or after it has deregistered it.
    Ok(unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?)
}
