//! Hooks that are programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use codemode::RunReport;
use codemode::gate::{CommandHook, Gate};
use codemode_tests::fault::Fault;
use codemode_tests::rig::{self, demo, request};
use codemode_tests::script::{Script, Step, answer, call, console};
use serde_json::json;

use crate::table::{Party, Plan, Seen, ends};
use crate::witness::Place;

/// The time that the hook has.
const LIMIT: Duration = Duration::from_millis(500);

/// A program that is asked before each call.
pub struct Hook;

#[async_trait]
impl Party for Hook {
    fn name(&self) -> &'static str {
        "hook"
    }

    fn what(&self) -> &'static str {
        "A program that is asked before a call; here a shell script."
    }

    fn steps(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("start", "it has read nothing"),
            ("asked", "it has read the question"),
            ("mid-answer", "half of its answer is written"),
            ("answered", "its answer is written, and it is still there"),
        ]
    }

    fn plan(&self, step: &'static str, fault: Fault) -> Plan {
        use Fault::{Deaf, Die, Flood, Garbage, Late, Mute, Slowly, Stop, Twice};
        let (went, failed) = ("ok", "denied:hook_failed");
        let calls = match (step, fault) {
            ("start", Twice) => return Plan::NoSense("it has said nothing yet"),
            ("start", Slowly) => return Plan::NoSense("what it says is the step after this"),
            ("answered", Slowly) => return Plan::NoSense("nothing more is to be said"),
            (_, Late | Slowly) => went,
            (_, Deaf) => went,
            // What closes its pipes has said all it will: when it ends is another matter, and it has its whole time for it.
            ("answered", Mute) => went,
            (_, Stop | Die | Twice | Garbage | Flood | Mute) => failed,
        };
        ends("ok", calls, 2_500).with_logs(1)
    }

    async fn run(&self, step: &'static str, fault: Fault, place: &Place) -> Seen {
        let program = place.folder().join("hook");
        fs::write(&program, format!("#!/bin/sh\n{}\n", lines(step, fault))).expect("it is ours");
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("it is ours");
        let hook = CommandHook::new(vec![program.display().to_string()]).with_limit(LIMIT);
        let gate = Gate::new().with_hook(Arc::new(hook));
        let report = calling(gate).await;
        fs::remove_file(&program).expect("it is ours");
        report.into()
    }
}

/// A run with one call through this gate.
pub async fn calling(gate: Gate) -> RunReport {
    let call = call(1, "demo:echo", &json!({"n": 1}));
    let script = Script::greeted().send(&console("kept")).send(&call).step(Step::Read).send(&answer(1)).step(Step::ReadToEnd).write();
    let path = script.path().display().to_string();
    let supervisor = rig::stand_in(env!("CARGO_BIN_EXE_scripted_child"), &[&path]);
    let limits = rig::limits(&[(codemode::Limit::ApprovalMs, 300)]);
    supervisor.run(request("return 1", 5_000).with_limits(limits).with_gate(Arc::new(gate)), demo()).await
}

fn lines(step: &str, fault: Fault) -> String {
    const FIRST: &str = r#"printf '{"decision":'"#;
    const SECOND: &str = r#"printf '"allow"}'"#;
    let (before, word, after) = match step {
        "start" => ("", "", format!("cat > /dev/null; {FIRST}; {SECOND}")),
        "asked" => ("cat > /dev/null;", FIRST, SECOND.to_owned()),
        "mid-answer" => ("cat > /dev/null; printf '{\"decision\":';", SECOND, String::new()),
        _ => ("cat > /dev/null; printf '{\"decision\":\"allow\"}';", "", String::new()),
    };
    let sleeps = "sleep 7520";
    let then = match fault {
        Fault::Stop => sleeps.to_owned(),
        Fault::Die => "kill -9 $$".to_owned(),
        Fault::Late => format!("sleep 0.15; {word}; {after}"),
        Fault::Twice if word.is_empty() => r#"printf '{"decision":"allow"}'"#.to_owned(),
        Fault::Twice => format!("{word}; {word}; {after}"),
        Fault::Garbage => format!("printf 'no \\377 word'; {word}; {after}"),
        Fault::Slowly if step == "asked" => {
            r#"for sign in '{' '"' d e c i s i o n '"' ':' '"' a l l o w '"' '}'; do printf '%s' "$sign"; sleep 0.005; done"#.to_owned()
        }
        Fault::Slowly => r#"for sign in '"' a l l o w '"' '}'; do printf '%s' "$sign"; sleep 0.01; done"#.to_owned(),
        Fault::Flood => "exec yes 2> /dev/null".to_owned(),
        Fault::Mute if step == "answered" => "exec >&-".to_owned(),
        Fault::Mute => format!("exec >&-; {sleeps}"),
        Fault::Deaf => format!("exec <&-; {word}; {}", after.trim_start_matches("cat > /dev/null; ")),
    };
    format!("{before} {}", then.replace("; ;", ";").trim_end_matches("; "))
}
