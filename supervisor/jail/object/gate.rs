//! The gate: where a booted process waits for an order, is armed, or as a template is copied and the copy armed.
//!
//! The bridge reads one byte from descriptor 3 when it is ready for a body. That read returns `A` in an armed process: the bytes after it are the
//! run's. In a template and in its forks it may return `D` some times before: then a conversation of the plan's follows, the answer to it goes nowhere,
//! and the bridge comes back to the gate. A template rehearses once for all its forks (what is compiled and shaped then is theirs too), a fork for
//! itself (so that its own copies of pages are in place). No process reads a byte that came from a body before it is armed.

use crate::hooks::EXIT_ABORTED;
use crate::stage_one::{BRIDGE, Outcome, REPORT, answer_to, parent_death, plan, tell, tell_as};
use crate::sys::{self, SigInfo};
use crate::wire::{Event, FLAG_KEEP_LOOP, FLAG_TEMPLATE, ORDER_LEN, Order, Plan, Step};
use crate::{EXIT_NOT_JAILED, behind};
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// How far this process has come. Read and written by the one thread that runs JavaScript; others only look.
static STAGE: AtomicU8 = AtomicU8::new(BOOTING);
const BOOTING: u8 = 0;
const DRY: u8 = 1;
const ARMED: u8 = 2;

/// The limits of the order in hand, from the fork to the arming.
static LIMITS: [AtomicU64; 3] = [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];
static IS_FORK: AtomicBool = AtomicBool::new(false);
/// Whether the one rehearsing is a template, which will wait for orders after it.
static FOR_FORKS: AtomicBool = AtomicBool::new(false);
/// Rehearsals of a template: the first compiles, the second finds all compiled and settles the shapes of what it meets.
const TEMPLATE_DRY_RUNS: u64 = 2;
/// Dry runs left, and how far the one under way has read.
static DRY_LEFT: AtomicU64 = AtomicU64::new(0);
static DRY_AT: AtomicUsize = AtomicUsize::new(0);

/// Whether Node's own event loop is out of the game.
pub fn is_past_boot() -> bool {
    STAGE.load(Ordering::Relaxed) != BOOTING
}

/// Whether what Node writes to its event loop goes nowhere: that loop is closed.
pub fn has_no_loop() -> bool {
    is_past_boot() && !keeps_loop(&plan())
}

fn keeps_loop(plan: &Plan<'_>) -> bool {
    cfg!(danger) && plan.flags & FLAG_KEEP_LOOP != 0
}

/// Whether this process was copied from a template: it has one thread, whatever its memory says.
pub fn is_fork() -> bool {
    IS_FORK.load(Ordering::Relaxed)
}

/// Whether a dry run is under way.
pub fn is_dry() -> bool {
    STAGE.load(Ordering::Relaxed) == DRY
}

/// What a read of `count` bytes from the bridge gives, when it is not simply the kernel's to answer.
///
/// # Safety
/// `buffer` must be valid for writes of `count` bytes.
pub unsafe fn bridge_read(buffer: *mut c_void, count: usize) -> isize {
    let byte = match STAGE.load(Ordering::Relaxed) {
        BOOTING if count == 1 => Some(first_gate()),
        DRY if count > 0 => {
            let dry = conversation(&plan()).get(DRY_AT.load(Ordering::Relaxed)..).unwrap_or_default();
            if dry.is_empty() {
                Some(next_dry_run())
            } else {
                let take = dry.len().min(count);
                // SAFETY: `take` is at most `count`, for which the caller vouches, and at most what is left of `dry`, which is another place.
                unsafe { core::ptr::copy_nonoverlapping(dry.as_ptr(), buffer.cast(), take) };
                DRY_AT.fetch_add(take, Ordering::Relaxed);
                return take as isize;
            }
        }
        _ => None,
    };
    if let Some(byte) = byte {
        // SAFETY: the caller vouches for `count` bytes, and both arms above have at least one.
        unsafe { buffer.cast::<u8>().write(byte) };
        return 1;
    }
    // SAFETY: passed on from the caller.
    let got = unsafe { sys::read_raw(BRIDGE, buffer, count) };
    // End-of-file, or the supervisor closed with bytes unread: the run is over. A return to Node's event loop would only find forbidden calls.
    if got <= 0 && count > 0 && STAGE.load(Ordering::Relaxed) == ARMED {
        sys::exit_group(0);
    }
    got
}

