//! Starting one Node behind stage 1: what the spawn way does for every run and the template way once for many.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use nix::sys::socket::{AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, sendmsg, socketpair};

use super::confirm::{self, Reports, Trouble};
use super::files::{self, Sealed};
use super::parent::ParentThread;
use super::plan::{Blueprint, Purpose};
use super::{Child, LaunchConfig, LaunchError, Node, Wall, WallReport, ruleset};

/// Node's source text of the first words: it reads the bundle.
const BOOT: &str = include_str!(concat!(env!("OUT_DIR"), "/boot.js"));
const BUNDLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bundle.js"));
/// V8's code cache of the bundle for the Node this was built with; another Node takes the source.
const BUNDLE_CACHE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bundle.cache"));

/// What stands beside the permission model's own flag, for what it does not cover: the wall goes with all of it.
const BESIDE_PERMISSIONS: [&str; 4] = ["--no-addons", "--disable-sigusr1", "--no-experimental-sqlite", "--no-experimental-ffi"];

/// Everything the children of one launcher share.
#[derive(Debug)]
pub(super) struct Starter {
    pub(super) config: LaunchConfig,
    pub(super) node: Node,
    flags: Vec<String>,
    blueprint: Blueprint,
    object: Sealed,
    bundle: Sealed,
    null: OwnedFd,
    pub(super) parent: Arc<ParentThread>,
}

/// A Node that stands at the gate, behind stage 1.
#[derive(Debug)]
pub(super) struct AtGate {
    pub(super) child: Child,
    pub(super) bridge: OwnedFd,
    pub(super) reports: Reports,
    pub(super) nonce: [u8; 16],
    /// Data memory in bytes: a run's limit counts from here. What Node takes to boot differs tenfold between versions and is not the body's.
    pub(super) data_bytes: u64,
}

impl Starter {
    /// Makes everything the children share.
    pub(super) fn new(
        config: LaunchConfig,
        node: Node,
        purpose: Purpose,
        rehearsal: [Vec<u8>; 2],
        parent: Arc<ParentThread>,
    ) -> Result<Starter, LaunchError> {
        let walls = config.walls();
        let mut flags = node.flags(!walls.has(Wall::NoExecMemory));
        if !walls.has(Wall::PermissionModel) {
            flags.retain(|flag| !flag.ends_with("permission") && !BESIDE_PERMISSIONS.contains(&flag.as_str()));
        }
        #[cfg(any(test, feature = "danger"))]
        if config.danger.trial.is_some() && !walls.has(Wall::BarrenMainRealm) {
            flags.retain(|flag| flag != "--disallow-code-generation-from-strings");
        }
        let blueprint = Blueprint::new(&config, rehearsal).map_err(|error| LaunchError::Internal(error.to_string()))?;
        let memory = |source| host("memory files", source);
        Ok(Starter {
            node,
            flags,
            blueprint,
            object: Sealed::object().map_err(memory)?,
            bundle: bundle(&config, purpose).map_err(memory)?,
            null: files::null().map_err(memory)?,
            parent,
            config,
        })
    }

    /// The Node of a configuration.
    pub(super) fn find_node(config: &LaunchConfig) -> Result<Node, LaunchError> {
        #[cfg(any(test, feature = "danger"))]
        if let Some((program, _)) = &config.danger.stand_in {
            return Ok(Node::stand_in(program));
        }
        Ok(Node::find(config.node.as_deref())?)
    }

    fn command(&self, object: OwnedFd, control: OwnedFd, stderr: OwnedFd) -> Command {
        let mut command = Command::new(&self.node.path);
        command.args(&self.flags).arg("-e").arg(BOOT).env_clear().env("LD_PRELOAD", "/proc/self/fd/0");
        #[cfg(any(test, feature = "danger"))]
        if self.config.danger.unjailed {
            command.env_clear();
        }
        command.stdin(object).stdout(control).stderr(stderr).process_group(0).current_dir("/");
        command
    }

