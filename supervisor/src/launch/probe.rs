//! Probes: a Node's process that tries one forbidden act behind chosen walls, and never gets to its `main()`.
//!
//! The same preload, plan and report as every child's, with one flag more; why a released program may leave walls away here stands in
//! `supervisor/jail/object/probe.rs`. What comes back is what the kernel said, seen from inside (a record) or from outside (an exit status).

use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

pub use codemode_jail::wire::Act;
use codemode_jail::wire::{Event, Probe, RECORD_LEN, Record, Step};
use nix::sys::socket::{ControlMessage, MsgFlags, SockType, sendmsg};
use tokio::time::timeout;

use super::confirm::{describe, is_missing};
use super::files::{self, Sealed};
use super::parent::ParentThread;
use super::plan::{self, Blueprint};
use super::start::{host, nonce, pair, pipe};
use super::{Child, ExitStatus, LastWords, LaunchConfig, LaunchError, Node, Wall, WallPolicy, WallReport, WallSet, ruleset, sys};

/// How long a probe may take: a program of 100 MB is mapped and linked, nothing more. A hundred times what it takes.
const PATIENCE: Duration = Duration::from_secs(2);

/// The lowest number of a descriptor that is left open on purpose: above those the jail puts in their places.
const LEAK_FLOOR: i32 = 16;

/// One probe.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// The walls in place.
    pub(crate) walls: WallSet,
    /// What must be so for the act to mean something, with the wall or without.
    pub(crate) given: Given,
    /// What is tried.
    pub(crate) act: Act,
    /// See [`Act`].
    pub(crate) number: u64,
    /// See [`Act`]; ends with a zero byte.
    pub(crate) path: Vec<u8>,
}

/// What stands in a control too.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Given {
    /// Nothing.
    Nothing,
    /// An unprivileged user, as every child is: root is above most limits.
    Unprivileged,
    /// `no_new_privs`, without which an ordinary user may not install a filter.
    NoNewPrivs,
    /// User and other namespaces of its own, in which an ordinary user has rights to lose.
    Rights,
}

impl Given {
    fn steps(self) -> u32 {
        match self {
            Given::Nothing => 0,
            Given::Unprivileged => Step::Identity.bit(),
            Given::NoNewPrivs => Step::NoNewPrivs.bit(),
            Given::Rights => Step::Namespaces.bit(),
        }
    }
}

/// What became of a probe.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// The act was done.
    Succeeded,
    /// The kernel said no; its error number.
    Refused(i32),
    /// The kernel ended the process by this signal; the call that did it, if the jail could say.
    Ended(i32, Option<u32>),
    /// The walls could not be built: the host's reason, in the words of a report.
    NotBuilt(String),
    /// It did not come to the act.
    Lost(String),
}

/// Starts probes of one Node.
#[derive(Debug)]
pub(crate) struct Prober {
    node: Node,
    pub(super) blueprint: Blueprint,
    object: Sealed,
    null: OwnedFd,
    parent: Arc<ParentThread>,
}

/// Somebody for probes to signal and to look into: a process of the same user that waits until this value goes.
#[derive(Debug)]
pub(crate) struct Witness {
    child: Child,
    _bridge: OwnedFd,
}

impl Witness {
    /// Its process id.
    pub(crate) fn pid(&self) -> i32 {
        self.child.pid()
    }

    /// Ends it.
    pub(crate) async fn dismiss(self) {
        self.child.finish().await;
    }
}

impl Prober {
    /// Makes what all probes of `node` share.
    pub(crate) fn new(node: Node) -> Result<Prober, LaunchError> {
        Prober::with(node, &LaunchConfig::default())
    }

    /// The same with the filters of `config`.
    pub(super) fn with(node: Node, config: &LaunchConfig) -> Result<Prober, LaunchError> {
        let blueprint = Blueprint::new(config, Default::default()).map_err(|error| LaunchError::Internal(error.to_string()))?;
        let memory = |source| host("memory files", source);
        Ok(Prober {
            node,
            blueprint,
            object: Sealed::object().map_err(memory)?,
            null: files::null().map_err(memory)?,
            parent: Arc::new(ParentThread::start().map_err(|source| host("the thread that starts children", source))?),
        })
    }

