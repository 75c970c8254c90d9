//! Cases from public reports, as a person at the command line meets them.

use std::fmt::Write as _;
use std::path::Path;

use codemode_tests::binary::{Ran, Typed, demo};
use codemode_tests::host;
use serde_json::{Value, json};

use super::bad_input::ordinary_user;
use super::stubs::script;
use super::{folder, run, together, tools, write};

const BODY: &str = r#"return (await openclaw.tools.call("demo:echo", { n: 4 })).n"#;

fn code(report: &Value) -> &str {
    report["error"]["code"].as_str().unwrap_or("ok")
}

/// `codemode` in a folder of its own, with the demo catalog and `body` as a file.
fn typed(place: &Path, body: &str, words: &[&str]) -> Typed {
    write(place, "body.js", body);
    let tools = demo().display().to_string();
    Typed::new(place, [&["run", "body.js", "--tools", &tools], words].concat())
}

fn both_launchers(check: impl Fn(&str)) {
    for launcher in ["spawn", "template"] {
        check(launcher);
    }
}

#[test]
fn p21_blanks_around_an_id() {
    let _turn = together();
    assert_eq!(run(r#"return await openclaw.tools.call(" demo:echo\n", { a: 1 });"#, &[]).stdout, "{\"a\":1}\n");
    assert_eq!(tools(&["call", " demo:echo\n", r#"{"a": 1}"#]).stdout, "{\"a\":1}\n");
    for (call, quoted) in [
        (r#"describe("demo:ecoh")"#, "\"demo:ecoh\""),
        (r#"call("demo:ecoh", {})"#, "\"demo:ecoh\""),
        (r#"call("", {})"#, "\"\""),
        ("call(undefined, {})", "undefined"),
    ] {
        let ran = run(&format!("await openclaw.tools.{call}"), &[]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(quoted), "{call}: {ran:?}");
        assert!(!call.contains("ecoh") || ran.stderr.contains("\"demo:echo\""), "no near match: {ran:?}");
    }
    let ran = tools(&["describe", " demo:ecoh"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("\" demo:ecoh\"; near ones: \"demo:echo\""), "{ran:?}");
}

#[test]
fn p27_classes_that_a_caller_can_tell_apart() {
    let _turn = together();
    for (body, words, class, exit) in [
        ("while (true) {}", &["--timeout", "300"][..], "timeout", 3),
        ("return 1", &["--node", "/nonexistent/node"], "node_unavailable", 4),
        ("throw new Error('x')", &[], "body_error", 1),
        ("return (", &[], "syntax_error", 1),
        (r#"await openclaw.tools.call("demo:nope", {})"#, &[], "body_error", 1),
    ] {
        let ran = run(body, &[words, &["--json"]].concat());
        let report = ran.json();
        assert_eq!((code(&report), ran.code), (class, Some(exit)), "{ran:?}");
        if body.contains("nope") {
            assert_eq!(report["calls"][0]["code"], "unknown_tool", "{report}");
        }
        // The same for a person: the class by name, and nothing on standard output.
        let ran = run(body, words);
        assert!(ran.stderr.contains(&format!("error[{class}]")) && ran.stdout.is_empty() && ran.code == Some(exit), "{ran:?}");
    }
    let ran = tools(&["call", "demo:nope", "--json"]);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(1), &json!("unknown_tool")));
}

/// A catalog file with tools of a name and a description.
fn catalog(place: &Path, tools: &[(String, String)]) -> String {
    let all: Vec<Value> =
        tools.iter().map(|(name, text)| json!({"name": name, "description": text, "parameters": {"type": "object"}})).collect();
    write(place, "t.json", Value::from(all).to_string()).display().to_string()
}

/// Names that a search finds, by hand and from a body: they must agree.
fn found(place: &Path, tools: &str, query: &str, limit: Option<u64>) -> Vec<String> {
    let names = |ran: &Ran| -> Vec<String> {
        let rows = ran.json();
        rows.as_array().expect("rows").iter().map(|row| row["name"].as_str().expect("a name").to_owned()).collect()
    };
    let limit_words: Vec<String> = limit.into_iter().flat_map(|limit| ["--limit".to_owned(), limit.to_string()]).collect();
    let mut words = vec!["tools", "search", query, "--tools", tools, "--json"];
    words.extend(limit_words.iter().map(String::as_str));
    let by_hand = Typed::new(place, words).run();
    assert_eq!(by_hand.code, Some(0), "{by_hand:?}");
    let options = limit.map_or(Value::Null, |limit| json!({"limit": limit}));
    let body = format!("return await openclaw.tools.search({}, {options} ?? undefined)", json!(query));
    let by_body = Typed::new(place, ["run", "--tools", tools]).stdin(body).run();
    assert_eq!(names(&by_hand), names(&by_body), "{query}");
    names(&by_hand)
}

#[test]
fn p28_ordinary_words_find_the_tool_and_nonsense_finds_nothing() {
    let _turn = together();
    let folder = folder();
    let tools = [("cron_add", "Schedule a recurring task"), ("spreadsheet_open", "Opens a spreadsheet"), ("file_read", "Reads a file")];
    let tools = catalog(folder.path(), &tools.map(|(name, text)| (name.to_owned(), text.to_owned())));
    assert_eq!(found(folder.path(), &tools, "scheduling", None)[0], "cron_add");
    let read = found(folder.path(), &tools, "read", None);
    assert_eq!(read[0], "file_read", "{read:?}");
    for nothing in ["zzqqxx", "", "   "] {
        assert!(found(folder.path(), &tools, nothing, None).is_empty(), "{nothing:?}");
    }
}

#[test]
fn p29_the_exact_name_comes_first() {
    let _turn = together();
    let folder = folder();
    let mut tools: Vec<(String, String)> =
        (0..39).map(|n| (format!("tool_{n}"), "find symbol find the symbol and find every symbol that you find".to_owned())).collect();
    tools.insert(20, ("find_symbol".to_owned(), "Looks it up.".to_owned()));
    let tools = catalog(folder.path(), &tools);
    for query in ["find_symbol", "find symbol", "FindSymbol"] {
        assert_eq!(found(folder.path(), &tools, query, Some(1)), ["find_symbol"], "{query}");
    }
}

#[test]
fn p30_the_whole_schema_survives_describe() {
    let _turn = together();
    let folder = folder();
    let schema = json!({
        "type": "object",
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "kind": {"enum": ["a", null]}}, "additionalProperties": false}},
        "properties": {"root": {"oneOf": [{"$ref": "#/$defs/node"}, {"type": "null"}], "default": null}},
        "additionalProperties": false,
    });
    let tools = json!([{"id": "s", "name": "s", "description": "", "parameters": schema}]).to_string();
    let tools = write(folder.path(), "t.json", tools).display().to_string();
    let by_hand = Typed::new(folder.path(), ["tools", "describe", "s", "--json", "--tools", &tools]).run().json();
    let by_body = Typed::new(folder.path(), ["run", "--tools", &tools]).stdin("return await openclaw.tools.describe('s')").run().json();
    assert_eq!(by_hand["parameters"], schema);
    assert_eq!(by_hand, by_body);
    let shown = Typed::new(folder.path(), ["tools", "describe", "s", "--tools", &tools]).run().stdout;
    assert!(shown.contains("\"$ref\": \"#/$defs/node\""), "{shown}");
}

#[test]
fn p41_node_not_on_the_path() {
    let _turn = together();
    let folder = folder();
    let place = folder.path();
    let spaced = place.join("a folder with spaces");
    std::fs::create_dir(&spaced).expect("it is ours");
    std::os::unix::fs::symlink(&host::nodes()[0], spaced.join("node")).expect("it is ours");
    both_launchers(|launcher| {
        let ran = typed(place, BODY, &["--launcher", launcher]).bare().run();
        assert!(
            ran.code == Some(4) && ran.stderr.contains("no `node` found in PATH") && ran.stderr.contains("--node or CODEMODE_NODE"),
            "{ran:?}"
        );
        for node in ["a folder with spaces/node".to_owned(), spaced.join("node").display().to_string()] {
            let ran = typed(place, BODY, &["--launcher", launcher, "--node", &node]).bare().run();
            assert_eq!((ran.stdout.as_str(), ran.code), ("4\n", Some(0)), "{ran:?}");
        }
        let ran = typed(place, BODY, &["--launcher", launcher, "--node", &place.display().to_string()]).bare().run();
        assert!(ran.code == Some(4) && ran.stderr.contains("it is a directory"), "{ran:?}");
    });
}

#[test]
fn p49_little_address_space() {
    let _turn = together();
    let folder = folder();
    let body = write(folder.path(), "body.js", BODY).display().to_string();
    let tools = demo().display().to_string();
    for kib in [65_536, 524_288, 2_097_152] {
        let ran = Typed::after(&format!("ulimit -v {kib}"), folder.path(), ["run", &body, "--tools", &tools]).run();
        let works = ran.code == Some(0) && ran.stdout == "4\n";
        let named = ran.code == Some(4) && ran.stderr.contains("did not start") && ran.stderr.contains("ulimit -v");
        assert!(works || named, "{kib}: {ran:?}");
    }
}

/// Becomes an ordinary user of a user namespace in which no further one may be made.
const NO_NAMESPACES: &str = r#"
    go=$(mktemp -u) && mkfifo "$go" && exec 3<>"$go" && rm "$go"
    unshare -U sh -c 'read _ <&3; exec sh -c "
        echo 0 > /proc/sys/user/max_user_namespaces || exit 9
        exec 3<&-
        exec setpriv --reuid 54321 --regid 54321 --clear-groups \"\$0\" \"\$@\"" "$0" "$@"' "$0" "$@" &
    until [ "$(readlink /proc/$!/ns/user)" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.01; done
    echo '0 0 100000' > /proc/$!/uid_map && echo '0 0 100000' > /proc/$!/gid_map && echo >&3
    wait $!
    exit"#;

#[test]
fn p50_no_user_namespaces() {
    let _turn = together();
    let root = nix::unistd::geteuid().is_root();
    let possible = root
        && ordinary_user().is_some()
        && std::process::Command::new("unshare").args(["-U", "true"]).status().is_ok_and(|status| status.success());
    if !host::has("root-with-user-namespaces", possible) {
        return;
    }
    let folder = folder();
    let body = write(folder.path(), "body.js", BODY).display().to_string();
    let tools = write(folder.path(), "demo.json", std::fs::read(demo()).expect("it is there")).display().to_string();
    both_launchers(|launcher| {
        let typed = |words: &[&str]| {
            Typed::after(NO_NAMESPACES, folder.path(), [&["run", &body, "--tools", &tools, "--launcher", launcher], words].concat())
        };
        let ran = typed(&["--json"]).run();
        let report = ran.json();
        assert_eq!((ran.code, &report["value"]), (Some(0), &json!(4)), "{ran:?}");
        let missing: Vec<&str> = report["isolation"]["walls"]
            .as_array()
            .expect("walls")
            .iter()
            .filter(|wall| wall["status"] == "unavailable")
            .filter_map(|wall| wall["name"].as_str())
            .collect();
        assert_eq!(missing, ["namespaces", "empty_root"], "{report}");
        let ran = typed(&["--walls", "strict"]).run();
        assert!(
            ran.code == Some(4) && ran.stderr.contains("wall namespaces is not available") && ran.stderr.contains("--walls strict"),
            "{ran:?}"
        );
    });
}

#[test]
fn p51_versions_name_the_permission_switch_differently() {
    let _turn = together();
    let folder = folder();
    let ran = typed(folder.path(), BODY, &["--node", &script(folder.path(), "node18", "echo v18.20.4").display().to_string()]).run();
    assert!(ran.code == Some(4) && ran.stderr.contains("v18.20.4") && ran.stderr.contains("20.19"), "{ran:?}");
    for node in host::nodes() {
        let ran = typed(folder.path(), BODY, &["--json", "--node", &node.display().to_string()]).run();
        let report = ran.json();
        assert_eq!((&report["value"], &report["logs"]), (&json!(4), &json!([])), "{ran:?}");
        assert!(ran.stderr.is_empty(), "{ran:?}");
    }
}

#[test]
fn p52_the_callers_environment() {
    let _turn = together();
    let folder = folder();
    let place = folder.path();
    let marker = place.join("marker");
    let evil =
        write(place, "evil.js", format!("require('fs').writeFileSync({:?}, 'here')", marker.display().to_string())).display().to_string();
    let require = format!("--require {evil}");
    // Control: a plain Node does what it says.
    let plain = std::process::Command::new(&host::nodes()[0]).args(["-e", "0"]).env("NODE_OPTIONS", &require).status();
    assert!(plain.is_ok_and(|status| status.success()) && marker.exists());
    std::fs::remove_file(&marker).expect("it is ours");
    both_launchers(|launcher| {
        for (name, value) in [
            ("NODE_OPTIONS", require.as_str()),
            ("NODE_OPTIONS", "--require /nonexistent/evil.js"),
            ("NODE_OPTIONS", "--inspect-brk"),
            ("NODE_PATH", &place.display().to_string()),
            ("NODE_REPL_EXTERNAL_MODULE", &evil),
            ("LD_PRELOAD", "/nonexistent/evil.so"),
            ("LD_LIBRARY_PATH", &place.display().to_string()),
        ] {
            let ran = typed(place, BODY, &["--launcher", launcher]).env(name, value).run();
            assert_eq!((ran.stdout.as_str(), ran.code), ("4\n", Some(0)), "{name}={value}: {ran:?}");
            // The loader of our own process says that it finds no preload; a child that inherited it would say so a second time.
            assert!(ran.stderr.matches("evil.so").count() <= 1, "{ran:?}");
        }
    });
    assert!(!marker.exists());
}

#[test]
fn p53_escape_through_an_error_of_the_host_side() {
    let _turn = together();
    const LOOK: &str = r#".constructor.constructor("return typeof process")()"#;
    let mut bodies = String::new();
    for made in [
        format!(r#"try {{ await openclaw.tools.call("demo:boom", {{}}) }} catch (e) {{ return e{LOOK} }}"#),
        format!(r#"return openclaw.tools.call("demo:boom", {{}}).then(null, e => e{LOOK})"#),
        format!(r#"const p = openclaw.tools.call("demo:boom", {{}}); p.catch(() => 0); return p{LOOK}"#),
        format!("return openclaw.tools.call{LOOK}"),
        format!("return console.log{LOOK}"),
        format!("return openclaw{LOOK}"),
    ] {
        for launcher in ["spawn", "template"] {
            let ran = run(&made, &["--launcher", launcher]);
            let refused = ran.code == Some(1) && ran.stdout.is_empty() && ran.stderr.contains("error[body_error]");
            assert!(refused || ran.stdout == "undefined\n", "{made}: {ran:?}");
        }
        // Writing to a String cannot fail.
        let _ = writeln!(bodies, "{made}");
    }
    // Control: outside, the same words find a process.
    let control = format!("(async () => {{ console.log((() => 0){LOOK}) }})()");
    let plain = std::process::Command::new(&host::nodes()[0]).args(["-e", &control]).output().expect("Node starts");
    assert_eq!(String::from_utf8_lossy(&plain.stdout), "object\n");
}

/// Makes every place read-only, the usual ones for temporary files included.
const READ_ONLY: &str = r#"
    set -e
    mount --make-rprivate /
    mount -t tmpfs stage /mnt
    cp "$0" /mnt/codemode; cp body.js "$TOOLS" /mnt
    touch /mnt/node; mount --bind "$NODE" /mnt/node
    mount -o remount,ro,bind /mnt
    cd /mnt
    for place in /tmp /var/tmp /dev/shm /run; do if [ -d $place ]; then mount -t tmpfs -o ro empty $place; fi; done
    mount -o remount,ro,bind /
    if touch /tmp/x 2>/dev/null || touch /x 2>/dev/null; then exit 9; fi
    exec env -i /mnt/codemode "$@""#;

#[test]
fn p54_no_writable_place() {
    let _turn = together();
    let root = nix::unistd::geteuid().is_root();
    let possible = root && std::process::Command::new("unshare").args(["-m", "true"]).status().is_ok_and(|status| status.success());
    if !host::has("mount-namespaces-as-root", possible) {
        return;
    }
    let folder = folder();
    write(folder.path(), "body.js", BODY);
    for launcher in ["spawn", "template"] {
        let setup = format!("exec unshare -m sh -c '{}' \"$0\" \"$@\"", READ_ONLY.replace('\'', "'\\''"));
        let words = ["run", "body.js", "--tools", "demo.json", "--node", "/mnt/node", "--launcher", launcher];
        let ran = Typed::after(&setup, folder.path(), words).env("TOOLS", demo()).env("NODE", &host::nodes()[0]).run();
        assert_eq!((ran.stdout.as_str(), ran.code), ("4\n", Some(0)), "{ran:?}");
    }
}

const JSON5: &str = "// tools\n[{\n  /* one */ name: 'one', 'description': 'see http://example.org/a//b', // more\n  parameters: { type: 'object', },\n  reply: { value: 'http://example.org/a//b' },\n},]\n";

#[test]
fn p55_comments_in_a_catalog() {
    let _turn = together();
    let folder = folder();
    let tools = write(folder.path(), "t.json", JSON5).display().to_string();
    let ran = Typed::new(folder.path(), ["tools", "call", "one", "--tools", &tools]).run();
    assert_eq!((ran.stdout.as_str(), ran.code), ("http://example.org/a//b\n", Some(0)), "{ran:?}");
    // What cannot be read is an error with its place, and no run without tools.
    let broken = write(folder.path(), "t.json", JSON5.replace("reply:", "reply")).display().to_string();
    let ran = Typed::new(folder.path(), ["run", "--tools", &broken]).stdin("return 1").run();
    assert!(ran.code == Some(2) && ran.stdout.is_empty() && ran.stderr.contains("t.json:5:"), "{ran:?}");
}

#[test]
fn p56_byte_order_mark_and_crlf() {
    let _turn = together();
    let folder = folder();
    let place = folder.path();
    let marked = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let tools = write(place, "t.json", marked(JSON5)).display().to_string();
    let typed = |body: &str| {
        let body = write(place, "body.js", marked(body)).display().to_string();
        Typed::new(place, ["run", &body, "--tools", &tools]).run()
    };
    let ran = typed("const one = await openclaw.tools.call('one');\nreturn one.length\n");
    assert_eq!((ran.stdout.as_str(), ran.code), ("23\n", Some(0)), "{ran:?}");
    let ran = typed("// first\nconst x = null;\n\nreturn x.y\n");
    assert!(ran.code == Some(1) && ran.stderr.contains("body.js:4:10\n   |\n 4 | return x.y\n   |          ^\n"), "{ran:?}");
    // UTF-16 is in the table of bad inputs.
}

#[test]
fn p57_a_number_written_as_text() {
    let _turn = together();
    let loops = "while (true) {}";
    let ran = run(loops, &["--timeout", "400", "--json"]);
    assert_eq!(ran.json()["resources"]["limits"]["wallMs"], 400);
    for value in ["10ms", "1.5", "", "true", "null", "8000.7"] {
        let ran = run(loops, &["--timeout", value]);
        assert!(ran.code == Some(2) && ran.stderr.contains("--timeout") && ran.stderr.contains(&format!("{value:?}")), "{ran:?}");
        let ran = run(loops, &["--memory", value]);
        assert!(ran.code == Some(2) && ran.stderr.contains("--memory") && ran.stderr.contains(&format!("{value:?}")), "{ran:?}");
    }
}
