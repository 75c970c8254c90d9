//! What one body leaves in its realm is in no other fork.

use codemode::launch::{Wall, WallSet};
use codemode_tests::rig;
use serde_json::{Value, json};

use super::witness::{is_long, ready, supervisor, supervisor_of, value};

/// Runs that look for what was planted.
fn looks() -> usize {
    if is_long() { 1_000 } else { 200 }
}

/// Everything a body can change of its realm that a later body could find, one line each: how it is planted, and what finds it.
const GUEST: [(&str, &str); 12] = [
    ("globalThis.planted = 1", "typeof planted !== 'undefined'"),
    ("Object.prototype.planted = 1", "'planted' in {}"),
    ("Array.prototype.planted = 1", "'planted' in []"),
    ("Function.prototype.planted = 1", "'planted' in Map"),
    ("Promise.prototype.planted = 1", "'planted' in Promise.resolve()"),
    ("String.prototype.trim = () => 'planted'", "' a '.trim() === 'planted'"),
    ("JSON.planted = 1", "'planted' in JSON"),
    ("globalThis[Symbol.for('planted')] = 1", "Symbol.for('planted') in globalThis"),
    ("Error.stackTraceLimit = 77", "Error.stackTraceLimit === 77"),
    ("Error.prepareStackTrace = () => 'planted'", "typeof Error.prepareStackTrace === 'function' && new Error().stack === 'planted'"),
    ("/(planted)/.test('planted')", "RegExp.$1 === 'planted'"),
    ("Math.planted = 1", "'planted' in Math"),
];

/// The same of the main realm, when it is lost.
const MAIN: [(&str, &str); 6] = [
    ("process.planted = 1", "'planted' in process"),
    ("process.env.PLANTED = '1'", "'PLANTED' in process.env"),
    ("require('util').inspect.defaultOptions.depth = 77", "require('util').inspect.defaultOptions.depth === 77"),
    ("require('fs').planted = 1", "'planted' in require('fs')"),
    ("require('events').defaultMaxListeners = 77", "require('events').defaultMaxListeners === 77"),
    ("process.on('exit', function planted() {})", "process.listeners('exit').some(f => f.name === 'planted')"),
];

fn look(of: &[(&str, &str)]) -> String {
    let tests: Vec<String> =
        of.iter().map(|(_, finds)| format!("(() => {{ try {{ return {finds} }} catch {{ return false }} }})()")).collect();
    format!("return [{}]", tests.join(", "))
}

/// Plants all it can, then looks.
fn plant(of: &[(&str, &str)]) -> String {
    let plants: Vec<String> = of.iter().map(|(plants, _)| format!("try {{ {plants} }} catch {{}}")).collect();
    format!("{};\n{}", plants.join(";\n"), look(of))
}

fn nothing(of: &[(&str, &str)]) -> Value {
    json!(vec![false; of.len()])
}

/// How many marks the planting body itself sees.
fn seen(value: &Value) -> usize {
    value.as_array().expect("a list").iter().filter(|mark| **mark == true).count()
}

#[test]
fn what_a_body_plants_in_the_guest_realm_is_seen_by_no_later_run() {
    rig::alone(async {
        let supervisor = supervisor().await;
        let planted = value(&supervisor, &plant(&GUEST)).await;
        // Control: where a mark can be planted at all, the look finds it. Some places of the guest realm take none.
        assert!(seen(&planted) >= 8, "{planted}");
        for _ in 0..looks() {
            assert_eq!(value(&supervisor, &look(&GUEST)).await, nothing(&GUEST));
        }
    });
}

#[test]
fn what_a_body_plants_in_a_lost_main_realm_is_seen_by_no_later_run() {
    rig::alone(async {
        let config = rig::config(|config| {
            config.danger.main_realm = true;
            config.danger.walls = WallSet::ALL.without(Wall::GuestRealm).without(Wall::BarrenMainRealm);
        });
        let supervisor = ready(supervisor_of(config)).await;
        let all = [&GUEST[..], &MAIN[..]].concat();
        let planted = value(&supervisor, &plant(&all)).await;
        assert!(seen(&planted) >= 14, "{planted}");
        for _ in 0..looks() {
            assert_eq!(value(&supervisor, &look(&all)).await, nothing(&all));
        }
    });
}
