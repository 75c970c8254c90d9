//! Stage 1: everything Node can start behind, before its `main()`.
//!
//! The order is the design. Descriptors first: they bring the plan. The identity before the namespaces: a user namespace made by an
//! ordinary user gives rights inside it and none outside. The mounts need those rights, so capabilities go after them, and `no_new_privs`, Landlock
//! and the filter need none, so they come last.

use crate::sys::{self, Errno, Once};
use crate::wire::{Event, FLAG_PROBE, FLAG_TEMPLATE, PLAN_MAX, Plan, Record, Step};
use crate::{EXIT_NOT_JAILED, image, probe, root};
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Descriptors of a child, by number.
pub const BRIDGE: c_int = 3;
pub const REPORT: c_int = 4;
const BUNDLE: c_int = 5;
const RULESET: c_int = 6;

/// Where descriptors are parked while 0 to 6 are set: above all of those, below any limit a host could run Node under.
const PARKING: c_int = 10;

static PLAN_BYTES: Once<[u8; PLAN_MAX]> = Once::new();
static PLAN_LEN: Once<usize> = Once::new();

static IS_TEMPLATE: AtomicBool = AtomicBool::new(false);

/// Whether this process is, or was copied from, a template. Known without decoding the plan: V8 asks often.
pub fn is_template() -> bool {
    IS_TEMPLATE.load(Ordering::Relaxed)
}

/// The plan of this process.
pub fn plan() -> Plan<'static> {
    match PLAN_BYTES.get().get(..*PLAN_LEN.get()).and_then(Plan::decode) {
        Some(plan) => plan,
        None => sys::exit_group(EXIT_NOT_JAILED),
    }
}

/// The nonce of this process's records: the plan's, and later that of the order that armed or made it.
static NONCE: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// From here on records carry `nonce`.
pub fn answer_to(nonce: [u8; 16]) {
    let whole = u128::from_le_bytes(nonce);
    NONCE[0].store(whole as u64, Ordering::Relaxed);
    NONCE[1].store((whole >> 64) as u64, Ordering::Relaxed);
}

/// One line of report.
pub fn tell(event: Event, errno: Errno, detail: u64) {
    let [low, high] = [0, 1].map(|half: usize| NONCE[half].load(Ordering::Relaxed));
    tell_as((u128::from(low) | u128::from(high) << 64).to_le_bytes(), event, errno, detail);
}

/// One line of report under another nonce than this process's own.
pub fn tell_as(nonce: [u8; 16], event: Event, errno: Errno, detail: u64) {
    // A report that cannot be written is a report that is missing: the supervisor will not go on without it.
    let _ = sys::write(REPORT, &Record { nonce, event, errno, detail }.encode());
}

