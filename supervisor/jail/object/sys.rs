//! The system calls the object makes, each with a safe face. What only one facility needs stands with it: see
//! [`crate::image`] and [`crate::probe`].

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::mem::MaybeUninit;

use crate::nr;

#[link(name = "c")]
unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn __errno_location() -> *mut c_int;
    fn sigaction(signal: c_int, action: *const SigAction, old: *mut SigAction) -> c_int;
    fn sigemptyset(set: *mut SigSet) -> c_int;
    fn recvmsg(fd: c_int, message: *mut MsgHdr, flags: c_int) -> isize;
}

/// The kernel's error number.
pub type Errno = u32;

/// What the kernel answered.
pub type Answer = Result<i64, Errno>;

/// No other process shares the object's memory and stage 1 and the gate run on one thread: the plan is written once, by
/// [`crate::stage_one`], before any reader.
pub struct Once<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: the contract is UnsafeCell's: no access while another writes. `set` is called once, from `.init_array`, when the process has one
// thread (stage_one::run); every `get` comes later in program order on the same thread or on threads made after it.
unsafe impl<T> Sync for Once<T> {}

impl<T> Once<T> {
    /// An empty slot.
    pub const fn new() -> Self {
        Once(UnsafeCell::new(MaybeUninit::zeroed()))
    }

    /// The place itself, to be filled before the process has a second thread.
    #[expect(clippy::mut_from_ref, reason = "one caller, once, single-threaded: see the type")]
    pub fn place(&self) -> &mut T
    where
        T: Zeroable,
    {
        // SAFETY: zeroed bytes are a value of T by `Zeroable`, and nothing else refers to them yet: stage_one::run is the only caller.
        unsafe { (*self.0.get()).assume_init_mut() }
    }

    /// The value, after `place` was filled.
    pub fn get(&self) -> &T
    where
        T: Zeroable,
    {
        // SAFETY: zeroed bytes are a value of T by `Zeroable`; no writer is left (see the Sync note).
        unsafe { (*self.0.get()).assume_init_ref() }
    }
}

/// Types of which all-zero bytes are a value.
///
/// # Safety
/// The implementor checks that they are.
pub unsafe trait Zeroable {}

// SAFETY: any bytes are a value of an array of bytes.
unsafe impl<const N: usize> Zeroable for [u8; N] {}
// SAFETY: any bytes are a value of an integer.
unsafe impl Zeroable for usize {}

/// Makes a system call.
///
/// # Safety
/// Arguments that the kernel takes as addresses must be valid for what the call does with them.
pub unsafe fn call(number: i64, args: [usize; 6]) -> Answer {
    // SAFETY: passed on to the caller of this function.
    let result = unsafe { syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]) };
    if result == -1 {
        // SAFETY: errno of this thread is always readable.
        Err(unsafe { *__errno_location() } as Errno)
    } else {
        Ok(result)
    }
}

/// Why the last call of this thread that went through libc failed.
pub fn last_error() -> Errno {
    // SAFETY: errno of this thread is always readable.
    unsafe { *__errno_location() as Errno }
}

/// A system call without addresses among its arguments.
fn plain(number: i64, args: [usize; 6]) -> Answer {
    // SAFETY: used in this file only for calls that take numbers (each caller below names one).
    unsafe { call(number, args) }
}

fn text(value: Option<&CStr>) -> usize {
    value.map_or(0, |text| text.as_ptr() as usize)
}

/// Ends the process at once, running nothing more.
pub fn exit_group(code: c_int) -> ! {
    loop {
        let _ = plain(nr::EXIT_GROUP, [code as usize, 0, 0, 0, 0, 0]);
    }
}

/// The call that the second armed filter answers with KILL_PROCESS: nothing a JavaScript engine could ever want.
pub fn end_by_filter() -> ! {
    let _ = plain(nr::KEXEC_LOAD, [0; 6]);
    // Reached only when the armed filters are off (a test without that wall).
    exit_group(159)
}

