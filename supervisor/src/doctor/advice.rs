//! What is missing on a host, and the commands that change it.

use serde::Serialize;

use super::finding::{Verdict, WallFinding};
use super::host::{Host, setting};
use super::support::{Support, SupportState};
use crate::launch::Wall;

/// One thing that is missing.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Advice {
    /// What.
    pub what: String,
    /// What to do, one way a line.
    #[serde(rename = "do")]
    pub ways: Vec<String>,
}

impl Advice {
    pub(super) fn new(what: impl Into<String>, ways: &[&str]) -> Advice {
        Advice { what: what.into(), ways: ways.iter().map(|way| (*way).to_owned()).collect() }
    }
}

/// Settings that forbid user namespaces: name, the value that does, the command that does not.
const FORBIDDING: [(&str, &str, &str); 3] = [
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"),
    ("kernel/unprivileged_userns_clone", "0", "sudo sysctl kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "sudo sysctl user.max_user_namespaces=15000"),
];

/// What to do about each wall that does not stand whole, and about an old Node.
pub(super) fn for_host(host: &Host, walls: &[WallFinding], support: &Support) -> Vec<Advice> {
    let lacking = |name: Wall| walls.iter().any(|wall| wall.name == name && matches!(wall.status, Verdict::Unavailable | Verdict::Partial));
    let mut all = Vec::new();
    if lacking(Wall::Namespaces) || lacking(Wall::EmptyRoot) || !host.user_namespaces.allowed && lacking(Wall::NoNewPrivs) {
        all.push(namespaces(host));
    }
    if lacking(Wall::Landlock) {
        all.push(landlock(host));
    }
    if lacking(Wall::NoExecMemory) {
        all.push(Advice::new("memory that is written can be made executable", &["use a kernel of 6.3 or later (PR_SET_MDWE)"]));
    }
    if lacking(Wall::Seccomp) {
        all.push(Advice::new("no system call filter", &["use a kernel with CONFIG_SECCOMP_FILTER", CONTAINER]));
    }
    if support.state == SupportState::EndOfLife {
        let known = "this Node gets no security fixes; the other walls must carry its known holes";
        all.push(Advice::new(known, &["install Node 24 LTS and name it with --node or CODEMODE_NODE"]));
    }
    all
}

const CONTAINER: &str =
    "in a container: docker run --security-opt seccomp=PROFILE.json, where PROFILE.json is Docker's default plus the refused calls";

fn namespaces(host: &Host) -> Advice {
    let reason = host.user_namespaces.reason.as_deref().unwrap_or("refused");
    let mut advice = Advice::new(format!("no namespaces and no empty root ({reason})"), &[]);
    for (name, forbids, command) in FORBIDDING {
        if setting(name).as_deref() == Some(forbids) {
            advice.ways.push(command.to_owned());
        }
    }
    if host.seccomp_filters > 0 {
        advice.ways.push(CONTAINER.to_owned());
        advice.ways.push("the calls: unshare, mount, umount2, pivot_root; also try --security-opt apparmor=unconfined".to_owned());
    }
    if advice.ways.is_empty() {
        advice
            .ways
            .push("look for a security module that forbids user namespaces: journalctl -k | grep -i -e apparmor -e selinux".to_owned());
    }
    advice
}

fn landlock(host: &Host) -> Advice {
    if let Some(abi) = host.landlock.abi
        && abi < host.landlock.whole
    {
        return Advice::new(format!("Landlock covers only a part (ABI {abi})"), &["use a kernel of 6.12 or later (ABI 6)"]);
    }
    let mut advice = Advice::new(format!("no Landlock ({})", host.landlock.reason.as_deref().unwrap_or("refused")), &[]);
    if host.seccomp_filters > 0 {
        advice.ways.push(CONTAINER.to_owned());
        advice.ways.push("the calls: landlock_create_ruleset, landlock_add_rule, landlock_restrict_self".to_owned());
    } else {
        advice.ways.push("use a kernel of 6.12 or later, built with CONFIG_SECURITY_LANDLOCK".to_owned());
        advice.ways.push("if it has it: add landlock to the list in the boot parameter lsm= (see /sys/kernel/security/lsm)".to_owned());
    }
    advice
}
