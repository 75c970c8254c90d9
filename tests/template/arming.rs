//! What a template may do for its forks, no armed fork may do.
//!
//! That the compiled filters do what the lists say is shown in `launch/filters.rs`, for every number and argument that matters. Here: the lists, and some of the
//! calls made for real, from a main realm that is lost.

use codemode::ErrorCode;
use codemode::launch::{LaunchConfig, Wall, WallSet};
use codemode_tests::host;
use codemode_tests::rig::{self, code, message};
use serde_json::Value;

use super::witness::{is_a_fork, ready, supervisor_of};

/// What forking needs, by name.
const FORKING: [&str; 9] = ["clone", "setsid", "recvmsg", "prctl", "seccomp", "dup3", "close", "close_range", "prlimit64"];

fn lists(processor: &str) -> Value {
    let file = host::repository().join(format!("supervisor/seccomp/{processor}.json"));
    let text = std::fs::read_to_string(file).expect("the lists of a processor");
    serde_json::from_str(&text).expect("the lists are JSON")
}

fn rules<'a>(lists: &'a Value, name: &str) -> &'a [Value] {
    lists[name]["filter"].as_array().unwrap_or_else(|| panic!("list {name}"))
}

/// What two rules have to have in common to be the same.
fn meaning(rule: &Value) -> (String, Vec<(u64, String, u64)>) {
    let conditions = rule["args"].as_array().map_or(&[][..], Vec::as_slice);
    let condition = |one: &Value| (one["index"].as_u64().unwrap_or(0), one["op"].to_string(), one["val"].as_u64().unwrap_or(0));
    (rule["syscall"].to_string(), conditions.iter().map(condition).collect())
}

#[test]
fn no_call_that_forking_needs_is_on_an_armed_list() {
    for processor in ["x86_64", "aarch64"] {
        let lists = lists(processor);
        let has = |list: &str, call: &str| rules(&lists, list).iter().any(|rule| rule["syscall"] == call);
        for call in FORKING {
            assert!(has("template", call), "{processor}: a template has no {call}, and this test looks for the wrong name");
            for armed in ["armed", "armed_jit"] {
                assert!(!has(armed, call), "{processor} {armed}: {call}");
            }
        }
        // Whatever a template has beyond the start of any Node, under whatever name.
        let startup: Vec<_> = rules(&lists, "startup").iter().map(meaning).collect();
        let extra: Vec<&Value> = rules(&lists, "template").iter().filter(|rule| !startup.contains(&meaning(rule))).collect();
        assert!(extra.len() >= 3, "{processor}: {extra:?}");
        for rule in extra {
            let call = rule["syscall"].as_str().expect("a name");
            assert!(!has("armed", call) && !has("armed_jit", call), "{processor}: {call}");
        }
    }
}

#[test]
fn calls_that_a_template_may_make_end_an_armed_fork() {
    rig::alone(async {
        let config = LaunchConfig {
            danger: codemode::launch::Danger {
                main_realm: true,
                // The permission model would have the first word on some of them.
                walls: WallSet::ALL.without(Wall::GuestRealm).without(Wall::BarrenMainRealm).without(Wall::PermissionModel),
                ..Default::default()
            },
            ..LaunchConfig::default()
        };
        let supervisor = ready(supervisor_of(config)).await;
        let tried = [
            ("require('fs').closeSync(0)", "close"),
            ("process.title = 'another'", "prctl"),
            ("require('child_process').spawnSync('/bin/true')", ""),
            ("new (require('worker_threads').Worker)('1', { eval: true })", ""),
            ("process.getuid()", ""),
            ("process.kill(process.pid, 0)", "kill"),
            ("require('os').setPriority(1)", ""),
        ];
        for (call, name) in tried {
            // Control: without the call the same body answers.
            let before = rig::run(&supervisor, "require('fs'); return 1").await;
            assert!(before.ok, "{before:?}");
            is_a_fork(&before);
            let report = rig::run(&supervisor, &format!("{call}; return 1")).await;
            is_a_fork(&report);
            assert_eq!(code(&report), Some(ErrorCode::IsolationViolation), "{call}: {report:?}");
            assert!(message(&report).contains(name), "{call}: {}", message(&report));
        }
    });
}
