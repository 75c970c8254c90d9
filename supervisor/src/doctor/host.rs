//! What this host is, and what it offers.

use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access, geteuid};
use serde::Serialize;

use crate::launch::probe;

/// The facts of a host that walls depend on.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Host {
    /// The kernel's release.
    pub kernel: String,
    /// The user id that asked.
    pub uid: u32,
    /// The Landlock ABI, or why there is none.
    pub landlock: Landlock,
    /// Seccomp filters that stand around this process already: a container's.
    pub seccomp_filters: u64,
    /// Whether user namespaces can be made and used.
    pub user_namespaces: UserNamespaces,
}

/// Landlock on this kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Landlock {
    /// The ABI.
    pub abi: Option<i32>,
    /// The first ABI whose rights cover all that the wall claims.
    pub whole: i32,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// User namespaces on this host, for this user.
#[derive(Clone, Debug, Serialize)]
pub struct UserNamespaces {
    /// Whether they can be made and used.
    pub allowed: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What could bound all of a run's resources at once; not a wall.
#[derive(Clone, Debug, Serialize)]
pub struct Resources {
    /// A cgroup v2 subtree that this user may divide.
    pub cgroup: Cgroup,
}

/// cgroup v2 for this process.
#[derive(Clone, Debug, Serialize)]
pub struct Cgroup {
    /// Whether the subtree may be divided.
    pub delegated: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Host {
    /// Looks around. The user namespaces are what the probes found.
    pub(super) fn look(seccomp_filters: u64, user_namespaces: UserNamespaces) -> Host {
        Host {
            kernel: setting("kernel/osrelease").unwrap_or_else(|| "unknown".to_owned()),
            uid: geteuid().as_raw(),
            landlock: Landlock::look(),
            seccomp_filters,
            user_namespaces,
        }
    }
}

impl Landlock {
    pub(super) fn look() -> Landlock {
        let (abi, whole) = probe::landlock();
        let reason = abi.as_ref().err().map(|error| format!("landlock_create_ruleset: {error}"));
        Landlock { abi: abi.ok(), whole, reason }
    }
}

impl Cgroup {
    pub(super) fn look() -> Cgroup {
        let missing = |reason: &str| Cgroup { delegated: false, reason: Some(reason.to_owned()) };
        let Ok(own) = fs::read_to_string("/proc/self/cgroup") else { return missing("no /proc/self/cgroup") };
        let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::/")) else { return missing("no cgroup v2 here") };
        let mount = Path::new("/sys/fs/cgroup");
        if !mount.join("cgroup.controllers").exists() {
            return missing("cgroup v2 is not mounted at /sys/fs/cgroup");
        }
        let folder: PathBuf = mount.join(path);
        match access(&folder, AccessFlags::W_OK).and_then(|()| access(&folder.join("cgroup.subtree_control"), AccessFlags::W_OK)) {
            Ok(()) => Cgroup { delegated: true, reason: None },
            Err(error) => Cgroup { delegated: false, reason: Some(format!("{}: {}", folder.display(), error.desc())) },
        }
    }
}

/// A setting of this kernel, by its path under /proc/sys.
pub(super) fn setting(name: &str) -> Option<String> {
    fs::read_to_string(Path::new("/proc/sys").join(name)).ok().map(|text| text.trim().to_owned())
}