/// Builds stage 1 as the plan says and reports each step. A probe ends here.
pub fn run(envp: *mut *mut c_char) {
    let ruleset = match take_descriptors() {
        Ok(ruleset) => ruleset,
        Err(_) => sys::exit_group(EXIT_NOT_JAILED),
    };
    sys::reset_signals();
    crate::behind::use_one_arena();
    let plan = plan();
    answer_to(plan.nonce);
    IS_TEMPLATE.store(plan.flags & FLAG_TEMPLATE != 0, Ordering::Relaxed);
    let leaky = leaks_on_purpose(&plan);
    if !leaky {
        sys::scrub_environment(envp);
        tell(Event::Step(Step::Descriptors), 0, 0);
    }
    // Before the step that forbids new executable memory, and while there is no filter.
    let (moved, unmoved) = match if is_template() { image::move_to_huge_pages() } else { Ok(0) } {
        Ok(bytes) => (bytes, 0),
        Err((bytes, errno)) => (bytes, errno),
    };
    step(&plan, Step::Identity, || identity(&plan));
    // Both steps need a user and a mount namespace; either can be asked for alone.
    let spaces = if plan.steps & (Step::Namespaces.bit() | Step::EmptyRoot.bit()) == 0 { Ok(()) } else { namespaces(&plan) };
    step(&plan, Step::Namespaces, || spaces);
    step(&plan, Step::EmptyRoot, || spaces.and_then(|()| root::empty()));
    step(&plan, Step::BoundingSet, bounding_set);
    step(&plan, Step::Capabilities, capabilities);
    step(&plan, Step::NoNewPrivs, || one(sys::prctl(PR_SET_NO_NEW_PRIVS, 1)));
    step(&plan, Step::Landlock, || one(sys::landlock_restrict(ruleset)));
    let _ = sys::close_range(RULESET, if leaky { RULESET as u32 } else { u32::MAX });
    step(&plan, Step::Rlimits, || rlimits(&plan));
    step(&plan, Step::NoExecMemory, || one(sys::prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN)));
    step(&plan, Step::ParentDeath, || parent_death(&plan));
    step(&plan, Step::StartupFilter, || one(sys::install_filter(plan.startup, false)));
    tell(Event::StageOne, unmoved, moved);
    if plan.flags & FLAG_PROBE != 0 {
        probe::run(&plan, envp);
    }
}

/// Whether what a child could inherit stays: a probe without the step is the control that shows what the step is for. A child that goes on to `main()`
/// takes it whatever its plan says.
fn leaks_on_purpose(plan: &Plan<'_>) -> bool {
    plan.flags & FLAG_PROBE != 0 && plan.steps & Step::Descriptors.bit() == 0
}

const PR_SET_PDEATHSIG: usize = 1;
const PR_SET_DUMPABLE: usize = 4;
const PR_CAPBSET_DROP: usize = 24;
const PR_SET_NO_NEW_PRIVS: usize = 38;
const PR_CAP_AMBIENT: usize = 47;
const PR_CAP_AMBIENT_CLEAR_ALL: usize = 4;
const PR_SET_MDWE: usize = 65;
const PR_MDWE_REFUSE_EXEC_GAIN: usize = 1;
const SIGKILL: usize = 9;

/// What came of a step: nothing, or which part of it failed with which error.
pub type Outcome = Result<(), (u64, Errno)>;

fn one(answer: sys::Answer) -> Outcome {
    answer.map(|_| ()).map_err(|errno| (1, errno))
}

fn step(plan: &Plan<'_>, step: Step, take: impl FnOnce() -> Outcome) {
    if plan.steps & step.bit() == 0 {
        return;
    }
    let (detail, errno) = take().err().unwrap_or((0, 0));
    tell(Event::Step(step), errno, detail);
}

/// Receives the plan on descriptor 1 and puts 0 to 6 in their places. Gives the ruleset's number.
fn take_descriptors() -> Result<c_int, Errno> {
    const EPROTO: Errno = 71;
    let control = sys::dup_from(1, PARKING)? as c_int;
    let mut came = [-1; 4];
    let (length, count) = sys::receive(control, PLAN_BYTES.place(), &mut came)?;
    *PLAN_LEN.place() = length;
    if count < 3 {
        return Err(EPROTO);
    }
    let mut parked = [-1; 4];
    for (from, to) in came.iter().zip(&mut parked).take(count) {
        *to = sys::dup_from(*from, PARKING)? as c_int;
    }
    let [bridge, null, bundle, ruleset] = parked;
    for (from, to) in [(null, 0), (null, 1), (bridge, BRIDGE), (control, REPORT), (bundle, BUNDLE)] {
        sys::dup_to(from, to)?;
    }
    let first_to_close = if count == 4 {
        sys::dup_to(ruleset, RULESET)?;
        RULESET + 1
    } else {
        RULESET
    };
    if !leaks_on_purpose(&plan()) {
        sys::close_range(first_to_close, u32::MAX)?;
    }
    Ok(RULESET)
}

