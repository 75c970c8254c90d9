//! Bad bodies, catalogs, numbers and words, through the program.

use std::path::Path;

use codemode_tests::binary::{Typed, codemode, demo};
use codemode_tests::host;

use super::rows::{Row, check};
use super::stubs::Pretender;
use super::{alone, folder, write};

/// Bodies that are not worth a child, by name, bytes and message.
fn bodies() -> Vec<(&'static str, Vec<u8>, &'static str, &'static str)> {
    let utf16 = |text: &str, mark: [u8; 2], order: fn(u16) -> [u8; 2]| {
        let units = text.encode_utf16().flat_map(order);
        mark.into_iter().chain(units).collect::<Vec<u8>>()
    };
    vec![
        ("empty", vec![], "the body is empty", "at least one expression"),
        ("blank", b" \n\t\r\n".to_vec(), "the body is empty", "at least one expression"),
        ("mark alone", b"\xef\xbb\xbf".to_vec(), "the body is empty", "at least one expression"),
        ("binary", b"return\xff\xfe\x00\x80 1".to_vec(), "the body is not UTF-8: byte 6", "save it as UTF-8"),
        ("cut UTF-8", "return 'é".as_bytes()[..9].to_vec(), "the body is not UTF-8: byte 8", "save it as UTF-8"),
        ("UTF-16, little end first", utf16("return 1", [0xff, 0xfe], u16::to_le_bytes), "the body is UTF-16", "save it as UTF-8"),
        ("UTF-16, big end first", utf16("return 1", [0xfe, 0xff], u16::to_be_bytes), "the body is UTF-16", "save it as UTF-8"),
        ("too long", vec![b' '; (256 << 10) + 1], "the body has 262145 bytes, the limit is 262144", "shorten it"),
        ("far too long", vec![b'1'; 8 << 20], "the body has 262145 bytes, the limit is 262144", "shorten it"),
    ]
}

