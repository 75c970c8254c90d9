//! Attacks that aim at a witness of this test: what they reach is heard outside, whatever they say themselves.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::Duration;

use codemode::launch::WallSet;
use codemode_tests::listeners::{CANARY_NAME, CANARY_TEXT, Ears, Heard};
use codemode_tests::patience::until;
use codemode_tests::rig;
use codemode_tests::signals::Target;

use crate::plain_node;

/// Where an attack aims.
struct Aim {
    ears: Ears,
    target: Target,
}

impl Aim {
    fn take() -> Aim {
        let ears = Ears::open().expect("this host lets us listen");
        let target = Target::start().expect("sleep starts");
        Aim { ears, target }
    }

    /// The attack with its aim filled in.
    fn at(&self, attack: &str) -> String {
        let port = |address: std::io::Result<std::net::SocketAddr>| address.expect("it is bound").port().to_string();
        attack
            .replace("$TCP", &port(self.ears.tcp_address()))
            .replace("$UDP", &port(self.ears.udp_address()))
            .replace("$NAME", &self.ears.abstract_name)
            .replace("$FILE", &self.ears.file().display().to_string())
            .replace("$PID", &self.target.pid().to_string())
    }
}

/// Runs an attack in a plain Node, where it must be noticed, and behind the walls, where it must not.
fn held(attack: &str, notices: impl Fn(&Heard, Option<i32>) -> bool) {
    rig::together(async {
        let mut control = Aim::take();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("attack.js");
        std::fs::write(&path, control.at(attack)).expect("it is ours");
        let said = plain_node::in_the_main_realm(&path).await;
        until(&format!("the control is noticed; it said {said}"), Duration::from_secs(2), || {
            notices(&control.ears.heard(), control.target.hit_by())
        })
        .await;
    });
    behind_the_walls(attack);
}

/// Runs an attack behind the walls, where nobody must notice it.
fn behind_the_walls(attack: &str) {
    rig::together(async {
        for supervisor in [rig::lost_realm(WallSet::ALL), rig::supervisor()] {
            let mut aim = Aim::take();
            let report = supervisor.run(rig::request(&aim.at(attack), 1_500), rig::demo()).await;
            assert!(!serde_json::to_string(&report).expect("JSON").contains(CANARY_TEXT), "{report:?}");
            // The child is gone by now; what it sent on its way is in our sockets already.
            assert_eq!(aim.ears.heard(), Heard::default(), "{report:?}");
            assert_eq!(aim.target.hit_by(), None, "{report:?}");
        }
    });
}

#[test]
fn a_connection_over_tcp_is_heard_by_nobody() {
    held(
        "const s = require('net').connect($TCP, '127.0.0.1'); await new Promise((ok) => { s.on('connect', ok); s.on('error', ok); }); return 'done'",
        |heard, _| heard.tcp > 0,
    );
}

#[test]
fn a_datagram_is_heard_by_nobody() {
    held("await new Promise((ok) => require('dgram').createSocket('udp4').send('x', $UDP, '127.0.0.1', ok)); return 'done'", |heard, _| {
        heard.udp > 0
    });
}

#[test]
fn an_abstract_socket_is_reached_by_nobody() {
    // Not every Node can name one, so the control is a connection of our own: the witness does hear.
    let control = Ears::open().expect("this host lets us listen");
    let name = SocketAddr::from_abstract_name(&control.abstract_name).expect("a short name");
    let _connected = UnixStream::connect_addr(&name).expect("somebody listens");
    assert_eq!(control.heard().unix, 1);
    behind_the_walls(
        "const s = require('net').connect('\\0$NAME'); await new Promise((ok) => { s.on('connect', ok); s.on('error', ok); }); return 'done'",
    );
}

#[test]
fn a_file_is_written_by_nobody() {
    held("require('fs').writeFileSync('$FILE', 'changed'); return 'done'", |heard, _| heard.file_changed);
}

#[test]
fn a_signal_reaches_nobody() {
    held("process.kill($PID, 'SIGTERM'); return 'done'", |_, hit| hit == Some(15));
}

#[test]
fn a_program_is_started_by_nobody() {
    held("require('child_process').spawnSync('/bin/sh', ['-c', 'echo changed > $FILE']); return 'done'", |heard, _| heard.file_changed);
}

#[test]
fn a_file_is_read_by_nobody() {
    rig::together(async {
        let aim = Aim::take();
        let attack = aim.at("return require('fs').readFileSync('$FILE', 'utf8')");
        let free = rig::run(&rig::lost_realm(WallSet::NONE), &attack).await;
        assert_eq!(rig::json(&free), CANARY_TEXT, "the control");
        for supervisor in [rig::lost_realm(WallSet::ALL), rig::supervisor()] {
            let report = rig::run(&supervisor, &attack).await;
            assert!(!report.ok);
            assert!(!serde_json::to_string(&report).expect("JSON").contains(CANARY_TEXT), "{report:?}");
        }
    });
}

#[test]
fn the_environment_is_read_by_nobody() {
    rig::together(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("attack.js");
        let attack = format!("return process.env.{CANARY_NAME} + ' of ' + Object.keys(process.env).length");
        std::fs::write(&path, &attack).expect("it is ours");
        let said = plain_node::in_the_main_realm(&path).await;
        assert!(said.contains(CANARY_TEXT), "the control: {said}");
        let report = rig::run(&rig::lost_realm(WallSet::ALL), &attack).await;
        assert_eq!(rig::json(&report), "undefined of 0", "{report:?}");
    });
}
