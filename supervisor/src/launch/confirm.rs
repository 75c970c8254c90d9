//! From what the jail reports and what `/proc` shows to walls.
//!
//! The jail object runs inside the child. It is ours and has finished before a body is there, so its report is believed only up to the armed record, only
//! with the nonce of its plan, and only as far as the kernel says the same from outside.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use codemode_jail::wire::{Event, Record, Step};
use nix::errno::Errno;
use serde::Deserialize;
use tokio::time::{Instant, timeout};

use super::{
    Child, Ended, ExitStatus, IsolationError, LaunchConfig, LaunchError, NodeError, Wall, WallPolicy, WallReport, WallSet, WallStatus,
    ruleset,
};

/// How long the first record may take. It comes before Node's `main()`; a program that ignores the preload never sends it.
const FIRST_RECORD: Duration = Duration::from_secs(1);

/// How long the rest may take: a Node start of 25 ms, on a host that may be a hundred times as busy as it should be.
const BOOT: Duration = Duration::from_secs(10);

/// How long a template may take to answer a fork order: 2 to 4 ms, on a host that may be a hundred times as busy as it should be. What waits behind it has
/// another way.
const FORKED: Duration = Duration::from_secs(1);

/// Filters of one plan: start-up, armed list, ending call.
const PLANNED_FILTERS: u64 = 3;

/// What `/proc/PID/status` says of a process.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Status {
    pub(super) data_bytes: u64,
    pub(super) filters: u64,
    seccomp_mode: u64,
    no_new_privs: u64,
    capabilities: u64,
    bounding: u64,
    uid_is_root: bool,
}

/// Reads and understands a status file. Everything must be there: a missing line proves nothing.
pub(super) fn status_of(path: impl AsRef<Path>) -> io::Result<Status> {
    let mut text = String::new();
    // The kernel's own file; 1.5 KiB in practice.
    File::open(path)?.take(16_384).read_to_string(&mut text)?;
    parse_status(&text).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

fn parse_status(text: &str) -> Option<Status> {
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    let number = |name: &str, radix: u32| u64::from_str_radix(field(name)?.split_whitespace().next()?, radix).ok();
    let uids = field("Uid")?;
    Some(Status {
        data_bytes: number("VmData", 10)?.checked_mul(1024)?,
        // Absent where the kernel is built without seccomp: nothing is filtered there.
        filters: number("Seccomp_filters", 10).unwrap_or(0),
        seccomp_mode: number("Seccomp", 10).unwrap_or(0),
        no_new_privs: number("NoNewPrivs", 10)?,
        capabilities: number("CapPrm", 16)? | number("CapEff", 16)? | number("CapInh", 16)? | number("CapAmb", 16)?,
        bounding: number("CapBnd", 16)?,
        uid_is_root: uids.split_whitespace().any(|uid| uid == "0"),
    })
}

/// What the bridge found out about its own realms before the gate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "some facts are for a person who looks at the record")]
struct Realms {
    node: String,
    guest_realm: bool,
    barren_main_realm: bool,
    permission_model: bool,
    #[serde(default, rename = "cacheRejected")]
    cache_rejected: bool,
    /// What in the guest realm was made elsewhere.
    #[serde(default)]
    foreign: Option<String>,
    /// What is left in the main realm.
    #[serde(default)]
    left: Option<String>,
}

/// Why a child did not get as far as it should.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It ended.
    Ended,
    /// It did not speak in time.
    Silent(Duration),
    /// It said something that is no record of this plan.
    Garbage,
    /// A template could not fork; the kernel's error number.
    Refused(u32),
    /// The host refused something.
    Host(LaunchError),
}

/// The reports of one child, as far as they have come.
#[derive(Clone, Debug)]
pub(super) struct Reports {
    steps: u32,
    nonce: [u8; 16],
    landlock: Option<Result<i32, String>>,
    came: Vec<(Step, u32, u64)>,
    realms: Option<Realms>,
    any: bool,
    stage_one: bool,
}

impl Reports {
    pub(super) fn new(steps: u32, nonce: [u8; 16], landlock: Option<Result<i32, String>>) -> Reports {
        Reports { steps, nonce, landlock, came: Vec::new(), realms: None, any: false, stage_one: false }
    }

