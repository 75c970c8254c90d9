//! What an attack finds around it, and who notices: one scene for each cell, so that nothing of one cell is seen by another.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use codemode::launch::Trial;
use codemode_tests::census;
use codemode_tests::listeners::Ears;
use codemode_tests::signals::Target;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Witnesses and aims of one cell.
#[derive(Debug)]
pub struct Scene {
    /// Listeners, and the folder with the file.
    pub ears: Ears,
    /// What the file holds, known to nobody else.
    pub secret: String,
    target: Option<Target>,
    socket: UnixListener,
    token: String,
    folder: tempfile::TempDir,
}

/// What can be seen after a run, besides the scene itself.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Everything that came out: value, logs, error; of a plain program what it printed.
    pub told: String,
    /// The value alone.
    pub value: String,
    /// What the backend was called with: id and arguments, a line each.
    pub backend: String,
    /// It went on beyond its wall clock.
    pub overtime: bool,
    /// Most memory at once, in bytes.
    pub peak: u64,
    /// Whether a probe's act was done.
    pub done: bool,
}

impl Scene {
    /// Sets it up.
    ///
    /// # Errors
    ///
    /// When the host refuses a socket, a file or a process.
    pub fn set(text: &str) -> io::Result<Scene> {
        let ears = Ears::open()?;
        let folder = tempfile::tempdir()?;
        let token = format!("codemode-{:016x}", random());
        let secret = format!("secret-{:016x}{:016x}", random(), random());
        let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
        open(folder.path(), 0o777)?;
        fs::write(folder.path().join("secret"), &secret)?;
        open(&folder.path().join("secret"), 0o666)?;
        let socket = UnixListener::bind(folder.path().join("socket"))?;
        open(&folder.path().join("socket"), 0o777)?;
        socket.set_nonblocking(true)?;
        let target = if text.contains("$PID") { Some(Target::start()?) } else { None };
        Ok(Scene { ears, secret, target, socket, token, folder })
    }

    /// A text with the aims filled in.
    ///
    /// # Panics
    ///
    /// Never for a scene that is set: its sockets have addresses.
    pub fn fill(&self, text: &str) -> String {
        let port = |address: io::Result<std::net::SocketAddr>| address.expect("it is bound").port().to_string();
        let path = |name: &str| self.folder.path().join(name).display().to_string();
        text.replace("$TCP", &port(self.ears.tcp_address()))
            .replace("$UDP", &port(self.ears.udp_address()))
            .replace("$NAME", &self.ears.abstract_name)
            .replace("$FILE", &self.ears.file().display().to_string())
            .replace("$SECRETFILE", &path("secret"))
            .replace("$SOCKET", &path("socket"))
            .replace("$MADE", &path("made"))
            .replace("$DIR", &self.folder.path().display().to_string())
            .replace("$TOKEN", &self.token)
            .replace("$PID", &self.target.as_ref().map(|target| target.pid().to_string()).unwrap_or_default())
    }

    /// What the witness noticed, in words; nothing when nothing.
    ///
    /// # Panics
    ///
    /// When there is no such witness.
    pub fn noticed(&mut self, witness: &str, seen: &Seen) -> Option<String> {
        let heard = self.ears.heard();
        let (kind, word) = witness.split_once(' ').unwrap_or((witness, ""));
        let noticed = match kind {
            "secret" => seen.told.contains(&self.secret),
            "main-canary" => seen.told.contains(Trial::MARK),
            "file-changed" => heard.file_changed,
            "file-made" => self.made(),
            "tcp" => heard.tcp > 0,
            "udp" => heard.udp > 0,
            "abstract" => heard.unix > 0,
            "socket" => self.socket.accept().is_ok(),
            "signal" => return self.target.as_mut().and_then(Target::hit_by).map(|signal| format!("signal {signal}")),
            "process" => self.left_over(),
            "kernel" => seen.done,
            "overtime" => seen.overtime,
            "memory" => seen.peak > word.parse::<u64>().expect("MiB") << 20,
            "backend" => seen.backend.contains(word),
            "value" => seen.value.contains(word),
            "told" => seen.told.contains(word),
            _ => panic!("no witness {witness}"),
        };
        noticed.then(|| witness.to_owned())
    }

    fn made(&self) -> bool {
        let names = fs::read_dir(self.folder.path()).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.file_name()));
        names.filter(|name| name != "secret" && name != "socket").count() > 0
    }

    /// Whether a process with the scene's token lives; it is ended.
    fn left_over(&self) -> bool {
        let alive: Vec<i32> = census::with_argument(&self.token).into_iter().filter(|pid| census::is_alive(*pid)).collect();
        for pid in &alive {
            // It may end by itself meanwhile.
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
        }
        !alive.is_empty()
    }
}

/// Sixty-four bits that nobody can guess.
///
/// # Panics
///
/// When the host gives no random bits.
pub fn random() -> u64 {
    let mut bytes = [0; 8];
    io::Read::read_exact(&mut fs::File::open("/dev/urandom").expect("every Linux has it"), &mut bytes).expect("it has no end");
    u64::from_ne_bytes(bytes)
}
