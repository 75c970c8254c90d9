//! The jail object: loaded into Node before its `main()`, it locks the process it finds itself in.
//!
//! Stage 1 runs from `.init_array`, single-threaded, and builds every wall that Node can start behind ([`stage_one`]). Stage 2 runs when the
//! bridge, booted and holding no body yet, reads one byte from descriptor 3 ([`gate`]): the limits of the run and the armed filters. A *template* waits there
//! for orders instead; it is copied for each, and stage 2 happens in the copy. [`hooks`] are the libc symbols through which all this is reached.
//! A *probe* gets no further than stage 1: it tries one forbidden act and ends ([`probe`]).
//! What came of each step goes to the supervisor as one [`wire::Record`] on descriptor 4; the supervisor decides whether it is enough.
//!
//! The object trusts its plan, which comes from the supervisor alone, and nothing else. It never allocates, never calls back into Node,
//! and after arming it does nothing a body could ask for but end the process.
#![no_std]
#![deny(unsafe_op_in_unsafe_fn)]

mod behind;
mod gate;
mod hooks;
mod image;
mod nr;
mod probe;
mod root;
#[cfg(danger)]
mod script;
mod stage_one;
mod sys;
#[path = "../plan/src/wire.rs"]
#[allow(dead_code, reason = "the supervisor's half of the types is not used here")]
mod wire;

use core::ffi::{c_char, c_int};

/// Exit code of a process that cannot be jailed as planned. The supervisor goes by the missing record; the number is for a person with strace.
const EXIT_NOT_JAILED: c_int = 125;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    sys::exit_group(EXIT_NOT_JAILED)
}

#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn(c_int, *const *const c_char, *mut *mut c_char) = init;

extern "C" fn init(_argc: c_int, _argv: *const *const c_char, envp: *mut *mut c_char) {
    stage_one::run(envp);
}
