//! Hooks that are programs: what they get, and what is left of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codemode::catalog::CallCode;
use codemode::gate::{CommandHook, Gate};
use codemode::{ErrorCode, RunRequest};
use codemode_tests::census::Census;
use codemode_tests::patience::until;
use codemode_tests::rig;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::stage::{body, demo, refused, script, structured};

struct Programs(TempDir);

impl Programs {
    fn new() -> Programs {
        Programs(tempfile::tempdir().unwrap())
    }

    fn gate(&self, lines: &str, limit_ms: u64) -> Gate {
        let program = script(self.0.path(), "hook", lines).display().to_string();
        Gate::new().with_hook(Arc::new(CommandHook::new(vec![program]).with_limit(Duration::from_millis(limit_ms))))
    }

    fn says(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.0.path().join(name)).ok()
    }
}

/// Whether a process with this id is there and is no zombie.
fn runs(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z"))
}

#[test]
fn a_program_can_block_and_rewrite() {
    rig::together(async {
        let programs = Programs::new();
        let catalog = demo();
        let block = programs.gate(r#"echo '{"decision":"block","reason":"not on a Monday"}'"#, 5_000);
        let (result, _) = structured(block, Arc::clone(&catalog) as _, "demo:echo", json!({})).await;
        refused(&result, &catalog, CallCode::HookBlocked, "not on a Monday");
        let rewrite = programs.gate(r#"echo '{"decision":"allow","args":{"n":2}}'"#, 5_000);
        assert_eq!(structured(rewrite, demo(), "demo:echo", json!({"n": 1})).await.0, Ok(json!({"n": 2})));
    });
}

#[test]
fn a_program_gets_little_of_the_environment_and_no_shell() {
    rig::together(async {
        assert!(std::env::vars().any(|(name, _)| name.starts_with("CARGO")), "the control: there is something to keep back");
        let programs = Programs::new();
        let out = programs.0.path().join("env");
        let gate = programs.gate(&format!(r#"env > '{}'; echo '{{"decision":"allow"}}'"#, out.display()), 5_000);
        structured(gate, demo(), "demo:echo", json!({})).await.0.unwrap();
        let seen = programs.says("env").unwrap();
        assert!(seen.contains("PATH=") && !seen.contains("CARGO"), "{seen}");
        // A word with a shell's signs in it is a word.
        let words = ["/bin/echo", "$(touch x)", ";", "{\"decision\": \"allow\"}"].map(str::to_owned).to_vec();
        let gate = Gate::new().with_hook(Arc::new(CommandHook::new(words)));
        assert_eq!(structured(gate, demo(), "demo:echo", json!({})).await.0.unwrap_err().code, CallCode::HookFailed);
    });
}

#[test]
fn a_program_that_does_not_read_is_heard_all_the_same_and_large_arguments_arrive_whole() {
    rig::together(async {
        let programs = Programs::new();
        let large = json!({"text": "x".repeat(900_000)});
        let deaf = programs.gate(r#"echo '{"decision":"allow"}'"#, 5_000);
        assert_eq!(structured(deaf, demo(), "demo:echo", large.clone()).await.0, Ok(large.clone()));
        let count = programs.0.path().join("count");
        let gate = programs.gate(&format!(r#"wc -c > '{}'; echo '{{"decision":"allow"}}'"#, count.display()), 5_000);
        structured(gate, demo(), "demo:echo", large).await.0.unwrap();
        assert!(programs.says("count").unwrap().trim().parse::<usize>().unwrap() > 900_000);
    });
}

#[test]
fn nothing_of_a_program_is_left_whatever_became_of_it() {
    rig::alone(async {
        let programs = Programs::new();
        let before = Census::take();
        let pids = programs.0.path().join("pids").display().to_string();
        // A descendant in the group that keeps the pipes open: after an answer, after a failure, and past the limit.
        for (lines, code) in
            [(r#"echo '{"decision":"allow"}'"#, None), ("exit 3", Some(CallCode::HookFailed)), ("wait", Some(CallCode::HookFailed))]
        {
            let gate = programs.gate(&format!("sleep 7501 & echo $! > '{pids}'; {lines}"), 400);
            let began = Instant::now();
            let (result, _) = structured(gate, demo(), "demo:echo", json!({})).await;
            assert_eq!(result.err().map(|failure| failure.code), code, "{lines}");
            assert!(began.elapsed() < Duration::from_secs(3), "{lines}: {:?}", began.elapsed());
            let pid = programs.says("pids").unwrap();
            until("the descendant is gone", Duration::from_secs(2), || !runs(&pid)).await;
        }
        before.settles("three hooks").await;
    });
}

#[test]
fn a_cancelled_run_takes_its_hook_along() {
    rig::alone(async {
        let programs = Programs::new();
        let pids = programs.0.path().join("pids").display().to_string();
        let gate = programs.gate(&format!("echo $$ > '{pids}'; exec sleep 7502"), 60_000);
        let catalog = demo();
        let supervisor = rig::supervisor();
        let request = RunRequest::new(r#"return await openclaw.tools.call("demo:count", {})"#).with_gate(Arc::new(gate));
        let run = supervisor.start(request, Arc::clone(&catalog) as _);
        until("the hook runs", Duration::from_secs(5), || programs.says("pids").is_some_and(|pid| runs(&pid) && !pid.is_empty())).await;
        run.cancel();
        let report = run.report().await;
        assert_eq!(rig::code(&report), Some(ErrorCode::Cancelled));
        let pid = programs.says("pids").unwrap();
        until("the hook is gone", Duration::from_secs(2), || !runs(&pid)).await;
        assert_eq!(catalog.dispatch_count(), 0);
    });
}

#[test]
fn a_run_at_its_deadline_takes_its_hook_along() {
    rig::alone(async {
        let programs = Programs::new();
        let pids = programs.0.path().join("pids").display().to_string();
        let gate = programs.gate(&format!("echo $$ > '{pids}'; exec sleep 7503"), 60_000);
        let request = rig::request(r#"return await openclaw.tools.call("demo:count", {})"#, 700).with_gate(Arc::new(gate));
        let report = rig::supervisor().run(request, demo()).await;
        assert_eq!(rig::code(&report), Some(ErrorCode::Timeout), "a hook does not stop the clock: {report:?}");
        let pid = programs.says("pids").unwrap();
        until("the hook is gone", Duration::from_secs(2), || !runs(&pid)).await;
    });
}

#[test]
fn many_calls_at_once_have_a_program_each() {
    rig::together(async {
        let programs = Programs::new();
        let gate = programs.gate(r#"cat > /dev/null; echo '{"decision":"allow"}'"#, 5_000);
        let script = r#"
            const all = Array.from({ length: 20 }, (_, n) => openclaw.tools.call("demo:echo", { n }));
            return (await Promise.all(all)).map(one => one.n)"#;
        let ran = body(gate, demo(), script).await;
        assert_eq!(ran.value(), Value::from((0..20).collect::<Vec<_>>()));
    });
}
