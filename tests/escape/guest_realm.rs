//! Bodies in the guest realm, as a model would send them, behind every wall.

use codemode_tests::listeners::{Ears, Heard};
use codemode_tests::{rig, signals};

use crate::corpus::{self, Mode, bodies, faults};
use crate::plain_node;

#[test]
fn no_guest_body_gets_out_and_each_of_them_ran() {
    rig::together(async {
        let ears = Ears::open().expect("this host lets us listen");
        let mut target = signals::Target::start().expect("sleep starts");
        let all = bodies(Mode::Guest);
        assert!(all.len() >= 55, "{} bodies", all.len());
        let faults = faults(&rig::supervisor(), all).await;
        assert!(faults.is_empty(), "{}", faults.join("\n\n"));
        assert_eq!(ears.heard(), Heard::default());
        assert_eq!(target.hit_by(), None);
    });
}

/// Attacks of the corpus on a plain `node:vm` context that succeed on every Node of interest. Fewer would mean that the corpus does not attack.
const ESCAPES_FROM_A_PLAIN_CONTEXT: usize = 10;

#[test]
fn the_same_bodies_do_get_out_of_a_plain_context() {
    rig::together(async {
        let group: Vec<_> = bodies(Mode::Guest).into_iter().filter(|body| body.number() <= 35).collect();
        let mut out = Vec::new();
        let mut held = Vec::new();
        for body in group {
            let said = plain_node::in_a_plain_context(&body).await;
            let list = if said.contains(&format!("ESCAPED:{}", body.id)) { &mut out } else { &mut held };
            list.push(body.id);
        }
        println!("out of a plain context: {out:?}\nheld even there, on this Node: {held:?}");
        assert!(out.len() >= ESCAPES_FROM_A_PLAIN_CONTEXT, "{out:?}");
    });
}

#[test]
fn p157_two_runs_have_different_random_numbers() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let body = bodies(Mode::Guest).into_iter().find(|body| body.number() == 157).expect("it is there");
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..5 {
            let value = rig::value(&supervisor, &body.text, corpus::tools()).await;
            assert!(value.as_str().is_some_and(|text| text.starts_with("SEQ ")), "{value}");
            seen.insert(value.to_string());
        }
        assert_eq!(seen.len(), 5, "{seen:?}");
    });
}

#[test]
fn p155_a_late_reply_of_one_run_never_reaches_the_next() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let late = r#"openclaw.tools.call("slow", { ms: 400, tag: "from-first-run" }); throw new Error("over")"#;
        let report = supervisor.run(rig::request(late, 2_000), corpus::tools()).await;
        assert!(!report.ok);
        let next = r#"return [await openclaw.tools.call("echo", { tag: "mine" }), await openclaw.tools.call("slow", { ms: 600 })]"#;
        let value = rig::value(&supervisor, next, corpus::tools()).await;
        assert_eq!(value, serde_json::json!([{"tag": "mine"}, {"done": 600}]));
    });
}

#[test]
fn p079_nothing_is_dispatched_after_the_answer() {
    rig::together(async {
        let supervisor = rig::supervisor();
        for number in [79, 136] {
            let body = bodies(Mode::Guest).into_iter().find(|body| body.number() == number).expect("it is there");
            let catalog = corpus::tools();
            let report = supervisor.run(rig::request(&body.text, 2_000), catalog.clone()).await;
            assert!(report.ok, "{report:?}");
            let sent = report.calls.iter().filter(|call| call.result_bytes > 0).count() as u64;
            assert_eq!(catalog.dispatch_count(), sent, "{}: the ledger and the backend agree", body.id);
        }
    });
}
