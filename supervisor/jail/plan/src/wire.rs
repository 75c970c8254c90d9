//! The bytes between supervisor and jail object. `core` only: the object includes this file as it stands.

#[path = "probe.rs"]
mod probe;

pub use probe::*;

/// First four bytes of a plan: "CMJ1".
pub const PLAN_MAGIC: u32 = 0x314a_4d43;

/// Largest plan in bytes. Four filters of the kernel's own maximum (4,096 instructions of 8 bytes) would be 128 KiB; ours are far below
/// half of that, and a datagram socket carries this much at its default buffer size.
pub const PLAN_MAX: usize = 65_536;

/// Largest number of resource limits in a plan. Linux knows 16.
pub const RLIMITS_MAX: usize = 16;

/// Steps of the jail, in the order in which the object takes them. The number is the bit in a plan and the byte in a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Step {
    /// Descriptors 0 to 4 in place, everything else closed, environment emptied.
    Descriptors = 0,
    /// The host's user and group id are not 0, no supplementary groups.
    Identity = 1,
    /// New user, mount, network, IPC, UTS and cgroup namespaces.
    Namespaces = 2,
    /// The root is an empty read-only file system.
    EmptyRoot = 3,
    /// Capabilities gone from the permitted, effective, inheritable and ambient sets.
    Capabilities = 4,
    /// Capabilities gone from the bounding set too.
    BoundingSet = 5,
    /// `no_new_privs`.
    NoNewPrivs = 6,
    /// Landlock ruleset applied.
    Landlock = 7,
    /// Fixed resource limits.
    Rlimits = 8,
    /// No new executable memory (`PR_SET_MDWE`).
    NoExecMemory = 9,
    /// Not dumpable; ended with the parent; the parent is still the one of the plan.
    ParentDeath = 10,
    /// The start-up filter.
    StartupFilter = 11,
    /// The limits of this run.
    RunLimits = 12,
    /// The armed filters.
    ArmedFilter = 13,
}

/// Every step, in order.
pub const STEPS: [Step; 14] = [
    Step::Descriptors,
    Step::Identity,
    Step::Namespaces,
    Step::EmptyRoot,
    Step::Capabilities,
    Step::BoundingSet,
    Step::NoNewPrivs,
    Step::Landlock,
    Step::Rlimits,
    Step::NoExecMemory,
    Step::ParentDeath,
    Step::StartupFilter,
    Step::RunLimits,
    Step::ArmedFilter,
];

impl Step {
    /// The bit of this step in a set of steps.
    pub const fn bit(self) -> u32 {
        1 << self as u8
    }

    /// The step with this number.
    pub fn from_byte(byte: u8) -> Option<Step> {
        STEPS.get(byte as usize).copied()
    }
}

/// The process is a template: at the gate it waits for fork orders instead of arming itself.
pub const FLAG_TEMPLATE: u32 = 1;

/// What Node opened for its event loop stays open when the process is armed: a test without the wall `descriptors`. Only an object built for tests knows it.
pub const FLAG_KEEP_LOOP: u32 = 4;

/// The process is a probe: after stage 1 (and the armed steps, where the plan has them) it tries the one act that [`Probe`] in `dry` names, reports what came
/// of it, and ends. `main()` never runs, so there is no JavaScript that could miss a wall the plan leaves out.
pub const FLAG_PROBE: u32 = 2;

/// One resource limit: the kernel's number of the resource, soft and hard value.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Rlimit {
    /// `RLIMIT_*`.
    pub resource: u32,
    /// Soft limit.
    pub soft: u64,
    /// Hard limit.
    pub hard: u64,
}

