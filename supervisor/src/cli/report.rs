//! `codemode report`: what a session's log says.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use super::arguments::ReportArguments;
use super::screen::visible_line;
use super::{exit, show};
use crate::telemetry::History;

/// Reads the log, prints its answers, and draws its page where one is asked for.
pub(super) fn main(arguments: &ReportArguments) -> ExitCode {
    let history = match History::open(&arguments.log) {
        Ok(history) => history,
        Err(error) => return refused(&format!("{}\nname a file that `--session-log` wrote", visible_line(&error.to_string()))),
    };
    let lines: Vec<String> = history.answers().iter().map(|line| visible_line(line)).collect();
    show::to_stdout(lines.join("\n"));
    match &arguments.html {
        Some(path) => drawn(path, &history),
        None => ExitCode::SUCCESS,
    }
}

/// Written whole or not at all: a reader never sees half a page.
fn drawn(path: &Path, history: &History) -> ExitCode {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut file| {
        file.write_all(history.page().as_bytes())?;
        file.persist(path).map_err(|error| error.error)
    });
    match written {
        Ok(_) => ExitCode::SUCCESS,
        Err(why) => refused(&format!("the page cannot be written to {}: {why}\nmake room there, or name another file", path.display())),
    }
}

fn refused(message: &str) -> ExitCode {
    show::error(message);
    ExitCode::from(exit::USAGE)
}
