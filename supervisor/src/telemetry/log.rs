//! The log of a session: a file of JSON, one event a line.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::mask::masked;

/// A log cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("the session log {} cannot be opened: {source}", path.display())]
pub struct SessionLogError {
    /// Where it was to be.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// Why events are missing from a log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LogLoss {
    /// How many.
    pub events: u64,
    /// What the system said last.
    pub reason: String,
}

/// The log of a session. Only its owner can read the file (mode 0600). Secrets are masked unless told otherwise.
///
/// A disk that is full, or gone, loses events and never a run: what was lost is counted, told by [`SessionLog::loss`], and written down as soon as there is room again.
/// Where files have a limit (`RLIMIT_FSIZE`), that holds for a program that does not leave SIGXFSZ at its default, which would end it; the `codemode` program does not.
#[derive(Debug)]
pub struct SessionLog {
    masks: bool,
    file: Mutex<Tail>,
}

#[derive(Debug)]
struct Tail {
    file: File,
    lost: u64,
    /// Lost since the last event that was written.
    gap: u64,
    reason: String,
    /// The last line has no end: the disk was full in the middle of it.
    torn: bool,
}

impl SessionLog {
    /// Opens a log to write at its end.
    ///
    /// # Errors
    /// The file cannot be made, opened or kept from others, or is a pipe, a socket or a disk.
    pub fn open(path: impl AsRef<Path>) -> Result<SessionLog, SessionLogError> {
        let path = path.as_ref();
        match opened(path) {
            Ok(file) => {
                let tail = Tail { file, lost: 0, gap: 0, reason: String::new(), torn: false };
                Ok(SessionLog { masks: true, file: Mutex::new(tail) })
            }
            Err(source) => Err(SessionLogError { path: path.to_owned(), source }),
        }
    }

    /// The same log with texts as they are. Fields that the gate knows as secrets stay masked.
    #[must_use]
    pub fn without_masks(mut self) -> SessionLog {
        self.masks = false;
        self
    }

    /// Writes an event. `event` has a JSON object, with its kind under `event`.
    pub fn write(&self, session: Option<&str>, run: Option<&str>, event: &impl Serialize) {
        let mut line = Map::new();
        line.insert("at".to_owned(), now().into());
        for (key, id) in [("session", session), ("run", run)] {
            if let Some(id) = id {
                line.insert(key.to_owned(), id.into());
            }
        }
        match serde_json::to_value(event) {
            Ok(Value::Object(fields)) => line.extend(fields),
            // Every event of ours is an object; a later one that is not shall not end a run.
            other => drop(line.insert("event".to_owned(), other.unwrap_or_default())),
        }
        let line = Value::Object(line);
        self.tail().write(&if self.masks { masked(line) } else { line });
    }

    /// What could not be written so far.
    pub fn loss(&self) -> Option<LogLoss> {
        let tail = self.tail();
        (tail.lost > 0).then(|| LogLoss { events: tail.lost, reason: tail.reason.clone() })
    }

    fn tail(&self) -> MutexGuard<'_, Tail> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tail {
    fn write(&mut self, line: &Value) {
        let mut text = String::new();
        if self.torn {
            text.push('\n');
        }
        if self.gap > 0 {
            text.push_str(&format!("{}\n", json!({"at": now(), "event": "log_gap", "lost": self.gap})));
        }
        text.push_str(&format!("{line}\n"));
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return self.lose(rest.len() < text.len(), &io::Error::from(io::ErrorKind::WriteZero)),
                Ok(written) => rest = &rest[written..],
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return self.lose(rest.len() < text.len(), &why),
            }
        }
        (self.gap, self.torn) = (0, false);
    }

    fn lose(&mut self, torn: bool, why: &io::Error) {
        self.torn |= torn;
        self.lost += 1;
        self.gap += 1;
        self.reason = why.to_string();
    }
}

/// A pipe that nobody reads would hold the session for ever, so nothing here waits for another side.
fn opened(path: &Path) -> io::Result<File> {
    const NO_LOG: &str = "it is neither a file nor a character device";
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path).map_err(|why| {
        // A pipe without a reader, or a socket.
        if why.raw_os_error() == Some(libc::ENXIO) { io::Error::new(io::ErrorKind::InvalidInput, NO_LOG) } else { why }
    })?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        // It may have been there before, with other rights. Something like /dev/full keeps its own.
        file.set_permissions(Permissions::from_mode(0o600))?;
    } else if !kind.is_char_device() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, NO_LOG));
    }
    Ok(file)
}

fn now() -> u64 {
    // A clock before 1970 is wrong anyway.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn a_pipe_is_refused_whether_or_not_somebody_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        let refused = || SessionLog::open(&path).unwrap_err().to_string();
        assert!(refused().contains("neither a file"), "{}", refused());
        let _reader = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
        assert!(refused().contains("neither a file"), "{}", refused());
        assert!(SessionLog::open("/dev/null").is_ok());
    }
}
