//! The program of a server: in a process group of its own, which is gone when the server is.
//!
//! Signals go to the group while its leader has not been reaped, so that its number cannot be another's. A thread waits for the leader without reaping it; it sweeps up
//! and reaps when [`Process::stop`] is through, or when the [`Process`] is dropped.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// How long a server may take to end by itself when its input is closed. Of nineteen known servers eighteen take less.
const CLOSED_GRACE: Duration = Duration::from_millis(500);
/// How long it may take after SIGTERM.
const TERM_GRACE: Duration = Duration::from_millis(500);
/// How long the kernel may take to end what was killed.
const KILL_GRACE: Duration = Duration::from_millis(500);
/// How often one looks whether anything of a group is left whose leader has ended: nobody tells of that.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What is started.
#[derive(Debug)]
pub(super) struct Program<'a> {
    pub(super) command: &'a str,
    pub(super) args: &'a [String],
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) cwd: Option<&'a str>,
}

/// A program that was started, until nothing of it is left.
#[derive(Debug)]
pub(super) struct Process {
    /// `None` once it is reaped.
    group: Arc<Mutex<Option<Pid>>>,
    ended: watch::Receiver<Option<Ending>>,
    reaped: watch::Receiver<bool>,
    sweep: Mutex<Option<mpsc::Sender<()>>>,
}

/// Its three pipes.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

/// How the program ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ending {
    Exited(i32),
    Killed(Signal),
    Unknown,
}

impl Ending {
    pub(super) fn words(self) -> String {
        match self {
            Ending::Exited(code) => format!("it ended with exit code {code}"),
            Ending::Killed(signal) => format!("it was ended by signal {} ({})", signal as i32, signal.as_str()),
            Ending::Unknown => "it ended".to_owned(),
        }
    }
}

impl Process {
    /// Starts a program without a shell.
    ///
    /// # Errors
    /// Why it cannot be started, in words.
    pub(super) fn start(program: &Program<'_>) -> Result<(Process, Pipes), String> {
        let mut command = Command::new(program.command);
        command.args(program.args).env_clear().envs(program.environment.iter().map(|(name, value)| (name, value))).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(cwd) = program.cwd {
            command.current_dir(cwd);
        }
        let mut child = command.spawn().map_err(|error| not_started(program, &error))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Process::watch(child)?;
        match (stdin, stdout, stderr) {
            (Some(stdin), Some(stdout), Some(stderr)) => {
                Ok((process, Pipes { stdin: stdin.into(), stdout: stdout.into(), stderr: stderr.into() }))
            }
            _ => Err("it has no pipes".to_owned()),
        }
    }

    fn watch(mut child: Child) -> Result<Process, String> {
        let pid = Pid::from_raw(child.id().cast_signed());
        let group = Arc::new(Mutex::new(Some(pid)));
        let (tell_ended, ended) = watch::channel(None);
        let (tell_reaped, reaped) = watch::channel(false);
        let (sweep, swept) = mpsc::channel();
        let process = Process { group: Arc::clone(&group), ended, reaped, sweep: Mutex::new(Some(sweep)) };
        let watcher = std::thread::Builder::new().name("codemode-mcp".to_owned()).spawn(move || {
            tell_ended.send_replace(Some(ending(pid)));
            // Whoever has the process says when, or is gone.
            let _ = swept.recv();
            let mut own = group.lock().unwrap_or_else(PoisonError::into_inner);
            // Nothing left of it is what is wanted.
            let _ = killpg(pid, Signal::SIGKILL);
            *own = None;
            // Its ending is known; this takes it from the kernel's table.
            let _ = child.wait();
            tell_reaped.send_replace(true);
        });
        // Without a thread it is killed when `process` goes, and stays in the kernel's table until this program ends.
        watcher.map(|_| process).map_err(|error| format!("nobody can wait for it: {}", error.kind()))
    }

