//! What stands around a child, as reports show it.

use serde::{Deserialize, Serialize};

/// One isolation layer, under its name in reports.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wall {
    /// Every object the body can touch was made in its own context.
    GuestRealm,
    /// The main realm has nothing left worth reaching.
    BarrenMainRealm,
    /// Node's own permission model, with no grants.
    PermissionModel,
    /// The armed list of system calls.
    Seccomp,
    /// No new executable memory.
    NoExecMemory,
    /// Files, TCP, signals and abstract sockets refused by the kernel.
    Landlock,
    /// Own user, mount, network, IPC, UTS and cgroup namespaces.
    Namespaces,
    /// An empty read-only root.
    EmptyRoot,
    /// Five descriptors and an empty environment.
    Descriptors,
    /// No rights can be gained: capabilities gone, not root, `no_new_privs`.
    NoNewPrivs,
    /// Memory, CPU time, processes, files, core dumps.
    Rlimits,
}

impl Wall {
    /// Every wall, in the order of reports.
    pub const ALL: [Wall; 11] = [
        Wall::GuestRealm,
        Wall::BarrenMainRealm,
        Wall::PermissionModel,
        Wall::Seccomp,
        Wall::NoExecMemory,
        Wall::Landlock,
        Wall::Namespaces,
        Wall::EmptyRoot,
        Wall::Descriptors,
        Wall::NoNewPrivs,
        Wall::Rlimits,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Wall::GuestRealm => "guest_realm",
            Wall::BarrenMainRealm => "barren_main_realm",
            Wall::PermissionModel => "permission_model",
            Wall::Seccomp => "seccomp",
            Wall::NoExecMemory => "no_exec_memory",
            Wall::Landlock => "landlock",
            Wall::Namespaces => "namespaces",
            Wall::EmptyRoot => "empty_root",
            Wall::Descriptors => "descriptors",
            Wall::NoNewPrivs => "no_new_privs",
            Wall::Rlimits => "rlimits",
        }
    }
}

/// How much of a wall stands.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WallStatus {
    /// All of it, confirmed.
    Enforced,
    /// A part; the reason says which is missing.
    Partial,
    /// Asked for, and the host cannot.
    Unavailable,
    /// Not asked for.
    Off,
}

/// One wall of one child.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WallReport {
    /// Which.
    pub name: Wall,
    /// How much of it stands.
    pub status: WallStatus,
    /// The host's reason, when it does not stand whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Which way a child was started.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LauncherKind {
    /// Forked from a template.
    Template,
    /// A Node of its own.
    Spawn,
}

/// Everything that stands around one child.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Isolation {
    /// Which way it was started.
    pub launcher: LauncherKind,
    /// Node's version, e.g. `v24.22.3`.
    pub node: String,
    /// Whether machine code may be made.
    pub jit: bool,
    /// All walls, in the order of [`Wall`].
    pub walls: Vec<WallReport>,
}
