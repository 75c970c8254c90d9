//! The file of the socket: whose it is, from the first moment to the last.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use interprocess::local_socket::tokio::Listener;
use interprocess::local_socket::{GenericFilePath, ListenerOptions, ToFsName};
use interprocess::os::unix::local_socket::ListenerOptionsExt;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};

/// Nobody but the owner: who can connect can run bodies.
const MODE: u32 = 0o600;

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Somebody answers there.
    #[error("a server answers on {} already\nend it first, or name another path", .0.display())]
    InUse(PathBuf),
    /// There is something that is no socket.
    #[error("{} is there and is no socket\nname another path; nothing was touched", .0.display())]
    NotASocket(PathBuf),
    /// The path is longer than an address can be.
    #[error("the path {} is too long for a socket: at most 107 bytes\nname a shorter one", .0.display())]
    TooLong(PathBuf),
    /// The host refuses.
    #[error("{what} {}: {source}\nsee to it that its folder is there and can be written to", path.display())]
    Host {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// A socket's file that is ours.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    /// Device and inode: a file that stands there later may be another's.
    identity: (u64, u64),
}

/// Makes the socket.
pub(super) fn claim(path: &Path) -> Result<(Listener, Claim), SocketError> {
    let host = |what, source| SocketError::Host { what, path: path.to_owned(), source };
    let address = UnixAddr::new(path).map_err(|_| SocketError::TooLong(path.to_owned()))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Two servers that start together look and bind one after the other.
    let folder = File::open(folder).map_err(|error| host("cannot open the folder of", error))?;
    let _turn = Flock::lock(folder, FlockArg::LockExclusive).map_err(|(_, errno)| host("cannot lock the folder of", errno.into()))?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(host("cannot look at", error)),
        Ok(there) if !there.file_type().is_socket() => return Err(SocketError::NotASocket(path.to_owned())),
        Ok(_) => match answers(&address) {
            Errno::ECONNREFUSED => {
                fs::remove_file(path).map_err(|error| host("cannot remove the socket of a server that is gone,", error))?
            }
            // Connected, or as many wait for it as can: a server is there.
            Errno::UnknownErrno | Errno::EAGAIN => return Err(SocketError::InUse(path.to_owned())),
            errno => return Err(host("cannot tell whether a server answers on", errno.into())),
        },
    }
    let name = path.to_fs_name::<GenericFilePath>().map_err(|error| host("cannot use", error))?;
    // The mode is set on the socket before it gets its name, so there is no moment with more.
    let options = ListenerOptions::new().name(name).mode(MODE as _).reclaim_name(false);
    let listener = options.create_tokio().map_err(|error| host("cannot listen on", error))?;
    let made = fs::symlink_metadata(path).map_err(|error| host("cannot look at", error))?;
    Ok((listener, Claim { path: path.to_owned(), identity: (made.dev(), made.ino()) }))
}

/// How a connection is refused; `UnknownErrno`: it is not.
fn answers(address: &UnixAddr) -> Errno {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let tried = socket(AddressFamily::Unix, SockType::Stream, flags, None).and_then(|socket| connect(socket.as_raw_fd(), address));
    tried.err().unwrap_or(Errno::UnknownErrno)
}

impl Claim {
    /// Removes the file, if it is still this one.
    pub(super) fn release(self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|there| (there.dev(), there.ino()) == self.identity);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the socket could not be removed");
        }
    }
}