    /// The reports of a fork: what its template has built stands in it too, but what a fork does itself it must say again.
    pub(super) fn of_fork(&self, nonce: [u8; 16]) -> Reports {
        const OWN: [Step; 4] = [Step::Descriptors, Step::ParentDeath, Step::RunLimits, Step::ArmedFilter];
        let came = self.came.iter().filter(|(step, ..)| !OWN.contains(step)).copied().collect();
        Reports { nonce, came, ..self.clone() }
    }

    /// Waits for a template's word on a fork order: the new process.
    pub(super) async fn until_forked(&mut self, template: &mut Child, nonce: [u8; 16]) -> Result<i32, Trouble> {
        self.nonce = nonce;
        let record = self.next(template, FORKED).await?;
        match record {
            Record { event: Event::Forked, errno: 0, detail, .. } => i32::try_from(detail).map_err(|_| Trouble::Garbage),
            Record { event: Event::Forked, errno, .. } => Err(Trouble::Refused(errno)),
            _ => Err(Trouble::Garbage),
        }
    }

    /// Waits until Node has booted and the bridge stands at the gate.
    pub(super) async fn until_gate(&mut self, child: &mut Child) -> Result<(), Trouble> {
        self.until(child, Event::Gate).await
    }

    /// Waits until the child says it is armed.
    pub(super) async fn until_armed(&mut self, child: &mut Child) -> Result<(), Trouble> {
        self.until(child, Event::Armed).await
    }

    async fn until(&mut self, child: &mut Child, wanted: Event) -> Result<(), Trouble> {
        let start = Instant::now();
        loop {
            let patience = if self.any { BOOT } else { FIRST_RECORD };
            let record = self.next(child, patience.saturating_sub(start.elapsed())).await?;
            match record.event {
                // Once each: a second word on a step would be somebody else's.
                Event::Step(step) if self.came.iter().all(|(came, ..)| *came != step) => {
                    self.came.push((step, record.errno, record.detail))
                }
                Event::StageOne if !self.stage_one => {
                    self.stage_one = true;
                    if record.errno != 0 {
                        let why = io::Error::from_raw_os_error(i32::try_from(record.errno).unwrap_or(libc::EIO));
                        tracing::info!(%why, "a template's code stays in small pages: its forks will take longer");
                    }
                }
                event if event == wanted && self.stage_one => return Ok(()),
                Event::Abort => return Err(Trouble::Ended),
                _ => return Err(Trouble::Garbage),
            }
        }
    }

    /// The next record of this plan, the bridge's own word taken on the way.
    async fn next(&mut self, child: &mut Child, patience: Duration) -> Result<Record, Trouble> {
        /// Larger than any record and any word of the bridge.
        const MESSAGE_MAX: usize = 1024;
        let mut buffer = [0; MESSAGE_MAX];
        loop {
            let message = match timeout(patience, child.record(&mut buffer)).await {
                Ok(Some(length)) => &buffer[..length],
                Ok(None) => return Err(Trouble::Ended),
                Err(_) => return Err(Trouble::Silent(if self.any { BOOT } else { FIRST_RECORD })),
            };
            if let [b'J', facts @ ..] = message
                && self.stage_one
                && self.realms.is_none()
            {
                self.realms = Some(serde_json::from_slice(facts).map_err(|_| Trouble::Garbage)?);
                continue;
            }
            let record = Record::decode(message).filter(|record| record.nonce == self.nonce).ok_or(Trouble::Garbage)?;
            self.any = true;
            return Ok(record);
        }
    }

    fn outcome(&self, step: Step) -> Result<(), String> {
        match self.came.iter().find(|(came, ..)| *came == step) {
            Some((_, 0, 0)) => Ok(()),
            Some((_, errno, part)) => Err(describe(step, *errno, *part)),
            None => Err("no report".to_owned()),
        }
    }

    fn all(&self, steps: &[Step]) -> Result<(), String> {
        steps.iter().filter(|step| self.steps & step.bit() != 0).try_for_each(|step| self.outcome(*step))
    }

    fn realm(&self, stands: impl Fn(&Realms) -> bool) -> Result<(), String> {
        match &self.realms {
            Some(realms) if stands(realms) => Ok(()),
            Some(realms) => {
                let found = [("made elsewhere", &realms.foreign), ("left over", &realms.left)];
                let found: Vec<String> =
                    found.iter().filter_map(|(what, names)| names.as_ref().map(|names| format!("; {what}: {names}"))).collect();
                Err(format!("the bridge's self-check failed{}", found.concat()))
            }
            None => Err("no report from the bridge".to_owned()),
        }
    }