/// What to build. Descriptors come beside it as `SCM_RIGHTS`, in the order bridge, null device, bundle, Landlock ruleset (if asked for).
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Proves that a record answers this plan.
    pub nonce: [u8; 16],
    /// `FLAG_*`.
    pub flags: u32,
    /// Set of [`Step`] bits to take.
    pub steps: u32,
    /// Process id of the supervisor.
    pub parent: u32,
    /// User id to become when the process is root.
    pub uid: u32,
    /// Group id to become when the process is root.
    pub gid: u32,
    /// Fixed limits; `rlimit_count` of them count.
    pub rlimits: [Rlimit; RLIMITS_MAX],
    /// How many of `rlimits` count.
    pub rlimit_count: usize,
    /// Start-up filter: `struct sock_filter` of 8 bytes each.
    pub startup: &'a [u8],
    /// Armed filter: the list; off-list calls trap.
    pub armed: &'a [u8],
    /// Second armed filter: ends the process at the call with which the trap handler ends.
    pub armed_end: &'a [u8],
    /// What a template reads from the bridge in its dry runs: the frames of one whole conversation that goes everywhere. A probe's [`Probe`].
    pub dry: &'a [u8],
    /// What a fork of a template reads in its own: the frames of a short one.
    pub fork_dry: &'a [u8],
}

impl<'a> Plan<'a> {
    /// Writes the plan into `out`; gives the bytes used, or nothing when it does not fit.
    pub fn encode(&self, out: &mut [u8]) -> Option<usize> {
        let mut w = Writer { out, at: 0 };
        w.u32(PLAN_MAGIC)?;
        w.bytes(&self.nonce)?;
        w.u32(self.flags)?;
        w.u32(self.steps)?;
        w.u32(self.parent)?;
        w.u32(self.uid)?;
        w.u32(self.gid)?;
        w.u32(self.rlimit_count as u32)?;
        for limit in self.rlimits.iter().take(self.rlimit_count) {
            w.u32(limit.resource)?;
            w.u64(limit.soft)?;
            w.u64(limit.hard)?;
        }
        for part in [self.startup, self.armed, self.armed_end, self.dry, self.fork_dry] {
            w.u32(part.len() as u32)?;
            w.bytes(part)?;
        }
        Some(w.at)
    }

    /// Reads a plan; nothing when the bytes are not exactly one.
    pub fn decode(bytes: &'a [u8]) -> Option<Plan<'a>> {
        let mut r = Reader { bytes };
        if r.u32()? != PLAN_MAGIC {
            return None;
        }
        let nonce = r.take(16)?.try_into().ok()?;
        let (flags, steps, parent, uid, gid) = (r.u32()?, r.u32()?, r.u32()?, r.u32()?, r.u32()?);
        let rlimit_count = r.u32()? as usize;
        let mut rlimits = [Rlimit::default(); RLIMITS_MAX];
        for slot in rlimits.get_mut(..rlimit_count)? {
            *slot = Rlimit { resource: r.u32()?, soft: r.u64()?, hard: r.u64()? };
        }
        let mut parts: [&[u8]; 5] = [&[]; 5];
        for part in &mut parts {
            let length = r.u32()? as usize;
            *part = r.take(length)?;
        }
        let [startup, armed, armed_end, dry, fork_dry] = parts;
        if !r.bytes.is_empty() || [startup, armed, armed_end].iter().any(|filter| filter.len() % 8 != 0) {
            return None;
        }
        Some(Plan { nonce, flags, steps, parent, uid, gid, rlimits, rlimit_count, startup, armed, armed_end, dry, fork_dry })
    }
}

/// What a record is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// One step was taken: errno 0, or what the kernel said. `detail` tells which part of the step, counted from 1.
    Step(Step),
    /// Stage 1 is over; `main()` comes next. `detail` is how many bytes of its code a template has in huge pages, `errno` why it is not all: a matter of
    /// speed, no step.
    StageOne,
    /// Node has booted and waits at the gate.
    Gate,
    /// The armed filters are in force; the next thing the process reads is the run.
    Armed,
    /// Last words: a system call off the list; `detail` is its number.
    OffList,
    /// Last words: `abort()`.
    Abort,
    /// From a template: a fork order was carried out; `detail` is the new process, or `errno` says why there is none.
    Forked,
    /// From a probe: the act succeeded (errno 0; `detail` is what the kernel answered) or was refused. From a script's copy the upper half of `detail` is
    /// the index of its call, and [`Event::Forked`] with the copy's status in place of `errno` follows when it has ended.
    Act,
}

/// Bytes of a record.
pub const RECORD_LEN: usize = 32;

/// One message from the jail object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Record {
    /// The plan's.
    pub nonce: [u8; 16],
    /// What it is about.
    pub event: Event,
    /// 0, or the kernel's error number.
    pub errno: u32,
    /// See [`Event`].
    pub detail: u64,
}

