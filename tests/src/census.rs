//! Processes, descriptors and memory, as the kernel counts them.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use crate::patience::{PACE, until};

/// How long what was killed may take to be gone from `/proc`, on a machine that is busy with other tests.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// What this process holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Census {
    /// Children, zombies included.
    pub children: BTreeSet<i32>,
    /// Open descriptors.
    pub descriptors: usize,
    /// Resident memory.
    pub rss_bytes: u64,
}

impl Census {
    /// Counts.
    pub fn take() -> Census {
        Census {
            children: children_of(own_pid()),
            descriptors: descriptors_of("self"),
            rss_bytes: status_kib("self", "VmRSS:").unwrap_or(0) * 1024,
        }
    }

    /// Waits until this process holds no more than it did: no further child and no further descriptor.
    ///
    /// # Panics
    ///
    /// When something is left.
    pub async fn settles(&self, what: &str) {
        let settled = |now: &Census| now.children.len() <= self.children.len() && now.descriptors <= self.descriptors;
        let began = Instant::now();
        loop {
            let now = Census::take();
            if settled(&now) {
                return;
            }
            assert!(
                began.elapsed() < GONE_WITHIN,
                "{what}: {now:?} where there was {self:?}; left: {}",
                now.children.difference(&self.children).map(|pid| description(*pid)).collect::<String>()
            );
            tokio::time::sleep(PACE).await;
        }
    }

    /// How much resident memory has been added since.
    pub fn grown_by(&self) -> u64 {
        Census::take().rss_bytes.saturating_sub(self.rss_bytes)
    }
}

/// A process in a few words, for who has to find out why it is there.
fn description(pid: i32) -> String {
    let of = |file| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let status = of("status");
    let state = status.lines().find(|line| line.starts_with("State:"));
    let line = of("cmdline").replace('\0', " ");
    let line: String = line.chars().take(80).collect();
    format!("\n{pid}, {}, {line}", state.unwrap_or("gone by now"))
}

/// The id of this process.
pub fn own_pid() -> i32 {
    nix::unistd::getpid().as_raw()
}

/// Every process of this host as `(pid, parent, group)`.
fn processes() -> Vec<(i32, i32, i32)> {
    let entries = fs::read_dir("/proc").expect("/proc is there");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        // One that is gone by now does not count.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold anything.
        let (_, after) = stat.rsplit_once(')')?;
        let mut fields = after.split_ascii_whitespace().skip(1);
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        Some((pid, parent, group))
    })
    .collect()
}

/// The children of a process.
pub fn children_of(parent: i32) -> BTreeSet<i32> {
    processes().into_iter().filter(|(_, of, _)| *of == parent).map(|(pid, ..)| pid).collect()
}

/// The members of a process group.
pub fn members_of(group: i32) -> BTreeSet<i32> {
    processes().into_iter().filter(|(.., of)| *of == group).map(|(pid, ..)| pid).collect()
}

/// Processes that were started with this argument.
pub fn with_argument(argument: &str) -> BTreeSet<i32> {
    let has = |pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes()))
    };
    processes().into_iter().map(|(pid, ..)| pid).filter(has).collect()
}

/// Whether a process is there and no zombie.
pub fn is_alive(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        let state = stat.rsplit_once(')').and_then(|(_, after)| after.trim_start().chars().next());
        !matches!(state, Some('Z' | 'X') | None)
    })
}

/// Bytes of memory that this process has, in the machine.
pub fn resident(pid: i32) -> Option<usize> {
    /// What the kernel counts it in.
    const PAGE: usize = 4_096;
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    Some(statm.split(' ').nth(1)?.parse::<usize>().ok()? * PAGE)
}

/// The CPU time of a process; nothing when it is gone.
pub fn cpu_of(pid: i32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks = |at| after.split_ascii_whitespace().nth(at)?.parse::<u64>().ok();
    // User and system time, in hundredths of a second on every Linux that Node runs on.
    let sum = ticks(11).unwrap_or(0) + ticks(12).unwrap_or(0);
    Duration::from_millis(sum * 10)
}

/// The nice value of a process; nothing when it is gone.
pub fn nice_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(16)?.parse().ok()
}

/// Waits until a process is gone; gives how long it took.
pub async fn gone(pid: i32, patience: Duration) -> Duration {
    until(&format!("process {pid} is gone"), patience, || !is_alive(pid)).await
}

fn descriptors_of(process: &str) -> usize {
    // The descriptor that lists them is one of them.
    fs::read_dir(format!("/proc/{process}/fd")).map_or(0, |entries| entries.count() - 1)
}

fn status_kib(process: &str, field: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}