    /// The walls around a child that says it is armed; an error where a required one does not stand.
    pub(super) fn confirm(
        &self,
        pid: i32,
        config: &LaunchConfig,
        walls: WallSet,
        inherited_filters: u64,
    ) -> Result<Vec<WallReport>, LaunchError> {
        let status = status_of(format!("/proc/{pid}/status")).map_err(|source| LaunchError::Host {
            what: "the child's status in /proc",
            advice: "Mount /proc where codemode runs.",
            source,
        })?;
        let reports: Vec<WallReport> = Wall::ALL.iter().map(|wall| self.report(*wall, walls, &status, inherited_filters)).collect();
        require(&reports, config.policy, walls)?;
        Ok(reports)
    }

    fn report(&self, wall: Wall, walls: WallSet, status: &Status, inherited_filters: u64) -> WallReport {
        if !walls.has(wall) {
            return WallReport { name: wall, status: WallStatus::Off, reason: Some("not asked for".to_owned()) };
        }
        let seen = |holds: bool, what: String| if holds { Ok(()) } else { Err(format!("not confirmed from outside: {what}")) };
        let (stands, partly) = match wall {
            Wall::GuestRealm => (self.realm(|realms| realms.guest_realm), None),
            Wall::BarrenMainRealm => (self.realm(|realms| realms.barren_main_realm), None),
            Wall::PermissionModel => (self.realm(|realms| realms.permission_model), None),
            Wall::Seccomp => {
                let filters = inherited_filters + PLANNED_FILTERS;
                let confirmed = seen(
                    status.seccomp_mode == 2 && status.filters == filters,
                    format!("Seccomp {}, Seccomp_filters {} instead of {filters}", status.seccomp_mode, status.filters),
                );
                (self.all(&[Step::StartupFilter, Step::ArmedFilter]).and(confirmed), None)
            }
            Wall::NoExecMemory => (self.all(&[Step::NoExecMemory]), None),
            Wall::Landlock => match &self.landlock {
                Some(Ok(abi)) => {
                    let partly = (*abi < ruleset::WHOLE)
                        .then(|| format!("Landlock ABI {abi}: signals and abstract sockets are not covered before {}", ruleset::WHOLE));
                    (self.all(&[Step::Landlock]), partly)
                }
                Some(Err(reason)) => (Err(reason.clone()), None),
                None => (Err("no ruleset".to_owned()), None),
            },
            Wall::Namespaces => (self.all(&[Step::Namespaces]), None),
            Wall::EmptyRoot => (self.all(&[Step::EmptyRoot]), None),
            Wall::Descriptors => (self.all(&[Step::Descriptors]), None),
            Wall::NoNewPrivs => {
                // A root's child empties it before it changes its user, and may be refused the second time: what the kernel shows is what counts.
                let bounding = self.outcome(Step::BoundingSet).err().filter(|_| status.bounding != 0);
                let confirmed = seen(
                    status.no_new_privs == 1
                        && status.capabilities == 0
                        && !status.uid_is_root
                        && (status.bounding == 0 || bounding.is_some()),
                    format!(
                        "NoNewPrivs {}, capabilities {:x}, bounding set {:x}, root {}",
                        status.no_new_privs, status.capabilities, status.bounding, status.uid_is_root
                    ),
                );
                let steps = [Step::Identity, Step::Capabilities, Step::NoNewPrivs, Step::ParentDeath];
                (self.all(&steps).and(confirmed), bounding)
            }
            Wall::Rlimits => (self.all(&[Step::Rlimits, Step::RunLimits]), None),
        };
        match (stands, partly) {
            (Err(reason), _) => WallReport { name: wall, status: WallStatus::Unavailable, reason: Some(reason) },
            (Ok(()), Some(reason)) => WallReport { name: wall, status: WallStatus::Partial, reason: Some(reason) },
            (Ok(()), None) => WallReport { name: wall, status: WallStatus::Enforced, reason: None },
        }
    }

