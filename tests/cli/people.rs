//! What a person at a terminal, or a program behind a pipe, gets from `codemode run`.

use std::io::{BufRead, BufReader, Read};
use std::process::Command;
use std::time::{Duration, Instant};

use codemode_tests::binary::{Before, Typed, codemode, demo, finish};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{alone, folder, run, together, write};

#[test]
fn standard_output_carries_the_value_and_nothing_else() {
    let _turn = together();
    for launcher in ["spawn", "template"] {
        let body = r#"console.log("one"); console.warn("two"); console.error("three\u001b[2J"); return (await openclaw.tools.call("demo:echo", { a: "é" })).a"#;
        let ran = run(body, &["--launcher", launcher]);
        assert_eq!((ran.stdout.as_str(), ran.code), ("é\n", Some(0)), "{ran:?}");
        let lines: Vec<&str> = ran.stderr.lines().collect();
        assert_eq!(lines[..3], ["one", "warn: two", "error: three\\u{1b}[2J"], "{ran:?}");
        assert!(lines[3].starts_with("> call demo:echo ok (") && lines.len() == 4, "{ran:?}");
    }
    assert_eq!(run("return { a: [1, null] }", &[]).stdout, "{\"a\":[1,null]}\n");
    assert_eq!(run("return 'a\\nb'", &[]).stdout, "a\nb\n");
    assert_eq!(run("throw new Error('no')", &[]).stdout, "");
}

#[test]
fn calls_and_logs_are_told_as_they_happen() {
    let _turn = together();
    let body = r#"console.log("first"); await openclaw.tools.call("demo:slow", { ms: 1 }); await openclaw.tools.call("demo:slow", { ms: 3000 }); return 1"#;
    let folder = folder();
    let tools = demo().display().to_string();
    let mut child = Typed::new(folder.path(), ["run", "--tools", &tools]).stdin(body).start();
    let began = Instant::now();
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let mut line = || lines.next().expect("a line").expect("text");
    assert_eq!(line(), "first");
    assert!(line().starts_with("> call demo:slow ok"));
    assert!(began.elapsed() < Duration::from_millis(2_900), "told at the end only");
    assert!(child.try_wait().expect("it is ours").is_none());
    drop(lines);
    assert_eq!(finish(child).stdout, "1\n");
}

