//! Forged frames: the attacks 092 to 104 in the words of the wire, ids in order, so that only the attack itself is wrong.

use codemode::{CallState, ErrorCode};
use codemode_tests::rig::{self, code, demo, json, message, request};
use codemode_tests::script::{Script, Step, answer, call, console, framed, hello, hex};
use serde_json::json;

use crate::child::{run, run_with, serves_on, violates};

/// The frame limit at the default limits: a tool's result and the envelope.
const FRAME_LIMIT: u32 = (4 << 20) + (64 << 10);

#[test]
fn p092_a_length_above_the_limit_is_refused_before_its_text() {
    for length in [FRAME_LIMIT + 1, 1 << 31, u32::MAX] {
        violates("frame_too_long", Script::greeted().bytes(&length.to_be_bytes()).step(Step::ReadToEnd));
    }
}

#[test]
fn p092_a_length_at_the_limit_reserves_nothing_and_waits_for_its_text() {
    rig::together(async {
        let report = run(Script::greeted().bytes(&FRAME_LIMIT.to_be_bytes()).step(Step::Sleep), 700).await;
        assert_eq!(code(&report), Some(ErrorCode::Timeout), "{report:?}");
    });
}

#[test]
fn p093_empty_frames_are_refused_at_the_first() {
    let empty = Step::Write { hex: "00000000".to_owned(), times: 10_000, piece: 0 };
    violates("frame_empty", Script::greeted().step(empty));
}

#[test]
fn p093_frames_of_one_byte_are_refused_at_the_first() {
    let tiny = Step::Write { hex: hex(&framed("1")), times: 1_000, piece: 0 };
    violates("not_an_object", Script::greeted().step(tiny));
}

#[test]
fn p094_frames_that_drip_in_a_byte_at_a_time_are_frames() {
    rig::together(async {
        let bytes: Vec<u8> = [hello(), console("drip"), answer(94)].iter().flat_map(|message| framed(&message.to_string())).collect();
        let report = run(Script::new().pieces(&bytes, 1), 5_000).await;
        assert!(report.ok, "{report:?}");
        assert_eq!(json(&report), 94);
        assert_eq!(report.logs[0].text, "drip");
    });
}

#[test]
fn p094_a_frame_that_stops_half_way_costs_the_wall_clock_and_no_more() {
    rig::together(async {
        let half = &framed(&answer(1).to_string())[..20];
        let report = run(Script::greeted().bytes(half).step(Step::Sleep), 700).await;
        assert_eq!(code(&report), Some(ErrorCode::Timeout), "{report:?}");
        assert!(report.timing.body.as_millis() < 1_000, "{:?}", report.timing);
        serves_on().await;
    });
}

#[test]
fn p095_half_a_frame_and_a_clean_exit_is_no_success() {
    let half = &framed(&answer(1).to_string())[..9];
    violates("frame_truncated", Script::greeted().bytes(half).step(Step::Exit(0)));
}

#[test]
fn p095_a_frame_cut_at_any_byte_is_no_success() {
    rig::together(async {
        let frame = framed(&answer(1).to_string());
        for cut in 1..frame.len() {
            let report = run(Script::greeted().bytes(&frame[..cut]).step(Step::Exit(0)), 5_000).await;
            assert_eq!(code(&report), Some(ErrorCode::ProtocolViolation), "{cut}: {report:?}");
        }
        serves_on().await;
    });
}

#[test]
fn p108_descriptors_that_come_with_a_frame_are_not_kept() {
    rig::alone(async {
        serves_on().await;
        let before = codemode_tests::census::Census::take();
        let script = Script::greeted().step(Step::Descriptors { hex: hex(&framed(&console("with").to_string())), count: 50 });
        let report = run(script.send(&answer(3)), 5_000).await;
        assert!(report.ok && report.logs[0].text == "with", "{report:?}");
        before.settles("descriptors on the bridge").await;
    });
}

#[test]
fn p097_deep_json_is_refused_without_going_down_into_it() {
    let brackets = "[".repeat(200_000) + &"]".repeat(200_000);
    violates("not_an_object", Script::greeted().bytes(&framed(&brackets)));
    let objects = r#"{"a":"#.repeat(50_000) + "1" + &"}".repeat(50_000);
    violates("", Script::greeted().bytes(&framed(&objects)));
    let deep = "[".repeat(130) + &"]".repeat(130);
    let call = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"openclaw.tools.call","params":{{"id":"demo:echo","args":{{"a":{deep}}}}}}}"#);
    violates("too_deep", Script::greeted().bytes(&framed(&call)));
}

#[test]
fn p098_a_key_twice_is_refused() {
    let twice = r#"{"jsonrpc":"2.0","id":1,"result":{"value":1,"valueType":"number"},"result":{"value":2,"valueType":"number"}}"#;
    violates("duplicate_key", Script::greeted().bytes(&framed(twice)));
}

