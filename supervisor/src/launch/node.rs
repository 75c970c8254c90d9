//! Finding Node, and the flags its version wants.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use super::NodeError;

/// The oldest Node that is tried: the first 20 whose permission model and V8 flags are those of the rest.
const OLDEST: (u32, u32) = (20, 19);

/// From here on the permission model's flag has lost its prefix.
const PERMISSION_STABLE: (u32, u32) = (22, 13);

/// How long `node --version` may take. It does not boot V8 and needs 5 ms; a slow disk needs seconds.
const VERSION_PATIENCE: Duration = Duration::from_secs(5);

/// A Node program and its version.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Node {
    /// The program file, no wrapper.
    pub path: PathBuf,
    /// As it prints it, e.g. `v24.22.3`.
    pub version: String,
    line: (u32, u32),
}

/// `bridge-js/flags.json`: flags for every Node under `common`, those of one line under its number.
type Flags = HashMap<String, Vec<String>>;

impl Node {
    /// The Node of `--node`, `CODEMODE_NODE` or the PATH, in this order.
    pub fn find(named: Option<&Path>) -> Result<Node, NodeError> {
        let from_environment = std::env::var_os("CODEMODE_NODE").filter(|value| !value.is_empty()).map(PathBuf::from);
        match named.map(Path::to_path_buf).or(from_environment) {
            Some(path) => Node::at(&path),
            None => Node::at(&search(std::env::var_os("PATH").as_deref())?),
        }
    }

    /// The Node at `path`. A wrapper script is asked for the program behind it.
    pub fn at(path: &Path) -> Result<Node, NodeError> {
        // Children are started in another folder than ours.
        let path = &std::path::absolute(path).map_err(|error| not_runnable(path, reason(&error)))?;
        let path = if is_program(path)? {
            path.to_path_buf()
        } else {
            let behind = PathBuf::from(ask(path, &["-p", "process.execPath"])?);
            if !behind.is_absolute() || !is_program(&behind)? {
                // A stand-in that prints a version still gets its number judged first: that is the better advice.
                parse(path, &ask(path, &["--version"])?)?;
                return Err(not_runnable(path, "it is a script, and the program behind it did not name itself"));
            }
            behind
        };
        parse(&path, &ask(&path, &["--version"])?)
    }

    /// A program in place of Node.
    #[cfg(any(test, feature = "danger"))]
    pub(super) fn stand_in(path: &Path) -> Node {
        Node { path: path.to_path_buf(), version: "stand-in".to_owned(), line: OLDEST }
    }

    /// One line that this Node prints for `arguments`, in an empty environment.
    pub(crate) fn say(&self, arguments: &[&str]) -> Result<String, NodeError> {
        ask(&self.path, arguments)
    }

    /// Flags of a child, the permission model's first.
    pub fn flags(&self, jit: bool) -> Vec<String> {
        let flags: Flags = match serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/bridge-js/flags.json"))) {
            Ok(flags) => flags,
            // The file is part of this program; a test reads it.
            Err(error) => unreachable!("bridge-js/flags.json: {error}"),
        };
        let line = if self.line.0 > 26 { "26".to_owned() } else { (self.line.0 & !1).to_string() };
        let permission = if self.line >= PERMISSION_STABLE { "--permission" } else { "--experimental-permission" };
        let mut all = Vec::new();
        for group in ["common", line.as_str()] {
            all.extend(flags.get(group).cloned().unwrap_or_default());
        }
        all.retain(|flag| !flag.ends_with("permission"));
        all.insert(0, permission.to_owned());
        if jit {
            all.retain(|flag| flag != "--jitless");
        }
        all
    }
}

fn not_runnable(path: &Path, why: impl Into<String>) -> NodeError {
    NodeError::NotRunnable { path: path.to_path_buf(), why: why.into() }
}

fn search(path: Option<&OsStr>) -> Result<PathBuf, NodeError> {
    let path = path.unwrap_or_default();
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("node"))
        .find(|file| file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0))
        .ok_or_else(|| NodeError::NotFound {
            path: if path.is_empty() { "which is empty".to_owned() } else { path.to_string_lossy().into_owned() },
        })
}

/// Whether `path` is an ELF program that may be run; scripts are not.
fn is_program(path: &Path) -> Result<bool, NodeError> {
    let meta = path.metadata().map_err(|error| not_runnable(path, reason(&error)))?;
    if meta.is_dir() {
        return Err(not_runnable(path, "it is a directory"));
    }
    if !meta.is_file() {
        return Err(not_runnable(path, "it is not a file"));
    }
    if meta.mode() & 0o111 == 0 {
        return Err(not_runnable(path, "it is not executable"));
    }
    let mut magic = [0; 4];
    // A program may be executable and not readable: then its first bytes stay unknown and the preload decides.
    match std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)) {
        Ok(()) => Ok(magic == *b"\x7fELF"),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(not_runnable(path, "it is not a program")),
        Err(error) => Err(not_runnable(path, reason(&error))),
    }
}

fn reason(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}

