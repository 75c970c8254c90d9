//! Who dies with whom.

use std::time::{Duration, Instant};

use codemode::ErrorCode;
use codemode_tests::census::{gone, is_alive, with_argument};
use codemode_tests::embedding::{Embedder, Order};
use codemode_tests::patience::until;
use codemode_tests::rig::{self, code, demo, json, request};
use codemode_tests::script::{Script, answer, framed, hello};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::EMBEDDER;

/// How long a child may outlive its supervisor.
const ORPHAN: Duration = Duration::from_secs(1);

#[test]
fn p44_a_descendant_that_keeps_the_pipe_open_holds_nobody_up() {
    rig::together(async {
        let supervisor = rig::stand_in("/bin/sh", &["-c", "sleep 300.44 & exec sleep 300.44"]);
        let began = Instant::now();
        let run = supervisor.start(request("return 1", 1_000), demo());
        // Control: both are there, and alive.
        until("both sleeps", Duration::from_millis(900), || with_argument("300.44").len() == 2).await;
        let report = run.report().await;
        let took = began.elapsed();
        assert_eq!(code(&report), Some(ErrorCode::Timeout));
        assert!(took < Duration::from_millis(1_300), "{took:?}");
        until("no sleep is left", Duration::from_millis(500), || with_argument("300.44").is_empty()).await;
    });
}

#[test]
fn p45_leftovers_of_a_good_end_are_swept() {
    rig::together(async {
        // The answer is asked for by a file that appears only when both were seen, so that the leftover is known to have been there.
        let folder = tempfile::tempdir().expect("a temporary folder");
        let go = folder.path().join("go");
        let octal = |text: &str| framed(text).iter().map(|byte| format!("\\{byte:03o}")).collect::<String>();
        let frames = octal(&hello().to_string()) + &octal(&answer(45).to_string());
        let script = format!("sleep 73.45 & while ! [ -e {} ]; do sleep 0.01; done; printf '{frames}'; exit 0", go.display());
        let supervisor = rig::stand_in("/bin/sh", &["-c", &script]);
        let run = supervisor.start(request("return 1", 5_000), demo());
        until("the leftover", Duration::from_secs(2), || with_argument("73.45").len() == 1).await;
        std::fs::write(&go, b"").expect("a file");
        let began = Instant::now();
        let report = run.report().await;
        assert!(report.ok, "{report:?}");
        assert_eq!(json(&report), 45);
        assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
        until("the group is gone", Duration::from_millis(500), || with_argument("73.45").is_empty()).await;
    });
}

#[test]
fn p45_a_leftover_without_an_answer_is_swept_as_well() {
    rig::together(async {
        let supervisor = rig::stand_in("/bin/sh", &["-c", "sleep 73.46 & sleep 0.3; exit 0"]);
        let run = supervisor.start(request("return 1", 5_000), demo());
        until("the leftover", Duration::from_millis(900), || with_argument("73.46").len() == 1).await;
        assert_eq!(code(&run.report().await), Some(ErrorCode::ChildCrashed));
        until("the group is gone", Duration::from_millis(500), || with_argument("73.46").is_empty()).await;
    });
}

#[test]
fn p46_the_thread_that_started_the_run_may_end() {
    rig::together(async {
        let supervisor = rig::supervisor();
        // The run is started, and its child with it, from a thread that ends while the body waits.
        let (give, take) = tokio::sync::oneshot::channel();
        let runtime = tokio::runtime::Handle::current();
        let of_thread = supervisor.clone();
        let thread = std::thread::spawn(move || {
            let _inside = runtime.enter();
            let body = r#"return (await openclaw.tools.call("demo:slow", { ms: 5000 })).done"#;
            assert!(give.send(of_thread.start(request(body, 20_000), demo())).is_ok());
        });
        let run = take.await.expect("the thread gives the run");
        thread.join().expect("the thread has ended");
        let report = run.report().await;
        assert!(report.ok, "{report:?}");
        assert_eq!(json(&report), 5_000);
    });
}

#[test]
fn p46_the_runtime_thread_that_launched_the_child_may_end() {
    rig::together(async {
        let supervisor = rig::supervisor();
        // A thread with a runtime of its own makes a child ahead of time, and is gone before the body comes.
        let of_thread = supervisor.clone();
        let first = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(rig::run(&of_thread, "return 1")).ok
        });
        assert!(tokio::task::spawn_blocking(move || first.join()).await.expect("a task").expect("it ends"));
        let report = rig::run(&supervisor, r#"return (await openclaw.tools.call("demo:slow", { ms: 1500 })).done"#).await;
        assert_eq!(json(&report), 1_500, "{report:?}");
    });
}

/// Kills an embedder while its body does what `body` says, and sees its child go.
fn orphaned_by(signal: Signal, body: &str, seen: &str) {
    rig::together(async {
        let mut embedder = Embedder::start(EMBEDDER, &Order::new(body, 60_000));
        embedder.event(seen).await;
        let children = embedder.children().await;
        assert!(children.iter().all(|child| is_alive(*child)));
        kill(Pid::from_raw(embedder.pid()), signal).expect("it is ours");
        let began = Instant::now();
        // The caller's pipe reaches its end, and the child is gone.
        embedder.ends(ORPHAN).await;
        for child in children {
            gone(child, ORPHAN.saturating_sub(began.elapsed())).await;
        }
    });
}

const COMPUTES: &str = r#"console.log("now"); while (true) {}"#;
const WAITS: &str = r#"await openclaw.tools.call("demo:slow", { ms: 600000 })"#;

#[test]
fn p47_sigkill_of_the_supervisor_ends_a_body_that_computes() {
    orphaned_by(Signal::SIGKILL, COMPUTES, "log");
}

#[test]
fn p47_sigkill_of_the_supervisor_ends_a_body_that_waits_for_a_call() {
    orphaned_by(Signal::SIGKILL, WAITS, "call_sent");
}

#[test]
fn p47_sigint_of_the_supervisor_ends_its_child() {
    orphaned_by(Signal::SIGINT, COMPUTES, "log");
}

#[test]
fn p47_sigterm_of_the_supervisor_ends_its_child() {
    orphaned_by(Signal::SIGTERM, WAITS, "call_sent");
}

#[test]
fn p47_a_child_that_is_killed_from_outside_is_told_as_that() {
    rig::together(async {
        let mut embedder = Embedder::start(EMBEDDER, &Order::new(COMPUTES, 20_000));
        embedder.event("log").await;
        let child = embedder.busy_child().await;
        kill(Pid::from_raw(child), Signal::SIGKILL).expect("it is ours");
        let last = embedder.last().await;
        assert_eq!(last["error"]["code"], "child_crashed", "{last}");
        assert_eq!(last["logs"][0]["text"], "now", "what it had said is kept");
    });
}

#[test]
fn the_script_of_an_honest_child_is_answered() {
    rig::together(async {
        // So that what the stand-ins above and in `hostile` prove is not that stand-ins never work.
        let script = Script::greeted().send(&answer(3)).write();
        let path = script.path().display().to_string();
        let supervisor = rig::stand_in(env!("CARGO_BIN_EXE_scripted_child"), &[&path]);
        let report = supervisor.run(request("return 1", 2_000), demo()).await;
        assert!(report.ok, "{report:?}");
        assert_eq!(json(&report), 3);
    });
}
