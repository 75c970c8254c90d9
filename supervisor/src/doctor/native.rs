//! The native rows: each claim of [`super::claims`] tried by a probe with the wall alone, next to one without any.

use std::collections::HashMap;
use std::ffi::CString;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::claims::{CLAIMS, Claim, Stop, Who, words};
use super::finding::{ActRow, Verdict};
use crate::launch::probe::{Act, Given, Outcome, Prober, Trial, Witness};
use crate::launch::{LaunchError, Node, Wall, WallSet, syscall_name};

/// Twice what a probe's limit on data allows.
const TOO_MUCH: u64 = 512 << 20;

/// Probes at once, times the processors: each maps a large program, and keeps one busy with that.
const PROBES_PER_PROCESSOR: usize = 2;

/// What the probes find on this host to act upon. Whatever could not be made is missing, and the control that wants it fails.
struct Targets {
    tcp: Option<TcpListener>,
    udp: Option<UdpSocket>,
    abstract_name: String,
    _abstract: Option<UnixListener>,
    witness: Option<Witness>,
    node: PathBuf,
}

impl Targets {
    async fn make(prober: &Prober, node: &Node) -> Targets {
        let name = format!("codemode-doctor-{}", unguessable());
        let address = SocketAddr::from_abstract_name(&name);
        Targets {
            tcp: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok(),
            udp: UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok(),
            _abstract: address.and_then(|address| UnixListener::bind_addr(&address)).ok(),
            abstract_name: name,
            witness: prober.witness().await.ok(),
            node: node.path.clone(),
        }
    }

    fn number(&self, act: Act) -> u64 {
        match act {
            Act::ConnectTcp => self.tcp.as_ref().and_then(|tcp| tcp.local_addr().ok()).map_or(0, |address| address.port().into()),
            Act::SendUdp => self.udp.as_ref().and_then(|udp| udp.local_addr().ok()).map_or(0, |address| address.port().into()),
            // Process 0 would be the caller's own group: a number that no process has takes its place.
            Act::Signal | Act::Trace => self.witness.as_ref().map_or(i32::MAX as u64, |witness| witness.pid().unsigned_abs().into()),
            Act::Allocate => TOO_MUCH,
            _ => 0,
        }
    }

    /// The path for one probe. A file to be made has a name of its own.
    fn path(&self, act: Act) -> PathBuf {
        match act {
            // There is one file on every host that a child's user can read and run: Node.
            Act::ReadFile | Act::Execute => self.node.clone(),
            Act::CreateFile | Act::WriteFile => std::env::temp_dir().join(format!("codemode-doctor-{}", unguessable())),
            Act::ConnectAbstract => self.abstract_name.clone().into(),
            _ => PathBuf::new(),
        }
    }
}

/// A name nobody else has.
fn unguessable() -> String {
    let mut bits = [0; 16];
    // Without random bits the name is one that exists, at worst: then a control fails, and says so.
    let _ = getrandom::fill(&mut bits);
    format!("{:032x}", u128::from_ne_bytes(bits))
}

/// What one probe is: with a wall or as a control.
type Key = (Option<Wall>, Act, Given);

/// The rows of every wall that has claims, and the filters around this process.
pub(super) async fn examine(node: &Node, root: bool, landlock: Option<i32>) -> Result<(HashMap<Wall, Vec<ActRow>>, u64), LaunchError> {
    let prober = Arc::new(Prober::new(node.clone())?);
    let targets = Arc::new(Targets::make(&prober, node).await);
    let theirs = |claim: &&Claim| match claim.who {
        Who::Anybody => true,
        Who::Root => root,
        Who::Ordinary => !root,
    };
    let claims: Vec<&Claim> = CLAIMS.iter().filter(theirs).collect();
    let outcomes = attempt_all(&prober, &targets, &claims).await;
    let nothing = Outcome::Lost("no answer".to_owned());
    let mut rows: HashMap<Wall, Vec<ActRow>> = HashMap::new();
    for claim in claims {
        let outcome = |wall| outcomes.get(&(wall, claim.act, claim.given)).unwrap_or(&nothing);
        rows.entry(claim.wall).or_default().push(row(claim, outcome(None), outcome(Some(claim.wall)), landlock));
    }
    if let Some(targets) = Arc::into_inner(targets)
        && let Some(witness) = targets.witness
    {
        witness.dismiss().await;
    }
    Ok((rows, prober.inherited_filters()))
}

