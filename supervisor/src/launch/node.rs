//! Finding Node, and the flags its version wants.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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

    /// Flags of a child, the permission model's first.
    pub fn flags(&self, jit: bool) -> Vec<String> {
        let flags: Flags = match serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/bridge-js/flags.json"))) {
            Ok(flags) => flags,
            // The file is part of this program; a test reads it.
            Err(error) => unreachable!("bridge-js/flags.json: {error}"),
        };
        let line = if self.line.0 > 26 { "26".to_owned() } else { (self.line.0 & !1).to_string() };
        let permission = if self.line >= PERMISSION_STABLE { "--permission" } else { "--experimental-permission" };
        let mut all = vec![permission.to_owned()];
        for group in ["common", line.as_str()] {
            all.extend(flags.get(group).cloned().unwrap_or_default());
        }
        all.retain(|flag| flag == permission || !flag.ends_with("permission"));
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
        .ok_or_else(|| NodeError::NotFound { path: path.to_string_lossy().into_owned() })
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

/// One line that `path` prints for `arguments`. It gets an empty environment and no input, and is ended when it takes too long or prints too much.
fn ask(path: &Path, arguments: &[&str]) -> Result<String, NodeError> {
    /// A version or a path; more is another program.
    const ANSWER_MAX: u64 = 4096;
    let mut child = Command::new(path)
        .args(arguments)
        .env_clear()
        // A wrapper script needs its interpreter and the tools of the system.
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| not_runnable(path, reason(&error)))?;
    let Some(stdout) = child.stdout.take() else { return Err(not_runnable(path, "no output")) };
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.take(ANSWER_MAX).read_to_string(&mut text);
        // The receiver may have given up; then nobody wants the text.
        let _ = send.send(read.map(|_| text));
    });
    let started = Instant::now();
    let answer = receive.recv_timeout(VERSION_PATIENCE);
    // Answered or not, it has no more to say. A kill of an ended child does nothing.
    let late = answer.is_err();
    let left = VERSION_PATIENCE.saturating_sub(started.elapsed());
    let status = if late || !ends_within(&mut child, left) {
        let _ = child.kill();
        child.wait()
    } else {
        child.wait()
    };
    match answer {
        Err(_) => Err(not_runnable(path, format!("it did not answer `{}` within {} s", arguments.join(" "), VERSION_PATIENCE.as_secs()))),
        Ok(Err(_)) => Err(not_runnable(path, format!("its answer to `{}` is not text", arguments.join(" ")))),
        Ok(Ok(text)) => match status {
            Ok(status) if status.success() => Ok(text.trim().to_owned()),
            Ok(status) => Err(not_runnable(path, format!("`{}` ended with {status}", arguments.join(" ")))),
            Err(error) => Err(not_runnable(path, reason(&error))),
        },
    }
}

fn ends_within(child: &mut std::process::Child, patience: Duration) -> bool {
    let end = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_micros(200)),
            Ok(None) => return false,
            _ => return true,
        }
    }
}

fn parse(path: &Path, version: &str) -> Result<Node, NodeError> {
    let mut numbers = version.strip_prefix('v').unwrap_or_default().splitn(3, '.').map(|part| {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..digits].parse::<u32>().ok()
    });
    let (Some(Some(major)), Some(Some(minor)), Some(Some(_))) = (numbers.next(), numbers.next(), numbers.next()) else {
        let shown: String = version.chars().filter(|c| !c.is_control()).take(40).collect();
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
