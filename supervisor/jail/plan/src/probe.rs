//! What a probe is told: one act, or the calls of a script.

use super::{Reader, Writer};

/// The acts of probes: what hostile code would do, had it the process to itself. The number is the one in a plan.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[repr(u32)]
pub enum Act {
    /// Waits until the bridge is closed: somebody for other probes to signal and to look into.
    Wait,
    /// Reads a byte of the file at `path`.
    ReadFile,
    /// Makes a file at `path`, which is not there yet.
    CreateFile,
    /// Writes to a file made for it at `path`.
    WriteFile,
    /// Looks for entries of `/`.
    ListRoot,
    /// Connects over TCP to the loopback port `number`.
    ConnectTcp,
    /// Sends a datagram to the loopback port `number`.
    SendUdp,
    /// Connects to the abstract socket called `path`.
    ConnectAbstract,
    /// Sends the null signal to the process `number`.
    Signal,
    /// Seizes the process `number` as a debugger does.
    Trace,
    /// Copies itself.
    Fork,
    /// Becomes the program at `path`, which prints its version.
    Execute,
    /// Makes written memory executable.
    ExecuteWritten,
    /// Asks for memory that is writable and executable at once.
    MapWritableExecutable,
    /// Makes an io_uring.
    IoUring,
    /// Makes a user namespace.
    NewUserNamespace,
    /// Becomes root.
    BecomeRoot,
    /// Uses a right of root: changes the root directory (to the one it has).
    ChangeRoot,
    /// Reads from the descriptor `number`, which somebody forgot to close.
    ReadLeaked,
    /// Looks for an environment variable.
    SeeEnvironment,
    /// Raises its limit on core files to one byte.
    AllowCoreFiles,
    /// Asks for `number` bytes of memory.
    Allocate,
    /// Opens a descriptor number far above those of a child.
    ManyDescriptors,
    /// Installs one more filter, which allows everything.
    InstallFilter,
    /// Makes a call by the gate of 32-bit programs, where numbers mean other calls.
    ForeignCall,
    /// Makes the calls of a [`Script`]. Only an object built for tests can.
    Script,
}

/// Every act, by number.
pub const ACTS: [Act; 26] = [
    Act::Wait,
    Act::ReadFile,
    Act::CreateFile,
    Act::WriteFile,
    Act::ListRoot,
    Act::ConnectTcp,
    Act::SendUdp,
    Act::ConnectAbstract,
    Act::Signal,
    Act::Trace,
    Act::Fork,
    Act::Execute,
    Act::ExecuteWritten,
    Act::MapWritableExecutable,
    Act::IoUring,
    Act::NewUserNamespace,
    Act::BecomeRoot,
    Act::ChangeRoot,
    Act::ReadLeaked,
    Act::SeeEnvironment,
    Act::AllowCoreFiles,
    Act::Allocate,
    Act::ManyDescriptors,
    Act::InstallFilter,
    Act::ForeignCall,
    Act::Script,
];

/// Largest encoded [`Probe`]: numbers, the longest path Linux takes, and its end.
pub const PROBE_MAX: usize = 12 + 4096;

/// One act of a probe and what it needs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Probe<'a> {
    /// What to try.
    pub act: Act,
    /// See [`Act`].
    pub number: u64,
    /// See [`Act`]; ends with a zero byte.
    pub path: &'a [u8],
}

impl<'a> Probe<'a> {
    /// Writes the probe into `out`; gives the bytes used, or nothing when it does not fit.
    pub fn encode(&self, out: &mut [u8]) -> Option<usize> {
        let mut w = Writer { out, at: 0 };
        w.u32(self.act as u32)?;
        w.u64(self.number)?;
        w.bytes(self.path)?;
        Some(w.at)
    }

    /// Reads a probe.
    pub fn decode(bytes: &'a [u8]) -> Option<Probe<'a>> {
        let mut r = Reader { bytes };
        let act = ACTS.get(r.u32()? as usize).copied()?;
        Some(Probe { act, number: r.u64()?, path: r.bytes })
    }
}

/// One argument of a [`Call`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Argument {
    /// This number.
    Number(u64),
    /// The address of this byte of the script's data.
    Data(u64),
    /// What the call with this index answered.
    Answer(u64),
}

/// One system call of a script.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Call {
    /// Its number.
    pub number: u32,
    /// All that a call can have.
    pub args: [Argument; 6],
}

/// Most bytes of data beside a script's calls.
pub const SCRIPT_DATA_MAX: usize = 4096;
/// Most calls whose answers later ones can use.
pub const SCRIPT_ANSWERS_MAX: usize = 16;

/// Each call of the script is made in a copy of the process of its own. Else all are made in one process, in order, up to the first that is refused.
pub const SCRIPT_COPIES: u64 = 1;
/// Each copy first takes the start-up filter.
pub const SCRIPT_STARTUP: u64 = 2;
/// Each copy first takes the armed filters.
pub const SCRIPT_ARMED: u64 = 4;
/// The calls go through the gate of 32-bit programs.
pub const SCRIPT_FOREIGN: u64 = 8;

/// Calls as they stand in the `path` of a [`Probe`]; its `number` has the flags.
#[derive(Clone, Copy, Debug)]
pub struct Script<'a> {
    calls: &'a [u8],
    /// What addresses point into.
    pub data: &'a [u8],
}

impl<'a> Script<'a> {
    const CALL_LEN: usize = 4 + 6 * 9;

    /// Writes a script into `out`; gives the bytes used, or nothing when it does not fit.
    pub fn encode(calls: &[Call], data: &[u8], out: &mut [u8]) -> Option<usize> {
        let mut w = Writer { out, at: 0 };
        w.u32(calls.len() as u32)?;
        for call in calls {
            w.u32(call.number)?;
            for argument in call.args {
                let (kind, value) = match argument {
                    Argument::Number(value) => (0, value),
                    Argument::Data(value) => (1, value),
                    Argument::Answer(value) => (2, value),
                };
                w.bytes(&[kind])?;
                w.u64(value)?;
            }
        }
        w.bytes(data)?;
        (data.len() <= SCRIPT_DATA_MAX).then_some(w.at)
    }

    /// Reads a script; nothing when the bytes are none.
    pub fn decode(bytes: &'a [u8]) -> Option<Script<'a>> {
        let mut r = Reader { bytes };
        let count = r.u32()? as usize;
        let calls = r.take(count.checked_mul(Script::CALL_LEN)?)?;
        (r.bytes.len() <= SCRIPT_DATA_MAX).then_some(Script { calls, data: r.bytes })
    }

    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = Option<Call>> + use<'a> {
        self.calls.chunks_exact(Script::CALL_LEN).map(|bytes| {
            let mut r = Reader { bytes };
            let number = r.u32()?;
            let mut args = [Argument::Number(0); 6];
            for slot in &mut args {
                let kind = r.take(1)?.first().copied()?;
                let value = r.u64()?;
                *slot = match kind {
                    0 => Argument::Number(value),
                    1 => Argument::Data(value),
                    2 => Argument::Answer(value),
                    _ => return None,
                };
            }
            Some(Call { number, args })
        })
    }
}
