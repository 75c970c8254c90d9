//! Too little of something: every amount from none to enough, each a run that works or says by name why not.

use std::path::Path;

use codemode_tests::binary::{Before, Typed, codemode, demo};
use codemode_tests::host;
use serde_json::Value;

use crate::{WAYS, is_long, turn};

const BODY: &str = r#"console.log("kept"); return (await openclaw.tools.call("demo:echo", { n: 4 })).n"#;

/// What came of one amount.
enum Came {
    Works,
    Named(String),
}

/// One run after `setup`; what is no value and no name for its lack is a fault.
fn one(setup: &str, way: &str, folder: &Path) -> Came {
    let tools = demo().display().to_string();
    let words = ["run", "-", "--json", "--tools", &tools, "--launcher", way, "--timeout", "5000"];
    let ran = Typed::after(setup, folder, words).stdin(BODY).run();
    let report: Value = serde_json::from_str(ran.stdout.lines().last().unwrap_or_default()).unwrap_or_default();
    assert!(!ran.stderr.contains("panicked"), "{setup} {way}: {ran:?}");
    match ran.code {
        Some(0) => {
            assert_eq!((&report["value"], &report["logs"][0]["text"]), (&4.into(), &"kept".into()), "{setup} {way}: {ran:?}");
            Came::Works
        }
        Some(code) => {
            assert!(code < 100, "{setup} {way}: {ran:?}");
            let told = if report.is_null() { ran.stderr.clone() } else { report["error"]["message"].to_string() };
            assert!(!told.trim().is_empty(), "{setup} {way}: ended with {code} and no word");
            Came::Named(format!("{code} {} {told}", report["error"]["code"]))
        }
        None => panic!("{setup} {way}: ended by a signal: {ran:?}"),
    }
}

/// Every amount; sees that one works, that one does not, and that each that does not says `words`.
fn sweep(amounts: impl IntoIterator<Item = u64>, words: &str, setup: impl Fn(u64) -> String) {
    let _turn = turn();
    let amounts: Vec<u64> = amounts.into_iter().collect();
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("it is ours");
        let before = Before::look(folder.path());
        let (mut named, mut works) = (Vec::new(), 0);
        for amount in amounts.iter().copied() {
            match one(&setup(amount), way, folder.path()) {
                Came::Works => works += 1,
                Came::Named(told) => named.push((amount, told)),
            }
            assert_eq!(before.leftovers(), Vec::<String>::new(), "{way} at {amount}");
        }
        println!("{way}: {works} work, {} are refused, the last at {:?}", named.len(), named.last());
        assert!(works > 0, "{way}: nothing works: {named:?}");
        assert!(!named.is_empty(), "{way}: that was no want");
        let vague: Vec<_> = named.iter().filter(|(_, told)| !told.contains(words)).collect();
        assert!(vague.is_empty(), "{way}: not a word of {words}: {vague:?}");
    }
}

#[test]
fn any_number_of_descriptors_is_enough_or_is_named() {
    // Fewer than the loader, the runtime and the input need is before our time.
    sweep((12..=40).chain([64]), "ulimit -n", |count| format!("ulimit -n {count}"));
}

#[test]
fn any_amount_of_address_space_is_enough_or_is_named() {
    const MIB: u64 = 1024;
    let amounts = [96, 128, 192, 256, 384, 512, 768, 1_024, 2_048, 4_096, 1 << 20].map(|mib| mib * MIB);
    sweep(amounts, "ulimit -v", |kib| format!("ulimit -v {kib}"));
}

#[test]
fn any_number_of_processes_is_enough_or_is_named() {
    // A limit counts for an ordinary user; nothing else runs as this one.
    let user = "setpriv --reuid 54329 --regid 54329 --clear-groups";
    let becomes = |limit: &str| format!("exec {user} {limit} \"$0\" \"$@\"");
    let possible = nix::unistd::geteuid().is_root() && {
        let _turn = turn();
        let folder = tempfile::tempdir().expect("a temporary folder");
        Typed::after(&becomes(""), folder.path(), ["--version"]).run().code == Some(0)
    };
    if !host::has("second-user", possible) {
        return;
    }
    assert!(codemode().is_file());
    // Where Node lacks threads it waits for them as long as it is let, so not every number is tried every time.
    let amounts: Vec<u64> = if is_long() { (5..=24).chain([64, 512]).collect() } else { vec![1, 7, 16, 64, 512] };
    sweep(amounts, "ulimit -u", |count| becomes(&format!("prlimit --nproc={count}")));
}

/// A limit on files, and what a log has left of it.
const LIMIT: u64 = 16 << 20;
const ROOM: u64 = 2_048;

/// What stands behind the beginning of a log that nobody wrote.
fn written(log: &str) -> String {
    let all = std::fs::read(log).expect("there is a log");
    String::from_utf8_lossy(&all[usize::try_from(LIMIT - ROOM).expect("it is small")..]).into_owned()
}

#[test]
fn a_log_without_room_loses_events_and_no_run_and_says_so() {
    let _turn = turn();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (log, tools) = (folder.path().join("log").display().to_string(), demo().display().to_string());
    let words = ["run", "-", "--json", "--tools", &tools, "--session-log", &log];
    let body = r#"for (let n = 0; n < 40; n++) { console.log("x".repeat(200)); await openclaw.tools.call("demo:echo", { n }); } return 1"#;
    // Room for what the supervisor itself keeps in memory files, and a log that leaves two kilobytes of it; then the kernel sends SIGXFSZ.
    let full = std::fs::File::create(&log).and_then(|file| file.set_len(LIMIT - ROOM));
    full.expect("it is ours");
    let ran = Typed::after(&format!("exec prlimit --fsize={LIMIT} \"$0\" \"$@\""), folder.path(), words).stdin(body).run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["value"], 1);
    assert!(ran.stderr.contains("log"), "the loss is told: {ran:?}");
    let text = written(&log);
    assert_eq!(text.len() as u64, ROOM, "to the last byte");
    // All lines but the torn last one are whole.
    let whole = &text[..text.rfind('\n').map_or(0, |at| at + 1)];
    assert!(whole.lines().count() > 1 && whole.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{text}");
    // With room again, the next session begins a new line and says nothing that is not whole.
    let again = Typed::new(folder.path(), words).stdin("return 2").run();
    assert_eq!(again.code, Some(0), "{again:?}");
    let text = written(&log);
    let torn = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_err()).count();
    assert!(torn <= 1, "{text}");
}
