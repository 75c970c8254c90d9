//! Launching: from an order to a child that has proved its walls.
//!
//! [`Confined`] is the only thing a body can be sent to, and only a launcher makes it: from the jail's complete report, confirmed from
//! outside in `/proc/PID/status`.

mod child;
mod config;
mod confirm;
mod error;
mod files;
mod filters;
mod node;
mod parent;
mod plan;
pub(crate) mod probe;
mod report;
mod ruleset;
#[cfg(feature = "danger")]
mod scripts;
mod spawn;
#[cfg(any(test, feature = "danger"))]
mod stand_in;
mod start;
mod sys;
mod template;

pub use child::Child;
use child::Idle;
#[cfg(any(test, feature = "danger"))]
pub use config::{Danger, Hole, Trial};
pub use config::{LaunchConfig, LauncherChoice, WallPolicy, WallSet};
pub use error::{IsolationError, LaunchError, NodeError};
pub use filters::syscall_name;
pub use node::Node;
#[cfg(feature = "danger")]
pub use probe::{Act, Given, Outcome};
pub use report::{Isolation, LauncherKind, Wall, WallReport, WallStatus};
#[cfg(feature = "danger")]
pub use scripts::{Filtered, Probes, Swept};
pub use spawn::Spawn;
pub use template::Template;
pub(crate) use template::{Rehearsal, self_test};

use std::time::Duration;

use async_trait::async_trait;
use tokio::net::UnixStream;

/// What one child may use; set in the child before the first body byte.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LaunchOrder {
    /// Bytes of data memory above what the armed child already has.
    pub memory_bytes: u64,
    /// Seconds of CPU time for the run, start-up not counted.
    pub cpu_seconds: u64,
}

/// A way to start children.
#[async_trait]
pub trait Launcher: Send + Sync + std::fmt::Debug {
    /// Starts one child and waits until it is confined. Dropping the future ends the child.
    async fn launch(&self, order: LaunchOrder) -> Result<Confined, LaunchError>;
}

/// A child that has proved its walls and has seen no body yet.
#[derive(Debug)]
pub struct Confined {
    /// Frames both ways.
    bridge: UnixStream,
    /// The process behind it.
    child: Child,
    /// What stands around it.
    isolation: Isolation,
}

impl Confined {
    /// Takes it apart, for the one run it is for. The fields are private to `launch`: nobody else can put one together.
    pub(crate) fn into_parts(self) -> (UnixStream, Child, Isolation) {
        (self.bridge, self.child, self.isolation)
    }
}

/// How a child ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The kernel's word.
    pub status: ExitStatus,
    /// What the jail object wrote on the report pipe after arming. A claim.
    pub last_words: Option<LastWords>,
    /// The end of what the child wrote to descriptor 2, at most 4 KiB. A claim.
    pub stderr_tail: String,
    /// User + system time of the child, start-up of a spawned Node included.
    pub cpu: Duration,
    /// Peak resident set in bytes.
    pub peak_rss_bytes: u64,
}

/// The kernel's word on an ended process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ExitStatus {
    /// `exit_group` with this code.
    Exited(i32),
    /// Ended by this signal number.
    Signaled(i32),
    /// Not known: somebody else in this process reaped it, or it is stuck inside the kernel.
    Unknown,
}

/// The jail object's last record. The child may forge it: it only chooses words, never a verdict.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LastWords {
    /// A system call off the list was tried; its number.
    OffList(u32),
    /// `abort()` was called: V8 or Node gave up.
    Abort,
}