async fn attempt_all(prober: &Arc<Prober>, targets: &Arc<Targets>, claims: &[&Claim]) -> HashMap<Key, Outcome> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let turns = Arc::new(Semaphore::new(PROBES_PER_PROCESSOR * processors));
    let mut keys: Vec<Key> = Vec::new();
    for claim in claims {
        // One control serves every wall that claims the act.
        for key in [(None, claim.act, claim.given), (Some(claim.wall), claim.act, claim.given)] {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    let mut under_way = JoinSet::new();
    for key in keys {
        let (prober, targets, turns) = (Arc::clone(prober), Arc::clone(targets), Arc::clone(&turns));
        under_way.spawn(async move {
            // Never closed: a turn comes.
            let _turn = turns.acquire().await;
            (key, attempt(&prober, &targets, key).await)
        });
    }
    under_way.join_all().await.into_iter().collect()
}

async fn attempt(prober: &Prober, targets: &Targets, (wall, act, given): Key) -> Outcome {
    let path = targets.path(act);
    let trial = Trial {
        walls: wall.map_or(WallSet::NONE, |wall| WallSet::NONE.with(wall)),
        given,
        act,
        number: targets.number(act),
        // A path with a zero byte in it is no path: the control fails.
        path: CString::new(path.as_os_str().as_bytes()).unwrap_or_default().into_bytes_with_nul(),
    };
    let outcome = prober.attempt(&trial).await;
    if matches!(act, Act::CreateFile | Act::WriteFile) {
        // There is none when the act was stopped.
        let _ = std::fs::remove_file(path);
    }
    outcome.unwrap_or_else(|error| Outcome::Lost(error.to_string().lines().next().unwrap_or_default().to_owned()))
}

fn row(claim: &Claim, control: &Outcome, outcome: &Outcome, landlock: Option<i32>) -> ActRow {
    let (verdict, reason) = judge(claim, control, outcome, landlock);
    ActRow {
        act: words(claim.act),
        control: shown(control),
        result: shown(outcome),
        verdict,
        reason,
        got_through: *outcome == Outcome::Succeeded,
    }
}

fn judge(claim: &Claim, control: &Outcome, outcome: &Outcome, landlock: Option<i32>) -> (Verdict, Option<String>) {
    if let Outcome::NotBuilt(reason) = outcome
        && *control == Outcome::Succeeded
    {
        return (Verdict::Unavailable, Some(reason.clone()));
    }
    match control {
        Outcome::Succeeded => {}
        Outcome::NotBuilt(reason) => return (Verdict::Untested, Some(format!("the control could not be set up: {reason}"))),
        failed => return (Verdict::Untested, Some(format!("fails on this host without the wall too: {}", shown(failed)))),
    }
    if outcome == &Outcome::Succeeded && landlock.is_some_and(|abi| abi < claim.landlock) {
        return (Verdict::Partial, Some(format!("needs Landlock ABI {}", claim.landlock)));
    }
    match (claim.stop, outcome) {
        (Stop::Error(errno), Outcome::Refused(number)) if errno as i32 == *number => (Verdict::Enforced, None),
        (Stop::End(signal), Outcome::Ended(number, _)) if signal as i32 == *number => (Verdict::Enforced, None),
        (_, Outcome::Succeeded) => (Verdict::Unavailable, Some("the act succeeded behind the wall".to_owned())),
        (stop, other) => {
            let expected = match stop {
                Stop::Error(errno) => format!("{errno:?}"),
                Stop::End(signal) => signal.as_str().to_owned(),
            };
            (Verdict::Untested, Some(format!("stopped by something else: {} instead of {expected}", shown(other))))
        }
    }
}

/// An outcome in few letters.
fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Succeeded => "done".to_owned(),
        Outcome::Refused(number) => format!("{:?}", Errno::from_raw(*number)),
        Outcome::Ended(number, call) => {
            let signal = Signal::try_from(*number).map_or_else(|_| format!("signal {number}"), |signal| signal.as_str().to_owned());
            match call.map(|call| syscall_name(call).map_or_else(|| format!("call {call}"), str::to_owned)) {
                Some(call) => format!("{signal}: {call}"),
                None => signal,
            }
        }
        Outcome::NotBuilt(_) => "no wall".to_owned(),
        Outcome::Lost(why) => format!("lost: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(control: &Outcome, outcome: &Outcome, abi: Option<i32>) -> Verdict {
        let claim = CLAIMS.iter().find(|claim| claim.wall == Wall::Landlock && claim.act == Act::Signal).expect("a claim");
        judge(claim, control, outcome, abi).0
    }

    #[test]
    fn only_the_expected_refusal_after_a_good_control_is_enforced() {
        let (done, eperm, eacces) = (Outcome::Succeeded, Outcome::Refused(libc::EPERM), Outcome::Refused(libc::EACCES));
        assert_eq!(verdict(&done, &eperm, Some(7)), Verdict::Enforced);
        assert_eq!(verdict(&done, &eacces, Some(7)), Verdict::Untested);
        assert_eq!(verdict(&eperm, &eperm, Some(7)), Verdict::Untested);
        assert_eq!(verdict(&done, &done, Some(7)), Verdict::Unavailable);
        assert_eq!(verdict(&done, &done, Some(5)), Verdict::Partial);
        assert_eq!(verdict(&done, &Outcome::NotBuilt(String::new()), None), Verdict::Unavailable);
        assert_eq!(verdict(&Outcome::NotBuilt(String::new()), &Outcome::NotBuilt(String::new()), None), Verdict::Untested);
    }

    #[test]
    fn every_wall_that_a_process_can_show_has_a_claim_for_root_and_for_others() {
        let realms = [Wall::GuestRealm, Wall::BarrenMainRealm, Wall::PermissionModel];
        for wall in Wall::ALL.iter().filter(|wall| !realms.contains(wall)) {
            for other in [Who::Root, Who::Ordinary] {
                assert!(CLAIMS.iter().any(|claim| claim.wall == *wall && claim.who != other), "{}", wall.name());
            }
        }
    }
}
