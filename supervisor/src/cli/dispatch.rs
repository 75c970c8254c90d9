//! From the words on the command line to the command.

use std::process::ExitCode;

use clap::Parser;

use super::arguments::{Arguments, Command};
use super::{doctor, exit, mcp, pages, report, run, serve, show, tools, usage};

/// Does what the command line says.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && error.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            show::error(&usage::two_lines(&error, std::env::args_os()));
            return ExitCode::from(exit::USAGE);
        }
        Err(help) => {
            // A reader that went away early has read enough of it.
            let _ = help.print();
            return if help.use_stderr() { ExitCode::from(exit::USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let code = match arguments.command {
        Command::Run(arguments) => run::main(&arguments),
        Command::Tools(arguments) => tools::main(&arguments),
        Command::Mcp(arguments) => mcp::main(&arguments),
        Command::Serve(arguments) => serve::main(&arguments),
        Command::Worker(arguments) => super::worker::main(&arguments),
        Command::Doctor(arguments) => doctor::main(&arguments),
        Command::Report(arguments) => report::main(&arguments),
        Command::Completions(arguments) => pages::completions(arguments.shell),
        Command::Man(arguments) => pages::man(&arguments.command),
    };
    // A result that got lost is no success, whatever became of the run.
    if code == ExitCode::SUCCESS && !show::all_was_written() { ExitCode::from(exit::USAGE) } else { code }
}