    /// What to tell about a child that did not get to the gate or was not armed.
    pub(super) fn explain(&self, trouble: Trouble, ended: &Ended, path: &Path) -> LaunchError {
        let how = match ended.status {
            ExitStatus::Exited(code) => format!("it ended with code {code}"),
            ExitStatus::Signaled(signal) => format!("it was ended by signal {signal}"),
            ExitStatus::Unknown => "it ended".to_owned(),
        };
        let said = if ended.stderr_tail.is_empty() { String::new() } else { format!(", and said: {}", last_line(&ended.stderr_tail)) };
        let not_started = |why: String, advice| NodeError::NotStarted { path: path.to_path_buf(), why, advice }.into();
        const PRELOAD: &str = "codemode needs a dynamically linked Node for this host's C library, without set-uid bits or file capabilities; name one with --node or CODEMODE_NODE.";
        match trouble {
            Trouble::Host(error) => error,
            Trouble::Refused(errno) => LaunchError::Host {
                what: "a fork",
                advice: "No more processes are allowed: raise `ulimit -u`, or run fewer bodies at once.",
                source: io::Error::from_raw_os_error(errno as i32),
            },
            Trouble::Ended => {
                // A step of arming that failed ends the child after its record.
                let failed = self.came.iter().find(|(step, errno, _)| *errno != 0 && matches!(step, Step::RunLimits | Step::ArmedFilter));
                if let Some((step, errno, part)) = failed {
                    let wall = if *step == Step::RunLimits { Wall::Rlimits } else { Wall::Seccomp };
                    return IsolationError { wall, reason: describe(*step, *errno, *part), others: Vec::new(), advice: ADVICE }.into();
                }
                if self.any {
                    not_started(format!("{how}{said}"), start_advice())
                } else {
                    not_started(format!("{how} before the jail reported{said}"), PRELOAD)
                }
            }
            Trouble::Silent(patience) if self.any => {
                not_started(format!("it was not ready within {} s{said}", patience.as_secs()), slow_advice())
            }
            Trouble::Silent(patience) => not_started(format!("no report from the jail within {} s{said}", patience.as_secs()), PRELOAD),
            Trouble::Garbage => not_started(format!("it wrote something that is no report of the jail{said}"), PRELOAD),
        }
    }
}

const ADVICE: &str = "Run `codemode doctor` to see what this host allows.";

/// The last line of a text that says something, bounded, without control characters: it came from another program.
fn last_line(text: &str) -> String {
    // Node ends its last words with addresses: ` 8: 0xbb835e _start [node]`.
    let is_frame = |line: &str| line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(": 0x");
    let line = text.lines().rev().find(|line| !line.trim().is_empty() && !is_frame(line)).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// What a Node that does not get ready most often lacks.
fn slow_advice() -> &'static str {
    // Without its threads, or room for them, Node waits for them for ever.
    lacking().unwrap_or("The host is too busy, or the program is not Node.")
}

const FEW_PROCESSES: &str = "The process limit of this shell (`ulimit -u`) may be too low for Node's threads: raise it.";

fn few_processes() -> bool {
    use nix::sys::resource::{Resource, getrlimit};
    getrlimit(Resource::RLIMIT_NPROC).is_ok_and(|(soft, _)| soft < 256)
}

/// What a Node that dies while it boots most often lacks.
fn start_advice() -> &'static str {
    lacking().unwrap_or("Try the same Node by hand, and `codemode doctor`.")
}

/// The limit of this process that a Node most probably cannot start under.
fn lacking() -> Option<&'static str> {
    use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
    let limited = |resource| getrlimit(resource).is_ok_and(|(soft, _)| soft != RLIM_INFINITY);
    if limited(Resource::RLIMIT_AS) {
        Some(
            "The virtual memory limit of this shell (`ulimit -v`) is too low for Node: set it to unlimited. codemode has its own memory limit.",
        )
    } else if limited(Resource::RLIMIT_DATA) {
        Some("The data limit of this shell (`ulimit -d`) may be too low for Node: set it to unlimited.")
    } else {
        few_processes().then_some(FEW_PROCESSES)
    }
}

