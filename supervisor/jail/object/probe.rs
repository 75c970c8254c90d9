//! Probes: one forbidden act, tried by a process that will never run JavaScript.
//!
//! The doctor wants to know of each wall whether it stops by itself what it claims to stop. So it starts a Node with that wall alone, or with none
//! as the control, and the process tries one act in the place where stage 1 has just ended, reports what the kernel said, and ends.
//!
//! **Why a released program may do this.** A probe's plan may leave out any wall, and that is the power the feature `danger` guards. Here it reaches nothing:
//! [`run`] does not return, it is called before Node's `main()`, and a body is sent only to a child that stood at the gate, which lies behind `main()`. There is no
//! moment at which this process both lacks a wall and holds a byte of a body. The acts are these, written by us; the plan only picks one and names a path or number.

use crate::stage_one::{BRIDGE, tell};
use crate::sys::{self, Answer, Errno};
use crate::wire::{Act, Event, Order, Plan, Probe, Step};
use crate::{EXIT_NOT_JAILED, gate, nr};
use core::ffi::{CStr, c_char, c_int};

const ENOENT: Errno = 2;

/// The limits a probe is armed with where its plan asks for them: less memory than [`Act::Allocate`] is told to ask for.
const MEMORY: u64 = 256 << 20;
const CPU_SECONDS: u64 = 5;

/// Tries the act of the plan and ends.
pub fn run(plan: &Plan<'_>, environment: *const *mut c_char) -> ! {
    let Some(probe) = Probe::decode(plan.dry) else { sys::exit_group(EXIT_NOT_JAILED) };
    if plan.steps & (Step::RunLimits.bit() | Step::ArmedFilter.bit()) != 0 {
        gate::keep(Order { nonce: plan.nonce, data_soft: MEMORY, data_hard: MEMORY, cpu_seconds: CPU_SECONDS, dry_runs: 0 });
        gate::arm(plan);
    }
    let (errno, detail) = match attempt(plan, &probe, environment) {
        Ok(answer) => (0, answer as u64),
        Err(errno) => (errno, 0),
    };
    tell(Event::Act, errno, detail);
    sys::exit_group(0)
}

fn attempt(plan: &Plan<'_>, probe: &Probe<'_>, environment: *const *mut c_char) -> Answer {
    let number = probe.number as usize;
    match probe.act {
        Act::Wait => wait(),
        Act::ReadFile => read_byte(open(path(probe)?, O_RDONLY)?),
        Act::CreateFile => open(path(probe)?, O_WRONLY | O_CREAT | O_EXCL).map(i64::from),
        Act::WriteFile => sys::write(open(path(probe)?, O_WRONLY | O_CREAT | O_EXCL)?, b"x"),
        Act::ListRoot => list_root(),
        Act::ConnectTcp => connect(socket(AF_INET, SOCK_STREAM)?, &loopback(number)),
        Act::SendUdp => send(socket(AF_INET, SOCK_DGRAM)?, &loopback(number)),
        Act::ConnectAbstract => connect_abstract(path(probe)?),
        Act::Signal => plain(nr::KILL, [number, 0, 0, 0, 0, 0]),
        Act::Trace => plain(nr::PTRACE, [PTRACE_SEIZE, number, 0, 0, 0, 0]),
        Act::Fork => fork(),
        Act::Execute => execute(path(probe)?),
        Act::ExecuteWritten => execute_written(),
        Act::MapWritableExecutable => map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC),
        Act::IoUring => io_uring(),
        Act::NewUserNamespace => sys::unshare(CLONE_NEWUSER),
        Act::BecomeRoot => sys::set_uid(0),
        Act::ChangeRoot => change_root(),
        Act::ReadLeaked => read_byte(number as c_int),
        Act::SeeEnvironment => see(environment),
        Act::AllowCoreFiles => sys::set_rlimit(RLIMIT_CORE, 1, 1),
        Act::Allocate => map(number, PROT_READ | PROT_WRITE),
        Act::ManyDescriptors => sys::dup_to(0, HIGH),
        Act::InstallFilter => sys::install_filter(&ALLOW_ALL, false),
        Act::ForeignCall => foreign_call(),
        Act::Script => scripted(plan, probe),
    }
}

#[cfg(danger)]
fn scripted(plan: &Plan<'_>, probe: &Probe<'_>) -> Answer {
    crate::script::run(plan, probe)
}

/// A released object makes no call that a plan spells out.
#[cfg(not(danger))]
fn scripted(_plan: &Plan<'_>, _probe: &Probe<'_>) -> Answer {
    const ENOSYS: Errno = 38;
    Err(ENOSYS)
}

