//! The files of a run.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use codemode_protocol::RunLimits;

/// The body cannot be read.
#[derive(Debug)]
pub(super) struct BodyUnreadable {
    path: Option<PathBuf>,
    source: io::Error,
}

impl fmt::Display for BodyUnreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "cannot read the body from {}: {}\nname a file, or `-` for standard input", path.display(), self.source),
            None => write!(f, "cannot read the body from standard input: {}", self.source),
        }
    }
}

/// Reads the body, and no more of it than shows that it is too long. `None` and `-` are standard input.
pub(super) fn body(path: Option<&Path>, limits: &RunLimits) -> Result<Vec<u8>, BodyUnreadable> {
    let path = path.filter(|path| *path != Path::new("-"));
    let read = match path {
        Some(path) => File::open(path).and_then(|file| bounded(file, limits)),
        None => bounded(io::stdin().lock(), limits),
    };
    read.map_err(|source| BodyUnreadable { path: path.map(Path::to_owned), source })
}

fn bounded(from: impl Read, limits: &RunLimits) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limits.body_bytes() + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The name of a body in messages.
pub(super) fn name(path: Option<&Path>) -> String {
    match path {
        Some(path) if path != Path::new("-") => path.display().to_string(),
        _ => "<stdin>".to_owned(),
    }
}