/// The gate of a process that has just booted.
fn first_gate() -> u8 {
    let plan = plan();
    behind::know_the_processor();
    if plan.flags & FLAG_TEMPLATE != 0 && !plan.dry.is_empty() {
        FOR_FORKS.store(true, Ordering::Relaxed);
        return rehearse(TEMPLATE_DRY_RUNS);
    }
    wait_for_order(&plan)
}

/// What the rehearsal under way consists of.
fn conversation<'a>(plan: &Plan<'a>) -> &'a [u8] {
    if FOR_FORKS.load(Ordering::Relaxed) { plan.dry } else { plan.fork_dry }
}

fn rehearse(times: u64) -> u8 {
    DRY_AT.store(0, Ordering::Relaxed);
    DRY_LEFT.store(times, Ordering::Relaxed);
    STAGE.store(DRY, Ordering::Relaxed);
    b'D'
}

fn wait_for_order(plan: &Plan<'_>) -> u8 {
    STAGE.store(BOOTING, Ordering::Relaxed);
    tell(Event::Gate, 0, 0);
    loop {
        let mut message = [0; ORDER_LEN];
        let mut fds = [-1; 3];
        let order = match sys::receive(REPORT, &mut message, &mut fds) {
            // End-of-file: the supervisor is gone or wants no more.
            Ok((0, _)) => sys::exit_group(0),
            Ok((length, count)) => message.get(..length).and_then(Order::decode).map(|order| (order, count)),
            Err(_) => None,
        };
        let is_template = plan.flags & FLAG_TEMPLATE != 0;
        match order {
            Some((order, 0)) if !is_template => {
                keep(order);
                return arm(plan);
            }
            Some((order, 3)) if is_template => {
                if let Some(byte) = fork(plan, order, fds) {
                    return byte;
                }
            }
            _ => sys::exit_group(EXIT_NOT_JAILED),
        }
    }
}

/// Carries out a fork order: nothing in the template, the byte of the gate in the fork.
fn fork(plan: &Plan<'_>, order: Order, fds: [c_int; 3]) -> Option<u8> {
    // SAFETY: the one thread that runs JavaScript is here, between two instructions of the bridge; V8 runs with --single-threaded, so no helper
    // thread holds a lock of V8's or malloc's, and nothing in the copy compares thread ids: it reads, computes, writes and ends by exit_group.
    match unsafe { sys::fork_for_parent() } {
        Ok(0) => {
            IS_FORK.store(true, Ordering::Relaxed);
            answer_to(order.nonce);
            keep(order);
            Some(become_child(plan, fds, order.dry_runs))
        }
        told => {
            for fd in fds {
                let _ = sys::close_range(fd, fd as u32);
            }
            let (errno, pid) = told.map_or_else(|errno| (errno, 0), |pid| (0, pid as u64));
            // Under the order's nonce: an answer that comes too late answers nothing else.
            tell_as(order.nonce, Event::Forked, errno, pid);
            None
        }
    }
}

fn become_child(plan: &Plan<'_>, [bridge, stderr, report]: [c_int; 3], dry_runs: u64) -> u8 {
    // The report first: without it nobody hears of a failure.
    let placed = [(report, REPORT), (bridge, BRIDGE), (stderr, 2)].iter().try_for_each(|(from, to)| sys::dup_to(*from, *to).map(|_| ()));
    // What the template opened for its event loop goes too: that loop never runs again.
    let placed = placed.and_then(|()| close_loop(plan)).and_then(|_| sys::new_session());
    settle(Step::Descriptors, placed.map(|_| ()).map_err(|errno| (1, errno)));
    // A fork starts without the signal its parent had asked for.
    settle(Step::ParentDeath, parent_death(plan));
    if dry_runs == 0 || plan.fork_dry.is_empty() {
        return arm(plan);
    }
    FOR_FORKS.store(false, Ordering::Relaxed);
    rehearse(dry_runs)
}

