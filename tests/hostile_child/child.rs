//! Running a script as the child, and what holds after every one of them.

use std::sync::Arc;

use codemode::catalog::FileCatalog;
use codemode::{ErrorCode, RunReport, RunRequest, Supervisor};
use codemode_tests::rig::{self, code, demo, json, request};
use codemode_tests::script::{Script, Written, answer};

/// A supervisor whose child does the steps of `script`.
pub fn doing(script: &Written) -> Supervisor {
    let path = script.path().display().to_string();
    rig::stand_in(env!("CARGO_BIN_EXE_scripted_child"), &[&path])
}

/// Runs a script at this many milliseconds with the demo catalog.
pub async fn run(script: Script, wall_ms: u64) -> RunReport {
    run_with(script, request("return 1", wall_ms), demo()).await
}

/// Runs a script for a request.
pub async fn run_with(script: Script, request: RunRequest, catalog: Arc<FileCatalog>) -> RunReport {
    let script = script.write();
    doing(&script).run(request, catalog).await
}

/// Sees that a script ends as a violation of this kind, and that the next child is served.
pub fn violates(kind: &str, script: Script) {
    rig::together(async {
        let report = run(script, 5_000).await;
        assert_eq!(code(&report), Some(ErrorCode::ProtocolViolation), "{report:?}");
        assert!(rig::message(&report).contains(kind), "{kind}: {}", rig::message(&report));
        serves_on().await;
    });
}

/// The process that has just met something hostile runs an honest child as if nothing had been.
pub async fn serves_on() {
    let report = run(Script::greeted().send(&answer(8)), 5_000).await;
    assert!(report.ok, "{report:?}");
    assert_eq!(json(&report), 8);
}
