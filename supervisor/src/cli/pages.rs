//! Completions and manual pages, from the same definitions as the help.

use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use super::arguments::Arguments;
use super::{exit, show};

/// Prints the completions for a shell.
pub(super) fn completions(shell: Shell) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "codemode", &mut text);
    print(&text)
}

/// Prints the manual page of a command.
pub(super) fn man(words: &[String]) -> ExitCode {
    let mut command = Arguments::command();
    // Gives the commands below their full names.
    command.build();
    for word in words {
        command = match command.find_subcommand(word) {
            Some(inner) => inner.clone(),
            None => {
                show::error(&format!("there is no command {word:?}\nsee `{} --help`", command.get_bin_name().unwrap_or("codemode")));
                return ExitCode::from(exit::USAGE);
            }
        };
    }
    let title = command.get_bin_name().unwrap_or("codemode").replace(' ', "-");
    let mut page = Vec::new();
    match clap_mangen::Man::new(command.display_name(&title)).title(title.to_uppercase()).render(&mut page) {
        Ok(()) => print(&page),
        // Memory takes every byte.
        Err(error) => unreachable!("{error}"),
    }
}

fn print(text: &[u8]) -> ExitCode {
    let text = String::from_utf8_lossy(text);
    show::to_stdout(text.trim_end().to_owned());
    ExitCode::SUCCESS
}
