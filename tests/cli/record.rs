//! `--record` and `--replay`: a run without its backend.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use codemode_tests::binary::{Ran, Typed, demo};
use serde_json::{Value, json};

use super::{folder, together, write};

/// Everything a run can ask, calls at once that end in another order among it.
const BODY: &str = r#"
const rows = await openclaw.tools.search("echo", { limit: 2 });
const { signature } = await openclaw.tools.describe("demo:echo");
const slow = await Promise.all([1500, 500, 1000].map(async (ms) => { const { done } = await openclaw.tools.call("demo:slow", { ms }); return [done, await openclaw.tools.call("count")] }));
const failed = [];
for (const [id, args] of [["demo:boom", {}], ["demo:nope", {}], ["demo:slow", { ms: "x" }], ["demo:iserr"]]) await openclaw.tools.call(id, args).catch((e) => failed.push([e.name, e.code, e.message, e.data]));
return [rows, signature, slow, failed];"#;

fn taped(folder: &Path, body: &str, words: &[&str]) -> Ran {
    Typed::new(folder, [&["run"], words].concat()).stdin(body).run()
}

fn recorded(folder: &Path, body: &str) -> Ran {
    let tools = demo().display().to_string();
    taped(folder, body, &["--tools", &tools, "--record", "tape"])
}

#[test]
fn a_recorded_run_is_played_back_without_tools_and_without_their_time() {
    let _turn = together();
    let folder = folder();
    let first = recorded(folder.path(), BODY);
    assert_eq!(first.code, Some(0), "{first:?}");
    for _ in 0..3 {
        let again = taped(folder.path(), BODY, &["--replay", "tape", "--json"]);
        let report: Value = serde_json::from_str(&again.stdout).expect("a report");
        assert_eq!(format!("{}\n", report["value"]), first.stdout, "{again:?}");
        assert_eq!(report["telemetry"]["catalogSize"], 9);
        let slow = report["calls"].as_array().expect("a list").iter().filter(|call| call["id"] == "demo:slow" && call["state"] == "ok");
        let took: f64 = slow.map(|call| call["durationMs"].as_f64().expect("a number")).sum();
        assert!(took < 1_500.0, "{took} ms: they took 3,000 when they were recorded");
    }
}

#[test]
fn a_record_is_its_owners_alone_whole_and_in_the_order_of_the_run() {
    let _turn = together();
    let folder = folder();
    write(folder.path(), "tape", "what was there before");
    let ran = recorded(folder.path(), BODY);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let path = folder.path().join("tape");
    assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
    let names: Vec<_> = fs::read_dir(folder.path()).expect("it is ours").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["tape"], "nothing is left beside it");
    let tape: Value = serde_json::from_str(&fs::read_to_string(path).expect("it is ours")).expect("JSON");
    assert_eq!(tape["codemodeRecord"], 1);
    let requests = tape["requests"].as_array().expect("a list");
    let methods: Vec<_> =
        requests.iter().map(|request| request["method"].as_str().expect("a word")).filter(|method| *method != "resolve").collect();
    assert_eq!(methods[..2], ["search", "describe"]);
    assert_eq!(methods[2..], ["call"; 8]);
    let args: Vec<_> = requests
        .iter()
        .filter(|request| request["id"] == "demo:slow" && request["method"] == "call")
        .map(|call| &call["args"]["ms"])
        .collect();
    assert_eq!(args, [1500, 500, 1000]);
}

