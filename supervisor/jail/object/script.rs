//! Scripts of probes: system calls spelled out by a test. Not in a released object.
//!
//! What [`crate::probe`] says of probes holds here too: no body ever shares a process with one. Beyond that the calls are whatever the test wants to see
//! stopped, so a script may only be run by somebody who could make its calls anyway.

use crate::stage_one::tell;
use crate::sys::{self, Answer, Errno};
use crate::wire::{
    Argument, Call, Event, Plan, Probe, SCRIPT_ANSWERS_MAX, SCRIPT_ARMED, SCRIPT_COPIES, SCRIPT_DATA_MAX, SCRIPT_FOREIGN, SCRIPT_STARTUP,
    Script, Step,
};
use crate::{EXIT_NOT_JAILED, gate, nr};

const EINVAL: Errno = 22;

/// Makes the calls of a script: gives the answer of the last.
pub fn run(plan: &Plan<'_>, probe: &Probe<'_>) -> Answer {
    let script = Script::decode(probe.path).ok_or(EINVAL)?;
    // The kernel may write here: what calls fill is shared with what they are given.
    let mut data = [0_u8; SCRIPT_DATA_MAX];
    data.get_mut(..script.data.len()).ok_or(EINVAL)?.copy_from_slice(script.data);
    let mut answers = [0_u64; SCRIPT_ANSWERS_MAX];
    let mut last = Ok(0);
    for (index, call) in script.calls().enumerate() {
        let call = call.ok_or(EINVAL)?;
        if probe.number & SCRIPT_COPIES != 0 {
            last = in_a_copy(plan, probe.number, index, &call, &mut data);
        } else {
            let answer = make(probe.number, &call, &mut data, &answers)?;
            if let Some(slot) = answers.get_mut(index) {
                *slot = answer as u64;
            }
            last = Ok(answer);
        }
    }
    last
}

fn make(flags: u64, call: &Call, data: &mut [u8; SCRIPT_DATA_MAX], answers: &[u64]) -> Answer {
    let mut args = [0; 6];
    for (slot, argument) in args.iter_mut().zip(call.args) {
        *slot = match argument {
            Argument::Number(value) => value as usize,
            Argument::Data(at) => data.as_mut_ptr().wrapping_add(at as usize) as usize,
            Argument::Answer(index) => answers.get(index as usize).copied().unwrap_or_default() as usize,
        };
    }
    if flags & SCRIPT_FOREIGN != 0 {
        return foreign(call.number);
    }
    // SAFETY: no such promise can be made for a call that a test made up. The process holds nothing of value and ends after it, whatever the call does.
    unsafe { sys::call(i64::from(call.number), args) }
}

/// One call in a copy of this process, behind the filters that the flags name; its end is told when it has come.
fn in_a_copy(plan: &Plan<'_>, flags: u64, index: usize, call: &Call, data: &mut [u8; SCRIPT_DATA_MAX]) -> Answer {
    const SIGCHLD: usize = 17;
    // SAFETY: without CLONE_VM and with a null stack the copy goes on on its own copy of this stack. Before `main()` there is one thread and no lock is held.
    let copy = unsafe { sys::call(nr::CLONE, [SIGCHLD, 0, 0, 0, 0, 0]) }?;
    if copy == 0 {
        if flags & SCRIPT_STARTUP != 0 && sys::install_filter(plan.startup, false).is_err() {
            sys::exit_group(EXIT_NOT_JAILED);
        }
        if flags & SCRIPT_ARMED != 0 {
            gate::arm(&Plan { steps: Step::ArmedFilter.bit(), ..*plan });
        }
        let (errno, answer) = match make(flags, call, data, &[]) {
            Ok(answer) => (0, answer as u32),
            Err(errno) => (errno, 0),
        };
        tell(Event::Act, errno, (index as u64) << 32 | u64::from(answer));
        sys::exit_group(0);
    }
    let mut status = 0_u32;
    // SAFETY: wait4 writes one status word, and is asked for no usage.
    unsafe { sys::call(nr::WAIT4, [copy as usize, &raw mut status as usize, 0, 0, 0, 0]) }?;
    tell(Event::Forked, status, index as u64);
    Ok(copy)
}

/// A call by interrupt 0x80, its arguments zero where they can be.
#[cfg(target_arch = "x86_64")]
fn foreign(number: u32) -> Answer {
    let answer: i32;
    // SAFETY: as for `make`; what the entry code of older kernels does not restore is named.
    unsafe {
        core::arch::asm!("int 0x80", inout("eax") number as i32 => answer, in("ecx") 0, in("edx") 0, in("esi") 0, in("edi") 0,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _, options(nostack));
    }
    if answer < 0 { Err(answer.unsigned_abs()) } else { Ok(i64::from(answer)) }
}

/// This processor has no such gate.
#[cfg(not(target_arch = "x86_64"))]
fn foreign(_number: u32) -> Answer {
    const ENOSYS: Errno = 38;
    Err(ENOSYS)
}
