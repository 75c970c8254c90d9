//! Who runs, as the kernel tells it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// One process and no other: numbers come again, but not with the same start time.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Identity {
    /// Its number.
    pub pid: i32,
    /// When it was started, in ticks since the machine was.
    started: u64,
}

/// The children of this process that are copies of a template of `node`: those that lead a session of their own.
pub fn forks_of(node: &Path) -> BTreeSet<Identity> {
    children_of(node).into_iter().filter(|(_, leads)| *leads).map(|(identity, _)| identity).collect()
}

/// The children of this process that were started as `node` and copied from nothing: templates and runs of the spawn way.
pub fn started_as(node: &Path) -> BTreeSet<Identity> {
    children_of(node).into_iter().filter(|(_, leads)| !leads).map(|(identity, _)| identity).collect()
}

/// The children of this process that run `node`, and whether each leads a session.
fn children_of(node: &Path) -> Vec<(Identity, bool)> {
    let own = std::process::id().to_string();
    let entries = fs::read_dir("/proc").expect("/proc is there");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    // One that is gone by now does not count.
    pids.filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let is_ours = *fields.get(1)? == own && *fields.first()? != "Z";
        let line = if is_ours { fs::read(format!("/proc/{pid}/cmdline")).ok()? } else { return None };
        let program = std::str::from_utf8(line.split(|byte| *byte == 0).next()?).ok()?;
        if Path::new(program) != node {
            return None;
        }
        let identity = Identity { pid, started: fields.get(19)?.parse().ok()? };
        Some((identity, fields.get(3)?.parse() == Ok(pid)))
    })
    .collect()
}

/// The memory of a process, each shared page divided among those that share it. Nothing when it is gone or not ours to look at.
pub fn pss_bytes(pid: i32) -> Option<u64> {
    kibibytes(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

/// Resident memory of this process.
pub fn own_rss_bytes() -> u64 {
    kibibytes("/proc/self/status", "VmRSS:").unwrap_or(0)
}

fn kibibytes(file: &str, field: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(field))?;
    Some(value.split_ascii_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
