//! The empty root: a file system with nothing in it and no way to put something there.

use crate::sys;
use core::ffi::CStr;

const MS_RDONLY: usize = 1;
const MS_NOSUID: usize = 2;
const MS_NODEV: usize = 4;
const MS_NOEXEC: usize = 8;
const MS_REMOUNT: usize = 32;
const MS_BIND: usize = 4096;
const MS_REC: usize = 16384;
const MS_PRIVATE: usize = 1 << 18;

/// Directories of which at least one exists on any host that could start us; `/proc` gave us the object itself.
const PLACES: [&CStr; 4] = [c"/proc", c"/dev", c"/usr", c"/tmp"];

/// Makes the root of this mount namespace empty and read-only. The error names the part of the step, counted from 11: below that are the parts of
/// the namespaces, without which there is no root of our own.
pub fn empty() -> Result<(), (u64, sys::Errno)> {
    // Nothing we do may travel back to the host's own mounts.
    sys::mount(None, c"/", None, MS_REC | MS_PRIVATE, None).map_err(|errno| (11, errno))?;
    let mut last = (12, 0);
    let place = PLACES.iter().find(|place| {
        // One page, one inode (the root itself): room for nothing.
        let made =
            sys::mount(Some(c"none"), place, Some(c"tmpfs"), MS_NOSUID | MS_NODEV | MS_NOEXEC, Some(c"size=4k,nr_inodes=1,mode=0555"));
        made.map_err(|errno| last.1 = errno).is_ok()
    });
    sys::chdir(place.ok_or(last)?).map_err(|errno| (13, errno))?;
    sys::pivot_here().map_err(|errno| (14, errno))?;
    // The old root lies over the new one now; with it goes every path of the host.
    sys::detach(c".").map_err(|errno| (15, errno))?;
    sys::chdir(c"/").map_err(|errno| (16, errno))?;
    sys::mount(None, c"/", None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, None).map_err(|errno| (17, errno))?;
    if sys::is_absent(c"/proc") && sys::is_absent(c"/etc") { Ok(()) } else { Err((18, 0)) }
}
