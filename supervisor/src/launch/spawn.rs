//! The spawn way: one Node start a run.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use codemode_jail::wire::Order;
use nix::sys::socket::{AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, sendmsg, socketpair};
use tokio::sync::Semaphore;

use super::confirm::{self, Reports, Trouble};
use super::files::{self, Sealed};
use super::parent::ParentThread;
use super::plan::Blueprint;
use super::{Child, Confined, Isolation, LaunchConfig, LaunchError, LaunchOrder, Launcher, LauncherKind, Node, Wall, ruleset};

/// Node's source text of the first words: it reads the bundle.
const BOOT: &str = include_str!(concat!(env!("OUT_DIR"), "/boot.js"));
const BUNDLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bundle.js"));
/// V8's code cache of the bundle for the Node this was built with; another Node takes the source.
const BUNDLE_CACHE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bundle.cache"));

/// Starts at once, times the processors: a Node start keeps one busy, and more of them only make each other late.
const STARTS_PER_PROCESSOR: usize = 2;

/// Starts one Node a run.
#[derive(Debug)]
pub struct Spawn {
    config: LaunchConfig,
    node: Node,
    flags: Vec<String>,
    blueprint: Blueprint,
    object: Sealed,
    bundle: Sealed,
    null: OwnedFd,
    parent: Arc<ParentThread>,
    starts: Semaphore,
}

impl Spawn {
    /// Finds Node and makes everything the children share.
    pub fn new(config: LaunchConfig) -> Result<Spawn, LaunchError> {
        let node = find_node(&config)?;
        let walls = config.walls();
        let mut flags = node.flags(!walls.has(Wall::NoExecMemory));
        if !walls.has(Wall::PermissionModel) {
            flags.retain(|flag| !flag.ends_with("permission"));
        }
        let blueprint = Blueprint::new(&config).map_err(|error| LaunchError::Internal(error.to_string()))?;
        let memory = |source| LaunchError::Host { what: "memory files", advice: "Raise `ulimit -n`.", source };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Spawn {
            node,
            flags,
            blueprint,
            object: Sealed::object().map_err(memory)?,
            bundle: bundle(&config).map_err(memory)?,
            null: files::null().map_err(memory)?,
            parent: Arc::new(ParentThread::start().map_err(|source| LaunchError::Host {
                what: "the thread that starts children",
                advice: "Raise `ulimit -u`.",
                source,
            })?),
            starts: Semaphore::new(STARTS_PER_PROCESSOR * processors),
            config,
        })
    }

    /// The Node in use.
    pub fn node(&self) -> &Node {
        &self.node
    }

    fn command(&self, object: OwnedFd, control: OwnedFd, stderr: OwnedFd) -> Command {
        let mut command = Command::new(&self.node.path);
        command.args(&self.flags).arg("-e").arg(BOOT).env_clear().env("LD_PRELOAD", "/proc/self/fd/0");
        command.stdin(object).stdout(control).stderr(stderr).process_group(0).current_dir("/");
        command
    }

    async fn confine(&self, order: LaunchOrder) -> Result<Confined, LaunchError> {
        let nonce = nonce().map_err(|source| host("random bytes", source))?;
        let (bridge, bridge_child) = pair(SockType::Stream)?;
        let (control, control_child) = pair(SockType::SeqPacket)?;
        let (stderr, stderr_child) = pipe()?;
        let ruleset = if self.blueprint.walls.has(Wall::Landlock) { Some(ruleset::deny_all()) } else { None };
        let (ruleset, landlock) = match ruleset {
            Some(Ok((fd, abi))) => (Some(fd), Some(Ok(abi))),
            Some(Err(reason)) => (None, Some(Err(reason))),
            None => (None, None),
        };
        let steps = self.blueprint.steps(ruleset.is_some());
        let plan = self.blueprint.encode(nonce, steps).ok_or_else(|| LaunchError::Internal("the plan is too large".to_owned()))?;
        let bundle = self.bundle.open().map_err(|source| host("the bundle", source))?;
        let mut fds = vec![bridge_child.as_raw_fd(), self.null.as_raw_fd(), bundle.as_raw_fd()];
        fds.extend(ruleset.as_ref().map(AsRawFd::as_raw_fd));
        // Sent before there is a child: it waits in the socket.
        let rights = [ControlMessage::ScmRights(&fds)];
        sendmsg::<()>(control.as_raw_fd(), &[io::IoSlice::new(&plan)], &rights, MsgFlags::MSG_NOSIGNAL, None)
            .map_err(|error| host("the plan", error.into()))?;
        let object = self.object.open().map_err(|source| host("the jail object", source))?;
        let started = self.parent.spawn(self.command(object, control_child, stderr_child)).await.map_err(|source| start_failed(&self.node.path, source))?;
        drop((bridge_child, bundle, ruleset));
        let child = Child::new(started.pid, started.pidfd, stderr, control, nonce, Arc::clone(&self.parent));
        let mut child = child.map_err(|source| host("the runtime's I/O driver", source))?;

        let mut reports = Reports::new(steps, nonce, landlock);
        if let Err(trouble) = raise(&mut child, &mut reports, nonce, order).await {
            let ended = child.finish().await;
            return Err(reports.explain(trouble, &ended, &self.node.path));
        }
        let walls = reports.confirm(&child, &self.config, self.blueprint.walls, self.parent.inherited_filters)?;
        let bridge = std::os::unix::net::UnixStream::from(bridge);
        let bridge = bridge.set_nonblocking(true).and_then(|()| tokio::net::UnixStream::from_std(bridge)).map_err(|source| host("the bridge", source))?;
        let isolation = Isolation { launcher: LauncherKind::Spawn, node: self.node.version.clone(), jit: self.config.jit, walls };
        Ok(Confined { bridge, child, isolation })
    }
}