/// `read(2)` into memory the caller of a hook vouches for.
///
/// # Safety
/// `buffer` must be valid for writes of `count` bytes.
pub unsafe fn read_raw(fd: c_int, buffer: *mut c_void, count: usize) -> isize {
    // SAFETY: passed on to the caller.
    unsafe { syscall(nr::READ, fd as usize, buffer, count) as isize }
}

/// `write(2)` from memory the caller of a hook vouches for.
///
/// # Safety
/// `buffer` must be valid for reads of `count` bytes.
pub unsafe fn write_raw(fd: c_int, buffer: *const c_void, count: usize) -> isize {
    // SAFETY: passed on to the caller.
    unsafe { syscall(nr::WRITE, fd as usize, buffer, count) as isize }
}

/// `madvise(2)` on memory the caller of a hook vouches for.
///
/// # Safety
/// As the call's own.
pub unsafe fn madvise_raw(address: *mut c_void, length: usize, advice: c_int) -> c_int {
    // SAFETY: passed on to the caller.
    unsafe { syscall(nr::MADVISE, address, length, advice as usize) as c_int }
}

/// `mprotect(2)` on memory the caller of a hook vouches for.
///
/// # Safety
/// As the call's own.
pub unsafe fn mprotect_raw(address: *mut c_void, length: usize, protection: c_int) -> c_int {
    // SAFETY: passed on to the caller.
    unsafe { syscall(nr::MPROTECT, address, length, protection as usize) as c_int }
}

/// A copy of this process with the supervisor as its parent: 0 in the copy, its process id here.
///
/// # Safety
/// Only the calling thread lives on in the copy: no other thread may hold a lock the copy will want. And libc's own idea of the thread id stays the
/// original's there.
pub unsafe fn fork_for_parent() -> Answer {
    const CLONE_PARENT: usize = 0x8000;
    const SIGCHLD: usize = 17;
    // SAFETY: without CLONE_VM and with a null stack the copy goes on on its own copy of this stack; the other addresses are unused.
    unsafe { call(nr::CLONE, [CLONE_PARENT | SIGCHLD, 0, 0, 0, 0, 0]) }
}

/// A session, and with it a process group, of its own.
pub fn new_session() -> Answer {
    plain(nr::SETSID, [0; 6])
}

/// Whether a block of memory of this size can still be had.
pub fn can_map(bytes: usize) -> bool {
    const PROT_READ_WRITE: usize = 3;
    const MAP_PRIVATE_ANONYMOUS: usize = 0x22;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that is there.
    unsafe { call(nr::MMAP, [0, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1_isize as usize, 0]) }.is_ok()
}

