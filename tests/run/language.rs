//! The language is whole: what a body sees, beside what a plain `node:vm` context of the same Node has.
//!
//! `language.js` walks every object that can be reached from the globals and from the syntax, and gives a line for each property: path, flags, and what it is. It runs
//! twice; the two tables may differ in what is listed here and in nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use codemode::{Limit, RunRequest};
use codemode_tests::{host, rig};
use serde_json::Value;

const WALK: &str = include_str!("language.js");

/// Not there for a body: shared memory, what a collector does, and what calls back into the host.
const REMOVED: [&str; 5] = ["WebAssembly", "SharedArrayBuffer", "Atomics", "FinalizationRegistry", "WeakRef"];
/// There for a body, and its own.
const OURS: [&str; 2] = ["console", "openclaw"];
/// Ways to make code from a string: `(name, what a body gets)`.
const FROM_STRINGS: [&str; 5] = ["eval", "Function", "AsyncFunction", "GeneratorFunction", "AsyncGeneratorFunction"];

/// Lines by path.
type Table = BTreeMap<String, String>;

fn table(value: &Value) -> Table {
    let lines = value.as_object().expect("an object of lines");
    lines.iter().map(|(path, line)| (path.clone(), line.as_str().expect("a line").to_owned())).collect()
}

fn plain() -> Table {
    let script = format!(
        "const vm = require('vm'); const context = vm.createContext(vm.constants.DONT_CONTEXTIFY); process.stdout.write(vm.runInContext({}, context))",
        serde_json::to_string(&format!("JSON.stringify((() => {{{WALK}\n}})())")).expect("text")
    );
    let ran = Command::new(&host::nodes()[0]).arg("-e").arg(script).env_clear().output().expect("Node starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    table(&serde_json::from_slice(&ran.stdout).expect("JSON"))
}

async fn of_a_body() -> Table {
    let limits = rig::limits(&[(Limit::ValueBytes, 8 << 20), (Limit::WallMs, 30_000)]);
    let report = rig::supervisor().run(RunRequest::new(WALK).with_limits(limits), rig::demo()).await;
    assert!(report.ok, "{:?}", report.error);
    table(&rig::json(&report))
}

/// Every path whose line is not the same.
fn differences(body: &Table, plain: &Table) -> BTreeSet<String> {
    let paths: BTreeSet<&String> = body.keys().chain(plain.keys()).collect();
    paths.into_iter().filter(|path| body.get(*path) != plain.get(*path)).cloned().collect()
}

#[test]
fn a_body_sees_the_whole_language_and_nothing_else() {
    rig::together(async {
        let (body, plain) = (of_a_body().await, plain());
        assert!(plain.len() > 1_500 && plain.keys().any(|path| path == "globalThis.Intl"), "{} lines are no language", plain.len());
        let mut wanted: BTreeSet<String> = REMOVED.iter().map(|name| format!("globalThis.{name}")).collect();
        wanted.extend(OURS.iter().map(|name| format!("globalThis.{name}")));
        wanted.extend(FROM_STRINGS.iter().map(|name| format!("(code) {name}")));
        let found = differences(&body, &plain);
        let shown = |path: &String| format!("\n{path}\n  body:  {:?}\n  plain: {:?}", body.get(path), plain.get(path));
        let odd: String = found.symmetric_difference(&wanted).map(shown).collect();
        assert!(odd.is_empty(), "{odd}");
        for name in REMOVED {
            assert_eq!(body.get(&format!("globalThis.{name}")), None);
        }
        for name in FROM_STRINGS {
            assert_eq!(body.get(&format!("(code) {name}")).map(String::as_str), Some("EvalError"), "{name}");
        }
        for name in OURS {
            assert!(body[&format!("globalThis.{name}")].starts_with("---"), "it is fixed");
        }
    });
}

#[test]
fn the_table_would_show_one_flag_one_value_or_one_name_more() {
    let plain = plain();
    for change in [
        "Object.defineProperty(Array.prototype, 'map', { enumerable: true });",
        "Math.max = Math.min;",
        "globalThis.extra = 1;",
        "delete String.prototype.at;",
        "Object.freeze(Object.prototype);",
        "Object.setPrototypeOf(Map.prototype, null);",
        "Array.prototype.map = function map(f) { return [] };",
    ] {
        let script = format!(
            "const vm = require('vm'); const context = vm.createContext(vm.constants.DONT_CONTEXTIFY); vm.runInContext({change:?}, context); process.stdout.write(vm.runInContext({}, context))",
            serde_json::to_string(&format!("JSON.stringify((() => {{{WALK}\n}})())")).expect("text")
        );
        let ran = Command::new(&host::nodes()[0]).arg("-e").arg(script).env_clear().output().expect("Node starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let changed = table(&serde_json::from_slice(&ran.stdout).expect("JSON"));
        assert!(!differences(&changed, &plain).is_empty(), "{change}");
    }
}
