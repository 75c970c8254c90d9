//! What each wall claims to stop alone: the table that the native rows come from.

use nix::errno::Errno;
use nix::sys::signal::Signal;

use crate::launch::Wall;
use crate::launch::probe::{Act, Given};

/// One claim: this wall, alone, stops this act in this way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// The wall.
    pub(super) wall: Wall,
    /// The act.
    pub(super) act: Act,
    /// What stands in the control too.
    pub(super) given: Given,
    /// How the wall stops it.
    pub(super) stop: Stop,
    /// Whose claim it is.
    pub(super) who: Who,
    /// The first Landlock ABI that has the right.
    pub(super) landlock: i32,
}

/// How an act is stopped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stop {
    /// By this error.
    Error(Errno),
    /// By the end of the process, by this signal.
    End(Signal),
}

/// Who can show a claim.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Who {
    /// Anybody.
    Anybody,
    /// Root: nobody else has the right that the wall takes away.
    Root,
    /// An ordinary user; root's rows show the same in another way.
    Ordinary,
}

const fn claim(wall: Wall, act: Act, given: Given, stop: Stop) -> Claim {
    Claim { wall, act, given, stop, who: Who::Anybody, landlock: 0 }
}

const fn by(who: Who, claim: Claim) -> Claim {
    Claim { who, ..claim }
}

/// A call off the list ends the process.
const fn listed(act: Act) -> Claim {
    claim(Wall::Seccomp, act, Given::Nothing, Stop::End(Signal::SIGSYS))
}

const fn landlock(abi: i32, act: Act, errno: Errno) -> Claim {
    Claim { landlock: abi, ..claim(Wall::Landlock, act, Given::Nothing, Stop::Error(errno)) }
}

/// Root is above most limits, and a child is never root.
const fn limited(act: Act, stop: Stop) -> Claim {
    claim(Wall::Rlimits, act, Given::Unprivileged, stop)
}

const fn refused(wall: Wall, act: Act, errno: Errno) -> Claim {
    claim(wall, act, Given::Nothing, Stop::Error(errno))
}

/// Every claim, by wall in the order of reports.
pub(super) const CLAIMS: &[Claim] = &[
    listed(Act::ReadFile),
    listed(Act::CreateFile),
    listed(Act::ListRoot),
    listed(Act::ConnectTcp),
    listed(Act::SendUdp),
    listed(Act::ConnectAbstract),
    listed(Act::Signal),
    listed(Act::Trace),
    listed(Act::Fork),
    listed(Act::Execute),
    listed(Act::ExecuteWritten),
    listed(Act::MapWritableExecutable),
    listed(Act::IoUring),
    listed(Act::NewUserNamespace),
    by(Who::Root, listed(Act::BecomeRoot)),
    listed(Act::AllowCoreFiles),
    claim(Wall::Seccomp, Act::InstallFilter, Given::NoNewPrivs, Stop::End(Signal::SIGSYS)),
    #[cfg(target_arch = "x86_64")]
    listed(Act::ForeignCall),
    refused(Wall::NoExecMemory, Act::ExecuteWritten, Errno::EACCES),
    refused(Wall::NoExecMemory, Act::MapWritableExecutable, Errno::EACCES),
    landlock(1, Act::ReadFile, Errno::EACCES),
    landlock(1, Act::CreateFile, Errno::EACCES),
    landlock(1, Act::ListRoot, Errno::EACCES),
    landlock(1, Act::Execute, Errno::EACCES),
    landlock(1, Act::Trace, Errno::EPERM),
    landlock(4, Act::ConnectTcp, Errno::EACCES),
    landlock(6, Act::ConnectAbstract, Errno::EPERM),
    landlock(6, Act::Signal, Errno::EPERM),
    refused(Wall::Namespaces, Act::ConnectTcp, Errno::ENETUNREACH),
    refused(Wall::Namespaces, Act::SendUdp, Errno::ENETUNREACH),
    refused(Wall::Namespaces, Act::ConnectAbstract, Errno::ECONNREFUSED),
    refused(Wall::EmptyRoot, Act::ReadFile, Errno::ENOENT),
    refused(Wall::EmptyRoot, Act::CreateFile, Errno::ENOENT),
    refused(Wall::EmptyRoot, Act::ListRoot, Errno::ENOENT),
    refused(Wall::EmptyRoot, Act::Execute, Errno::ENOENT),
    refused(Wall::Descriptors, Act::ReadLeaked, Errno::EBADF),
    refused(Wall::Descriptors, Act::SeeEnvironment, Errno::ENOENT),
    by(Who::Root, refused(Wall::NoNewPrivs, Act::BecomeRoot, Errno::EPERM)),
    by(Who::Root, refused(Wall::NoNewPrivs, Act::Signal, Errno::EPERM)),
    by(Who::Root, refused(Wall::NoNewPrivs, Act::ChangeRoot, Errno::EPERM)),
    // An ordinary user has rights to lose only in namespaces of its own.
    by(Who::Ordinary, claim(Wall::NoNewPrivs, Act::ChangeRoot, Given::Rights, Stop::Error(Errno::EPERM))),
    limited(Act::Fork, Stop::Error(Errno::EAGAIN)),
    limited(Act::Allocate, Stop::Error(Errno::ENOMEM)),
    limited(Act::WriteFile, Stop::End(Signal::SIGXFSZ)),
    limited(Act::AllowCoreFiles, Stop::Error(Errno::EPERM)),
    limited(Act::ManyDescriptors, Stop::Error(Errno::EBADF)),
];

/// An act in words.
pub(super) fn words(act: Act) -> &'static str {
    match act {
        Act::Wait => "wait",
        Act::ReadFile => "read a file",
        Act::CreateFile => "create a file",
        Act::WriteFile => "write to a file",
        Act::ListRoot => "list /",
        Act::ConnectTcp => "connect over TCP",
        Act::SendUdp => "send a UDP datagram",
        Act::ConnectAbstract => "connect to an abstract socket",
        Act::Signal => "signal another process",
        Act::Trace => "trace another process",
        Act::Fork => "fork",
        Act::Execute => "execute a program",
        Act::ExecuteWritten => "make written memory executable",
        Act::MapWritableExecutable => "map memory to write and run",
        Act::IoUring => "make an io_uring",
        Act::NewUserNamespace => "make a user namespace",
        Act::BecomeRoot => "become root",
        Act::ChangeRoot => "use a right of root (chroot)",
        Act::ReadLeaked => "read a leaked descriptor",
        Act::SeeEnvironment => "see the environment",
        Act::AllowCoreFiles => "allow core files",
        Act::Allocate => "allocate beyond the limit",
        Act::ManyDescriptors => "use a high descriptor",
        Act::InstallFilter => "install a filter",
        Act::ForeignCall => "make a 32-bit system call",
        Act::Script => "make the calls of a script",
    }
}
