//! `codemode doctor`: what it says of a host, and that a run says the same.

mod hosts;
mod page;
mod places;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use codemode_tests::{host, program};
use serde_json::Value;

const STRICT_HOST: &str = env!("CARGO_BIN_EXE_strict_host");

/// The doctor of a busy machine is held to more than one of an idle one; neither may keep a person waiting.
const PATIENCE: Duration = Duration::from_secs(5);

/// The program, where every user can get at it.
struct Program {
    folder: tempfile::TempDir,
}

impl Program {
    fn new() -> Program {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let open = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755));
        let program = Program { folder };
        fs::copy(program::codemode(), program.path()).expect("the program can be copied");
        open(&program.path()).expect("it is ours");
        open(program.folder.path()).expect("it is ours");
        program
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("codemode")
    }

    /// Runs it on a host that refuses `calls`, as `user`.
    fn on(&self, calls: &str, user: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(STRICT_HOST);
        command.args([calls, user]).arg(self.path()).args(arguments);
        command.env_remove("CODEMODE_NODE").stdin(std::process::Stdio::null());
        command.output().expect("the program starts")
    }

    fn doctor(&self, calls: &str, user: &str, node: &Path) -> Value {
        let node = node.to_str().expect("a path of text");
        let started = Instant::now();
        let output = self.on(calls, user, &["doctor", "--json", "--node", node]);
        assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        json(&output)
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The users to be: the one that runs the tests (`-`), and if that is root an ordinary one.
fn users() -> Vec<&'static str> {
    let root = nix::unistd::geteuid().is_root();
    if host::has("root", root) { vec!["-", "1000"] } else { vec!["-"] }
}
