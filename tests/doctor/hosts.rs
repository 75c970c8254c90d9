//! Hosts that refuse what a wall needs: exactly those rows change, in doctor and in a run's report.

use std::collections::BTreeSet;
use std::path::Path;

use codemode_tests::host;
use serde_json::Value;

use super::{Program, json, users};

const UNSHARE: &str = "unshare";
const LANDLOCK: &str = "landlock_create_ruleset";

/// Name, status and reason of every wall.
type Story = Vec<(String, String, Option<String>)>;

fn story(walls: &Value) -> Story {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let walls = walls.as_array().expect("walls");
    assert_eq!(walls.len(), 11);
    let row = |wall: &Value| {
        let known = |key| text(&wall[key]).expect("a name and a status");
        (known("name"), known("status"), text(&wall["reason"]))
    };
    walls.iter().map(row).collect()
}

fn changed(from: &Story, to: &Story) -> BTreeSet<String> {
    let rows = from.iter().zip(to);
    rows.filter(|(from, to)| from != to).map(|(_, to)| to.0.clone()).collect()
}

/// The walls that a host without these calls lacks.
fn lacking(calls: &str, ordinary: bool) -> BTreeSet<String> {
    let mut walls = BTreeSet::new();
    if calls.contains(UNSHARE) {
        walls.extend(["namespaces", "empty_root"]);
        if ordinary {
            // Without a user namespace of its own an ordinary process cannot empty its bounding set.
            walls.insert("no_new_privs");
        }
    }
    if calls.contains(LANDLOCK) {
        walls.insert("landlock");
    }
    walls.into_iter().map(str::to_owned).collect()
}

