//! The `codemode` program, as a person starts it: what it said, how it ended, and what it left.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use serde_json::Value;

use crate::census::{children_of, own_pid};
use crate::patience::PACE;
pub use crate::program::codemode;

/// Longer than any command of these tests runs, on a machine that is busy with others.
const ENDS_WITHIN: Duration = Duration::from_secs(40);

/// How long orphans may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(3);

/// The demo catalog.
pub fn demo() -> PathBuf {
    crate::host::repository().join("examples/demo.json")
}

/// One start of the program.
#[derive(Debug)]
pub struct Typed {
    command: Command,
    stdin: Option<Vec<u8>>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Everything on standard output.
    pub stdout: String,
    /// Everything on standard error.
    pub stderr: String,
}

impl Typed {
    /// `codemode WORDS`, without input, in `folder`, which is its home and its place for temporary files, too.
    pub fn new<S: AsRef<OsStr>>(folder: &Path, words: impl IntoIterator<Item = S>) -> Typed {
        Typed::of(Command::new(codemode()), folder, words)
    }

    /// The same from a shell, after `setup`: for limits, mounts and users that it should start under.
    pub fn after<S: AsRef<OsStr>>(setup: &str, folder: &Path, words: impl IntoIterator<Item = S>) -> Typed {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{setup}\nexec \"$0\" \"$@\"")).arg(codemode());
        Typed::of(command, folder, words)
    }

    fn of<S: AsRef<OsStr>>(mut command: Command, folder: &Path, words: impl IntoIterator<Item = S>) -> Typed {
        command.args(words).current_dir(folder);
        command.env("HOME", folder).env("TMPDIR", folder);
        command.env_remove("NO_COLOR").env("RUST_BACKTRACE", "0");
        Typed { command, stdin: None }
    }

    /// With a variable in its environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Typed {
        self.command.env(name, value);
        self
    }

    /// With nothing in its environment.
    #[must_use]
    pub fn bare(mut self) -> Typed {
        self.command.env_clear();
        self
    }

    /// With these bytes on standard input.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Typed {
        self.stdin = Some(bytes.into());
        self
    }

    /// Starts it, in a process group of its own.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn start(mut self) -> Child {
        let input = if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        self.command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = self.command.spawn().expect("the program starts");
        if let Some(bytes) = self.stdin {
            let mut pipe = child.stdin.take().expect("it is piped");
            // A program that does not read its input has ended by then, and that is for the test to judge.
            thread::spawn(move || pipe.write_all(&bytes));
        }
        child
    }

    /// Runs it to its end.
    ///
    /// # Panics
    ///
    /// When it does not end.
    pub fn run(self) -> Ran {
        finish(self.start())
    }
}

/// Waits for a program.
///
/// # Panics
///
/// When it does not end in time; then it is killed.
pub fn finish(child: Child) -> Ran {
    let group = Pid::from_raw(i32::try_from(child.id()).expect("a pid"));
    let (send, receive) = std::sync::mpsc::channel();
    thread::spawn(move || send.send(child.wait_with_output()));
    let Ok(output) = receive.recv_timeout(ENDS_WITHIN) else {
        // Ours, and not reaped while the thread waits for it.
        let _ = killpg(group, Signal::SIGKILL);
        panic!("not ended within {ENDS_WITHIN:?}");
    };
    let output = output.expect("its pipes can be read");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

impl Ran {
    /// Standard output as JSON.
    ///
    /// # Panics
    ///
    /// When it is not one line of JSON.
    pub fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }
}

/// What there was before a program was started: to show that it left nothing.
#[derive(Debug)]
pub struct Before {
    folders: Vec<(PathBuf, BTreeSet<PathBuf>)>,
}

impl Before {
    /// Looks. From here on orphans of this test's programs become its own children, so none can hide. Nothing else may start processes meanwhile.
    ///
    /// # Panics
    ///
    /// When orphans are left from before.
    pub fn look(folder: &Path) -> Before {
        nix::sys::prctl::set_child_subreaper(true).expect("Linux lets every process ask for it");
        assert_eq!(left(), Vec::<String>::new(), "left by a test before this one");
        let folders = [folder, Path::new("/dev/shm")];
        Before { folders: folders.map(|folder| (folder.to_owned(), files(folder))).to_vec() }
    }

    /// What is there now and was not, in words; nothing when nothing is.
    pub fn leftovers(&self) -> Vec<String> {
        let began = Instant::now();
        let mut all = left();
        while !all.is_empty() && began.elapsed() < GONE_WITHIN {
            thread::sleep(PACE);
            all = left();
        }
        for (folder, before) in &self.folders {
            let new = files(folder);
            let new = new.difference(before);
            all.extend(new.map(|file| format!("file {}", file.display())));
        }
        all
    }
}

/// Children of this process; ended orphans are reaped on the way, as the init of a host would.
fn left() -> Vec<String> {
    let describe = |pid: i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        format!("process {pid} {}", String::from_utf8_lossy(&line).replace('\0', " "))
    };
    let alive = |pid: &i32| {
        let status = waitpid(Pid::from_raw(*pid), Some(WaitPidFlag::WNOHANG));
        !matches!(status, Ok(status) if status.pid().is_some())
    };
    children_of(own_pid()).into_iter().filter(alive).map(describe).collect()
}

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}