/// The bridge is back at the gate after a dry run.
fn next_dry_run() -> u8 {
    DRY_AT.store(0, Ordering::Relaxed);
    if DRY_LEFT.fetch_sub(1, Ordering::Relaxed) > 1 {
        b'D'
    } else if FOR_FORKS.load(Ordering::Relaxed) {
        wait_for_order(&plan())
    } else {
        arm(&plan())
    }
}

/// The limits that [`arm`] will set.
pub fn keep(order: Order) {
    for (slot, value) in LIMITS.iter().zip([order.data_soft, order.data_hard, order.cpu_seconds]) {
        slot.store(value, Ordering::Relaxed);
    }
}

/// Sets the limits of the run and the armed filters, or ends the process.
pub fn arm(plan: &Plan<'_>) -> u8 {
    if plan.steps & Step::RunLimits.bit() != 0 {
        settle(Step::RunLimits, run_limits());
    }
    let _ = close_loop(plan);
    STAGE.store(ARMED, Ordering::Relaxed);
    if plan.steps & Step::ArmedFilter.bit() != 0 {
        sys::set_traps(off_list, fault);
        // The ending call first: after the list is in force no filter can be added.
        let filters = sys::install_filter(plan.armed_end, true).map_err(|errno| (1, errno));
        let filters = filters.and_then(|_| sys::install_filter(plan.armed, true).map_err(|errno| (2, errno)));
        settle(Step::ArmedFilter, filters.map(|_| ()));
    }
    tell(Event::Armed, 0, 0);
    b'A'
}

/// Closes everything above the descriptors of a child.
fn close_loop(plan: &Plan<'_>) -> sys::Answer {
    // A fork shares its template's loop, and with it that of every other fork: that would be no control but a fault.
    if keeps_loop(plan) && !is_fork() {
        return Ok(0);
    }
    sys::close_range(REPORT + 1, u32::MAX)
}

fn settle(step: Step, outcome: Outcome) {
    let (detail, errno) = outcome.err().unwrap_or((0, 0));
    tell(Event::Step(step), errno, detail);
    if outcome.is_err() {
        sys::exit_group(EXIT_NOT_JAILED);
    }
}

fn run_limits() -> Outcome {
    const RLIMIT_CPU: u32 = 0;
    const RLIMIT_DATA: u32 = 2;
    const RLIMIT_NPROC: u32 = 6;
    let [data_soft, data_hard, cpu_seconds] = [0, 1, 2].map(|index: usize| LIMITS[index].load(Ordering::Relaxed));
    // The soft limit sends SIGXCPU, which names the verdict; one second later the hard limit sends SIGKILL.
    let cpu = sys::cpu_seconds_used().saturating_add(cpu_seconds);
    let limits = [(RLIMIT_DATA, data_soft, data_hard), (RLIMIT_CPU, cpu, cpu.saturating_add(1)), (RLIMIT_NPROC, 0, 0)];
    for (resource, soft, hard) in limits {
        sys::set_rlimit(resource, soft, hard).map_err(|errno| (u64::from(resource) + 1, errno))?;
    }
    Ok(())
}

/// V8 has given up, or touched memory that is not there. At the limit of memory both mean that there was none to be had: it does not check everywhere.
/// Otherwise the return meets the same fault again, and that ends the process by its signal.
extern "C" fn fault(signal: c_int, _info: *const SigInfo, _context: *const c_void) {
    /// What is left below this is no room for V8 to go on in: it grows its heap by 256 KiB, and large objects by themselves.
    const ROOM: usize = 4 << 20;
    if sys::GIVEN_UP.contains(&signal) || !sys::can_map(ROOM) {
        tell(Event::Abort, 0, 0);
        sys::exit_group(EXIT_ABORTED)
    }
}

/// A call off the list was tried: say which, then end by the call that ends. The status is the kernel's word, the number is ours.
extern "C" fn off_list(_signal: c_int, info: *const SigInfo, _context: *const c_void) {
    // SAFETY: the kernel passes a siginfo_t filled for SIGSYS; the handler is installed for that signal alone (sys::set_traps).
    let number = unsafe { (*info).syscall };
    tell(Event::OffList, 0, u64::from(number as u32));
    sys::end_by_filter()
}
