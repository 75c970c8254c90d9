//! What all of these tests need: a supervisor of templates, and who its processes are.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use codemode::launch::{LaunchConfig, LauncherChoice, LauncherKind};
use codemode::{RunReport, Supervisor};
use codemode_tests::census::{children_of, is_alive, own_pid};
use codemode_tests::patience::{PACE, until};
use codemode_tests::rig;

/// How long a template and its first forks may take.
const STANDS_WITHIN: Duration = Duration::from_secs(10);

/// A supervisor of templates.
pub fn supervisor_of(config: LaunchConfig) -> Supervisor {
    let builder = Supervisor::builder().launch(config).launcher_choice(LauncherChoice::Template);
    builder.build().unwrap_or_else(|error| panic!("children can be started on this host: {error}"))
}

/// A supervisor of templates with every wall, when the first forks wait.
pub async fn supervisor() -> Supervisor {
    ready(supervisor_of(LaunchConfig::default())).await
}

/// The same supervisor, after a run and when forks wait.
pub async fn ready(supervisor: Supervisor) -> Supervisor {
    let report = rig::run(&supervisor, "return 1").await;
    assert!(report.ok, "{report:?}");
    is_a_fork(&report);
    until("a fork waits", STANDS_WITHIN, || !forks().is_empty()).await;
    supervisor
}

/// Sees that a run was served by a fork.
pub fn is_a_fork(report: &RunReport) {
    let isolation = report.isolation.as_ref().expect("there was a child");
    assert_eq!(isolation.launcher, LauncherKind::Template, "{report:?}");
}

/// A run by a fork, and its value.
pub async fn value(supervisor: &Supervisor, body: &str) -> serde_json::Value {
    let report = rig::run(supervisor, body).await;
    assert!(report.ok, "{body}\n{report:?}");
    is_a_fork(&report);
    rig::json(&report)
}

/// The forks of this process's templates: each leads a session.
pub fn forks() -> BTreeSet<i32> {
    children_of(own_pid()).into_iter().filter(|pid| leads_a_session(*pid)).collect()
}

/// The templates of this process, and what was started the spawn way.
pub fn templates() -> BTreeSet<i32> {
    let look = || -> BTreeSet<i32> { children_of(own_pid()).into_iter().filter(|pid| is_alive(*pid) && !leads_a_session(*pid)).collect() };
    let first = look();
    // A fork takes its session at once, but not in the same instant.
    std::thread::sleep(PACE);
    first.intersection(&look()).copied().collect()
}

fn leads_a_session(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything.
    let session = stat.rsplit_once(')').and_then(|(_, after)| after.split_ascii_whitespace().nth(3)?.parse().ok());
    session == Some(pid)
}

/// The one template of this process.
pub fn template() -> i32 {
    let templates = templates();
    assert_eq!(templates.len(), 1, "{templates:?}");
    templates.into_iter().next().expect("one")
}

/// The resident memory of a process.
pub fn rss_bytes(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let field = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    field.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Whether this build, or whoever started it, wants full lengths.
pub fn is_long() -> bool {
    !cfg!(debug_assertions) || std::env::var_os("CODEMODE_LONG").is_some_and(|value| value == "1")
}

/// A time that the product has to keep, or the one for a debug build.
pub fn allowed(release_ms: u64, debug_ms: u64) -> Duration {
    Duration::from_millis(if cfg!(debug_assertions) { debug_ms } else { release_ms })
}

/// The middle one.
pub fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().expect("there are some")
}
