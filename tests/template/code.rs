//! Forks have their template's code in place: in huge pages, where the host has them.

use std::fs;

use codemode_tests::rig;

use super::witness::{forks, supervisor};

/// Resident memory of one kind, in KiB.
fn resident(pid: i32, kind: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a child has a status");
    let line = status.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(':')).expect("the kernel says");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn a_fork_finds_the_code_of_node_in_place() {
    rig::alone(async {
        let supervisor = supervisor().await;
        let offered = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
        let pid = forks().into_iter().next().expect("one waits");
        let (own, of_files) = (resident(pid, "RssAnon"), resident(pid, "RssFile"));
        // Code in the file is half of what a fork touches, and it has touched it by the time it waits.
        if offered.contains("[madvise]") || offered.contains("[always]") {
            assert!(own > 6 * of_files, "{own} KiB of its own, {of_files} KiB of files");
        } else {
            assert!(own < 6 * of_files, "{own} KiB of its own, {of_files} KiB of files, on a host without huge pages");
        }
        assert!(rig::run(&supervisor, "return 1").await.ok);
    });
}