fn identity(plan: &Plan<'_>) -> Outcome {
    if !sys::is_root() {
        return Ok(());
    }
    // While we still may: the bounding set of the host's own namespace. It is emptied again inside the new one.
    let _ = bounding_set();
    sys::clear_groups().map_err(|errno| (1, errno))?;
    sys::set_gid(plan.gid).map_err(|errno| (2, errno))?;
    sys::set_uid(plan.uid).map_err(|errno| (3, errno))?;
    if sys::is_root() { Err((4, 0)) } else { Ok(()) }
}

fn namespaces(plan: &Plan<'_>) -> Outcome {
    const NEWNS: usize = 0x0002_0000;
    const NEWCGROUP: usize = 0x0200_0000;
    const NEWUTS: usize = 0x0400_0000;
    const NEWIPC: usize = 0x0800_0000;
    const NEWUSER: usize = 0x1000_0000;
    const NEWNET: usize = 0x4000_0000;
    // Changing ids made the process undumpable, and then its files in /proc belong to root. The last step of stage 1 sets it back.
    let _ = sys::prctl(PR_SET_DUMPABLE, 1);
    let others = if plan.steps & Step::Namespaces.bit() == 0 { 0 } else { NEWCGROUP | NEWUTS | NEWIPC | NEWNET };
    let (uid, gid) = sys::ids();
    sys::unshare(NEWUSER | NEWNS | others).map_err(|errno| (1, errno))?;
    // Mounting needs mapped ids; they stay the same number, so that nothing inside looks like root.
    sys::write_file(c"/proc/self/setgroups", b"deny").map_err(|errno| (2, errno))?;
    map(c"/proc/self/uid_map", uid).map_err(|errno| (3, errno))?;
    map(c"/proc/self/gid_map", gid).map_err(|errno| (4, errno))
}

fn map(path: &CStr, id: u32) -> Result<(), Errno> {
    // "ID ID 1": two numbers of at most 10 digits.
    let mut line = [b' '; 24];
    let mut at = 0;
    for _ in 0..2 {
        let mut digits = [0; 10];
        let (mut rest, mut count) = (id, 0);
        loop {
            digits[count] = b'0' + (rest % 10) as u8;
            count += 1;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        for digit in digits[..count].iter().rev() {
            line[at] = *digit;
            at += 1;
        }
        at += 1;
    }
    line[at] = b'1';
    sys::write_file(path, &line[..=at]).map(|_| ())
}

fn bounding_set() -> Outcome {
    const EINVAL: Errno = 22;
    for capability in 0..64 {
        match sys::prctl(PR_CAPBSET_DROP, capability) {
            Ok(_) => {}
            // Past the last capability that this kernel knows.
            Err(EINVAL) if capability > 0 => return Ok(()),
            Err(errno) => return Err((capability as u64 + 1, errno)),
        }
    }
    Ok(())
}

fn capabilities() -> Outcome {
    sys::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL).map_err(|errno| (1, errno))?;
    sys::clear_capabilities().map(|_| ()).map_err(|errno| (2, errno))
}

fn rlimits(plan: &Plan<'_>) -> Outcome {
    for limit in plan.rlimits.iter().take(plan.rlimit_count) {
        sys::set_rlimit(limit.resource, limit.soft, limit.hard).map_err(|errno| (u64::from(limit.resource) + 1, errno))?;
    }
    Ok(())
}

/// Ends with the parent, and now if it is gone already.
pub fn parent_death(plan: &Plan<'_>) -> Outcome {
    sys::prctl(PR_SET_DUMPABLE, 0).map_err(|errno| (1, errno))?;
    sys::prctl(PR_SET_PDEATHSIG, SIGKILL).map_err(|errno| (2, errno))?;
    // The parent may have died before the line above: then nobody waits for us.
    if sys::parent() == plan.parent { Ok(()) } else { sys::exit_group(EXIT_NOT_JAILED) }
}