    /// Starts a Node and sees it to the gate.
    pub(super) async fn start(&self, purpose: Purpose) -> Result<AtGate, LaunchError> {
        let nonce = nonce()?;
        let (bridge, bridge_child) = pair(SockType::Stream)?;
        let (control, control_child) = pair(SockType::SeqPacket)?;
        let (stderr, stderr_child) = pipe()?;
        let (ruleset, landlock) = if self.blueprint.walls.has(Wall::Landlock) {
            match ruleset::deny_all() {
                Ok((fd, abi)) => (Some(fd), Some(Ok(abi))),
                Err(reason) => (None, Some(Err(reason))),
            }
        } else {
            (None, None)
        };
        let steps = self.blueprint.steps(ruleset.is_some());
        let plan = self.blueprint.encode(nonce, steps, purpose).ok_or_else(|| LaunchError::Internal("the plan is too large".to_owned()))?;
        let bundle = self.bundle.open().map_err(|source| host("the bundle", source))?;
        let mut fds = vec![bridge_child.as_raw_fd(), self.null.as_raw_fd(), bundle.as_raw_fd()];
        fds.extend(ruleset.as_ref().map(AsRawFd::as_raw_fd));
        // Sent before there is a child: it waits in the socket.
        let rights = [ControlMessage::ScmRights(&fds)];
        sendmsg::<()>(control.as_raw_fd(), &[io::IoSlice::new(&plan)], &rights, MsgFlags::MSG_NOSIGNAL, None)
            .map_err(|error| host("the plan", error.into()))?;
        let object = self.object.open().map_err(|source| host("the jail object", source))?;
        let started = self.parent.spawn(self.command(object, control_child, stderr_child)).await;
        let (pid, pidfd) = started.map_err(|source| start_failed(&self.node.path, source))?;
        drop((bridge_child, bundle, ruleset));
        let child = Child::new(pid, pidfd, stderr, control, nonce, Arc::clone(&self.parent));
        let mut child = child.map_err(|source| host("the runtime's I/O driver", source))?;
        let mut reports = Reports::new(steps, nonce, landlock);
        let status = match reports.until_gate(&mut child).await {
            Ok(()) => confirm::status_of(format!("/proc/{}/status", child.pid())).map_err(|source| Trouble::Host(host("/proc", source))),
            Err(trouble) => Err(trouble),
        };
        match status {
            Ok(status) => Ok(AtGate { child, bridge, reports, nonce, data_bytes: status.data_bytes }),
            Err(trouble) => Err(self.explain(&reports, trouble, child).await),
        }
    }

    /// Ends a child that did not get as far as it should, and says why.
    pub(super) async fn explain(&self, reports: &Reports, trouble: Trouble, child: Child) -> LaunchError {
        let ended = child.finish().await;
        reports.explain(trouble, &ended, &self.node.path)
    }

    /// The walls around an armed child.
    pub(super) fn confirm(&self, reports: &Reports, pid: i32) -> Result<Vec<WallReport>, LaunchError> {
        reports.confirm(pid, &self.config, self.blueprint.walls, self.parent.inherited_filters)
    }
}

fn bundle(config: &LaunchConfig, purpose: Purpose) -> io::Result<Sealed> {
    #[cfg(any(test, feature = "danger"))]
    if config.danger.main_realm {
        return Sealed::bundle(b"CMBUNDLM", include_bytes!(concat!(env!("OUT_DIR"), "/bundle-danger.js")), &[]);
    }
    #[cfg(any(test, feature = "danger"))]
    if let Some(trial) = config.danger.trial {
        let magic = trial.magic(config.walls(), purpose == Purpose::Template);
        return Sealed::bundle(&magic, include_bytes!(concat!(env!("OUT_DIR"), "/bundle-trial.js")), &[]);
    }
    // Machine code and its flags change what V8 takes for the same program.
    let cache = if config.jit { &[] } else { BUNDLE_CACHE };
    Sealed::bundle(if purpose == Purpose::Template { b"CMBUNDLT" } else { b"CMBUNDL1" }, BUNDLE, cache)
}

pub(super) fn host(what: &'static str, source: io::Error) -> LaunchError {
    let advice = match source.raw_os_error() {
        Some(libc::EMFILE) => "This process is out of descriptors: raise `ulimit -n`.",
        Some(libc::ENFILE) => "The host is out of descriptors.",
        Some(libc::ENOMEM) => "The host is out of memory.",
        Some(libc::EFBIG) => "The limit of this shell on the size of files (`ulimit -f`) is too low: set it to unlimited.",
        Some(libc::EAGAIN) => "No more processes are allowed: raise `ulimit -u`.",
        _ => "Run `codemode doctor` on this host.",
    };
    LaunchError::Host { what, advice, source }
}

fn start_failed(path: &Path, source: io::Error) -> LaunchError {
    match source.raw_os_error() {
        Some(libc::ENOENT | libc::EACCES | libc::ENOEXEC) => {
            super::NodeError::NotRunnable { path: PathBuf::from(path), why: source.to_string() }.into()
        }
        _ => host("a new process", source),
    }
}

pub(super) fn pair(kind: SockType) -> Result<(OwnedFd, OwnedFd), LaunchError> {
    socketpair(AddressFamily::Unix, kind, None, SockFlag::SOCK_CLOEXEC).map_err(|error| host("a socket pair", error.into()))
}

/// A pipe of which our end never blocks.
pub(super) fn pipe() -> Result<(OwnedFd, OwnedFd), LaunchError> {
    let (ours, theirs) = io::pipe().map_err(|source| host("a pipe", source))?;
    let ours = OwnedFd::from(ours);
    nix::fcntl::fcntl(&ours, nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK)).map_err(|error| host("a pipe", error.into()))?;
    Ok((ours, theirs.into()))
}

pub(super) fn nonce() -> Result<[u8; 16], LaunchError> {
    let mut nonce = [0; 16];
    match getrandom::fill(&mut nonce) {
        Ok(()) => Ok(nonce),
        Err(error) => Err(host("random bytes", io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO)))),
    }
}

/// The runtime's face of a bridge.
pub(super) fn stream(bridge: OwnedFd) -> Result<tokio::net::UnixStream, LaunchError> {
    let bridge = std::os::unix::net::UnixStream::from(bridge);
    bridge.set_nonblocking(true).and_then(|()| tokio::net::UnixStream::from_std(bridge)).map_err(|source| host("the bridge", source))
}
