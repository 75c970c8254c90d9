//! Test-only: a program in place of Node, without any jail.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use nix::sys::socket::SockType;

use super::parent::ParentThread;
use super::start::{pair, pipe, stream};
use super::{Child, Confined, Isolation, LaunchError, LauncherKind};

/// Starts `program` with the bridge on descriptors 0 and 1.
pub(super) async fn start(program: &Path, arguments: &[String], parent: &Arc<ParentThread>) -> Result<Confined, LaunchError> {
    let host = |source| LaunchError::Host { what: "a stand-in", advice: "", source };
    let (bridge, bridge_child) = pair(SockType::Stream)?;
    let (report, report_child) = pair(SockType::SeqPacket)?;
    let (stderr, stderr_child) = pipe()?;
    let second = bridge_child.try_clone().map_err(host)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(bridge_child).stdout(second).stderr(stderr_child).process_group(0);
    let (pid, pidfd) = parent.spawn(command).await.map_err(host)?;
    drop(report_child);
    let child = Child::new(pid, pidfd, stderr, report, [0; 16], Arc::clone(parent)).map_err(host)?;
    let bridge = stream(bridge)?;
    let isolation = Isolation { launcher: LauncherKind::Spawn, node: "stand-in".to_owned(), jit: false, walls: Vec::new() };
    Ok(Confined { bridge, child, isolation })
}