/// Catalogs that cannot be used, by name, bytes and message.
fn catalogs() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    const TOOL: &str = r#"{"name": "a", "description": "", "parameters": {"type": "object"}}"#;
    vec![
        ("empty", vec![], ":1:1: is neither JSON nor JSON5"),
        ("binary", b"[\xff\x80]".to_vec(), "is not UTF-8 (byte 1 is wrong); save it as UTF-8"),
        (
            "UTF-16 with a mark",
            [&[0xff, 0xfe][..], &"[]".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()].concat(),
            "is UTF-16; save it as UTF-8",
        ),
        ("UTF-16 without one", "[]".encode_utf16().flat_map(u16::to_le_bytes).collect(), "is UTF-16; save it as UTF-8"),
        ("cut short", format!("[\n  {TOOL},\n  {{\"name\": ").into_bytes(), ":3:"),
        ("cut short, CRLF and mark", format!("\u{feff}[\r\n  {TOOL},\r\n  {{\"name\": ").into_bytes(), ":3:"),
        ("no array", b"{}".to_vec(), ":1:1: a list of tools is wanted, this is an object"),
        ("unknown key", br#"[{"name": "a", "description": "", "parameters": {}, "colour": 1}]"#.to_vec(), ":1:"),
        (
            "id twice",
            format!("[{TOOL},\n{TOOL}]").into_bytes(),
            ":2:1: tool \"a\": the id \"client:c:a\" is taken by an earlier tool; give this one an id of its own",
        ),
        ("bad reply", br#"[{"name": "a", "description": "", "parameters": {}, "reply": {}}]"#.to_vec(), "tool \"a\": reply"),
        ("a name with an escape", b"[{\"name\": \"\\u001b[2J\", \"description\": \"\", \"parameters\": {}}]".to_vec(), "is not usable"),
    ]
}

#[test]
fn bad_bodies_and_catalogs_start_nothing_and_leave_nothing() {
    let _turn = alone();
    let folder = folder();
    let place = folder.path();
    let Some(node) = Pretender::build(place, "node") else { return };
    let demo = demo().display().to_string();
    let (good, mut rows) = (write(place, "good.js", "return 1"), Vec::new());
    let text = |path: &Path| path.display().to_string();
    for (number, (name, bytes, what, to_do)) in bodies().into_iter().enumerate() {
        let file = text(&write(place, &format!("body{number}.js"), &bytes));
        rows.push(Row::new(format!("body from a file: {name}"), &["run", &file, "--tools", &demo], 1, what, to_do));
        rows.push(Row::new(format!("body from standard input: {name}"), &["run", "-"], 1, what, to_do).stdin(&bytes));
    }
    for (path, what) in [
        (text(&place.join("none.js")), "there is no such file"),
        (text(place), "it is a directory"),
        (format!("{}/x", text(&good)), "Not a directory"),
    ] {
        rows.push(Row::new(format!("body: {what}"), &["run", &path], 2, what, "name a file, or `-` for standard input"));
    }
    for (name, bytes, what) in catalogs() {
        let sub = place.join(name.replace([' ', ','], "-"));
        std::fs::create_dir_all(&sub).expect("it is ours");
        let file = text(&write(&sub, "c.json", &bytes));
        rows.push(Row::new(format!("catalog of a run: {name}"), &["run", &text(&good), "--tools", &file], 2, what, ""));
        rows.push(Row::new(format!("catalog of tools: {name}"), &["tools", "list", "--tools", &file], 2, what, ""));
    }
    for (path, what) in [
        (text(&place.join("none.json")), "cannot be read: there is no such file; check the path"),
        (text(place), "cannot be read: it is a directory; check the path"),
    ] {
        rows.push(Row::new(format!("catalog: {what}"), &["run", &text(&good), "--tools", &path], 2, what, ""));
    }
    if let Some(setup) = ordinary_user() {
        let secret = write(place, "secret", "return 1");
        std::fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o000)).expect("it is ours");
        let secret = text(&secret);
        rows.push(Row::new("unreadable body", &["run", &secret], 2, "permission denied", "name a file").after(&setup));
        rows.push(
            Row::new(
                "unreadable catalog",
                &["run", &text(&good), "--tools", &secret],
                2,
                "cannot be read: permission denied; check the path",
                "",
            )
            .after(&setup),
        );
    }
    let rows: Vec<Row> = rows.into_iter().map(|row| row.env("CODEMODE_NODE", text(&node.path))).collect();
    check("bodies and catalogs", &rows, place, || node.started());
    // Control: a good body does start it.
    let ran = Typed::new(place, ["run", &text(&good)]).env("CODEMODE_NODE", &node.path).run();
    assert!(ran.code == Some(4) && node.started().is_some(), "{ran:?}");
}

/// Shell words that become an ordinary user, who must be able to start the program.
pub fn ordinary_user() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some(String::new());
    }
    let user = "setpriv --reuid 54321 --regid 54321 --clear-groups";
    let mut words = user.split(' ');
    let mut command = std::process::Command::new(words.next()?);
    let possible = command.args(words).arg(codemode()).arg("--version").output().is_ok_and(|output| output.status.success());
    host::has("ordinary-user", possible).then(|| format!("exec {user} \"$0\" \"$@\""))
}

