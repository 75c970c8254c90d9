//! Ears on this host: what a body that gets out could reach.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

/// The environment variable of every test process that a child must not see.
pub const CANARY_NAME: &str = "CODEMODE_CANARY";
/// Its value, and the text of the canary file.
pub const CANARY_TEXT: &str = "canary-7d1f4c52";

/// Listeners on loopback (TCP, UDP) and in the abstract name space, and a file.
#[derive(Debug)]
pub struct Ears {
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    /// The name of the abstract socket.
    pub abstract_name: String,
    folder: tempfile::TempDir,
}

/// What was heard.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Heard {
    /// Connections over TCP.
    pub tcp: usize,
    /// Datagrams over UDP.
    pub udp: usize,
    /// Connections to the abstract socket.
    pub unix: usize,
    /// The canary file is not as it was.
    pub file_changed: bool,
}

impl Ears {
    /// Starts to listen.
    ///
    /// # Errors
    ///
    /// When the host refuses a socket or a file.
    pub fn open() -> io::Result<Ears> {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let abstract_name = format!("codemode-canary-{}", tcp.local_addr()?.port());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&abstract_name)?;
        let unix = UnixListener::bind_addr(&address)?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        unix.set_nonblocking(true)?;
        let folder = tempfile::tempdir()?;
        let ears = Ears { tcp, udp, unix, abstract_name, folder };
        fs::write(ears.file(), CANARY_TEXT)?;
        // Anybody may get at it: what stops a child must not be the file's mode.
        let open = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(ears.folder.path(), open(0o777))?;
        fs::set_permissions(ears.file(), open(0o666))?;
        Ok(ears)
    }

    /// The canary file.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("canary")
    }

    /// Where TCP is heard.
    ///
    /// # Errors
    ///
    /// Never for a bound socket.
    pub fn tcp_address(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Where UDP is heard.
    ///
    /// # Errors
    ///
    /// Never for a bound socket.
    pub fn udp_address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// What has come since the last time.
    pub fn heard(&self) -> Heard {
        let mut heard = Heard::default();
        while self.tcp.accept().is_ok() {
            heard.tcp += 1;
        }
        while self.udp.recv(&mut [0; 64]).is_ok() {
            heard.udp += 1;
        }
        while self.unix.accept().is_ok() {
            heard.unix += 1;
        }
        let text = fs::read_to_string(self.file());
        heard.file_changed = !text.is_ok_and(|text| text == CANARY_TEXT);
        heard
    }
}
