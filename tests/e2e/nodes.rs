//! Nodes of every line, old ones, and what only looks like one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use codemode::ErrorCode;
use codemode::launch::{LaunchError, Node, NodeError};
use codemode_tests::host;
use codemode_tests::rig::{self, code, json};
use tempfile::TempDir;

/// A program that says it is this Node.
fn numbered(folder: &TempDir, version: &str) -> PathBuf {
    let home = folder.path().join(version);
    fs::create_dir(&home).expect("a new folder");
    let node = home.join("node");
    // A link, not a copy: a file that was just written cannot be run while another thread happens to start a process.
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_numbered_node"), &node).expect("a link");
    node
}

#[test]
fn p51_each_version_gets_the_switch_that_it_knows() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lines = [
        ("v20.19.0", "--experimental-permission"),
        ("v22.12.0", "--experimental-permission"),
        ("v22.13.0", "--permission"),
        ("v24.1.0", "--permission"),
        ("v26.0.0", "--permission"),
    ];
    for (version, wanted) in lines {
        let path = numbered(&folder, version);
        let node = Node::at(&path).expect("a supported version");
        assert_eq!(node.version, version);
        let flags = node.flags(false);
        let mut switches: Vec<_> = flags.iter().filter(|flag| flag.contains("permission")).collect();
        switches.dedup();
        assert_eq!(switches, [wanted], "{version}");
        // The stub refuses what that Node did not know.
        let taken = std::process::Command::new(&path).args(&flags).status().expect("it runs");
        assert!(taken.success(), "{version}: {flags:?}");
    }
}

#[test]
fn p51_too_old_a_version_is_refused_with_its_number_and_the_least() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for version in ["v18.20.4", "v20.18.3"] {
        let error = Node::at(&numbered(&folder, version)).expect_err("too old");
        assert!(matches!(error, NodeError::TooOld { .. }), "{error:?}");
        let told = error.to_string();
        assert!(told.contains(version) && told.contains("20.19"), "{told}");
    }
    // A script that only prints a version gets the same answer.
    let script = folder.path().join("node18");
    fs::write(&script, "#!/bin/sh\necho v18.0.0\n").expect("a file");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let told = Node::at(&script).expect_err("too old").to_string();
    assert!(told.contains("v18.0.0") && told.contains("20.19"), "{told}");
}

#[test]
fn p51_a_program_that_is_no_node_is_found_out_within_a_second() {
    rig::together(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = numbered(&folder, "v24.1.0");
        // It may be found out when the supervisor is made, or at the first run.
        let supervisor = match rig::build(rig::config(|config| config.node = Some(path))) {
            Ok(supervisor) => supervisor,
            Err(LaunchError::Node(_)) => return,
            Err(error) => panic!("{error:?}"),
        };
        let began = Instant::now();
        let report = rig::run(&supervisor, "return 1").await;
        assert_eq!(code(&report), Some(ErrorCode::NodeUnavailable), "{report:?}");
        assert!(began.elapsed() < Duration::from_millis(1_500), "{:?}", began.elapsed());
    });
}

#[test]
fn p51_every_node_at_hand_runs_a_body_and_its_warnings_are_no_logs() {
    rig::together(async {
        for path in host::nodes() {
            let supervisor = rig::supervisor_of(rig::config(|config| config.node = Some(path.clone())));
            let body = r#"console.log("mine"); return [1, 2].map(n => n * 2)"#;
            let report = rig::run(&supervisor, body).await;
            assert!(report.ok, "{}: {:?}", path.display(), report.error);
            assert_eq!(json(&report), serde_json::json!([2, 4]));
            let logs: Vec<_> = report.logs.iter().map(|entry| entry.text.as_str()).collect();
            assert_eq!(logs, ["mine"], "{}", path.display());
            let node = Node::at(&path).expect("it has just run");
            assert_eq!(report.isolation.expect("there was a child").node, node.version);
        }
    });
}
