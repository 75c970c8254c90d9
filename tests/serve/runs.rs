//! Runs over the socket: what a gateway can ask for, and what it is refused.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::served::{Serve, tool};

#[test]
fn many_runs_at_once_on_one_connection_each_with_its_own_answers() {
    let serve = Serve::start(&["--concurrency", "8"]);
    let mut link = serve.connect();
    let body =
        |n: usize| format!("const [t] = await openclaw.tools.search('{n}'); return (await openclaw.tools.call(t.id, {{n: {n}}})) + 1");
    for n in 0..40 {
        link.try_start(&n.to_string(), &body(n), json!({}));
    }
    let mut values = BTreeMap::new();
    while values.len() < 40 {
        let message = link.next(|message| message["method"].is_string());
        let params = message["params"].clone();
        match message["method"].as_str().expect("text") {
            "catalog.search" => {
                assert_eq!(params["query"], params["run"], "each run asks for itself");
                link.answer(&message, json!([tool("add")]));
            }
            "catalog.call" => {
                let n = params["args"]["n"].as_u64().expect("a number");
                assert_eq!(params["run"], n.to_string());
                link.answer(&message, json!(n));
            }
            "run.finished" => {
                values.insert(params["run"].as_str().expect("text").parse::<u64>().expect("a number"), params["report"]["value"].clone());
            }
            other => panic!("{other}"),
        }
    }
    assert!(values.iter().all(|(n, value)| *value == n + 1), "{values:?}");
    serve.becomes_idle();
    serve.stop();
}

