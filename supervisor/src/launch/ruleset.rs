//! The Landlock ruleset: every right the kernel's ABI knows, and no rule that grants one.

use std::os::fd::OwnedFd;

use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};

use super::sys;

/// The first ABI that refuses everything the wall claims: signals and abstract sockets came with 6.
pub(super) const WHOLE: i32 = 6;

/// The newest ABI whose rights this code was written for. A later one adds rights; they are added here after reading what they mean, never found at run time.
const NEWEST_KNOWN: i32 = 7;

/// A ruleset that refuses all the running kernel can refuse, and the ABI it was made for.
pub(super) fn deny_all() -> Result<(OwnedFd, i32), String> {
    let running = sys::landlock_abi().map_err(|error| format!("landlock_create_ruleset: {error}"))?;
    let effective = running.min(NEWEST_KNOWN);
    let abi = ABI::from(effective);
    let make = || -> Result<Option<OwnedFd>, landlock::RulesetError> {
        // A right the kernel does not know is an error here, not a silence: the ABI was read a line above.
        let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::from_all(abi))?;
        if effective >= 4 {
            ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
        }
        if effective >= 6 {
            ruleset = ruleset.scope(Scope::from_all(abi))?;
        }
        Ok(ruleset.create()?.into())
    };
    match make() {
        Ok(Some(fd)) => Ok((fd, effective)),
        Ok(None) => Err("landlock gives no ruleset".to_owned()),
        Err(error) => Err(format!("landlock: {error}")),
    }
}