/// The error of a replay of another body.
fn diverged(folder: &Path, body: &str) -> Value {
    let ran = taped(folder, body, &["--replay", "tape", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.stdout).expect("a report");
    assert_eq!(
        (&report["ok"], &report["error"]["name"], &report["error"]["code"]),
        (&json!(false), &json!("ReplayDivergence"), &json!("body_error"))
    );
    report["error"]["data"].clone()
}

#[test]
fn the_first_divergence_is_named_whether_the_body_catches_it_or_not() {
    let _turn = together();
    let folder = folder();
    let two = r#"await openclaw.tools.call("demo:echo", { a: 1, b: 2 }); await openclaw.tools.call("demo:count"); return 1"#;
    assert_eq!(recorded(folder.path(), two).code, Some(0));
    let echo = r#"call "demo:echo" {"a":1,"b":2}"#;

    // The order of keys says nothing.
    assert_eq!(taped(folder.path(), &two.replace("a: 1, b: 2", "b: 2, a: 1"), &["--replay", "tape"]).code, Some(0));
    let other = diverged(folder.path(), &two.replace("a: 1", "a: 3"));
    assert_eq!(other, json!({"request": 1, "expected": echo, "got": r#"call "demo:echo" {"a":3,"b":2}"#, "leftOver": 2}));
    let caught = diverged(folder.path(), r#"await openclaw.tools.search("x").catch(() => 0); return 1"#);
    assert_eq!(caught, json!({"request": 1, "expected": echo, "got": r#"search "x""#, "leftOver": 2}));
    let endless = diverged(folder.path(), r#"for (;;) await openclaw.tools.call("demo:boom").catch(() => 0)"#);
    assert_eq!(endless["got"], r#"call "demo:boom""#);
    let early = diverged(folder.path(), &two.replace(r#"await openclaw.tools.call("demo:count");"#, ""));
    assert_eq!(early, json!({"request": 2, "expected": r#"call "demo:count" {}"#, "got": null, "leftOver": 1}));
    let once_more = diverged(folder.path(), &two.replace("return 1", r#"await openclaw.tools.call("demo:count")"#));
    assert_eq!(once_more, json!({"request": 3, "expected": null, "got": r#"call "demo:count" {}"#, "leftOver": 0}));
    let turned = diverged(
        folder.path(),
        r#"await openclaw.tools.call("demo:count"); await openclaw.tools.call("demo:echo", { a: 1, b: 2 }); return 1"#,
    );
    assert_eq!((&turned["expected"], &turned["got"]), (&json!(echo), &json!(r#"call "demo:count" {}"#)));
    let told = taped(folder.path(), "return 1", &["--replay", "tape"]);
    assert!(
        told.stderr.contains("differs from its record at request 1") && told.stderr.contains("2 recorded requests were not made"),
        "{told:?}"
    );
    assert!(told.stdout.is_empty(), "{told:?}");
}

#[test]
fn calls_at_once_may_come_in_any_order() {
    let _turn = together();
    let folder = folder();
    let body = r#"return Promise.all([3, 1, 2].map((ms) => openclaw.tools.call("demo:slow", { ms })))"#;
    assert_eq!(recorded(folder.path(), body).code, Some(0));
    let ran = taped(folder.path(), &body.replace("3, 1, 2", "2, 3, 1"), &["--replay", "tape"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "[{\"done\":2},{\"done\":3},{\"done\":1}]\n"), "{ran:?}");
}

#[test]
fn a_run_that_failed_fails_again_and_one_that_got_no_answer_gets_none() {
    let _turn = together();
    let folder = folder();
    let thrown = r#"await openclaw.tools.call("demo:count"); throw new Error("late")"#;
    assert_eq!(recorded(folder.path(), thrown).code, Some(1));
    let again = taped(folder.path(), thrown, &["--replay", "tape"]);
    assert!(again.code == Some(1) && again.stderr.contains("Error: late"), "{again:?}");

    let silent = r#"await openclaw.tools.call("demo:slow", { ms: 60000 })"#;
    let tools = demo().display().to_string();
    assert_eq!(taped(folder.path(), silent, &["--tools", &tools, "--record", "tape", "--timeout", "300"]).code, Some(3));
    let began = Instant::now();
    let again = taped(folder.path(), silent, &["--replay", "tape", "--timeout", "300", "--json"]);
    assert!(again.code == Some(3) && began.elapsed() < Duration::from_secs(20), "{again:?}");
    let report: Value = serde_json::from_str(&again.stdout).expect("a report");
    assert_eq!(report["calls"][0]["state"], "unknown");
}

#[test]
fn a_policy_is_in_the_record() {
    let _turn = together();
    let folder = folder();
    let tools = demo().display().to_string();
    let body = r#"const e = await openclaw.tools.call("demo:echo").catch((e) => e.code); return [e, (await openclaw.tools.search("echo")).length]"#;
    let first = taped(folder.path(), body, &["--tools", &tools, "--deny", "demo:echo", "--record", "tape"]);
    assert_eq!(first.stdout, "[\"denied\",0]\n", "{first:?}");
    let again = taped(folder.path(), body, &["--replay", "tape", "--tools", &tools]);
    assert_eq!(again.stdout, first.stdout, "{again:?}");
    assert!(again.stderr.contains("note: --tools, --mcp, --config, --allow and --deny say nothing with --replay"), "{again:?}");
}

#[test]
fn a_file_that_is_no_record_is_told_with_its_place() {
    let _turn = together();
    let folder = folder();
    let cases: [(&str, &[u8], &str); 8] = [
        ("empty", b"", "empty:1:1: is not a record"),
        ("list", b"[{}]", "list:1:1: is not a record: it is a list"),
        ("words", b"not json", "words:1:"),
        ("field", b"{\"codemodeRecord\":1,\n \"extra\":1}", "field:2:"),
        ("version", b"{\"codemodeRecord\":7}", "version: is a record of version 7, this program reads version 1"),
        ("bytes", b"{\"codemodeRecord\":\xff}", "bytes: is not UTF-8 (byte 18 is wrong)"),
        ("deep", &[b'['; 100_000], "deep:1:"),
        (
            "request",
            b"{\"codemodeRecord\":1,\"summary\":{\"catalogSize\":0,\"sources\":{},\"unavailable\":[]},\"tools\":[],\n\"requests\":[\n{\"method\":\"describe\",\"id\":\"a\",\"answer\":{\"value\":\"\\u001b[2J\"}}]}",
            "request:3:1: is not a record: the tool \"\\u{1b}[2J\" is not among the tools",
        ),
    ];
    for (name, bytes, told) in cases {
        write(folder.path(), name, bytes);
        let ran = taped(folder.path(), "return 1", &["--replay", name]);
        assert!(ran.code == Some(2) && ran.stderr.contains(told) && ran.stdout.is_empty(), "{name}: {ran:?}");
        assert_eq!(ran.stderr.lines().count(), 2, "one line what, one line what to do: {ran:?}");
    }
    let missing = taped(folder.path(), "return 1", &["--replay", "missing"]);
    assert!(missing.code == Some(2) && missing.stderr.contains("cannot be read"), "{missing:?}");
}

#[test]
fn a_place_that_takes_no_record_stops_the_run_before_it_has_effects() {
    let _turn = together();
    let folder = folder();
    let tools = demo().display().to_string();
    for place in ["nowhere/tape", "."] {
        let ran = taped(folder.path(), r#"console.log("ran"); return 1"#, &["--tools", &tools, "--record", place]);
        assert!(ran.code == Some(2) && ran.stderr.contains("cannot be written") && !ran.stderr.contains("ran\n"), "{ran:?}");
    }
    for words in [&["--record", "a", "--replay", "b"][..], &["--record", "a", "--watch"], &["--replay", "a", "--watch"]] {
        assert_eq!(taped(folder.path(), "1", words).code, Some(2), "{words:?}");
    }
}
