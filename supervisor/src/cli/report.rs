//! `codemode report`: what a session's log says.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;

use super::arguments::ReportArguments;
use super::{exit, show};
use crate::catalog::visible::visible_line;
use crate::telemetry::History;

/// Reads the log, prints its answers, and draws its page where one is asked for.
pub(super) fn main(arguments: &ReportArguments) -> ExitCode {
    if let Some(path) = arguments.html.as_ref().filter(|path| are_one(&arguments.log, path)) {
        return refused(&format!("the page would replace the log {}\nname another file", visible_line(&path.display().to_string())));
    }
    let history = match History::open(&arguments.log) {
        Ok(history) if history.is_foreign() => {
            let name = visible_line(&arguments.log.display().to_string());
            return refused(&format!("{name} is no session log: none of its lines is an event\nname a file that `--session-log` wrote"));
        }
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

/// Whether both names lead to the same file, whatever stands between.
fn are_one(log: &Path, page: &Path) -> bool {
    let place = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    place(log).is_some_and(|log| place(page) == Some(log))
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_page_never_takes_the_place_of_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("log"), "{}\n").unwrap();
        fs::write(at("other"), "").unwrap();
        symlink("log", at("link")).unwrap();
        fs::hard_link(at("log"), at("hard")).unwrap();
        for (name, one) in [("log", true), ("link", true), ("hard", true), ("other", false), ("new", false)] {
            assert_eq!(are_one(&at("log"), &at(name)), one, "{name}");
            let arguments = ReportArguments { log: at("log"), html: Some(at(name)) };
            if one {
                assert_eq!(main(&arguments), ExitCode::from(exit::USAGE));
                assert_eq!(fs::read_to_string(at("log")).unwrap(), "{}\n");
            }
        }
    }
}
