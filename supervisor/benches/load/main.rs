//! What happens under load: `cargo bench --bench load -- [--node PATH] [--callers 1,8,32,128] [--way library,socket,mcp] [--seconds N] [--rounds N]
//! [--bodies usual|waiting] [--well-behaved] [--strict]`, all ways in a minute: `cargo bench --bench load -- --minute`, and the long way:
//! `cargo bench --bench load -- --soak RUNS`. Which figure comes from which, and how to read them: `docs/load.md`.
//!
//! Each caller does the next piece of work as soon as the last one is over. A row is measured twice: with well-behaved bodies alone, and
//! with one in ten hostile; all rows in turn, several rounds of it, so that rates can be compared round by round. What is judged: no throughput is lost with callers, and whoever behaves hardly notices who does not. Every outcome is checked.

mod arguments;
#[path = "../side_by_side/figures.rs"]
mod figures;
mod lanes;
mod mix;
mod process;
mod soak;
mod spent;
mod verdicts;
mod way;

use std::process::ExitCode;

use arguments::Arguments;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime can be made");
    let all_met = runtime.block_on(async {
        let measured = tokio::spawn(async move {
            match arguments.soak {
                Some(runs) => soak::soak(&arguments, runs).await,
                None => verdicts::measure(&arguments).await,
            }
        });
        measured.await.expect("no check has failed")
    });
    if all_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
