//! The realm is lost: the body is in Node's main realm with `process` and `require`. The walls behind have to hold.

use codemode::launch::{WallSet, WallStatus};
use codemode_tests::listeners::{Ears, Heard};
use codemode_tests::{rig, signals};

use crate::corpus::{Mode, bodies, expectations, faults};
use crate::plain_node;

#[test]
fn no_body_of_the_main_realm_gets_past_the_walls_behind() {
    rig::together(async {
        let ears = Ears::open().expect("this host lets us listen");
        let mut target = signals::Target::start().expect("sleep starts");
        let faults = faults(&rig::lost_realm(WallSet::ALL), bodies(Mode::Main)).await;
        assert!(faults.is_empty(), "{}", faults.join("\n\n"));
        assert_eq!(ears.heard(), Heard::default());
        assert_eq!(target.hit_by(), None);
    });
}

#[test]
fn a_body_of_the_main_realm_really_has_lost_the_realm() {
    rig::together(async {
        let report = rig::run(&rig::lost_realm(WallSet::ALL), "return typeof process + typeof require + typeof Buffer").await;
        assert_eq!(rig::json(&report), "objectfunctionfunction");
        let off: Vec<_> =
            report.isolation.expect("there was a child").walls.into_iter().filter(|wall| wall.status == WallStatus::Off).collect();
        let off: Vec<_> = off.iter().map(|wall| wall.name.name()).collect();
        assert_eq!(off, ["guest_realm", "barren_main_realm"]);
    });
}

#[test]
fn the_same_bodies_do_reach_out_where_nothing_holds_them() {
    rig::together(async {
        let expectations = expectations();
        let line = node_line().await;
        let mut out = Vec::new();
        let mut missing = Vec::new();
        let group = bodies(Mode::Main).into_iter().filter(|body| (36..=67).contains(&body.number()));
        for body in group {
            let said = plain_node::in_the_main_realm(&body.path).await;
            if said.contains(&format!("ESCAPED:{}", body.id)) {
                out.push(body.id);
                continue;
            }
            let none = expectations.get(&body.id).map(|expected| expected.no_control_on.clone()).unwrap_or_default();
            let who = if nix::unistd::geteuid().is_root() { "root" } else { "user" };
            if none.contains(&line) || none.iter().any(|word| word == "all" || word == who) {
                println!("n/a on Node {line}: {}", body.id);
            } else {
                missing.push(format!("{}: {said}", body.id));
            }
        }
        println!("{} controls reach out: {out:?}", out.len());
        assert!(missing.is_empty(), "no control on Node {line}:\n{}", missing.join("\n"));
        assert!(out.len() >= 18, "{out:?}");
    });
}

#[test]
fn with_every_wall_off_the_danger_switch_holds_nothing_back() {
    rig::together(async {
        // The same machinery as behind the walls, so that what holds above is the walls and not the switch.
        let supervisor = rig::lost_realm(WallSet::NONE);
        let canary = Ears::open().expect("this host lets us listen");
        let path = canary.file().display().to_string();
        let body = format!(
            "const fs = require('fs'); const was = fs.readFileSync({path:?}, 'utf8'); fs.writeFileSync({path:?}, 'changed'); return [was, process.getuid()]"
        );
        let report = rig::run(&supervisor, &body).await;
        let uid = nix::unistd::getuid().as_raw();
        assert_eq!(rig::json(&report), serde_json::json!([codemode_tests::listeners::CANARY_TEXT, uid]), "{report:?}");
        assert!(canary.heard().file_changed);
    });
}

/// The line of the Node under test, such as `22`.
async fn node_line() -> String {
    let report = rig::run(&rig::supervisor(), "return 1").await;
    let version = report.isolation.expect("there was a child").node;
    version.trim_start_matches('v').split('.').next().unwrap_or_default().to_owned()
}