/// Writes `bytes`, as far as the kernel takes them in one go.
pub fn write(fd: c_int, bytes: &[u8]) -> Answer {
    // SAFETY: address and length are one slice's.
    unsafe { call(nr::WRITE, [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

/// The lowest free descriptor from `floor` on becomes a copy of `fd`.
pub fn dup_from(fd: c_int, floor: c_int) -> Answer {
    const F_DUPFD: usize = 0;
    plain(nr::FCNTL, [fd as usize, F_DUPFD, floor as usize, 0, 0, 0])
}

/// `to` becomes a copy of `fd`.
pub fn dup_to(fd: c_int, to: c_int) -> Answer {
    plain(nr::DUP3, [fd as usize, to as usize, 0, 0, 0, 0])
}

/// Closes the descriptors `first..=last`.
pub fn close_range(first: c_int, last: u32) -> Answer {
    plain(nr::CLOSE_RANGE, [first as usize, last as usize, 0, 0, 0, 0])
}

/// Writes `bytes` to the file at `path`, which exists.
pub fn write_file(path: &CStr, bytes: &[u8]) -> Answer {
    const AT_FDCWD: usize = -100_isize as usize;
    const O_WRONLY_CLOEXEC: usize = 0x8_0001;
    // SAFETY: a path ends with 0 by type.
    let fd = unsafe { call(nr::OPENAT, [AT_FDCWD, text(Some(path)), O_WRONLY_CLOEXEC, 0, 0, 0]) }? as c_int;
    let answer = write(fd, bytes);
    let _ = close_range(fd, fd as u32);
    answer
}

/// Whether nothing stands at `path`.
pub fn is_absent(path: &CStr) -> bool {
    const AT_FDCWD: usize = -100_isize as usize;
    const ENOENT: Errno = 2;
    // SAFETY: a path ends with 0 by type.
    let answer = unsafe { call(nr::FACCESSAT, [AT_FDCWD, text(Some(path)), 0, 0, 0, 0]) };
    answer == Err(ENOENT)
}

/// Whether the real or the effective user id is root's. A group 0 beside another user id gives no right that matters here, and only root could leave it.
pub fn is_root() -> bool {
    [nr::GETUID, nr::GETEUID].iter().any(|id| plain(*id, [0; 6]) == Ok(0))
}

/// The real user and group id.
pub fn ids() -> (u32, u32) {
    let id = |number| plain(number, [0; 6]).unwrap_or(0) as u32;
    (id(nr::GETUID), id(nr::GETGID))
}

/// Gives up supplementary groups.
pub fn clear_groups() -> Answer {
    plain(nr::SETGROUPS, [0; 6])
}

/// Real, effective and saved group id.
pub fn set_gid(gid: u32) -> Answer {
    let gid = gid as usize;
    plain(nr::SETRESGID, [gid, gid, gid, 0, 0, 0])
}

/// Real, effective and saved user id.
pub fn set_uid(uid: u32) -> Answer {
    let uid = uid as usize;
    plain(nr::SETRESUID, [uid, uid, uid, 0, 0, 0])
}

/// The parent's process id.
pub fn parent() -> u32 {
    plain(nr::GETPPID, [0; 6]).unwrap_or(0) as u32
}

/// `prctl` with numbers only.
pub fn prctl(option: usize, value: usize) -> Answer {
    plain(nr::PRCTL, [option, value, 0, 0, 0, 0])
}

/// New namespaces for the calling process.
pub fn unshare(flags: usize) -> Answer {
    plain(nr::UNSHARE, [flags, 0, 0, 0, 0, 0])
}

/// `mount(2)`.
pub fn mount(source: Option<&CStr>, target: &CStr, kind: Option<&CStr>, flags: usize, data: Option<&CStr>) -> Answer {
    // SAFETY: every address is 0 or a text that ends with 0 by type.
    unsafe { call(nr::MOUNT, [text(source), text(Some(target)), text(kind), flags, text(data), 0]) }
}

/// Detaches what is mounted at `target`.
pub fn detach(target: &CStr) -> Answer {
    const MNT_DETACH: usize = 2;
    // SAFETY: a path ends with 0 by type.
    unsafe { call(nr::UMOUNT2, [text(Some(target)), MNT_DETACH, 0, 0, 0, 0]) }
}

/// The working directory becomes the root; the old root lies on top of it, to be detached.
pub fn pivot_here() -> Answer {
    // SAFETY: a path ends with 0 by type.
    unsafe { call(nr::PIVOT_ROOT, [text(Some(c".")), text(Some(c".")), 0, 0, 0, 0]) }
}

/// Changes the working directory.
pub fn chdir(path: &CStr) -> Answer {
    // SAFETY: a path ends with 0 by type.
    unsafe { call(nr::CHDIR, [text(Some(path)), 0, 0, 0, 0, 0]) }
}

/// Empties the permitted, effective and inheritable capability sets.
pub fn clear_capabilities() -> Answer {
    // _LINUX_CAPABILITY_VERSION_3, this process; two words of each set.
    let header: [u32; 2] = [0x2008_0522, 0];
    let sets: [u32; 6] = [0; 6];
    // SAFETY: header and sets have the layout that version 3 asks for and outlive the call.
    unsafe { call(nr::CAPSET, [header.as_ptr() as usize, sets.as_ptr() as usize, 0, 0, 0, 0]) }
}

/// Sets one resource limit of this process.
pub fn set_rlimit(resource: u32, soft: u64, hard: u64) -> Answer {
    let limit: [u64; 2] = [soft, hard];
    // SAFETY: `struct rlimit64` is two 64-bit words; it outlives the call; the old value is not asked for.
    unsafe { call(nr::PRLIMIT64, [0, resource as usize, limit.as_ptr() as usize, 0, 0, 0]) }
}

/// Seconds of CPU time this process has used, rounded up.
pub fn cpu_seconds_used() -> u64 {
    // `struct rusage` is 144 bytes; its first four words are user and system time in seconds and microseconds.
    let mut usage: [u64; 18] = [0; 18];
    // SAFETY: the buffer has the size of the structure.
    let _ = unsafe { call(nr::GETRUSAGE, [0, usage.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    let micros = usage[1].saturating_add(usage[3]);
    usage[0].saturating_add(usage[2]).saturating_add(micros.div_ceil(1_000_000))
}

/// Confines this process by the ruleset behind `fd`.
pub fn landlock_restrict(fd: c_int) -> Answer {
    plain(nr::LANDLOCK_RESTRICT_SELF, [fd as usize, 0, 0, 0, 0, 0])
}

/// Installs a filter: `struct sock_filter`s as bytes. `all_threads`: on every thread of the process, or on none.
pub fn install_filter(program: &[u8], all_threads: bool) -> Answer {
    #[repr(C)]
    struct SockFprog {
        len: u16,
        filter: *const u8,
    }
    const SET_MODE_FILTER: usize = 1;
    const FLAG_TSYNC: usize = 1;
    const EINVAL: Errno = 22;
    let len = u16::try_from(program.len() / 8).map_err(|_| EINVAL)?;
    // An empty filter would be refused by the kernel too; said here so that nobody has to know.
    if len == 0 {
        return Err(EINVAL);
    }
    let fprog = SockFprog { len, filter: program.as_ptr() };
    let flags = if all_threads { FLAG_TSYNC } else { 0 };
    // SAFETY: the structure is the kernel's `struct sock_fprog`; `len` instructions of 8 bytes lie in `program`; the kernel copies byte-wise.
    match unsafe { call(nr::SECCOMP, [SET_MODE_FILTER, flags, &raw const fprog as usize, 0, 0, 0]) } {
        // With TSYNC a positive answer is the thread that could not follow: no thread has the filter then.
        Ok(0) => Ok(0),
        Ok(_) => Err(EINVAL),
        Err(errno) => Err(errno),
    }
}

/// Receives one message and up to `N` descriptors; gives the length of the message and how many descriptors came.
pub fn receive<const N: usize>(fd: c_int, buffer: &mut [u8], fds: &mut [c_int; N]) -> Result<(usize, usize), Errno> {
    const CONTROL_WORDS: usize = 16;
    const HEADER: usize = 16;
    const EPROTO: Errno = 71;
    let mut control = [0_u64; CONTROL_WORDS];
    let mut iov = IoVec { base: buffer.as_mut_ptr().cast(), len: buffer.len() };
    let mut message = MsgHdr {
        name: core::ptr::null_mut(),
        name_len: 0,
        iov: &raw mut iov,
        iov_len: 1,
        control: control.as_mut_ptr().cast(),
        control_len: CONTROL_WORDS * 8,
        flags: 0,
    };
    // SAFETY: every address in the message points to a local that outlives the call, with its true length beside it.
    let got = unsafe { recvmsg(fd, &raw mut message, 0) };
    if got < 0 {
        // SAFETY: errno of this thread is always readable.
        return Err(unsafe { *__errno_location() } as Errno);
    }
    if message.control_len < HEADER {
        return Ok((got as usize, 0));
    }
    // One control message: length (8 bytes), level and type (4 each), then the descriptors.
    let length = control[0] as usize;
    let is_rights = control[1] == 1 | (1 << 32);
    if !is_rights || length < HEADER || length > CONTROL_WORDS * 8 {
        return Err(EPROTO);
    }
    let count = (length - HEADER) / 4;
    for (index, slot) in fds.iter_mut().enumerate().take(count) {
        let word = control[2 + index / 2];
        *slot = if index % 2 == 0 { word as u32 as c_int } else { (word >> 32) as u32 as c_int };
    }
    Ok((got as usize, count.min(N)))
}

/// Every signal back to its default disposition and none blocked: an inherited "ignore" would survive exec.
pub fn reset_signals() {
    for signal in 1..=64 {
        set_handler(signal, SIG_DFL);
    }
    unblock_signals();
}

fn unblock_signals() {
    const SIG_SETMASK: usize = 2;
    let none: u64 = 0;
    // SAFETY: the kernel's signal set is 8 bytes; it outlives the call.
    let _ = unsafe { call(nr::RT_SIGPROCMASK, [SIG_SETMASK, &raw const none as usize, 0, 8, 0, 0]) };
}

const SIG_DFL: usize = 0;
const SIGSYS: c_int = 31;
/// SIGILL and SIGTRAP, by which V8 gives up; SIGBUS, SIGFPE and SIGSEGV.
pub const GIVEN_UP: [c_int; 2] = [4, 5];
const FAULTS: [c_int; 5] = [4, 5, 7, 8, 11];

fn set_handler(signal: c_int, handler: usize) {
    const SA_SIGINFO: c_int = 4;
    const SA_RESETHAND: c_int = 1 << 31;
    let once = if FAULTS.contains(&signal) { SA_RESETHAND } else { 0 };
    let mut action =
        SigAction { handler, mask: SigSet([0; 16]), flags: if handler == SIG_DFL { 0 } else { SA_SIGINFO | once }, restorer: 0 };
    // SAFETY: `action` has glibc's layout of `struct sigaction`; a handler is a function of the type SA_SIGINFO asks for (set_traps).
    // Signals that cannot be set answer an error, which is what we want of them.
    unsafe {
        sigemptyset(&raw mut action.mask);
        sigaction(signal, &raw const action, core::ptr::null_mut());
    }
}

/// A handler with the type that SA_SIGINFO asks for.
pub type Handler = extern "C" fn(c_int, *const SigInfo, *const c_void);

/// SIGSYS goes to `off_list`, which gets the number of the refused call; the signals of a fault go to `fault`, once: a second one ends the process.
pub fn set_traps(off_list: Handler, fault: Handler) {
    set_handler(SIGSYS, off_list as usize);
    for signal in FAULTS {
        set_handler(signal, fault as usize);
    }
    unblock_signals();
}

/// The part of `siginfo_t` that SIGSYS fills.
#[repr(C)]
pub struct SigInfo {
    head: [u8; 16],
    call_address: usize,
    /// The number of the refused call.
    pub syscall: c_int,
}

#[repr(C)]
struct SigSet([u64; 16]);

#[repr(C)]
struct SigAction {
    handler: usize,
    mask: SigSet,
    flags: c_int,
    restorer: usize,
}

#[repr(C)]
struct IoVec {
    base: *mut c_void,
    len: usize,
}

#[repr(C)]
struct MsgHdr {
    name: *mut c_void,
    name_len: u32,
    iov: *mut IoVec,
    iov_len: usize,
    control: *mut c_void,
    control_len: usize,
    flags: c_int,
}

/// Makes the environment empty: for `getenv`, for `/proc/PID/environ`, and for whoever scans the stack.
pub fn scrub_environment(envp: *mut *mut c_char) {
    let mut entry = envp;
    // SAFETY: at `.init_array` time the kernel's environment vector stands whole: pointers to texts, ended by a null pointer, all in the writable
    // stack area of the process; nobody holds references to the texts yet that matter after this.
    unsafe {
        while !(*entry).is_null() {
            let mut byte = *entry;
            while *byte != 0 {
                *byte = 0;
                byte = byte.add(1);
            }
            *entry = core::ptr::null_mut();
            entry = entry.add(1);
        }
    }
}