/// One step that failed, in words.
pub(super) fn describe(step: Step, errno: u32, part: u64) -> String {
    let what = match (step, part) {
        (Step::Namespaces | Step::EmptyRoot, 1) => "unshare",
        (Step::Namespaces | Step::EmptyRoot, 2) => "writing /proc/self/setgroups",
        (Step::Namespaces | Step::EmptyRoot, 3) => "writing /proc/self/uid_map",
        (Step::Namespaces | Step::EmptyRoot, 4) => "writing /proc/self/gid_map",
        (Step::EmptyRoot, 11) => "making mounts private",
        (Step::EmptyRoot, 12) => "mounting the empty root",
        (Step::EmptyRoot, 14) => "pivot_root",
        (Step::EmptyRoot, 15) => "detaching the old root",
        (Step::EmptyRoot, 17) => "making the root read-only",
        (Step::EmptyRoot, 18) => "the root is not empty",
        (Step::Identity, 1) => "setgroups",
        (Step::Identity, 2) => "setresgid",
        (Step::Identity, 3) => "setresuid",
        (Step::Identity, _) => "still root",
        (Step::BoundingSet, _) => "emptying the capability bounding set",
        (Step::Capabilities, _) => "giving up capabilities",
        (Step::NoNewPrivs, _) => "no_new_privs",
        (Step::Landlock, _) => "landlock_restrict_self",
        (Step::Rlimits | Step::RunLimits, _) => "setrlimit",
        (Step::NoExecMemory, _) => "PR_SET_MDWE",
        (Step::StartupFilter | Step::ArmedFilter, _) => "seccomp",
        (Step::Descriptors | Step::ParentDeath | Step::EmptyRoot | Step::Namespaces, _) => "setting up",
    };
    match i32::try_from(errno).map(Errno::from_raw) {
        Ok(errno) if errno as i32 != 0 => format!("{what}: {errno}"),
        _ => what.to_owned(),
    }
}

/// Whether a run may start behind these walls as they stand.
fn require(reports: &[WallReport], policy: WallPolicy, asked: WallSet) -> Result<(), IsolationError> {
    let missing = reports.iter().filter(|report| is_missing(report, policy, asked));
    let mut missing = missing.map(|report| (report.name, report.reason.clone().unwrap_or_default()));
    let Some((wall, reason)) = missing.next() else { return Ok(()) };
    let advice = match policy {
        WallPolicy::Strict => "`--walls strict` needs every wall; run `codemode doctor` to see what this host allows.",
        WallPolicy::Default => ADVICE,
    };
    Err(IsolationError { wall, reason, others: missing.collect(), advice })
}

/// Whether this wall, as it stands, keeps a run from starting.
pub(super) fn is_missing(report: &WallReport, policy: WallPolicy, asked: WallSet) -> bool {
    match (policy, report.name, report.status) {
        (_, _, WallStatus::Enforced) => false,
        // A wall taken away by a test is not one the host refuses.
        (WallPolicy::Strict, _, WallStatus::Off) => asked == WallSet::ALL.without(Wall::NoExecMemory),
        (WallPolicy::Strict, ..) => true,
        (_, _, WallStatus::Off) => false,
        (_, Wall::Namespaces | Wall::EmptyRoot | Wall::Landlock | Wall::NoExecMemory, _) => false,
        // Without a user namespace an ordinary user cannot empty the bounding set; with no_new_privs and no capability it grants nothing.
        (_, Wall::NoNewPrivs, WallStatus::Partial) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tnode\nUid:\t65533\t65533\t65533\t65533\nVmData:\t   49152 kB\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";

    #[test]
    fn a_status_file_is_read_whole_or_not_at_all() {
        let status = parse_status(STATUS).expect("a status");
        assert_eq!((status.data_bytes, status.filters, status.seccomp_mode), (49_152 * 1024, 3, 2));
        assert!(!status.uid_is_root);
        assert!(parse_status(&STATUS.replace("65533\t65533\n", "0\n")).expect("a status").uid_is_root);
        for line in ["Uid", "VmData", "CapPrm", "CapEff", "CapBnd", "NoNewPrivs"] {
            assert_eq!(parse_status(&STATUS.replace(&format!("{line}:"), "Other:")), None, "{line}");
        }
    }

    #[test]
    fn a_wall_that_was_not_reported_does_not_stand() {
        let reports = Reports::new(u32::MAX, [0; 16], Some(Ok(7)));
        let status = parse_status(STATUS).expect("a status");
        for wall in Wall::ALL {
            assert_eq!(reports.report(wall, WallSet::ALL, &status, 0).status, WallStatus::Unavailable, "{}", wall.name());
        }
    }
}
