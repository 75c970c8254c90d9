//! From a configuration to the jail's plan.

use codemode_jail::wire::{FLAG_KEEP_LOOP, FLAG_PROBE, FLAG_TEMPLATE, PLAN_MAX, Plan, Probe, RLIMITS_MAX, Rlimit, Step};

use super::filters::{FilterError, Filters};
use super::{LaunchConfig, Wall, WallSet};

/// The id a root supervisor's children get: reserved by Debian's policy, outside the ranges that systemd and distributions hand out, so no service
/// shares it. Any id but 0 would do.
const UNPRIVILEGED: u32 = 65_533;

/// Limits that hold from before `main()`: resource, value, reason.
const FIXED: [(u32, u64); 8] = [
    // No core file: a dump is a copy of the run on disk.
    (libc::RLIMIT_CORE, 0),
    // Node needs 24 to boot; 64 leaves room for another version's habits.
    (libc::RLIMIT_NOFILE, 64),
    // Nothing may be written to a regular file. Pipes and sockets do not count.
    (libc::RLIMIT_FSIZE, 0),
    (libc::RLIMIT_MEMLOCK, 0),
    (libc::RLIMIT_MSGQUEUE, 0),
    (libc::RLIMIT_RTPRIO, 0),
    (libc::RLIMIT_SIGPENDING, 64),
    // V8 keeps to 984 KiB of stack; below 1 MiB simple recursion would crash instead of throwing.
    (libc::RLIMIT_STACK, 8 << 20),
];

/// Everything of a plan that is the same for all children of a launcher.
#[derive(Debug)]
pub(super) struct Blueprint {
    pub(super) walls: WallSet,
    filters: Filters,
    /// The frames of a template's dry run, and of a fork's.
    rehearsal: [Vec<u8>; 2],
    /// Whether probes get a template's start-up filter.
    pub(super) probes_template: bool,
}

/// What a plan is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Purpose {
    /// One run.
    Run,
    /// To be forked.
    Template,
}

impl Blueprint {
    pub(super) fn new(config: &LaunchConfig, rehearsal: [Vec<u8>; 2]) -> Result<Blueprint, FilterError> {
        let walls = config.walls();
        let filters = Filters::compile(config.jit || !walls.has(Wall::NoExecMemory))?;
        Ok(Blueprint { walls, filters, rehearsal, probes_template: false })
    }

    /// The steps the jail object takes.
    pub(super) fn steps(&self, landlock: bool) -> u32 {
        steps(self.walls, landlock)
    }

    /// The bytes of a probe's plan, with just these steps.
    pub(super) fn encode_probe(&self, nonce: [u8; 16], steps: u32, probe: &Probe<'_>) -> Option<Vec<u8>> {
        let mut act = vec![0; PLAN_MAX];
        let length = probe.encode(&mut act)?;
        let startup = if self.probes_template { &self.filters.template } else { &self.filters.startup };
        self.write(nonce, steps, FLAG_PROBE, startup, [act.get(..length)?, &[]])
    }

    /// The bytes of one plan.
    pub(super) fn encode(&self, nonce: [u8; 16], steps: u32, purpose: Purpose) -> Option<Vec<u8>> {
        // Never so in a release: there every wall is asked for.
        let keep = if self.walls.has(Wall::Descriptors) { 0 } else { FLAG_KEEP_LOOP };
        match purpose {
            Purpose::Run => self.write(nonce, steps, keep, &self.filters.startup, [&[]; 2]),
            Purpose::Template => {
                self.write(nonce, steps, FLAG_TEMPLATE | keep, &self.filters.template, self.rehearsal.each_ref().map(Vec::as_slice))
            }
        }
    }

    fn write(&self, nonce: [u8; 16], steps: u32, flags: u32, startup: &[u8], [dry, fork_dry]: [&[u8]; 2]) -> Option<Vec<u8>> {
        let mut rlimits = [Rlimit::default(); RLIMITS_MAX];
        for (slot, (resource, value)) in rlimits.iter_mut().zip(FIXED) {
            // A host's own hard limit may be lower already; raising is not ours to ask for.
            let hard = nix::sys::resource::getrlimit(resource_of(resource)?).map_or(value, |(_, hard)| hard.min(value));
            *slot = Rlimit { resource, soft: hard, hard };
        }
        let plan = Plan {
            nonce,
            flags,
            steps,
            parent: std::process::id(),
            uid: UNPRIVILEGED,
            gid: UNPRIVILEGED,
            rlimits,
            rlimit_count: FIXED.len(),
            startup,
            armed: &self.filters.armed,
            armed_end: &self.filters.armed_end,
            dry,
            fork_dry,
        };
        let mut bytes = vec![0; PLAN_MAX];
        let length = plan.encode(&mut bytes)?;
        bytes.truncate(length);
        Some(bytes)
    }
}

/// The steps behind a set of walls.
pub(super) fn steps(walls: WallSet, landlock: bool) -> u32 {
    let mut steps = Step::Descriptors.bit() | Step::ParentDeath.bit();
    let mut add = |wall: Wall, all: &[Step]| {
        if walls.has(wall) {
            steps |= all.iter().fold(0, |bits, step| bits | step.bit());
        }
    };
    add(Wall::NoNewPrivs, &[Step::Identity, Step::BoundingSet, Step::Capabilities, Step::NoNewPrivs]);
    // An unprivileged process may confine itself only after it has given up gaining rights.
    add(Wall::Seccomp, &[Step::NoNewPrivs, Step::StartupFilter, Step::ArmedFilter]);
    if landlock {
        add(Wall::Landlock, &[Step::NoNewPrivs, Step::Landlock]);
    }
    add(Wall::Namespaces, &[Step::Namespaces]);
    add(Wall::EmptyRoot, &[Step::EmptyRoot]);
    add(Wall::NoExecMemory, &[Step::NoExecMemory]);
    add(Wall::Rlimits, &[Step::Rlimits, Step::RunLimits]);
    steps
}

fn resource_of(number: u32) -> Option<nix::sys::resource::Resource> {
    use nix::sys::resource::Resource;
    Some(match number {
        libc::RLIMIT_CORE => Resource::RLIMIT_CORE,
        libc::RLIMIT_NOFILE => Resource::RLIMIT_NOFILE,
        libc::RLIMIT_FSIZE => Resource::RLIMIT_FSIZE,
        libc::RLIMIT_MEMLOCK => Resource::RLIMIT_MEMLOCK,
        libc::RLIMIT_MSGQUEUE => Resource::RLIMIT_MSGQUEUE,
        libc::RLIMIT_RTPRIO => Resource::RLIMIT_RTPRIO,
        libc::RLIMIT_SIGPENDING => Resource::RLIMIT_SIGPENDING,
        libc::RLIMIT_STACK => Resource::RLIMIT_STACK,
        _ => return None,
    })
}
