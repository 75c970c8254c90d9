//! Gateways that answer late, wrongly, twice, with unknown ids, with a hundred megabytes, or not at all: bounded, named, and nobody else's affair.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::served::{Link, Serve, resident, tool, until};

/// A run that waits for this gateway's answer to a search; the request.
fn asked(link: &mut Link, run: &str) -> Value {
    let body = "try { return await openclaw.tools.search('x') } catch (e) { return e.code + ': ' + e.message }";
    link.start(run, body, json!({"limits": {"wallMs": 60000}}));
    link.method("catalog.search")
}

#[test]
fn what_breaks_the_wire_ends_that_connection_by_name_and_no_other() {
    let serve = Serve::start(&[]);
    let mut other = serve.connect();
    let waiting = asked(&mut other, "other");
    let answer = |id: &Value, result: &str| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}");
    type Act<'a> = Box<dyn Fn(&mut Link, &Value) + 'a>;
    let acts: [(&str, Act<'_>); 12] = [
        ("unasked (id)", Box::new(|link, _| link.text(&answer(&json!(999), "[]")))),
        (
            "unasked (id)",
            Box::new(|link, search| {
                link.text(&answer(&search["id"], "[]"));
                link.text(&answer(&search["id"], "[]"));
            }),
        ),
        (
            "frame_too_long (frame length): got 104857600 where 16842752 is the bound",
            Box::new(|link, _| link.bytes(&104_857_600_u32.to_be_bytes())),
        ),
        ("frame_empty (frame length)", Box::new(|link, _| link.bytes(&[0; 4]))),
        ("not_utf8 (frame text)", Box::new(|link, _| link.bytes(&[0, 0, 0, 2, 0xff, 0xfe]))),
        (
            "too_deep (frame text)",
            Box::new(|link, search| link.text(&answer(&search["id"], &("[".repeat(100_000) + &"]".repeat(100_000))))),
        ),
        ("duplicate_key (object)", Box::new(|link, search| link.text(&answer(&search["id"], "{\"a\":1,\"a\":2}")))),
        ("unknown_method (method)", Box::new(|link, _| _ = link.ask("run.pause", json!({})))),
        ("unknown_field (run.start params)", Box::new(|link, _| _ = link.try_start("y", "1", json!({"shell": true})))),
        ("repeated (method)", Box::new(|link, _| _ = link.ask("hello", json!({"protocol": 1, "name": "x", "capabilities": []})))),
        (
            "id_out_of_order (id): got 9 where 3 is the bound",
            Box::new(|link, _| {
                link.text("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"run.cancel\",\"params\":{\"run\":\"x\"}}");
            }),
        ),
        ("not_an_object (frame text)", Box::new(|link, _| link.text("[]"))),
    ];
    for (name, act) in &acts {
        let mut link = serve.connect();
        let search = asked(&mut link, "x");
        act(&mut link, &search);
        assert_eq!(link.goodbye(), ("protocol_violation".to_owned(), (*name).to_owned()));
    }
    let mut silent = serve.raw();
    silent.ask("run.start", json!({"run": "x", "body": "1", "catalog": "gateway"}));
    assert_eq!(silent.goodbye().1, "too_early (method)");
    let mut elsewhere = serve.raw();
    let id = elsewhere.ask("hello", json!({"protocol": 7, "name": "x", "capabilities": []}));
    assert_eq!(elsewhere.answer_to(id)["error"]["data"]["code"], "unsupported_protocol");
    assert_eq!(elsewhere.goodbye().1, "hello names protocol 7, and this end speaks 1");
    // The runs of all of them are over, and the other one's goes on.
    serve.comes_down_to(1);
    other.answer(&waiting, json!([]));
    assert_eq!(other.report_of("other")["value"], json!([]));
    serve.stop();
}

#[test]
fn half_a_frame_and_the_end_is_a_violation_too() {
    let serve = Serve::start(&[]);
    let mut link = serve.connect();
    link.start("x", "for(;;);", json!({"limits": {"wallMs": 60000}}));
    link.bytes(&[0, 0, 1, 0, b'{']);
    link.shut();
    assert_eq!(link.goodbye().1, "frame_truncated (end of file): got 5 where 260 is the bound");
    serve.becomes_idle();
    serve.stop();
}

