//! What a person reads, and the exit code.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use codemode_tests::host;

use super::{PATIENCE, Program, json};

#[test]
fn the_page_fits_a_terminal_and_has_no_colours_in_a_pipe() {
    let program = Program::new();
    for calls in ["-", "unshare,landlock_create_ruleset"] {
        let output = program.on(calls, "-", &["doctor", "--node", host::nodes()[0].to_str().expect("text")]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let page = String::from_utf8(output.stdout).expect("text");
        assert!(page.is_ascii(), "{page}");
        assert!(!page.contains('\u{1b}'), "{page}");
        let long: Vec<&str> = page.lines().filter(|line| line.len() > 80 && !line.trim().contains('/')).collect();
        assert!(long.is_empty(), "{long:#?}");
        for word in ["node ", "kernel ", "landlock ", "seccomp ", "--walls default", "--walls strict"] {
            assert!(page.contains(word), "{word}:\n{page}");
        }
        assert_eq!(page.contains("no run starts"), calls != "-", "{page}");
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn without_a_usable_node_it_says_so_and_ends_with_4() {
    let program = Program::new();
    for node in ["/nonexistent/node", "/"] {
        let output = program.on("-", "-", &["doctor", "--node", node]);
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).contains(node), "{output:?}");
        let output = program.on("-", "-", &["doctor", "--json", "--node", node]);
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        assert_eq!(json(&output)["error"]["code"], "node_unusable");
    }
}

#[test]
fn it_leaves_nothing_behind() {
    let program = Program::new();
    let place = tempfile::tempdir().expect("a temporary folder");
    // A session of its own, so that whoever outlives it can be told from the children of other tests.
    let mut doctor = Command::new("setsid")
        .arg(program.path())
        .arg("doctor")
        .env("TMPDIR", place.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("setsid is in every system");
    let session = doctor.id();
    until_seen(session);
    assert!(doctor.wait().expect("it is ours").success());
    let left: Vec<_> = fs::read_dir(place.path()).expect("it is ours").collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(members(session), Vec::<String>::new());
}

/// Control: the count sees the doctor's own processes while it works.
fn until_seen(session: u32) {
    let began = Instant::now();
    while members(session).len() < 2 {
        assert!(began.elapsed() < PATIENCE, "nobody was seen");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The processes of a session, zombies included: their `stat` lines.
fn members(session: u32) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("proc is mounted").flatten();
    let lines = processes.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let of_session = |line: &String| {
        // After the name in parentheses: state, parent, group, session.
        let fields = line.rsplit(')').next().unwrap_or_default();
        fields.split_whitespace().nth(3) == Some(&session.to_string())
    };
    lines.filter(of_session).collect()
}
