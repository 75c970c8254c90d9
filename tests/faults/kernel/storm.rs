//! Interrupted calls, and clocks.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use codemode_tests::census::{children_of, own_pid};
use codemode_tests::host;
use codemode_tests::patience::until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::process::Command;

use crate::ended::orphans;
use crate::{WAYS, turn};

const CROWD: &str = env!("CARGO_BIN_EXE_crowd");

/// Runs a crowd to its end while `signals` come a thousand times a second.
fn in_a_storm_of(signals: &[Signal]) {
    let _turn = turn();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        for way in WAYS {
            nix::sys::prctl::set_child_subreaper(true).expect("Linux lets every process ask for it");
            let before = children_of(own_pid());
            let mut command = Command::new(CROWD);
            command.args(["4", "8"]).env("CODEMODE_LAUNCHER", way).stdin(Stdio::null()).stdout(Stdio::piped());
            let child = command.spawn().expect("it starts");
            let pid = Pid::from_raw(i32::try_from(child.id().expect("it runs")).expect("a pid"));
            // Its handler is there before any child is.
            until("a child", Duration::from_secs(10), || !children_of(pid.as_raw()).is_empty()).await;
            let storm = std::thread::spawn({
                let signals = signals.to_vec();
                // Ours and not reaped while its output is read: the number is its own.
                move || {
                    let mut sent = 0_u32;
                    for signal in signals.iter().cycle() {
                        if kill(pid, *signal).is_err()
                            || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z"))
                        {
                            break;
                        }
                        sent += 1;
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    sent
                }
            });
            let reports = tokio::spawn(child.wait_with_output());
            let sent = tokio::task::spawn_blocking(move || storm.join().expect("a storm ends")).await.expect("it is joined");
            let output = reports.await.expect("it is read").expect("it ends");
            assert!(output.status.success(), "{way}: {output:?}");
            let lines: Vec<Value> =
                String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            assert_eq!(lines.len(), 32, "{way}");
            assert!(lines.iter().all(|line| line["ok"] == true), "{way}: {lines:?}");
            assert!(sent > 100, "{way}: that was no storm: {sent}");
            until("nothing is left", Duration::from_secs(1), || orphans(&before).is_empty()).await;
        }
    });
}

#[test]
fn a_thousand_interrupted_calls_a_second_cost_no_run_its_value() {
    in_a_storm_of(&[Signal::SIGUSR1]);
}

#[test]
fn a_supervisor_that_is_stopped_and_let_go_all_the_time_ends_its_runs_well() {
    in_a_storm_of(&[Signal::SIGSTOP, Signal::SIGCONT]);
}

#[test]
fn the_clock_of_the_wall_is_read_for_stamps_and_for_nothing_else() {
    // A clock that jumps can move no deadline where no deadline is made of it.
    const STAMPS: [&str; 2] = ["supervisor/src/telemetry/log.rs", "supervisor/src/doctor/support.rs"];
    let root = host::repository();
    let (mut open, mut seen, mut found) = (vec![root.join("supervisor/src"), root.join("protocol/src")], 0, Vec::new());
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap_or_default();
            let code: String = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            let name = path.strip_prefix(&root).expect("inside").display().to_string();
            let reads = ["SystemTime", "CLOCK_REALTIME", "chrono::", "time::OffsetDateTime"].iter().any(|word| code.contains(word));
            seen += usize::from(code.contains("Instant::now"));
            if reads && !STAMPS.contains(&name.as_str()) {
                found.push(name);
            }
        }
    }
    assert!(seen > 5, "the control: the other clock is read in {seen} files");
    assert!(found.is_empty(), "{found:?}");
}