#[test]
fn p099_nothing_after_the_first_answer_is_executed() {
    rig::together(async {
        let catalog = demo();
        let script = Script::greeted().send(&answer(1)).send(&answer(2)).send(&call(1, "demo:count", &json!({}))).step(Step::ReadToEnd);
        let report = run_with(script, request("return 1", 5_000), catalog.clone()).await;
        // Whether the second is there when the first is read is a matter of luck; neither way it counts.
        match code(&report) {
            None => assert_eq!(json(&report), 1),
            Some(code) => assert_eq!(code, ErrorCode::ProtocolViolation, "{report:?}"),
        }
        assert!(report.calls.is_empty());
        assert_eq!(catalog.dispatch_count(), 0);
        serves_on().await;
    });
}

#[test]
fn p099_an_answer_with_anything_glued_to_it_is_none() {
    let glued = [framed(&answer(1).to_string()), framed(&answer(2).to_string())].concat();
    violates("too_late", Script::greeted().bytes(&glued).step(Step::ReadToEnd));
    let torn = [framed(&answer(1).to_string()), vec![0, 0]].concat();
    violates("", Script::greeted().bytes(&torn).step(Step::ReadToEnd));
}

#[test]
fn p100_tools_that_were_never_offered_are_refused_and_listed() {
    rig::together(async {
        let names = ["exec", "shell", "fs.read", "admin", "tools.list", "rpc.discover", "__proto__", "constructor", ""];
        let mut script = Script::greeted();
        for (id, name) in (1..).zip(names) {
            script = script.send(&call(id, name, &json!({}))).step(Step::Read);
        }
        let catalog = demo();
        let report = run_with(script.send(&answer(1)), request("return 1", 5_000), catalog.clone()).await;
        assert!(report.ok, "{report:?}");
        assert_eq!(report.calls.len(), names.len());
        assert!(report.calls.iter().all(|call| call.state == CallState::Refused), "{:?}", report.calls);
        assert_eq!(catalog.dispatch_count(), 0);
    });
}

#[test]
fn p100_ids_that_are_not_the_next_are_refused() {
    violates("id_out_of_order", Script::greeted().send(&call(2, "demo:echo", &json!({}))));
    violates("id_out_of_order", Script::greeted().send(&call(1_000_001, "demo:echo", &json!({}))));
    let twice = Script::greeted().send(&call(1, "demo:echo", &json!({}))).send(&call(1, "demo:echo", &json!({})));
    violates("id_out_of_order", twice);
}

#[test]
fn p102_answers_that_nobody_asked_for_are_refused() {
    let other = json!({"jsonrpc": "2.0", "id": 2, "result": {"value": 1, "valueType": "number"}});
    violates("unasked", Script::greeted().send(&other));
}

#[test]
fn p103_messages_of_the_supervisor_are_not_the_childs_to_send() {
    let run = json!({"jsonrpc": "2.0", "id": 1, "method": "run", "params": {"body": "return 1"}});
    violates("unknown_method", Script::greeted().send(&run));
    for method in ["shutdown", "verdict", "limits", "ready"] {
        violates("unknown_method", Script::greeted().send(&json!({"jsonrpc": "2.0", "method": method, "params": {}})));
    }
    violates("repeated", Script::greeted().send(&hello()));
    let level = json!({"jsonrpc": "2.0", "method": "console", "params": {"level": "supervisor", "text": "all good"}});
    violates("bad_value", Script::greeted().send(&level));
}

#[test]
fn p103_only_a_childs_own_verdicts_can_be_claimed() {
    for claimed in ["timeout", "cancelled", "internal_error", "isolation_violation", "ok"] {
        let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "x", "data": {"code": claimed, "name": "E"}}});
        violates("bad_value", Script::greeted().send(&error));
    }
}

#[test]
fn p104_two_frames_in_each_other_are_refused() {
    let (one, two) = (framed(&console(&"a".repeat(5_000)).to_string()), framed(&answer(1).to_string()));
    violates("", Script::greeted().bytes(&one[..2_500]).bytes(&two).bytes(&one[2_500..]));
}

#[test]
fn what_a_child_says_is_a_claim_and_is_bounded() {
    rig::together(async {
        let long = "x".repeat(100_000);
        let error = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": long, "data": {"code": "body_error", "name": long, "stack": long}}});
        let report = run(Script::greeted().send(&console(&long)).send(&error), 5_000).await;
        assert_eq!(code(&report), Some(ErrorCode::BodyError), "{report:?}");
        assert!(report.logs.iter().map(|entry| entry.text.len()).sum::<usize>() <= 64 * 1024);
        println!("a message of {} bytes", message(&report).len());
        serves_on().await;
    });
}
