//! A program that is asked something once: bytes in, bytes out, within a time, in a process group that is gone afterwards.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

/// Of the environment, what programs need to find others, their files and their words. The rest may hold a gateway's secrets.
const ENVIRONMENT: [&str; 7] = ["PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];

/// Bytes of standard error that are kept, of its beginning: there a program says what is wrong.
const STDERR_BYTES: u64 = 4 * 1024;

/// What a program said, and how it ended.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) status: ExitStatus,
    /// At most one byte more than the limit.
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// Starts a program without a shell, gives it `input` and reads what it says: at most one byte more than `limit`, of which a caller knows that it was too
/// much. Whatever of its group is left then is killed. Dropping the future kills the group at once; a thread of the runtime reaps it.
///
/// # Errors
/// When the program cannot be started.
pub(super) async fn ask(command: &[String], input: Vec<u8>, limit: usize) -> io::Result<Said> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut prepared = Command::new(program);
    prepared.args(arguments).env_clear().process_group(0);
    prepared.envs(ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    prepared.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = prepared.spawn()?;
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    // From here on dropping it ends the group.
    let (group, ended) = Group::watch(child);
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { return Err(io::ErrorKind::BrokenPipe.into()) };
    let mut stdin = pipe::Sender::from_owned_fd(stdin.into())?;
    let mut stdout = pipe::Receiver::from_owned_fd(stdout.into())?.take(limit as u64 + 1);
    let mut stderr = pipe::Receiver::from_owned_fd(stderr.into())?;

    let write = async {
        // A program that has its mind made up need not read to the end.
        let _ = stdin.write_all(&input).await;
        drop(stdin);
    };
    let read = async {
        let mut said = Vec::new();
        // What cannot be read is missing from the answer, and half an answer is none.
        let _ = stdout.read_to_end(&mut said).await;
        if said.len() > limit {
            group.kill();
        }
        said
    };
    let complain = async {
        let mut kept = Vec::new();
        let _ = (&mut stderr).take(STDERR_BYTES).read_to_end(&mut kept).await;
        // The rest is read and forgotten, so that nobody is held up by a full pipe.
        let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
        kept
    };
    // The end of the program is the end of the answer: a descendant that keeps a pipe open is killed with the group when the watcher sees it.
    let (status, (), stdout, stderr) = tokio::join!(ended, write, read, complain);
    let status = status.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
    Ok(Said { status, stdout, stderr })
}

/// The process group of a program that has not been reaped, as far as it is ours to kill.
#[derive(Debug)]
struct Group(Arc<Mutex<Option<Pid>>>);

impl Group {
    /// Waits for the program on a thread that may block; when it has ended, what is left of its group is killed, and it is reaped.
    fn watch(mut child: Child) -> (Group, tokio::task::JoinHandle<io::Result<ExitStatus>>) {
        let pid = Pid::from_raw(child.id().cast_signed());
        let group = Arc::new(Mutex::new(Some(pid)));
        let own = Arc::clone(&group);
        let ended = tokio::task::spawn_blocking(move || {
            // Looks without reaping: until it is reaped nobody else gets its number.
            while let Err(Errno::EINTR) = waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {}
            let mut own = own.lock().unwrap_or_else(PoisonError::into_inner);
            // Nothing left of it is what is wanted.
            let _ = killpg(pid, Signal::SIGKILL);
            *own = None;
            child.wait()
        });
        (Group(group), ended)
    }

    fn kill(&self) {
        if let Some(pid) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // The group, and the program itself, which may have left it. Both may have ended already.
            let _ = killpg(pid, Signal::SIGKILL);
            let _ = kill(pid, Signal::SIGKILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a program ended that did not succeed, in words.
pub(super) fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".to_owned(),
    }
}
