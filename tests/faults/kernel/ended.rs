//! A supervisor that is ended: at each stage of a run by each signal, and under load.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use codemode_tests::binary::{Before, Typed, demo, finish};
use codemode_tests::census::{children_of, is_alive, own_pid};
use codemode_tests::patience::until;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::{WAYS, is_long, turn};

/// How long anything may outlive its supervisor.
const GONE_WITHIN: Duration = Duration::from_secs(1);

fn block_on<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    runtime.block_on(test)
}

/// What is left of a supervisor, once its orphans are this process's children: the living ones.
pub fn orphans(before: &BTreeSet<i32>) -> BTreeSet<i32> {
    let new: BTreeSet<i32> = children_of(own_pid()).difference(before).copied().collect();
    for pid in &new {
        // As the init of a host would.
        let _ = waitpid(Pid::from_raw(*pid), Some(WaitPidFlag::WNOHANG));
    }
    new.into_iter().filter(|pid| is_alive(*pid)).collect()
}

#[test]
fn sigkill_of_a_supervisor_under_load_leaves_nothing_however_often() {
    let _turn = turn();
    let times = if is_long() { 50 } else { 10 };
    nix::sys::prctl::set_child_subreaper(true).expect("Linux lets every process ask for it");
    block_on(async {
        for time in 0..times {
            let way = WAYS[time % 2];
            let folder = tempfile::tempdir().expect("a temporary folder");
            let before = children_of(own_pid());
            let mut command = Command::new(env!("CARGO_BIN_EXE_crowd"));
            command.args(["8", "0"]).env("CODEMODE_LAUNCHER", way).env("TMPDIR", folder.path());
            let mut crowd = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
            let pid = i32::try_from(crowd.id().expect("it runs")).expect("a pid");
            let mut lines = BufReader::new(crowd.stdout.take().expect("it is piped")).lines();
            // Under load: some reports have come, and children are there. Then at another moment each time.
            for _ in 0..8 {
                let line = tokio::time::timeout(Duration::from_secs(20), lines.next_line()).await.expect("a report in time");
                assert!(line.expect("a pipe can be read").expect("it goes on").contains("\"ok\":true"));
            }
            tokio::time::sleep(Duration::from_millis(7 * u64::try_from(time).expect("small"))).await;
            let children = children_of(pid);
            assert!(children.len() >= 2, "that was no load: {children:?}");
            kill(Pid::from_raw(pid), Signal::SIGKILL).expect("it is ours");
            let began = Instant::now();
            crowd.wait().await.expect("it is ours");
            let gone = || children.iter().all(|child| !is_alive(*child)) && orphans(&before).is_empty();
            until(&format!("nothing is left, time {time}, {way}"), GONE_WITHIN, gone).await;
            assert!(began.elapsed() < GONE_WITHIN, "{:?}", began.elapsed());
            // End-of-file: nobody holds its output.
            let rest = async { while let Ok(Some(_)) = lines.next_line().await {} };
            tokio::time::timeout(GONE_WITHIN, rest).await.expect("nobody holds its output");
            assert_eq!(fs::read_dir(folder.path()).expect("it is ours").count(), 0, "temporary files are left");
        }
    });
}

/// A run of the program with a session log, ended by `signal` when the log says `stage`.
fn ended_at(stage: &str, signal: Signal, way: &str, folder: &Path) {
    let log = folder.join("log");
    let tools = demo().display().to_string();
    let named = log.display().to_string();
    let body = r#"
        console.log("kept");
        await openclaw.tools.call("demo:echo", { n: 1 });
        await openclaw.tools.call("demo:slow", { ms: 60000 })"#;
    let words = ["run", "-", "--json", "--tools", &tools, "--launcher", way, "--session-log", &named, "--timeout", "30000"];
    // Whoever runs these tests in the background may ignore SIGINT, and ignoring is inherited.
    let typed = Typed::after("exec env --default-signal=INT \"$0\" \"$@\"", folder, words).stdin(body);
    let child = typed.start();
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid"));
    let began = Instant::now();
    let told = |log: &Path| fs::read_to_string(log).is_ok_and(|text| text.contains(stage));
    while !told(&log) {
        if began.elapsed() > Duration::from_secs(15) {
            // Ours, and of a group of its own; nothing of it may be left to the next test.
            let _ = killpg(pid, Signal::SIGKILL);
            panic!("no {stage} in the log: {:?}", finish(child));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    kill(pid, signal).expect("it is ours");
    let began = Instant::now();
    let ran = finish(child);
    assert!(began.elapsed() < Duration::from_secs(3), "{stage} {signal} {way}: {:?}", began.elapsed());
    let text = fs::read_to_string(&log).expect("there is a log");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{stage} {signal} {way}: torn: {line}"))).collect();
    assert!(text.ends_with('\n') && !lines.is_empty(), "{text}");
    if signal == Signal::SIGKILL {
        assert_eq!(ran.code, None, "{ran:?}");
    } else {
        // It has its word: a report as complete as it can be.
        let report = ran.json();
        assert_eq!(report["error"]["code"], "cancelled", "{stage} {signal} {way}: {ran:?}");
        let calls: Vec<&str> = report["calls"].as_array().into_iter().flatten().filter_map(|call| call["state"].as_str()).collect();
        if stage.contains("call_sent") {
            assert_eq!(report["logs"][0]["text"], "kept");
            assert!(calls.first() == Some(&"ok") || calls.first() == Some(&"unknown"), "{calls:?}");
        }
        assert!(calls.iter().all(|state| !["queued", "sent"].contains(state)), "{calls:?}");
        assert!(text.contains("\"event\":\"run_ended\""), "the log tells the end: {text}");
    }
    fs::remove_file(&log).expect("it is ours");
}

/// Every stage of a run that its log tells of.
const STAGES: [&str; 5] =
    ["\"event\":\"run_started\"", "\"event\":\"confined\"", "\"event\":\"log\"", "\"event\":\"call_sent\"", "\"id\":\"demo:slow\""];

fn at_each_stage(signal: Signal) {
    let _turn = turn();
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let before = Before::look(folder.path());
        for stage in STAGES {
            ended_at(stage, signal, way, folder.path());
            assert_eq!(before.leftovers(), Vec::<String>::new(), "{stage} {signal} {way}");
        }
    }
}

#[test]
fn sigkill_at_each_stage_leaves_nothing_and_whole_lines() {
    at_each_stage(Signal::SIGKILL);
}

#[test]
fn sigterm_at_each_stage_leaves_nothing_and_a_whole_report() {
    at_each_stage(Signal::SIGTERM);
}

#[test]
fn sigint_at_each_stage_leaves_nothing_and_a_whole_report() {
    at_each_stage(Signal::SIGINT);
}
