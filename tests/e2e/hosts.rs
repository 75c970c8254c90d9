//! Odd hosts: little address space, a debugger's environment, no writable place.

use std::fs;
use std::time::Duration;

use codemode_tests::embedding::{Embedder, Order, under};
use codemode_tests::host;
use codemode_tests::listeners::{CANARY_NAME, CANARY_TEXT};
use codemode_tests::rig;
use serde_json::Value;
use tokio::process::Command;

use super::EMBEDDER;

const BODY: &str = r#"return (await openclaw.tools.call("demo:echo", { n: 4 })).n"#;

#[test]
fn p49_little_address_space_works_or_is_named() {
    rig::together(async {
        for kib in [524_288, 2_097_152] {
            let order = Order::new(BODY, 5_000);
            let command = under(&format!("ulimit -v {kib}"), EMBEDDER.as_ref(), &order);
            let last = Embedder::of(command).last().await;
            let told = match (&last["unavailable"], &last["error"]["code"]) {
                (Value::String(told), _) => told.clone(),
                (_, Value::String(code)) => {
                    assert!(code == "node_unavailable" || code == "isolation_unavailable", "{last}");
                    last["error"]["message"].to_string()
                }
                _ => {
                    assert_eq!(last["value"], 4, "{kib}: {last}");
                    continue;
                }
            };
            assert!(told.contains("ulimit -v"), "{kib}: the limit is not named: {told}");
        }
    });
}

#[test]
fn p49_the_memory_limit_is_no_limit_on_address_space() {
    rig::together(async {
        // Half a terabyte that nothing is written to costs nothing, so a limit on address space would be the only thing to stop it.
        let order = Order::new(BODY, 5_000);
        let last = Embedder::start(EMBEDDER, &order).last().await;
        assert_eq!(last["value"], 4, "{last}");
    });
}

/// What a caller's shell may hold that Node or its loader would act on.
fn hostile_environment(command: &mut Command, marker: &std::path::Path) {
    let evil = marker.with_file_name("evil.js");
    let text = format!("require('fs').writeFileSync({:?}, 'here')", marker.display().to_string());
    fs::write(&evil, text).expect("it is ours");
    let evil = evil.display();
    for (name, value) in [
        ("NODE_OPTIONS", format!("--require {evil}")),
        ("NODE_PATH", format!("{}", marker.parent().expect("a folder").display())),
        ("NODE_REPL_EXTERNAL_MODULE", format!("{evil}")),
        (CANARY_NAME, CANARY_TEXT.to_owned()),
    ] {
        command.env(name, value);
    }
}

#[test]
fn p52_the_callers_environment_does_not_reach_the_child() {
    rig::together(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let marker = folder.path().join("marker");
        // Control: the same environment does make a plain Node write the marker.
        let mut plain = Command::new(&host::nodes()[0]);
        hostile_environment(&mut plain, &marker);
        assert!(plain.args(["-e", "0"]).status().await.expect("Node starts").success());
        fs::remove_file(&marker).expect("the control wrote it");

        let order = Order::new(BODY, 5_000);
        let mut command = Command::new(EMBEDDER);
        command.arg(order.argument());
        hostile_environment(&mut command, &marker);
        assert_eq!(Embedder::of(command).last().await["value"], 4);
        assert!(!marker.exists());

        for options in ["--require /nonexistent/evil.js", "--inspect-brk", "--no-such-flag"] {
            let mut command = Command::new(EMBEDDER);
            command.arg(order.argument()).env("NODE_OPTIONS", options);
            assert_eq!(Embedder::of(command).last().await["value"], 4, "{options}");
        }
    });
}

#[test]
fn p52_a_preload_of_the_caller_is_not_the_childs() {
    rig::together(async {
        // The loader complains of one that is missing, so a child that inherited it would say so on its stderr; and it would crowd out the jail.
        let order = Order::new(BODY, 5_000);
        let mut command = Command::new(EMBEDDER);
        command.arg(order.argument()).env("LD_PRELOAD", "/nonexistent/evil.so").stderr(std::process::Stdio::null());
        let last = Embedder::of(command).last().await;
        assert_eq!(last["value"], 4, "{last}");
    });
}

#[test]
fn p39_a_childs_environment_is_empty() {
    rig::together(async {
        let order = Order::new(r#"console.log("now"); while (true) {}"#, 3_000);
        let mut command = Command::new(EMBEDDER);
        command.arg(order.argument()).env("FAKE_API_KEY", "abc123").env(CANARY_NAME, CANARY_TEXT);
        let mut embedder = Embedder::of(command);
        embedder.event("log").await;
        // Control: the supervisor itself does have it.
        let has = |pid: i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).expect("it may be read");
            let text = String::from_utf8_lossy(&environment).into_owned();
            text.contains("FAKE_API_KEY") || text.contains(CANARY_TEXT)
        };
        assert!(has(embedder.pid()));
        // As somebody who may not look at another user's process, the control below in the main realm is what tells.
        for child in embedder.children().await {
            match fs::read(format!("/proc/{child}/environ")) {
                Ok(_) => assert!(!has(child)),
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
            }
        }
        embedder.ends(Duration::from_secs(5)).await;

        let inside = rig::lost_realm(codemode::launch::WallSet::ALL);
        let report = rig::run(&inside, "return Object.keys(process.env)").await;
        assert_eq!(rig::json(&report), serde_json::json!([]), "{report:?}");
    });
}