/// One line that `path` prints for `arguments`. It gets an empty environment and no input, and is ended, with all it started, when it takes too long or
/// prints too much.
fn ask(path: &Path, arguments: &[&str]) -> Result<String, NodeError> {
    let deadline = Instant::now() + VERSION_PATIENCE;
    let mut child = Command::new(path)
        .args(arguments)
        .env_clear()
        // A wrapper script needs its interpreter and the tools of the system.
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| not_spawned(path, &error))?;
    let Some(stdout) = child.stdout.take() else { return Err(not_runnable(path, "no output")) };
    let answer = answer(stdout, deadline);
    let pid = Pid::from_raw(child.id().cast_signed());
    if answer.is_ok() {
        let_end(pid, deadline);
    }
    // Before it is reaped the number is its own. The group of a program that ended alone is empty, and that is all this can fail with.
    let _ = killpg(pid, Signal::SIGKILL);
    let status = child.wait();
    let question = arguments.join(" ");
    match answer {
        Err(Unanswered::Late) => Err(not_runnable(path, format!("it did not answer `{question}` within {} s", VERSION_PATIENCE.as_secs()))),
        Err(Unanswered::NoText) => Err(not_runnable(path, format!("its answer to `{question}` is not text"))),
        Ok(text) => match status {
            Ok(status) if status.success() => Ok(text.trim().to_owned()),
            // What a shell limits is a better reason than what a starved program says.
            Ok(status) => Err(match shell_limit() {
                Some(advice) => {
                    NodeError::NotStarted { path: path.to_path_buf(), why: format!("`{question}` ended with {status}"), advice }
                }
                None => not_runnable(path, format!("`{question}` ended with {status}")),
            }),
            Err(error) => Err(not_runnable(path, reason(&error))),
        },
    }
}

fn not_spawned(path: &Path, error: &io::Error) -> NodeError {
    let advice = match error.raw_os_error() {
        Some(libc::EAGAIN) => "No more processes are allowed: raise `ulimit -u`.",
        Some(libc::EMFILE) => "This process is out of descriptors: raise `ulimit -n`.",
        Some(libc::ENOMEM) => shell_limit().unwrap_or("The host is out of memory."),
        _ => return not_runnable(path, reason(error)),
    };
    NodeError::NotStarted { path: path.to_path_buf(), why: error.to_string(), advice }
}

/// A limit of the caller's shell that Node cannot start under.
fn shell_limit() -> Option<&'static str> {
    use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
    let limited = |resource| getrlimit(resource).is_ok_and(|(soft, _)| soft != RLIM_INFINITY);
    if limited(Resource::RLIMIT_AS) {
        Some(
            "The virtual memory limit of this shell (`ulimit -v`) may be too low for Node: set it to unlimited. codemode has its own memory limit.",
        )
    } else if limited(Resource::RLIMIT_DATA) {
        Some("The data limit of this shell (`ulimit -d`) may be too low for Node: set it to unlimited.")
    } else {
        None
    }
}

/// Why there is no answer.
enum Unanswered {
    Late,
    NoText,
}

/// What comes out of a pipe until its end, the deadline, or more than a version or a path would be.
fn answer(mut stdout: ChildStdout, deadline: Instant) -> Result<String, Unanswered> {
    const ANSWER_MAX: usize = 4096;
    let mut bytes = Vec::new();
    let mut piece = [0; ANSWER_MAX];
    while bytes.len() < ANSWER_MAX {
        let left = u16::try_from(deadline.saturating_duration_since(Instant::now()).as_millis()).unwrap_or(u16::MAX);
        let mut waited = [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waited, left) {
            Ok(0) => return Err(Unanswered::Late),
            Ok(_) => match stdout.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => bytes.extend_from_slice(&piece[..length]),
                Err(_) => return Err(Unanswered::NoText),
            },
            // A signal that somebody handles.
            Err(Errno::EINTR) => {}
            Err(_) => return Err(Unanswered::NoText),
        }
    }
    String::from_utf8(bytes).map_err(|_| Unanswered::NoText)
}

/// Waits until a program has ended, without reaping it, at most until the deadline.
fn let_end(pid: Pid, deadline: Instant) {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
    while matches!(waitid(Id::Pid(pid), flags), Ok(WaitStatus::StillAlive)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn parse(path: &Path, version: &str) -> Result<Node, NodeError> {
    let mut numbers = version.strip_prefix('v').unwrap_or_default().splitn(3, '.').map(|part| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..digits].parse::<u32>().ok()
    });
    let (Some(Some(major)), Some(Some(minor)), Some(Some(_))) = (numbers.next(), numbers.next(), numbers.next()) else {
        let shown: String = version.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(40).collect();
        return Err(not_runnable(path, format!("`--version` printed {shown:?}, which is no Node version")));
    };
    let node = Node { path: path.to_path_buf(), version: version.to_owned(), line: (major, minor) };
    if node.line < OLDEST {
        return Err(NodeError::TooOld { path: node.path, version: node.version });
    }
    Ok(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers_or_refused() {
        let path = Path::new("/n");
        assert_eq!(parse(path, "v24.22.3").expect("a version").line, (24, 22));
        assert_eq!(parse(path, "v27.0.0-nightly2027").expect("a version").line, (27, 0));
        assert!(matches!(parse(path, "v18.20.4"), Err(NodeError::TooOld { .. })));
        assert!(matches!(parse(path, "v20.18.9"), Err(NodeError::TooOld { .. })));
        for other in ["", "v", "24.1.1", "v24", "v24.1", "ls (GNU coreutils) 9.1", "vx.y.z"] {
            assert!(matches!(parse(path, other), Err(NodeError::NotRunnable { .. })), "{other}");
        }
    }

    #[test]
    fn permission_flag_follows_the_version() {
        let flag = |version: &str| parse(Path::new("/n"), version).expect("a version").flags(false)[0].clone();
        assert_eq!(flag("v20.20.2"), "--experimental-permission");
        assert_eq!(flag("v22.12.0"), "--experimental-permission");
        assert_eq!(flag("v22.13.0"), "--permission");
        assert_eq!(flag("v26.12.1"), "--permission");
    }
}
