//! What a child is given beside its plan: the jail object and the bundle as sealed memory files, and a null device.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};

use super::sys;

/// The jail object, as build.rs made it.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/jail.so"));

/// A memory file nobody can change any more, the kernel's promise.
#[derive(Debug)]
pub(super) struct Sealed {
    file: File,
}

impl Sealed {
    fn new(name: &std::ffi::CStr, parts: &[&[u8]]) -> io::Result<Sealed> {
        let fd = sys::memfd(name, true).or_else(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => sys::memfd(name, false),
            _ => Err(error),
        })?;
        let mut file = File::from(fd);
        for part in parts {
            file.write_all(part)?;
        }
        let seals = SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        Ok(Sealed { file })
    }

    /// The jail object.
    pub(super) fn object() -> io::Result<Sealed> {
        Sealed::new(c"codemode-jail", &[OBJECT])
    }

    /// A bundle for the bridge: magic, lengths, source, V8 code cache (may be empty).
    pub(super) fn bundle(magic: &[u8; 8], source: &[u8], cache: &[u8]) -> io::Result<Sealed> {
        let length =
            |part: &[u8]| u32::try_from(part.len()).map(u32::to_be_bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge));
        Sealed::new(c"codemode-bundle", &[magic, &length(source)?, &length(cache)?, source, cache])
    }

    /// A read-only descriptor of its own: descriptors that share one opening would share the reading position between children.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        Ok(OpenOptions::new().read(true).open(path)?.into())
    }
}

/// What stands on descriptors 0 and 1 of a child: the null device, or, where a host closes that to ordinary users, an empty memory file.
pub(super) fn null() -> io::Result<OwnedFd> {
    match OpenOptions::new().read(true).write(true).open("/dev/null") {
        Ok(file) => Ok(file.into()),
        Err(_) => Ok(Sealed::new(c"codemode-null", &[])?.file.into()),
    }
}
