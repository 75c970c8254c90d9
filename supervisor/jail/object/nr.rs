//! Numbers of the system calls that the object makes, by processor.

#[cfg(target_arch = "x86_64")]
mod numbers {
    pub const READ: i64 = 0;
    pub const WRITE: i64 = 1;
    pub const MMAP: i64 = 9;
    pub const MPROTECT: i64 = 10;
    pub const RT_SIGPROCMASK: i64 = 14;
    pub const MADVISE: i64 = 28;
    pub const SOCKET: i64 = 41;
    pub const CONNECT: i64 = 42;
    pub const SENDTO: i64 = 44;
    pub const CLONE: i64 = 56;
    pub const EXECVE: i64 = 59;
    pub const WAIT4: i64 = 61;
    pub const KILL: i64 = 62;
    pub const FCNTL: i64 = 72;
    pub const CHDIR: i64 = 80;
    pub const GETRUSAGE: i64 = 98;
    pub const PTRACE: i64 = 101;
    pub const GETUID: i64 = 102;
    pub const GETGID: i64 = 104;
    pub const GETEUID: i64 = 107;
    pub const GETPPID: i64 = 110;
    pub const SETSID: i64 = 112;
    pub const SETGROUPS: i64 = 116;
    pub const SETRESUID: i64 = 117;
    pub const SETRESGID: i64 = 119;
    pub const CAPSET: i64 = 126;
    pub const PIVOT_ROOT: i64 = 155;
    pub const PRCTL: i64 = 157;
    pub const CHROOT: i64 = 161;
    pub const MOUNT: i64 = 165;
    pub const UMOUNT2: i64 = 166;
    pub const GETDENTS64: i64 = 217;
    pub const EXIT_GROUP: i64 = 231;
    pub const KEXEC_LOAD: i64 = 246;
    pub const OPENAT: i64 = 257;
    pub const FACCESSAT: i64 = 269;
    pub const UNSHARE: i64 = 272;
    pub const DUP3: i64 = 292;
    pub const PRLIMIT64: i64 = 302;
    pub const SECCOMP: i64 = 317;
    pub const IO_URING_SETUP: i64 = 425;
    pub const CLOSE_RANGE: i64 = 436;
    pub const LANDLOCK_RESTRICT_SELF: i64 = 446;
}

#[cfg(target_arch = "aarch64")]
mod numbers {
    pub const DUP3: i64 = 24;
    pub const FCNTL: i64 = 25;
    pub const UMOUNT2: i64 = 39;
    pub const MOUNT: i64 = 40;
    pub const PIVOT_ROOT: i64 = 41;
    pub const FACCESSAT: i64 = 48;
    pub const CHDIR: i64 = 49;
    pub const CHROOT: i64 = 51;
    pub const OPENAT: i64 = 56;
    pub const GETDENTS64: i64 = 61;
    pub const READ: i64 = 63;
    pub const WRITE: i64 = 64;
    pub const CAPSET: i64 = 91;
    pub const EXIT_GROUP: i64 = 94;
    pub const UNSHARE: i64 = 97;
    pub const KEXEC_LOAD: i64 = 104;
    pub const PTRACE: i64 = 117;
    pub const KILL: i64 = 129;
    pub const RT_SIGPROCMASK: i64 = 135;
    pub const SETRESUID: i64 = 147;
    pub const SETRESGID: i64 = 149;
    pub const SETSID: i64 = 157;
    pub const SETGROUPS: i64 = 159;
    pub const GETRUSAGE: i64 = 165;
    pub const PRCTL: i64 = 167;
    pub const GETPPID: i64 = 173;
    pub const GETUID: i64 = 174;
    pub const GETEUID: i64 = 175;
    pub const GETGID: i64 = 176;
    pub const SOCKET: i64 = 198;
    pub const CONNECT: i64 = 203;
    pub const SENDTO: i64 = 206;
    pub const CLONE: i64 = 220;
    pub const EXECVE: i64 = 221;
    pub const MMAP: i64 = 222;
    pub const MPROTECT: i64 = 226;
    pub const MADVISE: i64 = 233;
    pub const WAIT4: i64 = 260;
    pub const PRLIMIT64: i64 = 261;
    pub const SECCOMP: i64 = 277;
    pub const IO_URING_SETUP: i64 = 425;
    pub const CLOSE_RANGE: i64 = 436;
    pub const LANDLOCK_RESTRICT_SELF: i64 = 446;
}

pub use numbers::*;
