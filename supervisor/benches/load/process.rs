//! What a supervising process holds, as the kernel tells it.

use std::fs;

/// What must not grow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Holdings {
    /// Resident memory in KiB.
    pub rss_kib: u64,
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: u64,
    /// Children, a template and what waits among them.
    pub children: usize,
}

impl Holdings {
    /// Of this process, now.
    ///
    /// # Panics
    ///
    /// When it is not there or not ours.
    pub fn of(pid: u32) -> Holdings {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the process is there");
        let field = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name)).expect("the kernel tells it");
            value.split_ascii_whitespace().next().and_then(|word| word.parse::<u64>().ok()).expect("a number")
        };
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).expect("the process is ours").count();
        Holdings { rss_kib: field("VmRSS:"), threads: field("Threads:"), descriptors, children: children(pid).len() }
    }
}

/// The children of a process, those that wait to be reaped among them.
pub fn children(of: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc is there").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // One that is gone by now does not count.
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    pids.filter(|pid| parent(*pid) == Some(of)).collect()
}
