//! The `codemode` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    codemode::cli::main()
}