    /// Waits until the program has ended. Cancel-safe.
    pub(super) async fn ended(&self) -> Ending {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(ending) => ending.unwrap_or(Ending::Unknown),
            Err(_) => Ending::Unknown,
        }
    }

    /// How it ended, if it has.
    pub(super) fn ending(&self) -> Option<Ending> {
        *self.ended.borrow()
    }

    /// Ends the program, whose input has just been closed, and everything in its group: waits, asks, kills, reaps. At most 1.5 s and the time of a reap.
    pub(super) async fn stop(&self) {
        if !self.gone_within(CLOSED_GRACE).await {
            self.signal(Signal::SIGTERM);
            if !self.gone_within(TERM_GRACE).await {
                self.signal(Signal::SIGKILL);
                self.gone_within(KILL_GRACE).await;
            }
        }
        drop(self.sweep.lock().unwrap_or_else(PoisonError::into_inner).take());
        let mut reaped = self.reaped.clone();
        // A process that hangs in the kernel is left to the thread.
        let _ = timeout(KILL_GRACE, reaped.wait_for(|reaped| *reaped)).await;
    }

    /// Waits until nothing of the group runs, for so long at most.
    async fn gone_within(&self, grace: Duration) -> bool {
        let until = Instant::now() + grace;
        if timeout_at(until, self.ended()).await.is_err() {
            return false;
        }
        loop {
            let Some(pid) = *self.group.lock().unwrap_or_else(PoisonError::into_inner) else { return true };
            if !runs_any_of(pid) {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            sleep(LOOK_EVERY).await;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = *self.group.lock().unwrap_or_else(PoisonError::into_inner) {
            // It may have ended already.
            let _ = killpg(pid, signal);
            if signal == Signal::SIGKILL {
                // The program itself may have left its group. To be asked twice is something else to many programs than to be asked.
                let _ = kill(pid, signal);
            }
        }
    }
}

impl Drop for Process {
    /// For runtimes that go down and futures that are dropped; the way in order is [`Process::stop`].
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

/// Waits for the child without reaping it: until it is reaped nobody else gets its number.
fn ending(pid: Pid) -> Ending {
    loop {
        return match waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
            Ok(WaitStatus::Exited(_, code)) => Ending::Exited(code),
            Ok(WaitStatus::Signaled(_, signal, _)) => Ending::Killed(signal),
            Err(Errno::EINTR) => continue,
            _ => Ending::Unknown,
        };
    }
}

/// Whether a process of this group still runs, the leader's corpse aside. Where that cannot be seen nothing is waited for: what is left is killed anyway.
fn runs_any_of(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    processes.flatten().filter(|entry| entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit)).any(|entry| {
        // A process that is gone by now is not meant.
        std::fs::read_to_string(entry.path().join("stat")).is_ok_and(|stat| is_running_member(&stat, group))
    })
}

/// Reads `PID (NAME) STATE PPID PGRP …`; a name may have blanks and brackets.
fn is_running_member(stat: &str, group: Pid) -> bool {
    let mut after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace();
    let state = after_name.next();
    let pgrp = after_name.nth(1).and_then(|pgrp| pgrp.parse().ok());
    pgrp == Some(group.as_raw()) && !matches!(state, Some("Z" | "X"))
}

fn not_started(program: &Program<'_>, error: &io::Error) -> String {
    use super::super::quoted;
    match (error.kind(), program.cwd) {
        (io::ErrorKind::NotFound, Some(cwd)) if !Path::new(cwd).is_dir() => {
            format!("its folder {} does not exist; mend `cwd`", quoted(cwd))
        }
        (io::ErrorKind::NotFound, _) => {
            format!("its program {} is not found; install it, or name it by its whole path", quoted(program.command))
        }
        (io::ErrorKind::PermissionDenied, _) => format!("its program {} may not be executed", quoted(program.command)),
        (kind, _) => format!("its program {} cannot be started: {kind}", quoted(program.command)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_a_group_is_known_whatever_its_name() {
        let group = Pid::from_raw(40);
        assert!(is_running_member("41 (a) S 1 41) S 1 40 40 0", group));
        assert!(is_running_member("41 (node (x)) S 1 40 40 0", group));
        assert!(!is_running_member("40 (node) Z 1 40 40 0", group));
        assert!(!is_running_member("42 (node) S 40 41 40 0", group));
        assert!(!is_running_member("", group));
    }
}