#[test]
fn bad_words_start_nothing_and_leave_nothing() {
    let _turn = alone();
    let folder = folder();
    let place = folder.path();
    let Some(node) = Pretender::build(place, "node") else { return };
    let demo = demo().display().to_string();
    let mut rows = vec![
        Row::new("unknown flag", &["run", "--tmeout", "5"], 2, "unknown argument `--tmeout`", "did you mean `--timeout`?"),
        Row::new("unknown flag, nothing near", &["run", "--zzqqxx"], 2, "unknown argument `--zzqqxx`", "see `codemode run --help`"),
        Row::new("unknown command", &["rum"], 2, "there is no command `rum`", "did you mean `run`?"),
        Row::new("unknown command below", &["tools", "describ", "x"], 2, "there is no command `describ`", "did you mean `describe`?"),
        Row::new("standard input twice", &["run", "-", "-"], 2, "unknown argument `-`", "see `codemode run --help`"),
        Row::new(
            "catalog from standard input",
            &["run", "-", "--tools", "-"],
            2,
            "a catalog comes from a file, not from standard input",
            "name a file",
        ),
        Row::new("flag without a value", &["run", "--tools"], 2, "`--tools <FILE>` needs a value", "see `codemode run --help`"),
        Row::new(
            "flag given twice",
            &["run", "--tools", "a", "--tools", "b"],
            2,
            "`--tools <FILE>` is given twice",
            "see `codemode run --help`",
        ),
        Row::new(
            "no such choice",
            &["run", "--launcher", "x"],
            2,
            "`--launcher <LAUNCHER>` cannot be \"x\"",
            "write one of auto, template, spawn",
        ),
        Row::new(
            "no such choice of walls",
            &["run", "--walls", "none"],
            2,
            "`--walls <WALLS>` cannot be \"none\"",
            "write one of default, strict",
        ),
        Row::new("a flag with an escape", &["run", "--x\u{1b}[2J"], 2, "unknown argument `--x\\u{1b}", "see `codemode run --help`"),
        Row::new("watching standard input", &["run", "-", "--watch"], 2, "--watch needs files", "name a file"),
        Row::new("tools without a catalog", &["tools", "list"], 2, "no catalog is named", "name one with `--tools FILE`"),
        Row::new(
            "search without words",
            &["tools", "search", "--tools", &demo],
            2,
            "<QUERY> is missing",
            "see `codemode tools search --help`",
        ),
        Row::new(
            "arguments that are no JSON",
            &["tools", "call", "demo:echo", "{a", "--tools", &demo],
            2,
            "the arguments are no JSON: key must be a string at line 1 column 2",
            "write a JSON object",
        ),
        Row::new(
            "arguments that are no JSON, from standard input",
            &["tools", "call", "demo:echo", "-", "--tools", &demo],
            2,
            "the arguments are no JSON",
            "write a JSON object",
        )
        .stdin("nope"),
        Row::new(
            "arguments that are no object",
            &["tools", "call", "demo:echo", "[1]", "--tools", &demo],
            1,
            "error[invalid_arguments]: arguments of \"demo:echo\" do not fit its schema",
            "",
        ),
        Row::new("no page of that name", &["man", "nope"], 2, "there is no command \"nope\"", "see `codemode --help`"),
    ];
    for (value, to_do) in [
        ("30s", "write `--timeout 30000`"),
        ("10ms", "write `--timeout 10`"),
        ("1min", "write `--timeout 60000`"),
        ("2h", "write a number from 1 to 60000, for example `--timeout 10000`"),
        ("1.5", "write a number from 1 to 60000"),
        ("8000.7", "write a number from 1 to 60000"),
        ("", "write a number from 1 to 60000"),
        ("true", "write a number from 1 to 60000"),
        ("null", "write a number from 1 to 60000"),
        ("-5", "write a number from 1 to 60000"),
        ("+5", "write a number from 1 to 60000"),
        ("1e3", "write a number from 1 to 60000"),
        ("0x10", "write a number from 1 to 60000"),
        (" 8000", "write `--timeout 8000`"),
    ] {
        rows.push(
            Row::new(
                format!("--timeout {value:?}"),
                &["run", "--timeout", value],
                2,
                "--timeout takes a whole number of milliseconds, not",
                to_do,
            )
            .stdin("return 1"),
        );
    }
    for value in ["0", "60001", "18446744073709551616", "99999999999999999999999999"] {
        rows.push(Row::new(
            format!("--timeout {value}"),
            &["run", "--timeout", value],
            2,
            "--timeout takes 1 to 60000 milliseconds, not",
            "write a number from 1 to 60000",
        ));
    }
    for (value, what, to_do) in [
        ("256MB", "--memory takes a whole number of MiB, not \"256MB\"", "write `--memory 256`"),
        ("1g", "--memory takes a whole number of MiB, not \"1g\"", "write `--memory 1024`"),
        ("0", "--memory takes 8 to 1024 MiB, not 0", "for example `--memory 128`"),
        ("7", "--memory takes 8 to 1024 MiB, not 7", "for example `--memory 128`"),
        ("18446744073709551615", "--memory takes 8 to 1024 MiB, not", "for example `--memory 128`"),
    ] {
        rows.push(Row::new(format!("--memory {value}"), &["run", "--memory", value], 2, what, to_do));
    }
    let rows: Vec<Row> = rows.into_iter().map(|row| row.env("CODEMODE_NODE", node.path.display().to_string())).collect();
    check("words and numbers", &rows, place, || node.started());
}
