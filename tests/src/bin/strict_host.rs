//! A host that refuses system calls: `strict_host CALL,CALL|- UID|- PROGRAM ARGUMENTS…`
//!
//! Becomes the user, installs a filter that answers the calls with EPERM, as a container's does, and becomes the program.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::error::Error;
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(calls), Some(user), Some(program)) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err("usage: strict_host CALLS UID PROGRAM ARGUMENTS…".into());
    };
    if user != "-" {
        let id: u32 = user.parse()?;
        let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
        setgroups(&[])?;
        setresgid(gid, gid, gid)?;
        setresuid(uid, uid, uid)?;
    }
    if calls != "-" {
        let mut refused = BTreeMap::new();
        for call in calls.split(',') {
            refused.insert(number(call)?, Vec::new());
        }
        let eperm = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let filter = SeccompFilter::new(refused, SeccompAction::Allow, eperm, TargetArch::try_from(ARCH)?)?;
        let program: BpfProgram = filter.try_into()?;
        apply_filter(&program)?;
    }
    Err(Command::new(program).args(arguments).exec().into())
}

fn number(call: &str) -> Result<i64, String> {
    // Every number below the first that no kernel has.
    let found = (0..1024).find(|number| codemode::launch::syscall_name(*number) == Some(call));
    found.map(i64::from).ok_or_else(|| format!("{call}: not a system call"))
}
