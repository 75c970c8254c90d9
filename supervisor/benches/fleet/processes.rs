//! The server and the workers: processes of this benchmark's own, which end with it.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Nats {
    child: Child,
    pub url: String,
}

pub struct Worker(Child);

impl Nats {
    pub fn start() -> Nats {
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = free.local_addr().expect("it has one").port();
        drop(free);
        // Debian puts it where an ordinary user does not look.
        let program = if Path::new("/usr/sbin/nats-server").is_file() { "/usr/sbin/nats-server" } else { "nats-server" };
        let mut command = Command::new(program);
        command.args(["-a", "127.0.0.1", "-p", &port.to_string()]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("nats-server starts (Debian's package nats-server)");
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "nats-server does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        Nats { child, url: format!("nats://127.0.0.1:{port}") }
    }
}

impl Worker {
    pub fn start(url: &str, places: usize, node: Option<&Path>) -> Worker {
        let mut command = Command::new(env!("CARGO_BIN_EXE_codemode"));
        command.args(["worker", "--launcher", "template", "--nats", url, "--concurrency", &places.to_string()]);
        if let Some(node) = node {
            command.arg("--node").arg(node);
        }
        Worker(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("the program starts"))
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Its children die with it.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
