//! The template way: one Node waits at the gate and is copied for each run.
//!
//! [`host`] is one such process, [`keeper`] the thread that keeps one alive and a few copies ready, [`load`] how many. A copy is a child of the
//! supervisor, not of the template, and lives on whatever becomes of the template.

mod host;
mod keeper;
mod load;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub(super) use host::Waiting;
use keeper::Keeper;

use super::parent::ParentThread;
use super::plan::Purpose;
use super::start::{Starter, host as host_error, stream};
use super::{Child, Confined, ExitStatus, Isolation, LaunchConfig, LaunchError, LaunchOrder, Launcher, LauncherKind, Node, Spawn, sys};

/// What a template way needs beside the configuration: the limits most runs have, and whole conversations as the supervisor would send them, made by
/// whoever knows the frames.
#[derive(Clone, Debug)]
pub(crate) struct Rehearsal {
    /// What a waiting fork is armed for.
    pub(crate) usual: LaunchOrder,
    /// The most data memory a run may be lent, in bytes.
    pub(crate) hard_memory: u64,
    /// What a template hears before its first fork. Empty: nothing.
    pub(crate) dry: Vec<u8>,
    /// What a fork hears before it is armed. Empty: nothing.
    pub(crate) fork_dry: Vec<u8>,
    /// What two forks are asked when a template is new. Empty: nothing.
    pub(crate) self_tests: Vec<Vec<u8>>,
    /// What their answers end with when all is well.
    pub(crate) passed: Vec<u8>,
}

/// Copies a waiting Node for each run; where that does not work, starts one.
#[derive(Debug)]
pub struct Template {
    keeper: Keeper,
    spawn: Spawn,
    jit: bool,
}

impl Template {
    /// Finds Node and starts the first template.
    pub(crate) fn new(config: LaunchConfig, rehearsal: Rehearsal) -> Result<Template, LaunchError> {
        #[cfg(any(test, feature = "danger"))]
        let mut rehearsal = rehearsal;
        #[cfg(any(test, feature = "danger"))]
        if config.danger.main_realm {
            // That bundle comes to the gate once, and has the realm to itself that the self-test is about.
            rehearsal.dry.clear();
            rehearsal.self_tests.clear();
        }
        let parent = Arc::new(ParentThread::start().map_err(|source| host_error("the thread that starts children", source))?);
        let node = Starter::find_node(&config)?;
        let jit = config.jit;
        let starter = Starter::new(
            config.clone(),
            node.clone(),
            Purpose::Template,
            [rehearsal.dry.clone(), rehearsal.fork_dry.clone()],
            Arc::clone(&parent),
        )?;
        let keeper = Keeper::start(Arc::new(starter), Arc::new(rehearsal))
            .map_err(|source| host_error("the thread that keeps the template", source))?;
        Ok(Template { keeper, spawn: Spawn::with(config, node, parent)?, jit })
    }

    /// The Node in use.
    pub fn node(&self) -> &Node {
        self.spawn.node()
    }

    /// The template's process id, for witnesses; nothing while there is none.
    pub fn template_pid(&self) -> Option<i32> {
        self.keeper.template_pid()
    }

    /// How many forks wait now.
    pub fn waiting(&self) -> usize {
        self.keeper.waiting()
    }

    fn confine(&self, waiting: Waiting) -> Result<Confined, LaunchError> {
        let Waiting { child, bridge, walls, .. } = waiting;
        let child = child.wake().map_err(|source| host_error("the runtime's I/O driver", source))?;
        let isolation = Isolation { launcher: LauncherKind::Template, node: self.node().version.clone(), jit: self.jit, walls };
        Ok(Confined { bridge: stream(bridge)?, child, isolation })
    }
}

/// Whether forks of a template work on this host with this Node, and if not why: what a keeper finds out for itself, asked by the doctor.
pub(crate) async fn self_test(config: LaunchConfig, rehearsal: &Rehearsal) -> Result<(), String> {
    let prepare = || {
        let parent = ParentThread::start().map_err(|source| host_error("the thread that starts children", source))?;
        let node = Starter::find_node(&config)?;
        Starter::new(config.clone(), node, Purpose::Template, [rehearsal.dry.clone(), rehearsal.fork_dry.clone()], Arc::new(parent))
    };
    let starter = prepare().map_err(|error: LaunchError| error.to_string())?;
    let host = host::Host::start(Arc::new(starter)).await.map_err(|error| error.to_string())?;
    let passed = host.passes_self_test(rehearsal).await;
    host.finish().await;
    passed
}

#[async_trait]
impl Launcher for Template {
    async fn launch(&self, order: LaunchOrder) -> Result<Confined, LaunchError> {
        if let Some(waiting) = self.keeper.take(order) {
            return self.confine(waiting);
        }
        match self.keeper.demand(order).await {
            Some(waiting) => self.confine(waiting),
            // No template now: a start of its own serves this run, or says precisely why nothing can.
            None => self.spawn.launch(order).await,
        }
    }
}

/// Lends `waiting` the limits of `order`, which differ from those it was armed with: a root without CAP_SYS_RESOURCE may not. After an error it may have one
/// of the two and serves nobody.
fn lend(waiting: &Waiting, order: LaunchOrder) -> io::Result<()> {
    if waiting.order.memory_bytes != order.memory_bytes {
        let soft = waiting.data_bytes.saturating_add(order.memory_bytes);
        rlimit::prlimit(waiting.child.pid(), rlimit::Resource::DATA, Some((soft, soft)), None)?;
    }
    // Fewer seconds need no call: a child has one thread that runs, so the wall clock of the run ends it first.
    if waiting.order.cpu_seconds < order.cpu_seconds {
        rlimit::prlimit(waiting.child.pid(), rlimit::Resource::CPU, Some((order.cpu_seconds, order.cpu_seconds + 1)), None)?;
    }
    Ok(())
}

/// Whether a waiting fork can serve `order` as it is.
fn serves(waiting: &Waiting, order: LaunchOrder) -> bool {
    waiting.order.memory_bytes == order.memory_bytes && waiting.order.cpu_seconds >= order.cpu_seconds
}

/// How long a self-test may take: a hundred times what it takes.
const TRIAL_PATIENCE: Duration = Duration::from_secs(5);
/// The largest answer of a self-test.
const TRIAL_MAX: usize = 65_536;

/// Holds one conversation of known frames with a child: what it wrote up to and with `passed`, and how it ended.
async fn trial(bridge: OwnedFd, mut child: Child, frames: &[u8], passed: &[u8]) -> io::Result<(Vec<u8>, ExitStatus)> {
    let talk = async {
        let mut bridge = stream(bridge).map_err(io::Error::other)?;
        bridge.write_all(frames).await?;
        let mut answer = Vec::new();
        while !answer.windows(passed.len()).any(|part| part == passed) {
            if answer.len() > TRIAL_MAX || bridge.read_buf(&mut answer).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::InvalidData));
            }
        }
        drop(bridge);
        child.exited().await;
        Ok(answer)
    };
    let talked = tokio::time::timeout(TRIAL_PATIENCE, talk).await;
    let ended = child.finish().await;
    match talked {
        Ok(Ok(answer)) => Ok((answer, ended.status)),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}