/// Makes every mount read-only and every usual place for temporary files an empty read-only one.
const READ_ONLY: &str = "
    set -e
    mount --make-rprivate /
    mount -t tmpfs stage /mnt
    cp \"$0\" /mnt/embedder
    touch /mnt/node /mnt/tools.json
    mount --bind \"$CODEMODE_NODE\" /mnt/node
    mount --bind \"$TOOLS\" /mnt/tools.json
    mount -o remount,ro,bind /mnt
    for place in /tmp /var/tmp /dev/shm /run; do
        if [ -d $place ]; then mount -t tmpfs -o ro empty $place; fi
    done
    mount -o remount,ro,bind /
    if touch /tmp/x 2>/dev/null || touch /x 2>/dev/null || touch /dev/shm/x 2>/dev/null; then exit 9; fi
    set -- \"$1\"
    exec $AS env -i CODEMODE_NODE=/mnt/node CODEMODE_LAUNCHER=$CODEMODE_LAUNCHER /mnt/embedder \"$1\"";

#[test]
fn p54_a_run_needs_no_writable_place() {
    rig::together(async {
        let root = nix::unistd::geteuid().is_root();
        // An ordinary user makes the mounts as root of a user namespace, and is an ordinary user again before it runs anything.
        let unshare: &[&str] = if root { &["-m"] } else { &["-rm"] };
        let possible = Command::new("unshare").args(unshare).arg("true").status().await.is_ok_and(|status| status.success());
        if !host::has("mount-namespaces", possible) {
            return;
        }
        let mut order = Order::new(BODY, 5_000);
        let tools = std::mem::replace(&mut order.tools, "/mnt/tools.json".to_owned());
        let mut command = Command::new("unshare");
        command.args(unshare).args(["sh", "-c", READ_ONLY, EMBEDDER]).arg(order.argument());
        command.env("TOOLS", tools).env("CODEMODE_NODE", &host::nodes()[0]);
        command.env("CODEMODE_LAUNCHER", std::env::var("CODEMODE_LAUNCHER").unwrap_or_else(|_| "spawn".to_owned()));
        command.env("AS", if root { "" } else { "unshare -U --map-user=65534" });
        let last = Embedder::of(command).last().await;
        assert_eq!(last["value"], 4, "{last}");
    });
}

/// More than anything else that a child reads from descriptor 3, its own libraries included.
const BODY_BYTES: usize = 40_000;

/// The system calls of a run as `strace` tells them, as thread and call.
async fn traced() -> Option<Vec<(String, String)>> {
    if !host::has("strace", host::program("strace").is_some()) {
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("log");
    let order = Order::new(&format!("/* {} */ return 4", "x".repeat(BODY_BYTES)), 20_000);
    let mut command = Command::new("strace");
    // The bytes themselves are not shown for a process that nobody may look into; their number is.
    command.args(["-f", "-s", "8", "-e", "trace=seccomp,prctl,read", "-o"]).arg(&log);
    command.arg(EMBEDDER).arg(order.argument());
    let last = Embedder::of(command).last().await;
    assert_eq!(last["value"], 4, "{last}");
    let text = fs::read_to_string(&log).expect("strace wrote it");
    let mut calls: Vec<(String, String)> = Vec::new();
    for (thread, call) in text.lines().filter_map(|line| line.split_once(' ')) {
        let call = call.trim();
        // A call that was interrupted in the telling is put together again.
        let open = calls.iter_mut().rev().find(|(of, begun)| of == thread && begun.ends_with("<unfinished ...>"));
        match open {
            Some((_, begun)) if call.starts_with("<... ") => begun.push_str(call),
            _ => calls.push((thread.to_owned(), call.to_owned())),
        }
    }
    Some(calls)
}

#[test]
fn the_last_filter_is_installed_before_the_first_byte_of_the_body_is_read() {
    rig::together(async {
        let Some(calls) = traced().await else { return };
        let reads_the_body = |call: &str| {
            let result = call.rsplit_once("= ").and_then(|(_, result)| result.parse::<usize>().ok());
            call.starts_with("read(3,") && result.is_some_and(|bytes| bytes >= BODY_BYTES / 2)
        };
        let installs = |call: &str| call.starts_with("seccomp(SECCOMP_SET_MODE_FILTER") || call.contains("PR_SET_SECCOMP");
        let (child, _) = calls.iter().find(|(_, call)| reads_the_body(call)).unwrap_or_else(|| panic!("nobody read the body:\n{calls:?}"));
        let of_child: Vec<&str> = calls.iter().filter(|(thread, _)| thread == child).map(|(_, call)| call.as_str()).collect();
        let read = of_child.iter().position(|call| reads_the_body(call)).expect("it is one of them");
        let filters: Vec<usize> = (0..of_child.len()).filter(|at| installs(of_child[*at])).collect();
        assert!(filters.len() >= 2, "the list and the call that ends: {of_child:?}");
        assert!(filters.iter().all(|at| *at < read), "{filters:?} and {read}: {of_child:?}");
    });
}
