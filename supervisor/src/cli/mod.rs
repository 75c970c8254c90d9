//! The command line: the only place that knows about exit codes, terminals and files of a user.

mod arguments;
mod exit;
mod read;
mod run;
mod screen;
mod show;

pub use run::main;
