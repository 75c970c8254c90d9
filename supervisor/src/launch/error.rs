//! Why no child could be started. Messages: one line what, one line what to do.

use std::path::PathBuf;

use super::Wall;

/// No confined child.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no usable Node.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A required wall does not stand on this host.
    #[error(transparent)]
    Isolation(#[from] IsolationError),
    /// The host refused something every launch needs, e.g. descriptors or processes.
    #[error("cannot start a child: {what}: {source}\n{advice}")]
    Host {
        /// What was tried.
        what: &'static str,
        /// What to do.
        advice: &'static str,
        /// What the host said.
        source: std::io::Error,
    },
    /// A fault of ours.
    #[error("cannot start a child: {0}\nThis is a bug in codemode; please report it.")]
    Internal(String),
}

/// Walls are missing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("wall {} is not available: {reason}{}\n{advice}", wall.name(), listed(others))]
pub struct IsolationError {
    /// The first required wall that does not stand.
    pub wall: Wall,
    /// The host's reason.
    pub reason: String,
    /// The other required walls that do not stand, with the host's reasons.
    pub others: Vec<(Wall, String)>,
    /// What to do.
    pub advice: &'static str,
}

fn listed(others: &[(Wall, String)]) -> String {
    others.iter().map(|(wall, reason)| format!("; {}: {reason}", wall.name())).collect()
}

/// Node cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// Nothing on the PATH.
    #[error("no `node` found in PATH ({path})\nInstall Node 20.19 or newer, or name it with --node or CODEMODE_NODE.")]
    NotFound {
        /// The PATH that was searched.
        path: String,
    },
    /// The named file cannot be run.
    #[error("cannot use {path} as Node: {why}\nName the node program itself with --node or CODEMODE_NODE.")]
    NotRunnable {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// It is a Node, but too old.
    #[error("Node {version} at {path} is too old\nUse Node 20.19 or newer: name it with --node or CODEMODE_NODE.")]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// It started and did not become a child of ours.
    #[error("{path} did not start as expected: {why}\n{advice}")]
    NotStarted {
        /// The file.
        path: PathBuf,
        /// What happened instead, with the end of its stderr.
        why: String,
        /// What to do.
        advice: &'static str,
    },
}
