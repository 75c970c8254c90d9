//! Seccomp filters, compiled from the data files in `supervisor/seccomp`.
//!
//! The files are lists of calls with a reason each, in the format of the `seccompiler` crate, which compiles them.

use seccompiler::{BpfMap, BpfProgram, TargetArch, compile_from_json};

/// The lists of this machine's processor.
#[cfg(target_arch = "x86_64")]
const LISTS: &str = include_str!("../../seccomp/x86_64.json");
/// The lists of this machine's processor.
#[cfg(target_arch = "aarch64")]
const LISTS: &str = include_str!("../../seccomp/aarch64.json");

/// The filters of one plan, as the kernel takes them: `struct sock_filter` of 8 bytes each.
#[derive(Debug)]
pub(super) struct Filters {
    pub(super) startup: Vec<u8>,
    pub(super) armed: Vec<u8>,
    pub(super) armed_end: Vec<u8>,
}

impl Filters {
    /// Compiles the lists.
    pub(super) fn compile(jit: bool) -> Result<Filters, FilterError> {
        let mut programs = compile(LISTS, std::env::consts::ARCH)?;
        let mut take = |name: &'static str| programs.remove(name).ok_or(FilterError::Missing(name)).map(|program| bytes(&program));
        Ok(Filters { startup: take("startup")?, armed: take(if jit { "armed_jit" } else { "armed" })?, armed_end: take("armed_end")? })
    }
}

/// The lists cannot be compiled: a fault of ours, found by the tests.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilterError {
    /// The processor has no lists.
    #[error("no system call lists for this processor")]
    Processor,
    /// A list is not there.
    #[error("system call list {0:?} is missing")]
    Missing(&'static str),
    /// The crate refuses a list.
    #[error("system call lists do not compile")]
    Compile(#[source] seccompiler::Error),
}

fn compile(lists: &str, processor: &str) -> Result<BpfMap, FilterError> {
    let target = TargetArch::try_from(processor).map_err(|_| FilterError::Processor)?;
    compile_from_json(lists.as_bytes(), target).map_err(FilterError::Compile)
}

fn bytes(program: &BpfProgram) -> Vec<u8> {
    let mut out = Vec::with_capacity(program.len() * 8);
    for instruction in program {
        out.extend_from_slice(&instruction.code.to_ne_bytes());
        out.extend_from_slice(&[instruction.jt, instruction.jf]);
        out.extend_from_slice(&instruction.k.to_ne_bytes());
    }
    out
}

/// The name of a system call of this processor, for people.
pub fn syscall_name(number: u32) -> Option<&'static str> {
    syscalls::Sysno::new(number as usize).map(|call| call.name())
}
