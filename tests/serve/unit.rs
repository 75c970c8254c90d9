//! The unit for systemd: every directive has its reason, and what it starts is a command line of this program.

use std::collections::BTreeMap;
use std::fs;

use codemode_tests::binary::Typed;
use codemode_tests::host;

fn unit() -> String {
    fs::read_to_string(host::repository().join("packaging/systemd/codemode.service")).expect("the unit is there")
}

/// Directives of the service; a name that comes twice has its values with a blank between.
fn directives(unit: &str) -> BTreeMap<&str, String> {
    let mut all = BTreeMap::<&str, String>::new();
    for (name, value) in unit.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('=')) {
        let text = all.entry(name).or_default();
        *text = format!("{text} {value}").trim().to_owned();
    }
    all
}

#[test]
fn every_block_of_directives_has_its_reason() {
    let unit = unit();
    let service = unit.split("[Service]").nth(1).and_then(|rest| rest.split("[Install]").next()).expect("a service");
    let mut had_reason = false;
    for line in service.lines() {
        match line {
            "" => had_reason = false,
            _ if line.starts_with('#') => had_reason = line.len() > 20,
            // What kind of unit it is stands for itself.
            "Type=exec" => {}
            _ => assert!(had_reason, "no reason before {line}"),
        }
    }
}

#[test]
fn what_children_need_for_their_walls_is_left() {
    let unit = unit();
    let all = directives(&unit);
    let words = |name: &str| all[name].split_whitespace().collect::<Vec<_>>();
    assert_eq!(words("RestrictNamespaces"), ["user", "mnt", "net", "ipc", "uts", "cgroup"]);
    for call in ["mount", "umount2", "pivot_root", "seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"] {
        assert!(words("SystemCallFilter").contains(&call), "{call}");
    }
    // These would hide from the server what it confirms walls by.
    assert_eq!((all["ProtectProc"].as_str(), all["ProcSubset"].as_str()), ("default", "all"));
    assert_eq!(all["NoNewPrivileges"], "yes");
    // The drain has to be over before the rest is killed.
    assert!(all["TimeoutStopSec"].parse::<u64>().expect("seconds") > 10);
    assert_eq!(all["KillMode"], "mixed", "children are ended by the server, in order");
}

#[test]
fn it_starts_a_command_line_of_this_program() {
    let unit = unit();
    let all = directives(&unit);
    let mut words: Vec<String> = all["ExecStart"].split_whitespace().skip(1).map(str::to_owned).collect();
    let folder = tempfile::tempdir().expect("a folder");
    for (flag, value) in [("--socket", "x".repeat(200)), ("--node", host::nodes().remove(0).display().to_string())] {
        let at = words.iter().position(|word| word == flag).expect("the flag is there") + 1;
        words[at] = value;
    }
    // A socket that cannot be is the last thing that is found out: everything else of the line was understood.
    let ran = Typed::new(folder.path(), &words).run();
    assert!(ran.code == Some(2) && ran.stderr.contains("too long for a socket"), "{ran:?}");
    assert!(all["ExecStart"].contains(&format!("/run/{}/", all["RuntimeDirectory"])), "the socket lies in the folder that is made for it");
}