const O_RDONLY: usize = 0;
const O_WRONLY: usize = 1;
const O_CREAT: usize = 0o100;
const O_EXCL: usize = 0o200;
const O_DIRECTORY: usize = if cfg!(target_arch = "aarch64") { 0o40000 } else { 0o200000 };
const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const SOCK_STREAM: usize = 1;
const SOCK_DGRAM: usize = 2;
const PTRACE_SEIZE: usize = 0x4206;
const PROT_READ: usize = 1;
const PROT_WRITE: usize = 2;
const PROT_EXEC: usize = 4;
const CLONE_NEWUSER: usize = 0x1000_0000;
const RLIMIT_CORE: u32 = 4;
const PAGE: usize = 4096;
/// Above the 64 descriptors of a child, below the 1,024 of any shell.
const HIGH: c_int = 100;
/// `BPF_RET | BPF_K` with SECCOMP_RET_ALLOW.
const ALLOW_ALL: [u8; 8] = (0x7fff_0000_0000_0006_u64).to_ne_bytes();

/// A call that takes numbers only.
fn plain(number: i64, args: [usize; 6]) -> Answer {
    // SAFETY: used for kill, PTRACE_SEIZE, socket and mprotect alone: kill and socket take numbers; SEIZE takes a process and ignores the address; mprotect is
    // given a mapping that `execute_written` made and holds no reference into.
    unsafe { sys::call(number, args) }
}

fn path<'a>(probe: &Probe<'a>) -> Result<&'a CStr, Errno> {
    CStr::from_bytes_until_nul(probe.path).map_err(|_| ENOENT)
}

fn open(path: &CStr, flags: usize) -> Result<c_int, Errno> {
    const AT_FDCWD: usize = -100_isize as usize;
    // SAFETY: openat reads a text that ends with 0, which a CStr does by type.
    let fd = unsafe { sys::call(nr::OPENAT, [AT_FDCWD, path.as_ptr() as usize, flags, 0o600, 0, 0]) }?;
    Ok(fd as c_int)
}

/// End-of-file is a read too: the descriptor was there.
fn read_byte(fd: c_int) -> Answer {
    let mut byte = 0_u8;
    // SAFETY: one byte of room, as the count says.
    let got = unsafe { sys::read_raw(fd, (&raw mut byte).cast(), 1) };
    if got < 0 { Err(sys::last_error()) } else { Ok(got as i64) }
}

fn wait() -> Answer {
    loop {
        match read_byte(BRIDGE) {
            Ok(1..) => {}
            done => return done,
        }
    }
}

/// How many names `/` has; none is as good as a refusal.
fn list_root() -> Answer {
    /// `.` and `..`, at 24 bytes each.
    const OWN: i64 = 48;
    let mut names = [0_u8; 1024];
    let fd = open(c"/", O_RDONLY | O_DIRECTORY)?;
    // SAFETY: getdents64 writes at most as many bytes as it is told there are.
    let got = unsafe { sys::call(nr::GETDENTS64, [fd as usize, names.as_mut_ptr() as usize, names.len(), 0, 0, 0]) }?;
    if got > OWN { Ok(got) } else { Err(ENOENT) }
}

fn socket(family: u16, kind: usize) -> Result<c_int, Errno> {
    plain(nr::SOCKET, [usize::from(family), kind, 0, 0, 0, 0]).map(|fd| fd as c_int)
}

