//! What to say of a command line that means nothing: one line what, one line what to do.

use std::error::Error as _;
use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::arguments::Arguments;
use crate::catalog::visible::visible;

/// The message of a parse error. `words` is the whole command line, to name the right help.
pub(super) fn two_lines(error: &clap::Error, words: impl Iterator<Item = OsString>) -> String {
    let help = format!("see `{} --help`", command_of(words));
    let context = |kind| error.get(kind).map(text);
    let near = |kind| context(kind).filter(|text| !text.is_empty()).map(|text| format!("did you mean {}? {help}", quoted_list(&text)));
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    let (what, to_do) = match error.kind() {
        // The source of such an error is one of ours, and has both lines.
        ErrorKind::ValueValidation => match error.source() {
            Some(source) => return visible(&source.to_string()),
            None => (format!("{value:?} is no value of {argument}"), None),
        },
        ErrorKind::UnknownArgument => (format!("unknown argument `{argument}`"), near(ContextKind::SuggestedArg)),
        ErrorKind::InvalidSubcommand => {
            let word = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            (format!("there is no command `{word}`"), near(ContextKind::SuggestedSubcommand))
        }
        ErrorKind::InvalidValue if value.is_empty() => (format!("`{argument}` needs a value"), None),
        ErrorKind::InvalidValue => {
            let choices = context(ContextKind::ValidValue).map(|choices| format!("write one of {choices}"));
            (format!("`{argument}` cannot be {value:?}"), choices)
        }
        ErrorKind::MissingRequiredArgument => (format!("{argument} is missing"), None),
        ErrorKind::ArgumentConflict => {
            let prior = context(ContextKind::PriorArg).unwrap_or_default();
            let what = if prior == argument || prior.is_empty() {
                format!("`{argument}` is given twice")
            } else {
                format!("`{argument}` cannot stand with `{prior}`")
            };
            (what, None)
        }
        _ => (first_line(error), None),
    };
    visible(&format!("{what}\n{}", to_do.unwrap_or(help)))
}

fn text(value: &ContextValue) -> String {
    match value {
        ContextValue::Strings(all) => all.join(", "),
        other => other.to_string(),
    }
}

fn quoted_list(text: &str) -> String {
    text.split(", ").map(|one| format!("`{one}`")).collect::<Vec<_>>().join(" or ")
}

fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The command that these words begin with.
fn command_of(words: impl Iterator<Item = OsString>) -> String {
    let mut command = Arguments::command();
    let mut name = "codemode".to_owned();
    for word in words.skip(1) {
        let Some(word) = word.to_str().map(str::to_owned) else { continue };
        if let Some(inner) = command.find_subcommand(&word).cloned() {
            name = format!("{name} {word}");
            command = inner;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn told(words: &[&str]) -> String {
        let words: Vec<&str> = [&["codemode"], words].concat();
        let error = Arguments::try_parse_from(&words).unwrap_err();
        two_lines(&error, words.iter().map(OsString::from))
    }

    #[test]
    fn a_wrong_command_line_is_told_in_two_lines() {
        for (words, wanted) in [
            (&["run", "--tmeout", "5"] as &[_], "unknown argument `--tmeout`\ndid you mean `--timeout`? see `codemode run --help`"),
            (&["run", "-", "-"], "unknown argument `-`\nsee `codemode run --help`"),
            (&["rum"], "there is no command `rum`\ndid you mean `run`? see `codemode --help`"),
            (&["tools", "serach", "x"], "there is no command `serach`\ndid you mean `search`? see `codemode tools --help`"),
            (&["run", "--launcher", "x"], "`--launcher <LAUNCHER>` cannot be \"x\"\nwrite one of auto, template, spawn"),
            (&["run", "--tools"], "`--tools <FILE>` needs a value\nsee `codemode run --help`"),
            (&["run", "--tools", "a", "--tools", "b"], "`--tools <FILE>` is given twice\nsee `codemode run --help`"),
            (&["tools", "search"], "<QUERY> is missing\nsee `codemode tools search --help`"),
            (&["run", "--timeout", "30s"], "--timeout takes a whole number of milliseconds, not \"30s\"\nwrite `--timeout 30000`"),
            (
                &["run", "--timeout", "-5"],
                "--timeout takes a whole number of milliseconds, not \"-5\"\nwrite a number from 1 to 60000, for example `--timeout 10000`",
            ),
            (&["run", "--watch"], "<BODY> is missing\nsee `codemode run --help`"),
        ] {
            assert_eq!(told(words), wanted, "{words:?}");
        }
    }
}