#[test]
fn a_result_of_another_shape_fails_the_one_request_by_name() {
    let serve = Serve::start(&[]);
    let mut link = serve.connect();
    let unfit = |change: Value| {
        let mut tool = tool("t");
        tool.as_object_mut().expect("an object").extend(change.as_object().expect("an object").clone());
        json!([tool])
    };
    let results = [
        (json!({"tools": []}), "wrong_type (tools)"),
        (json!(null), "wrong_type (tools)"),
        (json!(["t"]), "wrong_type (tool)"),
        (unfit(json!({"parameters": "{}"})), "wrong_type (tool.parameters)"),
        (unfit(json!({"name": "a\nb"})), "bad_value (tool.name)"),
        (unfit(json!({"reply": 1})), "unknown_field (tool)"),
        (Value::Array(vec![tool("t"); 51]), "bad_value (tools): got 51 where 50 is the bound"),
    ];
    for (number, (result, name)) in results.into_iter().enumerate() {
        let run = number.to_string();
        let search = asked(&mut link, &run);
        link.answer(&search, result);
        let value = link.report_of(&run)["value"].as_str().expect("a failure").to_owned();
        assert!(
            value.starts_with("tool_unavailable: the gateway's answer to catalog.search is not one: ") && value.contains(name),
            "{value}"
        );
    }
    serve.stop();
}

#[test]
fn wrong_words_of_hooks_and_approvals_refuse_the_call() {
    let serve = Serve::start(&[]);
    let mut link = serve.connect();
    let body = "try { return await openclaw.tools.call('t', {}) } catch (e) { return e.code }";
    let more = json!({"catalog": {"tools": [tool("t")]}, "approvals": {"*": "ask"}, "wants": {"hooks": true, "approvals": true}});
    for (number, (hook, approval, code)) in [
        (json!({"decision": "perhaps"}), None, "hook_failed"),
        (json!(true), None, "hook_failed"),
        (json!({"decision": "allow", "args": [1]}), None, "hook_failed"),
        (json!({"decision": "block"}), None, "hook_blocked"),
        (json!({"decision": "allow"}), Some(json!({"answer": "yes"})), "approval_unavailable"),
        (json!({"decision": "allow"}), Some(json!({"answer": "granted", "for": "ever"})), "approval_unavailable"),
        (json!({"decision": "allow"}), Some(json!({"answer": "refused", "reason": "no"})), "approval_denied"),
    ]
    .into_iter()
    .enumerate()
    {
        let run = number.to_string();
        link.start(&run, body, more.clone());
        let asked = link.method("hook.beforeToolCall");
        link.answer(&asked, hook);
        if let Some(approval) = approval {
            let asked = link.method("approval.request");
            link.answer(&asked, approval);
        }
        let report = link.report_of(&run);
        assert_eq!(report["value"], code, "{report}");
        assert_eq!(report["calls"][0]["state"], "denied", "nothing was dispatched");
    }
    serve.stop();
}

#[test]
fn a_late_answer_is_dropped_and_the_connection_goes_on() {
    let serve = Serve::start(&[]);
    let mut link = serve.connect();
    let body = "return openclaw.tools.call('t', {})";
    link.start("slow", body, json!({"catalog": {"tools": [tool("t")]}, "limits": {"wallMs": 300}}));
    let call = link.method("catalog.call");
    let cancel = link.method("request.cancel");
    assert_eq!(cancel["params"]["id"], call["id"]);
    let report = link.report_of("slow");
    assert_eq!((&report["error"]["code"], &report["calls"][0]["state"]), (&json!("timeout"), &json!("unknown")));
    link.answer(&call, json!("too late"));
    assert_eq!(link.run("next", "return 2", json!({}))["value"], 2, "a late answer is no wrong one");
    // Once more is one too many.
    link.answer(&call, json!("again"));
    assert_eq!(link.goodbye().1, "unasked (id)");
    serve.stop();
}

#[test]
fn a_result_above_the_limit_of_the_run_fails_the_call_alone() {
    let serve = Serve::start(&[]);
    let mut link = serve.connect();
    let body = "try { return await openclaw.tools.call('t', {}) } catch (e) { return e.code }";
    link.start("large", body, json!({"catalog": {"tools": [tool("t")]}}));
    let call = link.method("catalog.call");
    link.answer(&call, json!("x".repeat(12 << 20)));
    assert_eq!(link.report_of("large")["value"], "too_large");
    serve.stop();
}

/// Twelve bytes of it take 1.9 KB in memory.
const SHORT_AND_LARGE: &str = "[[[[[[0]]]]]]";

