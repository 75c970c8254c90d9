//! Programs that are no Node, and shells with too little in them.

use std::path::Path;

use codemode_tests::host;

use super::bad_input::ordinary_user;
use super::rows::{Row, check};
use super::stubs::{Pretender, script};
use super::{alone, folder, write};

const NAME_IT: &str = "Name the node program itself with --node or CODEMODE_NODE.";

#[test]
fn what_is_no_node_is_named_and_leaves_nothing() {
    let _turn = alone();
    let folder = folder();
    let place = folder.path();
    let text = |path: &Path| path.display().to_string();
    let body = text(&write(place, "body.js", "return 1"));
    let plain = text(&write(place, "plain", "not a program"));
    let empty = place.join("empty");
    std::fs::write(&empty, "").expect("it is ours");
    std::fs::set_permissions(&empty, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let stub = |name: &str, line: &str| text(&script(place, name, line));
    let mut nodes = vec![
        (text(&place.join("none")), "there is no such file", NAME_IT),
        (text(place), "it is a directory", NAME_IT),
        (plain.clone(), "it is not executable", NAME_IT),
        (text(&empty), "it is not a program", NAME_IT),
        ("/bin/ls".to_owned(), "which is no Node version", NAME_IT),
        ("/bin/true".to_owned(), "which is no Node version", NAME_IT),
        ("/bin/false".to_owned(), "`--version` ended with exit status: 1", NAME_IT),
        ("/dev/null".to_owned(), "it is not a file", NAME_IT),
        (stub("hello", "echo hello"), "printed \"hello\", which is no Node version", NAME_IT),
        (stub("escape", r"printf '\033[2Jv24\n'"), "which is no Node version", NAME_IT),
        (stub("flood", "exec yes v24.1.0"), "ended with", NAME_IT),
        (stub("version18", "echo v18.20.4"), "Node v18.20.4 at", "Use Node 20.19 or newer"),
        (stub("version20", "echo v20.18.9"), "Node v20.18.9 at", "Use Node 20.19 or newer"),
        (stub("version24", "echo v24.1.0"), "it is a script, and the program behind it did not name itself", NAME_IT),
        // It leaves a child that holds its output open.
        (stub("slow", "sleep 7131; echo"), "it did not answer `-p process.execPath` within 5 s", NAME_IT),
    ];
    let built = Pretender::build(place, "static");
    if let Some(pretender) = &built {
        nodes.push((text(&pretender.path), "no report from the jail within 1 s", "a dynamically linked Node"));
    }
    let mut rows = Vec::new();
    for (node, what, to_do) in &nodes {
        rows.push(Row::new(format!("--node {node}"), &["run", &body, "--node", node], 4, what, to_do));
        if !node.ends_with("slow") {
            rows.push(
                Row::new(format!("CODEMODE_NODE={node}"), &["run", &body, "--launcher", "template"], 4, what, to_do)
                    .env("CODEMODE_NODE", node),
            );
        }
    }
    for path in ["", "/nonexistent", &text(place)] {
        let what = if path.is_empty() { "no `node` found in PATH (which is empty)" } else { "no `node` found in PATH (/" };
        rows.push(
            Row::new(format!("PATH={path}"), &["run", &body], 4, what, "name it with --node or CODEMODE_NODE")
                .env("PATH", path)
                .env("CODEMODE_NODE", ""),
        );
    }
    check("no Node", &rows, place, || None);
}

#[test]
fn a_shell_with_too_little_is_named_and_nothing_is_left() {
    let _turn = alone();
    let folder = folder();
    let place = folder.path();
    let body = write(place, "body.js", "return 1").display().to_string();
    let node = host::nodes()[0].display().to_string();
    let run = |name: &str, setup: &str, launcher, what, to_do| {
        Row::new(format!("{name}, {launcher}"), &["run", &body, "--launcher", launcher], 4, what, to_do)
            .after(setup)
            .env("CODEMODE_NODE", node.clone())
    };
    let mut rows = Vec::new();
    for launcher in ["spawn", "template"] {
        for descriptors in [6, 8, 12, 16, 24, 31] {
            rows.push(run(
                &format!("ulimit -n {descriptors}"),
                &format!("ulimit -n {descriptors}"),
                launcher,
                "too few descriptors",
                "raise `ulimit -n`",
            ));
        }
        rows.push(run("ulimit -v 65536", "ulimit -v 65536", launcher, "did not start as expected", "`ulimit -v`"));
        if let Some(user) = ordinary_user() {
            // Another user's processes count, too, so there is no number that is just too small; none at all is.
            let setup =
                format!("exec prlimit --nproc=1 {} \"$0\" \"$@\"", user.trim_start_matches("exec ").trim_end_matches("\"$0\" \"$@\""));
            rows.push(run("ulimit -u 1", &setup, launcher, "", "`ulimit -u`"));
        }
    }
    check("limits of a shell", &rows, place, || None);
}
