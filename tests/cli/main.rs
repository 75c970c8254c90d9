//! The command line as a person meets it: the built program, its output, its exit codes, and what it leaves behind.

mod approve;
mod bad_input;
mod bad_node;
mod configured;
mod help;
mod people;
mod record;
mod reports;
mod rows;
mod stubs;
mod tools;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use codemode_tests::binary::{Ran, Typed, demo};
use tempfile::TempDir;

static TURN: RwLock<()> = RwLock::new(());

/// For a test that shares this process with others.
fn together() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

/// For a test that counts what is left: nothing else may start a process meanwhile.
fn alone() -> RwLockWriteGuard<'static, ()> {
    TURN.write().unwrap_or_else(PoisonError::into_inner)
}

/// A folder of a test's own.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Other users of this host are to read it, too.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("it is ours");
    folder
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, bytes).expect("it is ours");
    file
}

/// `codemode run` with the demo catalog, the body on standard input.
fn run(body: &str, words: &[&str]) -> Ran {
    let folder = folder();
    let tools = demo().display().to_string();
    Typed::new(folder.path(), [&["run", "--tools", &tools], words].concat()).stdin(body).run()
}

/// `codemode tools` with the demo catalog.
fn tools(words: &[&str]) -> Ran {
    let folder = folder();
    let tools = demo().display().to_string();
    Typed::new(folder.path(), [&["tools"], words, &["--tools", &tools]].concat()).run()
}
