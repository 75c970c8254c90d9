//! Nothing is left: no process, no descriptor, no growing memory.

use std::time::Duration;

use codemode_tests::census::{Census, children_of, own_pid};
use codemode_tests::patience::until;
use codemode_tests::rig::{self, demo, json, request};

/// What an allocator may keep of fifty runs.
const MAY_GROW: u64 = 16 << 20;

#[test]
fn nothing_left() {
    rig::alone(async {
        let watched = rig::Watched::new().await;
        for n in 0..50 {
            let body = format!(r#"console.log("run {n}"); return (await openclaw.tools.call("demo:echo", {{ n: {n} }})).n"#);
            let report = rig::run(&watched.supervisor, &body).await;
            assert_eq!(json(&report), n);
        }
        let more = watched.grown_by();
        assert!(more <= MAY_GROW, "{more} bytes more");
        watched.leaves_nothing("fifty runs").await;
    });
}

#[test]
fn nothing_left_of_runs_that_fail() {
    rig::alone(async {
        let watched = rig::Watched::new().await;
        let bodies = [
            "throw 1",
            "return (",
            "",
            "while (true) {}",
            "await new Promise(() => {})",
            "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))",
            r#"await openclaw.tools.call("demo:slow", { ms: 600000 })"#,
            r#"for (let i = 0; i < 40; i++) openclaw.tools.call("demo:slow", { ms: 600000 }); return 1"#,
        ];
        for body in bodies {
            assert!(!watched.supervisor.run(request(body, 300), demo()).await.ok, "{body}");
        }
        watched.leaves_nothing("runs that fail").await;
    });
}

#[test]
fn the_census_sees_what_is_there() {
    rig::alone(async {
        let before = Census::take();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("sleep starts");
        let pid = i32::try_from(child.id()).expect("a pid");
        assert!(Census::take().children.contains(&pid));
        // A template of another test may be making forks at this very moment: one quiet look is enough.
        until("one more descriptor is seen", Duration::from_secs(10), || {
            let without = Census::take().descriptors;
            let file = std::fs::File::open("/dev/null").expect("it is there");
            let with = Census::take().descriptors;
            drop(file);
            with == without + 1
        })
        .await;
        child.kill().expect("it is ours");
        // A zombie is something left, too.
        assert!(children_of(own_pid()).contains(&pid));
        child.wait().expect("it is ours");
        assert!(!children_of(own_pid()).contains(&pid));
        before.settles("the control").await;
    });
}
