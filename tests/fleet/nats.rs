//! A NATS of a test's own.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use codemode_tests::host;
use codemode_tests::patience::PACE;
use tempfile::TempDir;

/// How long it may take to listen.
const LISTENS_WITHIN: Duration = Duration::from_secs(20);

/// A server on 127.0.0.1, which ends with the test.
pub struct Nats {
    child: Option<Child>,
    pub port: u16,
    config: PathBuf,
    _folder: TempDir,
}

fn program() -> PathBuf {
    let usual = ["/usr/sbin/nats-server", "/usr/local/bin/nats-server"].map(PathBuf::from);
    let found = host::program("nats-server").or_else(|| usual.into_iter().find(|file| file.is_file()));
    found.expect("this host has no nats-server, and these tests need one: apt-get install -y nats-server")
}

impl Nats {
    /// With nothing but the defaults.
    pub fn start() -> Nats {
        Nats::with("")
    }

    /// With these lines of configuration besides.
    pub fn with(lines: &str) -> Nats {
        let folder = tempfile::tempdir().expect("a folder");
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = free.local_addr().expect("it has one").port();
        drop(free);
        let config = folder.path().join("nats.conf");
        std::fs::write(&config, format!("listen: \"127.0.0.1:{port}\"\n{lines}\n")).expect("it is ours");
        let mut nats = Nats { child: None, port, config, _folder: folder };
        nats.again();
        nats
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn url_of(&self, user: &str, password: &str) -> String {
        format!("nats://{user}:{password}@127.0.0.1:{}", self.port)
    }

    /// Ends it.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it is ours");
            child.wait().expect("it is ours");
        }
    }

    /// Starts it, at the same place.
    pub fn again(&mut self) {
        let mut command = Command::new(program());
        command.arg("-c").arg(&self.config).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn().expect("nats-server starts"));
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().expect("it is ours"));
            assert!(ended.is_none(), "nats-server ended: {ended:?}");
            assert!(began.elapsed() < LISTENS_WITHIN, "nats-server does not listen");
            std::thread::sleep(PACE);
        }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.stop();
    }
}