/// `struct sockaddr_in` of 127.0.0.1.
fn loopback(port: usize) -> [u8; 16] {
    let [family_0, family_1] = AF_INET.to_ne_bytes();
    let [port_0, port_1] = (port as u16).to_be_bytes();
    [family_0, family_1, port_0, port_1, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
}

fn connect(fd: c_int, address: &[u8]) -> Answer {
    // SAFETY: connect reads as many bytes of the address as it is told.
    unsafe { sys::call(nr::CONNECT, [fd as usize, address.as_ptr() as usize, address.len(), 0, 0, 0]) }
}

fn send(fd: c_int, address: &[u8]) -> Answer {
    let text = b"x";
    // SAFETY: sendto reads the text and the address, each with its length beside it.
    unsafe { sys::call(nr::SENDTO, [fd as usize, text.as_ptr() as usize, text.len(), 0, address.as_ptr() as usize, address.len()]) }
}

fn connect_abstract(name: &CStr) -> Answer {
    // `struct sockaddr_un`: the family, then 108 bytes that begin with 0 for an abstract name.
    let mut address = [0_u8; 110];
    address[..2].copy_from_slice(&AF_UNIX.to_ne_bytes());
    let name = name.to_bytes();
    address.get_mut(3..3 + name.len()).ok_or(ENOENT)?.copy_from_slice(name);
    connect(socket(AF_UNIX, SOCK_STREAM)?, address.get(..3 + name.len()).unwrap_or_default())
}

fn fork() -> Answer {
    const SIGCHLD: usize = 17;
    // SAFETY: without CLONE_VM and with a null stack the copy goes on on its own copy of this stack, where all it does is end.
    let copy = unsafe { sys::call(nr::CLONE, [SIGCHLD, 0, 0, 0, 0, 0]) }?;
    if copy == 0 {
        sys::exit_group(0);
    }
    // SAFETY: wait4 is asked for neither a status nor usage: both addresses are null.
    unsafe { sys::call(nr::WAIT4, [copy as usize, 0, 0, 0, 0, 0]) }
}

/// Comes back only when refused.
fn execute(program: &CStr) -> Answer {
    let arguments = [program.as_ptr(), c"--version".as_ptr(), core::ptr::null()];
    let environment: [*const c_char; 1] = [core::ptr::null()];
    // SAFETY: a path and two lists of texts, all ended as execve wants them, all alive until it has copied them.
    unsafe { sys::call(nr::EXECVE, [program.as_ptr() as usize, arguments.as_ptr() as usize, environment.as_ptr() as usize, 0, 0, 0]) }
}

fn map(bytes: usize, protection: usize) -> Answer {
    const PRIVATE_ANONYMOUS: usize = 0x22;
    const NO_FILE: usize = usize::MAX;
    // SAFETY: without a wanted address mmap only ever adds a mapping; no memory in use changes.
    unsafe { sys::call(nr::MMAP, [0, bytes, protection, PRIVATE_ANONYMOUS, NO_FILE, 0]) }
}

fn execute_written() -> Answer {
    /// One `ret`: enough to be code.
    const CODE: u8 = 0xc3;
    let at = map(PAGE, PROT_READ | PROT_WRITE)? as usize;
    // SAFETY: the page was just mapped, writable and for us alone.
    unsafe { (at as *mut u8).write_volatile(CODE) };
    plain(nr::MPROTECT, [at, PAGE, PROT_READ | PROT_EXEC, 0, 0, 0])
}

fn io_uring() -> Answer {
    // `struct io_uring_params` is 120 bytes; all zero is a ring without wishes.
    let mut parameters = [0_u64; 15];
    // SAFETY: the kernel reads and writes exactly that structure.
    unsafe { sys::call(nr::IO_URING_SETUP, [1, parameters.as_mut_ptr() as usize, 0, 0, 0, 0]) }
}

fn change_root() -> Answer {
    // SAFETY: chroot reads a text that ends with 0, which a CStr does by type.
    unsafe { sys::call(nr::CHROOT, [c"/".as_ptr() as usize, 0, 0, 0, 0, 0]) }
}

/// Whether the variable that the doctor set is there.
fn see(environment: *const *mut c_char) -> Answer {
    let mut entry = environment;
    // SAFETY: the kernel's environment vector: texts that end with 0, ended by a null pointer. `scrub_environment` leaves it that, only shorter.
    unsafe {
        while !(*entry).is_null() {
            if CStr::from_ptr(*entry).to_bytes().starts_with(b"CODEMODE_CANARY=") {
                return Ok(1);
            }
            entry = entry.add(1);
        }
    }
    Err(ENOENT)
}

/// `getpid` by interrupt 0x80. The gate of 32-bit programs is open to 64-bit ones; a filter that looks at numbers alone would take 20 for another call.
#[cfg(target_arch = "x86_64")]
fn foreign_call() -> Answer {
    const GETPID_32: i32 = 20;
    let answer: i32;
    // SAFETY: the call takes nothing and touches no memory; what the entry code of older kernels does not restore is named. Where the kernel has no such
    // gate the process ends by SIGSEGV, which the supervisor sees.
    unsafe {
        core::arch::asm!("int 0x80", inout("eax") GETPID_32 => answer, out("r8") _, out("r9") _, out("r10") _, out("r11") _, options(nostack));
    }
    if answer < 0 { Err(answer.unsigned_abs()) } else { Ok(i64::from(answer)) }
}

/// This processor has no such gate.
#[cfg(not(target_arch = "x86_64"))]
fn foreign_call() -> Answer {
    const ENOSYS: Errno = 38;
    Err(ENOSYS)
}
