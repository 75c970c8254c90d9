//! The libc symbols through which Node meets the jail. The object stands before libc in the search order, so these are the ones Node calls.

use crate::stage_one::{BRIDGE, REPORT, is_template, tell};
use crate::wire::Event;
use crate::{behind, gate, sys};
use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

/// Exit code of a process that V8 or Node gave up on: what a shell reports for SIGABRT.
pub const EXIT_ABORTED: c_int = 134;

/// `read(2)`. Descriptor 3 is the bridge: its reads pass the gate.
///
/// # Safety
/// As `read(2)`: `buffer` must be valid for writes of `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, count: usize) -> isize {
    // SAFETY: passed on from the caller.
    unsafe { if fd == BRIDGE { gate::bridge_read(buffer, count) } else { sys::read_raw(fd, buffer, count) } }
}

/// `write(2)`. Past the boot only 2, 3 and 4 are left; libuv still wants to poke its event descriptor at garbage collection, and is told that it did.
/// So is the bridge of what it answers in a dry run.
///
/// # Safety
/// As `write(2)`: `buffer` must be valid for reads of `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: usize) -> isize {
    if fd > REPORT && gate::has_no_loop() || fd == BRIDGE && gate::is_dry() {
        return count as isize;
    }
    // SAFETY: passed on from the caller.
    unsafe { sys::write_raw(fd, buffer, count) }
}

/// `abort(3)` for V8 and Node, which call it when memory is exhausted: the real one raises a signal, and an armed process may not.
#[unsafe(no_mangle)]
pub extern "C" fn abort() -> ! {
    tell(Event::Abort, 0, 0);
    sys::exit_group(EXIT_ABORTED)
}

/// `madvise(2)`. V8 asks that its pages stay out of forks; a template exists to be forked.
///
/// # Safety
/// As `madvise(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int {
    const MADV_DONTFORK: c_int = 10;
    if advice == MADV_DONTFORK && is_template() {
        return 0;
    }
    // SAFETY: passed on from the caller.
    unsafe { sys::madvise_raw(address, length, advice) }
}

/// `mprotect(2)`. V8 reserves memory and makes it writable page by page; at its limit, the V8 of Node 22 collects and asks again, for ever, object by object.
/// Memory that is refused so many times in a row is at its end, and so is this process: as every other V8 says by itself, and long before the clock would.
///
/// # Safety
/// As `mprotect(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mprotect(address: *mut c_void, length: usize, protection: c_int) -> c_int {
    /// Refusals in a row. A body that catches what it can catch meets a few; each is a try of V8 to go on after a collection.
    const HOPELESS: u32 = 256;
    const PROT_WRITE: c_int = 2;
    static REFUSED: AtomicU32 = AtomicU32::new(0);
    // SAFETY: passed on from the caller.
    let answer = unsafe { sys::mprotect_raw(address, length, protection) };
    if protection & PROT_WRITE != 0 && gate::is_past_boot() {
        if answer == 0 {
            REFUSED.store(0, Ordering::Relaxed);
        } else if REFUSED.fetch_add(1, Ordering::Relaxed) + 1 >= HOPELESS {
            abort();
        }
    }
    answer
}

/// `sysconf(3)` for V8, which asks for the number of processors at garbage collection (from Node 26 on): libc would open a file to find out.
#[unsafe(no_mangle)]
pub extern "C" fn sysconf(name: c_int) -> c_long {
    const SC_NPROCESSORS_CONF: c_int = 83;
    const SC_NPROCESSORS_ONLN: c_int = 84;
    match name {
        // One: JavaScript runs on one thread here.
        SC_NPROCESSORS_CONF | SC_NPROCESSORS_ONLN if gate::is_past_boot() => 1,
        _ => behind::sysconf(name),
    }
}

/// `get_nprocs(3)` for the C++ library: the same question by another name.
#[unsafe(no_mangle)]
pub extern "C" fn get_nprocs() -> c_int {
    const SC_NPROCESSORS_ONLN: c_int = 84;
    sysconf(SC_NPROCESSORS_ONLN) as c_int
}

/// `pthread_cond_signal(3)`. The threads that wait in a template do not exist in its forks, where libc would wait for them for ever.
///
/// # Safety
/// As `pthread_cond_signal(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_signal(condition: *mut c_void) -> c_int {
    // SAFETY: passed on from the caller.
    if gate::is_fork() { 0 } else { unsafe { behind::condition_signal(condition) } }
}

/// `pthread_cond_broadcast(3)`: see [`pthread_cond_signal`].
///
/// # Safety
/// As `pthread_cond_broadcast(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_cond_broadcast(condition: *mut c_void) -> c_int {
    // SAFETY: passed on from the caller.
    if gate::is_fork() { 0 } else { unsafe { behind::condition_broadcast(condition) } }
}