#[test]
fn what_is_short_as_a_text_and_large_as_a_value_is_refused_before_it_is_read() {
    let serve = Serve::start(&[]);
    let mut link = serve.connect();
    let large: Value = serde_json::from_str(SHORT_AND_LARGE).unwrap();
    let many = |times: usize| Value::Array(vec![large.clone(); times]);
    let peak = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", serve.pid())).unwrap();
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let body = "try { return await openclaw.tools.call('t', {}) } catch (e) { return [e.code, e.data.limit] }";
    link.start("large", body, json!({"catalog": {"tools": [tool("t")]}, "limits": {"resultBytes": 16 << 20, "wallMs": 60_000}}));
    let call = link.method("catalog.call");
    // Read, they take 1.6 GB.
    link.answer(&call, many(900_000));
    assert_eq!(link.report_of("large")["value"], json!(["too_large", 128 << 20]));
    let wants = json!({"hooks": true});
    let hooked = json!({"catalog": {"tools": [tool("t")]}, "wants": wants, "limits": {"wallMs": 60_000}});
    link.start("hooked", "try { return await openclaw.tools.call('t', {}) } catch (e) { return e.code }", hooked);
    let hook = link.method("hook.beforeToolCall");
    link.answer(&hook, json!({"decision": "allow", "args": {"x": many(900_000)}}));
    assert_eq!(link.report_of("hooked")["value"], "hook_failed");
    let mut heavy = tool("t");
    heavy["parameters"] = json!({"type": "object", "x": many(900_000)});
    let refused = link.ask("run.start", json!({"run": "heavy", "body": "return 1", "catalog": {"tools": [heavy]}}));
    assert_eq!(link.answer_to(refused)["error"]["data"]["code"], "invalid_catalog");
    assert!(peak() < 512 << 10, "{} KiB", peak());
    serve.stop();
}

#[test]
fn a_hundred_megabytes_are_neither_read_nor_kept() {
    let serve = Serve::start(&[]);
    let before = resident(serve.pid());
    for _ in 0..4 {
        let mut link = serve.connect();
        link.bytes(&104_857_600_u32.to_be_bytes());
        link.bytes(&vec![b' '; 16 << 20]);
        until("it is let go", || link.closed());
    }
    let grown = resident(serve.pid()).saturating_sub(before);
    assert!(grown < 32 << 20, "grown by {grown} bytes");
    serve.stop();
}

#[test]
fn a_gateway_that_does_not_read_holds_up_itself_alone() {
    let serve = Serve::start(&["--concurrency", "4"]);
    let mut deaf = serve.connect();
    let body = "const s = 'x'.repeat(900000); for (let i = 0; i < 40; i++) await openclaw.tools.call('t', {s}).catch(() => 0)";
    for run in ["a", "b"] {
        deaf.try_start(run, body, json!({"catalog": {"tools": [tool("t")]}, "limits": {"wallMs": 20000}}));
    }
    deaf.hear_none_for(Duration::from_millis(500));
    let mut other = serve.connect();
    let began = Instant::now();
    for number in 0..10 {
        assert_eq!(other.run(&number.to_string(), "return 3", json!({}))["value"], 3);
    }
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert!(resident(serve.pid()) < 300 << 20, "what waits for it is bounded");
    drop(deaf);
    serve.becomes_idle();
    serve.stop();
}

#[test]
fn whoever_says_nothing_is_let_go() {
    let serve = Serve::start(&[]);
    let mut silent = serve.raw();
    let began = Instant::now();
    assert_eq!(silent.goodbye(), ("hello_timeout".to_owned(), "no hello within 10 s".to_owned()));
    assert!(began.elapsed() > Duration::from_secs(9));
    serve.stop();
}

#[test]
fn there_is_a_most_of_connections() {
    let serve = Serve::start(&[]);
    let mut links: Vec<Link> = (0..64).map(|_| serve.connect()).collect();
    assert_eq!(serve.raw().goodbye().0, "too_many_connections");
    assert_eq!(links[63].run("r", "return 1", json!({}))["value"], 1, "those that are there are untouched");
    links.pop();
    until("there is room again", || {
        let mut link = serve.raw();
        let id = link.ask("hello", json!({"protocol": 1, "name": "test", "capabilities": []}));
        link.next(|message| message["id"] == id || message["method"] == "goodbye")["result"].is_object()
    });
    serve.stop();
}

#[test]
fn a_gateway_that_does_not_read_has_not_all_of_its_runs_done_and_kept() {
    const RUNS: usize = 40;
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log.jsonl");
    let serve = Serve::start(&["--concurrency", "2", "--session-log", log.to_str().expect("text")]);
    let begun = || std::fs::read_to_string(&log).expect("a log").matches("\"run_started\"").count() - 1;
    let mut link = serve.connect();
    let asked: Vec<u64> = (0..RUNS).map(|run| link.try_start(&run.to_string(), "return 'x'.repeat(1000000)", json!({}))).collect();
    // Four reports of a megabyte wait, two runs go on whose reports find no room, and then nothing begins any more.
    until("the first have begun", || begun() >= 6);
    link.hear_none_for(Duration::from_secs(1));
    let held = begun();
    assert!(held < RUNS / 2, "{held} of {RUNS} runs were done for nobody");
    // Another one has its turn meanwhile.
    assert_eq!(serve.connect().run("other", "return 1", json!({}))["value"], 1);
    // Who reads again gets every report.
    for (run, id) in asked.into_iter().enumerate() {
        assert_eq!(link.answer_to(id)["result"], json!({}));
        assert_eq!(link.report_of(&run.to_string())["ok"], true);
    }
    serve.stop();
}
