//! What stands behind the hooks: libc's own functions, and one setting of it.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::{EXIT_NOT_JAILED, sys};

#[link(name = "c")]
unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn mallopt(parameter: c_int, value: c_int) -> c_int;
    /// The name under which glibc keeps its own `sysconf` reachable for whoever interposes the public one.
    fn __sysconf(name: c_int) -> c_long;
}

/// One arena for all threads: with more, malloc opens a file of `/proc` to find out whether it may shrink one, and an armed process may not.
pub fn use_one_arena() {
    const M_ARENA_MAX: c_int = -8;
    // SAFETY: mallopt takes two numbers. It changes how memory is got later on, none that is in use.
    let _ = unsafe { mallopt(M_ARENA_MAX, 1) };
}

/// libc's own `sysconf(3)`.
pub fn sysconf(name: c_int) -> c_long {
    // SAFETY: sysconf takes a number, any number.
    unsafe { __sysconf(name) }
}

/// libc's own `pthread_cond_signal(3)`.
///
/// # Safety
/// As the call's own.
pub unsafe fn condition_signal(condition: *mut c_void) -> c_int {
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
    // SAFETY: passed on from the caller.
    unsafe { condition_call(&REAL, c"pthread_cond_signal", condition) }
}

/// libc's own `pthread_cond_broadcast(3)`.
///
/// # Safety
/// As the call's own.
pub unsafe fn condition_broadcast(condition: *mut c_void) -> c_int {
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
    // SAFETY: passed on from the caller.
    unsafe { condition_call(&REAL, c"pthread_cond_broadcast", condition) }
}

/// Calls the function of that name which stands behind the object in the search order, looked up once.
///
/// # Safety
/// As the function's own; its type is that of `pthread_cond_signal(3)`.
unsafe fn condition_call(real: &AtomicPtr<c_void>, name: &CStr, condition: *mut c_void) -> c_int {
    const RTLD_NEXT: *mut c_void = -1_isize as *mut c_void;
    let mut address = real.load(Ordering::Relaxed);
    if address.is_null() {
        // SAFETY: a name that ends with 0 by type; RTLD_NEXT is the handle for "behind the caller".
        address = unsafe { dlsym(RTLD_NEXT, name.as_ptr()) };
        if address.is_null() {
            sys::exit_group(EXIT_NOT_JAILED);
        }
        // Two threads may both look; they find the same.
        real.store(address, Ordering::Relaxed);
    }
    // SAFETY: libc's function of that name has this type, by the caller's promise.
    let function: unsafe extern "C" fn(*mut c_void) -> c_int = unsafe { core::mem::transmute(address) };
    // SAFETY: passed on from the caller.
    unsafe { function(condition) }
}

/// Lets Abseil, where Node has it (from 26 on), find out how fast the processor is now: it does so when a thread first has to wait for another, by opening
/// files of `/sys` and by sleeping 3 ms, and an armed process may do neither.
pub fn know_the_processor() {
    const RTLD_DEFAULT: *mut c_void = core::ptr::null_mut();
    // SAFETY: a name that ends with 0 by type; RTLD_DEFAULT looks through everything that is loaded.
    let address = unsafe { dlsym(RTLD_DEFAULT, c"_ZN4absl13base_internal19NominalCPUFrequencyEv".as_ptr()) };
    if !address.is_null() {
        // SAFETY: the mangled name says that it takes nothing; Abseil declares that it returns a double, which is dropped. It keeps what it found behind a flag
        // of its own, so that threads may ask at any time.
        let ask: unsafe extern "C" fn() -> f64 = unsafe { core::mem::transmute(address) };
        // SAFETY: see above.
        let _ = unsafe { ask() };
    }
}
