//! The `codemode` program, as a user has it.

use std::path::PathBuf;

/// The program of this build: it lies beside the folder of the test programs.
///
/// # Panics
///
/// When it was not built: a test of the command line tests nothing without it.
pub fn codemode() -> PathBuf {
    let program = std::env::current_exe()
        .ok()
        .and_then(|test| Some(test.parent()?.parent()?.join("codemode")))
        .expect("a test program lies in target/PROFILE/deps");
    assert!(program.is_file(), "{} is not there: build it first (cargo build -p codemode)", program.display());
    program
}