#[test]
fn how_a_call_failed_is_told_in_a_word() {
    let _turn = together();
    let body = r#"
        for (const [id, args] of [["demo:boom", {}], ["demo:nope", {}], ["demo:count", {}], ["demo:slow", { ms: "x" }]]) await openclaw.tools.call(id, args).catch(() => 0);
        await openclaw.tools.search("echo"); await openclaw.tools.describe("demo:echo");
        openclaw.tools.call("demo:slow", { ms: 60000 });
        await new Promise(() => 0)"#;
    let ran = run(body, &["--deny", "demo:count", "--timeout", "1500"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    for told in [
        "> call demo:boom error tool_error (",
        "> call demo:nope refused unknown_tool (",
        "> call demo:count denied (",
        "> call demo:slow refused invalid_arguments (",
        "> search ok (",
        "> describe demo:echo ok (",
        "> call demo:slow unknown: it was sent and never answered (",
        "error[timeout]: ",
    ] {
        assert!(ran.stderr.contains(told), "{told} not in {}", ran.stderr);
    }
}

#[test]
fn a_console_too_long_to_be_told_whole_shows_its_end() {
    let _turn = together();
    let ran = run("for (let i = 0; i < 40; i++) console.log(String(i) + 'x'.repeat(4000)); console.log('the end'); return 1", &[]);
    assert!(ran.stdout == "1\n" && ran.stderr.contains("of the console are left out; its last entries:"), "{}", ran.stderr.len());
    assert!(ran.stderr.lines().last() == Some("the end") && ran.stderr.starts_with("0xxx"));
}

#[test]
fn an_error_shows_its_line_with_a_mark_in_colour_only_on_a_terminal() {
    let _turn = together();
    let folder = folder();
    write(folder.path(), "body.js", "const c = null;\nreturn c.x;\n");
    let ran = Typed::new(folder.path(), ["run", "body.js"]).run();
    assert!(ran.stderr.ends_with("  --> body.js:2:10\n   |\n 2 | return c.x;\n   |          ^\n"), "{ran:?}");
    assert!(!ran.stderr.contains('\u{1b}'));
    // `script` gives it a terminal.
    if !codemode_tests::host::has("script", codemode_tests::host::program("script").is_some()) {
        return;
    }
    let on_a_terminal = |name: &str, value: &str| {
        let mut command = Command::new("script");
        command.args(["-qec", &format!("{} run body.js", codemode().display()), "/dev/null"]);
        command.current_dir(folder.path()).env("TERM", "xterm").env_remove("NO_COLOR").env(name, value).stdin(std::process::Stdio::null());
        String::from_utf8_lossy(&command.output().expect("script starts").stdout).into_owned()
    };
    assert!(on_a_terminal("NO_COLOR", "").contains("\u{1b}[1;31merror[body_error]:\u{1b}[0m"));
    assert!(!on_a_terminal("NO_COLOR", "1").contains("\u{1b}[1;31m"));
    assert!(!on_a_terminal("TERM", "dumb").contains("\u{1b}[1;31m"));
}

#[test]
fn a_reader_that_goes_away_early_is_no_failure() {
    let _turn = alone();
    let folder = folder();
    let place = folder.path();
    write(place, "body.js", "for (let i = 0; i < 500; i++) console.log('y'.repeat(100)); return 'x'.repeat(900000)");
    let before = Before::look(place);
    for words in [&["run", "body.js"][..], &["run", "body.js", "--json"], &["run", "--help"], &["completions", "bash"]] {
        let mut child = Typed::new(place, words).start();
        // Nobody reads either of them.
        drop((child.stdout.take(), child.stderr.take()));
        let ran = finish(child);
        assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
    }
    let shell = |redirect: &str| {
        Command::new("sh").arg("-c").arg(format!("\"$0\" run body.js {redirect}; echo $?")).arg(codemode()).current_dir(place).output()
    };
    for redirect in ["| head -c 10 >/dev/null", ">&- 2>&-", "2>&-  | wc -c"] {
        let output = shell(redirect).expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.stdout.ends_with(b"0\n") && !said.contains("panicked"), "{redirect}: {output:?}");
    }
    // A result that cannot be written is no success.
    for (redirect, says) in [("> /dev/full", true), ("--json > /dev/full", true), ("> /dev/full 2>/dev/full", false)] {
        let output = shell(redirect).expect("a shell");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.stdout.ends_with(b"2\n"), "{redirect}: {output:?}");
        assert_eq!(said.contains("cannot be written to standard output"), says, "{redirect}: {said}");
    }
    assert_eq!(before.leftovers(), Vec::<String>::new());
}

#[test]
fn a_reader_that_does_not_read_does_not_stop_the_clock() {
    let _turn = together();
    let folder = folder();
    write(folder.path(), "body.js", "for (let i = 0; i < 5000; i++) console.log('y'.repeat(1000)); while (true) {}");
    let mut child = Typed::new(folder.path(), ["run", "body.js", "--timeout", "500"]).start();
    let pid = i32::try_from(child.id()).expect("a pid");
    let mut stderr = child.stderr.take().expect("it is piped");
    // Its pipe is full long before the clock runs out; the run's Node must be gone all the same.
    std::thread::sleep(Duration::from_millis(400));
    let began = Instant::now();
    while !codemode_tests::census::children_of(pid).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(8), "the child outlives its limit");
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut text = String::new();
    stderr.read_to_string(&mut text).expect("text");
    assert!(finish(child).code == Some(3) && text.contains("error[timeout]"), "{}", text.len());
}

#[test]
fn signals_end_a_run_and_leave_nothing() {
    let _turn = alone();
    let folder = folder();
    let tools = demo().display().to_string();
    let before = Before::look(folder.path());
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        for launcher in ["spawn", "template"] {
            let body = r#"console.log("up"); await openclaw.tools.call("demo:slow", { ms: 600000 })"#;
            let mut child = Typed::new(folder.path(), ["run", "--tools", &tools, "--launcher", launcher]).stdin(body).start();
            let mut first = [0; 3];
            child.stderr.as_mut().expect("it is piped").read_exact(&mut first).expect("the body runs");
            kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), signal).expect("it is ours");
            let ran = finish(child);
            assert!(ran.code == Some(130) && ran.stdout.is_empty() && ran.stderr.contains("error[cancelled]"), "{signal} {ran:?}");
            assert_eq!(before.leftovers(), Vec::<String>::new(), "{signal}");
        }
    }
}