    /// Filters that stand around this process already.
    pub(crate) fn inherited_filters(&self) -> u64 {
        self.parent.inherited_filters
    }

    /// Starts a witness.
    pub(crate) async fn witness(&self) -> Result<Witness, LaunchError> {
        let trial = Trial { walls: WallSet::NONE, given: Given::Nothing, act: Act::Wait, number: 0, path: vec![0] };
        // Without the step that makes a process untraceable: that would be a wall of the witness, not of the probe.
        let (child, bridge, _) = self.start(&trial, 0, None).await?;
        Ok(Witness { child, _bridge: bridge })
    }

    /// Tries one act.
    pub(crate) async fn attempt(&self, trial: &Trial) -> Result<Outcome, LaunchError> {
        let ruleset = match trial.walls.has(Wall::Landlock).then(ruleset::deny_all) {
            Some(Err(reason)) => return Ok(Outcome::NotBuilt(reason)),
            Some(Ok((fd, _))) => Some(fd),
            None => None,
        };
        let mut steps = plan::steps(trial.walls, ruleset.is_some()) | trial.given.steps();
        if !trial.walls.has(Wall::Descriptors) {
            steps &= !Step::Descriptors.bit();
        }
        let (child, bridge, nonce) = self.start(trial, steps, ruleset).await?;
        let outcome = hear(child, nonce).await;
        drop(bridge);
        Ok(outcome)
    }

    pub(super) async fn start(
        &self,
        trial: &Trial,
        steps: u32,
        ruleset: Option<OwnedFd>,
    ) -> Result<(Child, OwnedFd, [u8; 16]), LaunchError> {
        let nonce = nonce()?;
        let (bridge, bridge_child) = pair(SockType::Stream)?;
        let (control, control_child) = pair(SockType::SeqPacket)?;
        let (stderr, stderr_child) = pipe()?;
        // Kept until the process has them.
        let leaked = if trial.act == Act::ReadLeaked { self.leak().map_err(|source| host("descriptors", source))? } else { Vec::new() };
        let number = leaked.last().map_or(trial.number, |fd| fd.as_raw_fd().unsigned_abs().into());
        let probe = Probe { act: trial.act, number, path: &trial.path };
        let plan =
            self.blueprint.encode_probe(nonce, steps, &probe).ok_or_else(|| LaunchError::Internal("the plan is too large".to_owned()))?;
        // A probe reads no bundle; what stands in its place is as good.
        let mut fds = vec![bridge_child.as_raw_fd(), self.null.as_raw_fd(), self.null.as_raw_fd()];
        fds.extend(ruleset.as_ref().map(AsRawFd::as_raw_fd));
        let rights = [ControlMessage::ScmRights(&fds)];
        sendmsg::<()>(control.as_raw_fd(), &[IoSlice::new(&plan)], &rights, MsgFlags::MSG_NOSIGNAL, None)
            .map_err(|error| host("the plan", error.into()))?;
        let object = self.object.open().map_err(|source| host("the jail object", source))?;
        let mut command = Command::new(&self.node.path);
        command.arg("--version").env_clear().env("LD_PRELOAD", "/proc/self/fd/0");
        if trial.act == Act::SeeEnvironment {
            command.env("CODEMODE_CANARY", "seen");
        }
        command.stdin(object).stdout(control_child).stderr(stderr_child).process_group(0).current_dir("/");
        let (pid, pidfd) = self.parent.spawn(command).await.map_err(|source| host("a new process", source))?;
        drop((bridge_child, ruleset, leaked));
        let child = Child::new(pid, pidfd, stderr, control, nonce, Arc::clone(&self.parent));
        Ok((child.map_err(|source| host("the runtime's I/O driver", source))?, bridge, nonce))
    }