fn run_report(program: &Program, calls: &str, user: &str, node: &str) -> Value {
    let body = program.folder.path().join("body.js");
    std::fs::write(&body, "return 4").expect("it is ours");
    let body = body.to_str().expect("a path of text");
    let output = program.on(calls, user, &["run", body, "--json", "--node", node]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = json(&output);
    assert_eq!(report["value"], 4);
    report["isolation"]["walls"].clone()
}

fn strict(program: &Program, calls: &str, user: &str, node: &str) -> (Option<i32>, String) {
    let body = program.folder.path().join("body.js");
    let body = body.to_str().expect("a path of text");
    let walls = ["run", body, "--walls", "strict", "--node", node];
    let output = program.on(calls, user, &walls);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

fn rows_of(node: &Path, user: &str) {
    let program = Program::new();
    let ordinary = user != "-" || !nix::unistd::geteuid().is_root();
    let whole = program.doctor("-", user, node);
    let healthy = story(&whole["walls"]);
    let enforced = healthy.iter().all(|(_, status, _)| status == "enforced");
    if !host::has("every-wall", enforced) {
        return;
    }
    let name = node.to_str().expect("a path of text");
    for calls in ["-".to_owned(), UNSHARE.into(), LANDLOCK.into(), [UNSHARE, LANDLOCK].join(",")] {
        let found = if calls == "-" { whole.clone() } else { program.doctor(&calls, user, node) };
        let told = story(&found["walls"]);
        let expected = lacking(&calls, ordinary);
        assert_eq!(changed(&healthy, &told), expected, "{calls} as {user}: {told:#?}");
        // A run says the same of every wall, word for word.
        assert_eq!(story(&run_report(&program, &calls, user, name)), told, "{calls} as {user}");
        for (wall, status, reason) in told.iter().filter(|(wall, ..)| expected.contains(wall)) {
            let because = match wall.as_str() {
                "landlock" => (LANDLOCK, "unavailable"),
                "no_new_privs" => ("bounding set", "partial"),
                _ => (UNSHARE, "unavailable"),
            };
            let reason = reason.as_deref().unwrap_or_default();
            assert!(reason.contains(because.0), "{wall}: {reason}");
            assert_eq!(status, because.1, "{wall}");
        }
        starts(&program, &calls, user, name, &found, &expected);
        assert_eq!(found["host"]["seccompFilters"], u64::from(calls != "-"));
        assert_eq!(found["host"]["userNamespaces"]["allowed"], !calls.contains(UNSHARE));
        // Each thing that is missing comes with something to do.
        for advice in found["advice"].as_array().expect("advice") {
            assert!(!advice["do"].as_array().expect("ways").is_empty(), "{advice}");
        }
    }
}

/// `--walls strict` does what the doctor says that it would, and names what is missing.
fn starts(program: &Program, calls: &str, user: &str, node: &str, found: &Value, missing: &BTreeSet<String>) {
    assert_eq!(found["runs"]["default"]["starts"], true);
    assert_eq!(found["runs"]["strict"]["starts"], missing.is_empty());
    let (code, said) = strict(program, calls, user, node);
    if missing.is_empty() {
        assert_eq!(code, Some(0), "{said}");
        return;
    }
    assert_eq!(code, Some(4), "{said}");
    for wall in missing {
        assert!(said.contains(wall.as_str()), "{wall} is not named: {said}");
        let reason = found["runs"]["strict"]["reason"].as_str().expect("a reason");
        assert!(reason.contains(wall.as_str()), "{wall} is not named: {reason}");
    }
}

#[test]
fn exactly_the_rows_of_a_refused_call_change() {
    for node in host::nodes() {
        for user in users() {
            rows_of(&node, user);
        }
    }
}

#[test]
fn an_act_whose_control_fails_is_untested_and_its_wall_keeps_its_other_rows() {
    let program = Program::new();
    let found = program.doctor(UNSHARE, "-", &host::nodes()[0]);
    let walls = found["walls"].as_array().expect("walls");
    let seccomp = walls.iter().find(|wall| wall["name"] == "seccomp").expect("a wall");
    let acts = seccomp["acts"].as_array().expect("acts");
    let act = |name: &str| acts.iter().find(|act| act["act"] == name).expect("an act");
    let refused = act("make a user namespace");
    assert_eq!((&refused["control"], &refused["verdict"]), (&"EPERM".into(), &"untested".into()));
    assert!(refused["reason"].as_str().is_some_and(|reason| reason.contains("without the wall too")));
    assert_eq!(act("fork")["verdict"], "enforced");
}

#[test]
fn every_row_of_a_whole_host_had_a_control_that_succeeded() {
    let program = Program::new();
    for user in users() {
        let found = program.doctor("-", user, &host::nodes()[0]);
        let rows = || found["walls"].as_array().expect("walls").iter().flat_map(|wall| wall["acts"].as_array().expect("acts"));
        let others: Vec<&Value> = rows().filter(|row| row["verdict"] != "enforced").collect();
        if host::has("every-act", others.is_empty()) {
            assert!(rows().count() >= 45, "{}", rows().count());
            assert!(rows().all(|row| row["control"] != row["result"]), "{found}");
        } else {
            eprintln!("{others:#?}");
        }
    }
}

#[test]
fn where_a_required_wall_is_missing_it_ends_with_4_as_a_run_does() {
    let program = Program::new();
    let node = host::nodes()[0].display().to_string();
    for user in users() {
        let output = program.on("seccomp", user, &["doctor", "--json", "--node", &node]);
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        let found = json(&output);
        let seccomp = story(&found["walls"]).into_iter().find(|(wall, ..)| wall == "seccomp").expect("a wall");
        let reason = "seccomp: EPERM: Operation not permitted";
        assert_eq!((seccomp.1.as_str(), seccomp.2.as_deref()), ("unavailable", Some(reason)));
        let start = &found["runs"]["default"];
        assert_eq!(start["starts"], false);
        let body = program.folder.path().join("body.js");
        std::fs::write(&body, "return 4").expect("it is ours");
        let body = body.to_str().expect("a path of text");
        let run = program.on("seccomp", user, &["run", body, "--node", &node]);
        assert_eq!(run.status.code(), Some(4), "{run:?}");
        let said = String::from_utf8_lossy(&run.stderr);
        let why = start["reason"].as_str().expect("a reason");
        assert!(said.contains(why) && why.contains(reason), "{why}\n{said}");
    }
}