/// Sees a child through its boot to the gate and has it armed.
async fn raise(child: &mut Child, reports: &mut Reports, nonce: [u8; 16], order: LaunchOrder) -> Result<(), Trouble> {
    reports.until_gate(child).await?;
    let status = confirm::status_of(format!("/proc/{}/status", child.pid())).map_err(|source| Trouble::Host(host("/proc", source)))?;
    // The limit counts from here: what Node took to boot differs tenfold between versions and is not the body's.
    let data = status.data_bytes.saturating_add(order.memory_bytes);
    let order = Order { nonce, data_soft: data, data_hard: data, cpu_seconds: order.cpu_seconds, dry_runs: 0 };
    child.order(&order.encode()).map_err(|source| Trouble::Host(host("the arm order", source)))?;
    reports.until_armed(child).await
}

#[async_trait]
impl Launcher for Spawn {
    async fn launch(&self, order: LaunchOrder) -> Result<Confined, LaunchError> {
        let _turn = self.starts.acquire().await.map_err(|_| LaunchError::Internal("the launcher is closed".to_owned()))?;
        #[cfg(any(test, feature = "danger"))]
        if let Some((program, arguments)) = &self.config.danger.stand_in {
            return super::stand_in::start(program, arguments, &self.parent).await;
        }
        self.confine(order).await
    }
}

fn find_node(config: &LaunchConfig) -> Result<Node, LaunchError> {
    #[cfg(any(test, feature = "danger"))]
    if let Some((program, _)) = &config.danger.stand_in {
        return Ok(Node::stand_in(program));
    }
    Ok(Node::find(config.node.as_deref())?)
}

fn bundle(config: &LaunchConfig) -> io::Result<Sealed> {
    #[cfg(any(test, feature = "danger"))]
    if config.danger.main_realm {
        return Sealed::bundle(b"CMBUNDLM", include_bytes!(concat!(env!("OUT_DIR"), "/bundle-danger.js")), &[]);
    }
    let cache = if config.jit { &[] } else { BUNDLE_CACHE };
    Sealed::bundle(b"CMBUNDL1", BUNDLE, cache)
}

fn host(what: &'static str, source: io::Error) -> LaunchError {
    let advice = match source.raw_os_error() {
        Some(libc::EMFILE) => "This process is out of descriptors: raise `ulimit -n`.",
        Some(libc::ENFILE) => "The host is out of descriptors.",
        Some(libc::ENOMEM) => "The host is out of memory.",
        _ => "Run `codemode doctor` on this host.",
    };
    LaunchError::Host { what, advice, source }
}

fn start_failed(path: &Path, source: io::Error) -> LaunchError {
    match source.raw_os_error() {
        Some(libc::EAGAIN) => LaunchError::Host { what: "a new process", advice: "No more processes are allowed: raise `ulimit -u`.", source },
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

fn nonce() -> io::Result<[u8; 16]> {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|error| io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO)))?;
    Ok(nonce)
}