    /// Descriptors that a child inherits, the last of them with a number that the jail does not use.
    fn leak(&self) -> io::Result<Vec<OwnedFd>> {
        let mut open = Vec::new();
        loop {
            // dup(2), and it alone, gives a descriptor without the mark that closes it in a child.
            let fd = nix::unistd::dup(&self.null)?;
            let number = fd.as_raw_fd();
            open.push(fd);
            if number >= LEAK_FLOOR {
                return Ok(open);
            }
        }
    }
}

/// Hears a probe to its end.
async fn hear(mut child: Child, nonce: [u8; 16]) -> Outcome {
    let mut failed = None;
    let mut done = None;
    let mut any = false;
    let records = async {
        let mut buffer = [0; RECORD_LEN + 1];
        while let Some(length) = child.record(&mut buffer).await {
            let Some(record) = Record::decode(&buffer[..length]).filter(|record| record.nonce == nonce) else { continue };
            any = true;
            match record.event {
                // Without rights of its own an ordinary user cannot empty the bounding set: reports call that `partial`, and go on.
                Event::Step(Step::BoundingSet) => {}
                Event::Step(step) if (record.errno, record.detail) != (0, 0) => failed = Some(describe(step, record.errno, record.detail)),
                Event::Act if record.errno == 0 => done = Some(Outcome::Succeeded),
                Event::Act => done = Some(Outcome::Refused(record.errno.try_into().unwrap_or(libc::EIO))),
                Event::OffList => done = Some(Outcome::Ended(0, Some(record.detail as u32))),
                _ => {}
            }
        }
        child.exited().await;
    };
    let in_time = timeout(PATIENCE, records).await.is_ok();
    let ended = child.finish().await;
    if let Some(reason) = failed {
        return Outcome::NotBuilt(reason);
    }
    if !in_time {
        return Outcome::Lost(format!("no end within {} s", PATIENCE.as_secs()));
    }
    let named = match (&done, ended.last_words) {
        (Some(Outcome::Ended(_, call)), _) => *call,
        (_, Some(LastWords::OffList(call))) => Some(call),
        _ => None,
    };
    match (ended.status, done) {
        (ExitStatus::Signaled(signal), _) => Outcome::Ended(signal, named),
        (ExitStatus::Exited(0), Some(outcome @ (Outcome::Succeeded | Outcome::Refused(_)))) => outcome,
        // Another program took the place of this one, and said its version.
        (ExitStatus::Exited(0), None) if any => Outcome::Succeeded,
        _ if !any => Outcome::Lost("it ignored the preload".to_owned()),
        (status, _) => Outcome::Lost(format!("{status:?}")),
    }
}

/// The Landlock ABI of this kernel, and the first that is whole.
pub(crate) fn landlock() -> (io::Result<i32>, i32) {
    (sys::landlock_abi(), ruleset::WHOLE)
}

/// Of a child's walls those that would keep a run with this policy from starting.
pub(crate) fn missing(walls: &[WallReport], policy: WallPolicy) -> Vec<&WallReport> {
    walls.iter().filter(|wall| is_missing(wall, policy, WallSet::ALL)).collect()
}

#[cfg(test)]
mod tests {
    use codemode_jail::wire::{ACTS, PROBE_MAX};

    use super::*;

    #[test]
    fn acts_travel_by_number() {
        for (number, act) in ACTS.into_iter().enumerate() {
            assert_eq!(act as usize, number);
            let probe = Probe { act, number: u64::MAX, path: b"/a\0" };
            let mut bytes = [0; PROBE_MAX];
            let length = probe.encode(&mut bytes).expect("it fits");
            assert_eq!(Probe::decode(&bytes[..length]), Some(probe));
        }
        let mut unknown = [0; 12];
        unknown[0] = ACTS.len() as u8;
        assert_eq!(Probe::decode(&unknown), None);
        assert_eq!(Probe::decode(&unknown[..3]), None);
    }
}
