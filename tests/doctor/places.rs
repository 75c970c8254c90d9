//! Hosts that are narrow in other ways: a container's filter, a root that cannot be written, low limits.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use codemode_tests::host;
use serde_json::Value;

use super::{Program, STRICT_HOST, json, users};

/// What the default profile of containers refuses to who has no right of root: names of namespaces, mounts, keys, rings, programs for the kernel.
const CONTAINER: &str =
    "unshare,setns,mount,umount2,pivot_root,add_key,keyctl,bpf,perf_event_open,userfaultfd,io_uring_setup,open_by_handle_at";

/// Limits of a careful host; a run needs no more.
const LOW_LIMITS: &str = "ulimit -n 128; ulimit -s 4096; ulimit -c 0; ulimit -l 0";

/// A private view of the mounts in which nothing can be written.
const READ_ONLY: &str = "mount -o remount,bind,ro / && ! touch /codemode-read-only 2>/dev/null";

impl Program {
    /// What doctor finds after `setup`, as `user`.
    fn after(&self, setup: &str, user: &str, own_mounts: bool) -> Value {
        let node = host::nodes()[0].display().to_string();
        let mut command = if own_mounts { Command::new("unshare") } else { Command::new(STRICT_HOST) };
        let words: &[&str] = if own_mounts { &["-m", "--propagation", "private"] } else { &["-", user] };
        command.args(words).args(["/bin/sh", "-c", &format!("{setup} || exit 99\nexec \"$0\" \"$@\"")]);
        command.arg(self.path()).args(["doctor", "--json", "--node", &node]).env_remove("CODEMODE_NODE").stdin(Stdio::null());
        let output = command.output().expect("a shell starts");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        json(&output)
    }
}

fn statuses(found: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let walls = found["walls"].as_array().expect("walls");
    walls.iter().map(|wall| (text(&wall["name"]), text(&wall["status"]))).collect()
}

fn others(found: &Value) -> BTreeMap<String, String> {
    statuses(found).into_iter().filter(|(_, status)| status != "enforced").collect()
}

fn named(walls: &[(&str, &str)]) -> BTreeMap<String, String> {
    walls.iter().map(|(wall, status)| ((*wall).to_owned(), (*status).to_owned())).collect()
}

#[test]
fn behind_a_containers_filter_the_walls_that_need_a_namespace_are_missing_and_no_other() {
    let program = Program::new();
    for user in users() {
        let ordinary = user != "-" || !nix::unistd::geteuid().is_root();
        let found = program.doctor(CONTAINER, user, &host::nodes()[0]);
        let mut expected = vec![("namespaces", "unavailable"), ("empty_root", "unavailable")];
        if ordinary {
            expected.push(("no_new_privs", "partial"));
        }
        assert_eq!(others(&found), named(&expected), "as {user}: {found}");
        assert_eq!(found["host"]["seccompFilters"], 1, "the container's own is counted");
        assert_eq!(found["runs"]["default"]["starts"], true);
        assert_eq!(found["runs"]["strict"]["starts"], false);
    }
}

#[test]
fn on_a_root_that_cannot_be_written_every_wall_stands_and_acts_that_write_are_untested() {
    if !host::has("root", nix::unistd::geteuid().is_root()) {
        return;
    }
    let program = Program::new();
    let found = program.after(READ_ONLY, "-", true);
    assert_eq!(others(&found), BTreeMap::new(), "{found}");
    assert_eq!(found["runs"]["strict"]["starts"], true);
    let acts = found["walls"].as_array().expect("walls").iter().flat_map(|wall| wall["acts"].as_array().expect("acts"));
    let untested: Vec<&str> = acts.filter(|act| act["verdict"] == "untested").filter_map(|act| act["act"].as_str()).collect();
    assert!(!untested.is_empty() && untested.iter().all(|act| act.ends_with("a file")), "{untested:?}");
}

#[test]
fn under_low_limits_every_wall_stands() {
    let program = Program::new();
    for user in users() {
        let found = program.after(LOW_LIMITS, user, false);
        assert_eq!(others(&found), BTreeMap::new(), "as {user}: {found}");
        assert_eq!(found["runs"]["strict"]["starts"], true);
    }
}