impl Record {
    /// The bytes of the record.
    pub fn encode(&self) -> [u8; RECORD_LEN] {
        let (kind, step) = match self.event {
            Event::Step(step) => (1, step as u8),
            Event::StageOne => (2, 0),
            Event::Gate => (3, 0),
            Event::Armed => (4, 0),
            Event::OffList => (5, 0),
            Event::Abort => (6, 0),
            Event::Forked => (7, 0),
            Event::Act => (8, 0),
        };
        let mut out = [0; RECORD_LEN];
        let (nonce, rest) = out.split_at_mut(16);
        nonce.copy_from_slice(&self.nonce);
        let (head, rest) = rest.split_at_mut(4);
        head.copy_from_slice(&[b'R', kind, step, 0]);
        let (errno, detail) = rest.split_at_mut(4);
        errno.copy_from_slice(&self.errno.to_le_bytes());
        detail.copy_from_slice(&self.detail.to_le_bytes());
        out
    }

    /// Reads a record; nothing when the bytes are not exactly one.
    pub fn decode(bytes: &[u8]) -> Option<Record> {
        let mut r = Reader { bytes };
        let nonce = r.take(16)?.try_into().ok()?;
        let head: [u8; 4] = r.take(4)?.try_into().ok()?;
        let (errno, detail) = (r.u32()?, r.u64()?);
        let event = match head {
            [b'R', 1, step, 0] => Event::Step(Step::from_byte(step)?),
            [b'R', 2, 0, 0] => Event::StageOne,
            [b'R', 3, 0, 0] => Event::Gate,
            [b'R', 4, 0, 0] => Event::Armed,
            [b'R', 5, 0, 0] => Event::OffList,
            [b'R', 6, 0, 0] => Event::Abort,
            [b'R', 7, 0, 0] => Event::Forked,
            [b'R', 8, 0, 0] => Event::Act,
            _ => return None,
        };
        r.bytes.is_empty().then_some(Record { nonce, event, errno, detail })
    }
}

/// Bytes of an order.
pub const ORDER_LEN: usize = 56;

/// What the supervisor tells a process at the gate. A process of its own is armed; a template forks, and the fork is armed. The limits are measured by the
/// supervisor from outside: the object sees no `/proc`. A fork's descriptors come beside its order, as bridge, stderr, report.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Order {
    /// Proves that a record comes from the process that this order made or armed.
    pub nonce: [u8; 16],
    /// `RLIMIT_DATA` in bytes, absolute.
    pub data_soft: u64,
    /// The same, hard.
    pub data_hard: u64,
    /// Seconds of CPU time above what the process has used when it is armed.
    pub cpu_seconds: u64,
    /// Whole conversations a fork holds with itself before it is armed, so that the run finds its pages in place.
    pub dry_runs: u64,
}

impl Order {
    /// The bytes of the order.
    pub fn encode(&self) -> [u8; ORDER_LEN] {
        let mut out = [0; ORDER_LEN];
        let mut w = Writer { out: &mut out, at: 0 };
        // The buffer has room for exactly these: the results are certain.
        let _ = w.u64(u64::from(b'O'));
        let _ = w.bytes(&self.nonce);
        for word in [self.data_soft, self.data_hard, self.cpu_seconds, self.dry_runs] {
            let _ = w.u64(word);
        }
        out
    }

    /// Reads an order; nothing when the bytes are not exactly one.
    pub fn decode(bytes: &[u8]) -> Option<Order> {
        let mut r = Reader { bytes };
        if r.u64()? != u64::from(b'O') {
            return None;
        }
        let nonce = r.take(16)?.try_into().ok()?;
        let order = Order { nonce, data_soft: r.u64()?, data_hard: r.u64()?, cpu_seconds: r.u64()?, dry_runs: r.u64()? };
        r.bytes.is_empty().then_some(order)
    }
}

struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.out.get_mut(self.at..self.at.checked_add(bytes.len())?)?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }

    fn u32(&mut self, value: u32) -> Option<()> {
        self.bytes(&value.to_le_bytes())
    }

    fn u64(&mut self, value: u64) -> Option<()> {
        self.bytes(&value.to_le_bytes())
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(head)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}
