//! Stage 2, and the libc symbols through which Node meets the jail.
//!
//! The bridge reads one byte from descriptor 3 when it is ready for a body: that read is the gate. It returns `A` when the process is armed, and
//! the bytes after it are the run's.

use crate::stage_one::{BRIDGE, REPORT, plan, tell};
use crate::sys::{self, SigInfo};
use crate::wire::{ARM_LEN, Arm, Event, Plan, Step};
use crate::EXIT_NOT_JAILED;
use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

/// Exit code of a process that V8 or Node gave up on: what a shell reports for SIGABRT.
const EXIT_ABORTED: c_int = 134;

static ARMED: AtomicBool = AtomicBool::new(false);

/// `read(2)` for Node. Descriptor 3 is ours: the gate, and end-of-file is the end.
///
/// # Safety
/// As `read(2)`: `buffer` must be valid for writes of `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, count: usize) -> isize {
    if fd == BRIDGE && count == 1 && !ARMED.load(Ordering::Relaxed) {
        arm(&plan());
        // SAFETY: the caller gave room for `count` = 1 byte.
        unsafe { buffer.cast::<u8>().write(b'A') };
        return 1;
    }
    // SAFETY: passed on from the caller.
    let got = unsafe { sys::read_raw(fd, buffer, count) };
    // End-of-file, or the supervisor closed with bytes unread: the run is over. A return to Node's event loop would only find forbidden calls.
    if fd == BRIDGE && got <= 0 && ARMED.load(Ordering::Relaxed) && count > 0 {
        sys::exit_group(0);
    }
    got
}

/// `write(2)` for Node. After arming only 2, 3 and 4 are left; libuv still wants to poke its event descriptor at garbage collection, and is
/// told that it did.
///
/// # Safety
/// As `write(2)`: `buffer` must be valid for reads of `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: usize) -> isize {
    if fd > REPORT && ARMED.load(Ordering::Relaxed) {
        return count as isize;
    }
    // SAFETY: passed on from the caller.
    unsafe { sys::write_raw(fd, buffer, count) }
}

/// `abort(3)` for V8 and Node, which call it when memory is exhausted: the real one raises a signal, and an armed process may not.
#[unsafe(no_mangle)]
pub extern "C" fn abort() -> ! {
    tell(&plan(), Event::Abort, 0, 0);
    sys::exit_group(EXIT_ABORTED)
}

/// `sysconf(3)` for V8, which asks for the number of processors at garbage collection (from Node 26 on): libc would open a file to find out.
#[unsafe(no_mangle)]
pub extern "C" fn sysconf(name: c_int) -> c_long {
    const SC_NPROCESSORS_CONF: c_int = 83;
    const SC_NPROCESSORS_ONLN: c_int = 84;
    match name {
        // One: an armed process runs on one thread.
        SC_NPROCESSORS_CONF | SC_NPROCESSORS_ONLN if ARMED.load(Ordering::Relaxed) => 1,
        _ => sys::sysconf(name),
    }
}

/// Sets the limits of the run and the armed filters, or ends the process.
fn arm(plan: &Plan<'_>) {
    tell(plan, Event::Gate, 0, 0);
    let mut order = [0; ARM_LEN];
    let order = match sys::read(REPORT, &mut order) {
        Ok(length) => order.get(..length as usize).and_then(Arm::decode),
        Err(_) => None,
    };
    // No order, or end-of-file: the supervisor is gone or wants no run.
    let Some(order) = order else { sys::exit_group(0) };
    if plan.steps & Step::RunLimits.bit() != 0 {
        settle(plan, Step::RunLimits, run_limits(order));
    }
    // What Node opened for itself while it booted serves an event loop that never runs again.
    let _ = sys::close_range(REPORT + 1, u32::MAX);
    ARMED.store(true, Ordering::Relaxed);
    if plan.steps & Step::ArmedFilter.bit() != 0 {
        sys::trap_off_list(off_list);
        // The ending call first: after the list is in force no filter can be added.
        let filters = sys::install_filter(plan.armed_end, true).map_err(|errno| (1, errno));
        let filters = filters.and_then(|_| sys::install_filter(plan.armed, true).map_err(|errno| (2, errno)));
        settle(plan, Step::ArmedFilter, filters.map(|_| ()));
    }
    tell(plan, Event::Armed, 0, 0);
}

fn settle(plan: &Plan<'_>, step: Step, outcome: Result<(), (u64, sys::Errno)>) {
    let (detail, errno) = outcome.err().unwrap_or((0, 0));
    tell(plan, Event::Step(step), errno, detail);
    if outcome.is_err() {
        sys::exit_group(EXIT_NOT_JAILED);
    }
}

fn run_limits(order: Arm) -> Result<(), (u64, sys::Errno)> {
    const RLIMIT_CPU: u32 = 0;
    const RLIMIT_DATA: u32 = 2;
    const RLIMIT_NPROC: u32 = 6;
    // The soft limit sends SIGXCPU, which names the verdict; one second later the hard limit sends SIGKILL.
    let cpu = sys::cpu_seconds_used().saturating_add(order.cpu_seconds);
    let limits = [
        (RLIMIT_DATA, order.data_soft, order.data_hard),
        (RLIMIT_CPU, cpu, cpu.saturating_add(1)),
        (RLIMIT_NPROC, 0, 0),
    ];
    for (resource, soft, hard) in limits {
        sys::set_rlimit(resource, soft, hard).map_err(|errno| (u64::from(resource) + 1, errno))?;
    }
    Ok(())
}

/// A call off the list was tried: say which, then end by the call that ends. The status is the kernel's word, the number is ours.
extern "C" fn off_list(_signal: c_int, info: *const SigInfo, _context: *const c_void) {
    // SAFETY: the kernel passes a siginfo_t filled for SIGSYS; the handler is installed for that signal alone (sys::trap_off_list).
    let number = unsafe { (*info).syscall };
    tell(&plan(), Event::OffList, 0, u64::from(number as u32));
    sys::end_by_filter()
}