#[test]
fn a_static_catalog_is_searched_here_and_called_there() {
    let serve = Serve::start(&[]);
    let mut link = serve.connect();
    let body = "const [t] = await openclaw.tools.search('mail'); const d = await openclaw.tools.describe(t.id); \
                return [t.id, d.parameters, await openclaw.tools.call('send mail', {to: 'x'})]";
    let mut mail = tool("send mail");
    mail["parameters"] = json!({"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]});
    link.start("r", body, json!({"catalog": {"tools": [tool("clock"), mail.clone()]}}));
    let call = link.method("catalog.call");
    assert_eq!(call["params"]["id"], "client:test:send mail");
    link.answer(&call, json!("sent"));
    let report = link.report_of("r");
    assert_eq!(report["value"], json!(["client:test:send mail", mail["parameters"], "sent"]), "{report}");
    assert_eq!(report["telemetry"]["catalogSize"], 2);
    serve.stop();
}

#[test]
fn what_a_gateway_has_that_answers_by_itself_is_counted_by_nobody() {
    let serve = Serve::start(&[]);
    let mut link = serve.connect();
    link.start("r", "const [t] = await openclaw.tools.search('clock'); return openclaw.tools.call(t.id, {})", json!({}));
    let search = link.method("catalog.search");
    link.answer(&search, json!([tool("clock")]));
    let call = link.method("catalog.call");
    link.answer(&call, json!(1));
    let telemetry = link.report_of("r")["telemetry"].clone();
    assert_eq!((&telemetry["catalogSize"], &telemetry["sources"]["client"]), (&json!(0), &json!(0)), "{telemetry}");
    assert_eq!(telemetry["selected"], json!([{"id": "client:test:clock", "source": "client"}]), "what it met is told");
    serve.stop();
}

#[test]
fn a_failure_of_the_gateway_is_an_error_in_the_body() {
    let serve = Serve::start(&[]);
    let mut link = serve.connect();
    let body = "const f = p => p.catch(e => e.code + '/' + e.message); \
                return [await f(openclaw.tools.describe('none')), await f(openclaw.tools.call('t', {})), await f(openclaw.tools.call('t', {}))]";
    link.start("r", body, json!({}));
    let describe = link.method("catalog.describe");
    link.fail(&describe, "unknown_tool", "no tool none");
    let describe = link.method("catalog.describe");
    link.answer(&describe, tool("t"));
    let call = link.method("catalog.call");
    link.fail(&call, "tool_error", "out of paper");
    // It is known by its id now; a bare name is asked again.
    let describe = link.method("catalog.describe");
    link.answer(&describe, tool("t"));
    let call = link.method("catalog.call");
    link.fail(&call, "denied", "not today");
    assert_eq!(link.report_of("r")["value"], json!(["unknown_tool/no tool none", "tool_error/out of paper", "denied/not today"]));
    serve.stop();
}

#[test]
fn logs_and_calls_are_told_as_they_happen_to_who_wants_them() {
    let serve = Serve::start(&[]);
    let mut link = serve.connect();
    let body = "console.warn('one'); await openclaw.tools.call('t', {}); console.log('two'); return 1";
    link.start("r", body, json!({"catalog": {"tools": [tool("t")]}, "wants": {"logs": true, "calls": true}}));
    assert_eq!(link.method("run.log")["params"], json!({"run": "r", "level": "warn", "text": "one"}));
    let state = |message: &Value| message["params"]["state"].as_str().expect("text").to_owned();
    let queued = link.method("run.call");
    assert_eq!((state(&queued), &queued["params"]["id"]), ("queued".to_owned(), &json!("t")));
    assert_eq!(state(&link.method("run.call")), "sent");
    let call = link.method("catalog.call");
    link.answer(&call, json!(null));
    let ended = link.method("run.call");
    assert_eq!((state(&ended), &ended["params"]["entry"]["resultBytes"]), ("ok".to_owned(), &json!(4)));
    assert_eq!(link.method("run.log")["params"]["text"], "two");
    link.report_of("r");
    serve.stop();
}

#[test]
fn a_run_is_cancelled_by_name_while_it_goes_on_and_while_it_waits() {
    let serve = Serve::start(&["--concurrency", "1"]);
    let mut link = serve.connect();
    link.start("going", "for(;;);", json!({"limits": {"wallMs": 60000}}));
    link.start("waiting", "return 1", json!({}));
    for (run, known) in [("waiting", true), ("going", true), ("never", false)] {
        let id = link.ask("run.cancel", json!({"run": run}));
        assert_eq!(link.answer_to(id)["result"], json!({"known": known}));
        if known {
            assert_eq!(link.report_of(run)["error"]["code"], "cancelled");
        }
    }
    assert_eq!(link.run("going", "return 4", json!({}))["value"], 4, "the name is free again");
    serve.stop();
}

#[test]
fn a_run_that_cannot_be_is_refused_by_name() {
    let serve = Serve::start(&["--concurrency", "1"]);
    let mut link = serve.connect();
    let mut refused = |run: &str, more: Value| {
        let id = link.try_start(run, "for(;;);", more);
        link.answer_to(id)["error"]["data"]["code"].as_str().unwrap_or("taken").to_owned()
    };
    assert_eq!(refused("r", json!({"limits": {"wallMs": 60001}})), "invalid_limits");
    assert_eq!(refused("r", json!({"catalog": {"tools": [tool("t"), tool("t")]}})), "invalid_catalog");
    assert_eq!(refused("r", json!({"limits": {"wallMs": 60000}})), "taken");
    assert_eq!(refused("r", json!({})), "run_exists");
    for number in 0..1_023 {
        assert_eq!(refused(&number.to_string(), json!({})), "taken");
    }
    assert_eq!(refused("one more", json!({})), "busy");
    let mut modest = serve.raw();
    let id = modest.ask("hello", json!({"protocol": 1, "name": "test", "capabilities": ["hooks", "runs"]}));
    assert_eq!(modest.answer_to(id)["result"]["runs"], 1024);
    let id = modest.try_start("r", "1", json!({}));
    assert_eq!(modest.answer_to(id)["error"]["data"]["code"], "not_offered");
    drop(link);
    serve.becomes_idle();
    serve.stop();
}

#[test]
fn what_waiting_runs_hold_is_bounded() {
    let serve = Serve::start(&["--concurrency", "1"]);
    let mut link = serve.connect();
    link.start("going", "for(;;);", json!({"limits": {"wallMs": 60000}}));
    let body = format!("return 1 // {}", "x".repeat(900_000));
    let mut taken = 0;
    let refusal = loop {
        let id = link.try_start(&taken.to_string(), &body, json!({"limits": {"bodyBytes": 1_000_000}}));
        let answer = link.answer_to(id);
        if answer["error"].is_object() {
            break answer;
        }
        taken += 1;
        assert!(taken < 100);
    };
    assert_eq!(refusal["error"]["data"]["code"], "busy");
    assert!((30..40).contains(&taken), "32 MiB of bodies of 0.9 MB: {taken}");
    drop(link);
    serve.becomes_idle();
    serve.stop();
}

#[test]
fn connections_take_turns_whoever_has_more_waiting() {
    let serve = Serve::start(&["--concurrency", "1"]);
    let mut greedy = serve.connect();
    let mut modest = serve.connect();
    greedy.start("going", "return openclaw.tools.search('x')", json!({}));
    let search = greedy.method("catalog.search");
    for number in 0..60 {
        greedy.start(&number.to_string(), "return 1", json!({}));
    }
    modest.start("mine", "return openclaw.tools.search('y')", json!({}));
    greedy.answer(&search, json!([]));
    // While the modest one's run goes on, which waits for us, nobody else's does: so this is how many had their turn before it.
    let mine = modest.method("catalog.search");
    let id = greedy.ask("run.cancel", json!({"run": "nobody"}));
    greedy.answer_to(id);
    let before = greedy.seen("run.finished");
    assert!(before <= 3, "{before} runs of the greedy one came before");
    modest.answer(&mine, json!([]));
    modest.report_of("mine");
    greedy.report_of("59");
    serve.stop();
}
