//! The same over HTTP: modes, sessions, and their end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use codemode_tests::census::{children_of, cpu_of, is_alive};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::lines::{PATIENCE, all_gone};
use super::web::{Client, Reply, Web};

/// A call whose body does not end: the id, the answer that is still to come, and the process that runs the body.
fn endless(web: &Web, client: &mut Client) -> (Value, Reply, i32) {
    let params = json!({"name": "tool_search_code", "arguments": {"code": "await openclaw.tools.call('demo:echo', {}); for (;;);"}, "_meta": {"progressToken": "t"}});
    let (id, mut reply) = client.ask("tools/call", params);
    reply.until("call demo:echo: ok");
    // Of all processes that the server has started it is the one that computes.
    let before: BTreeMap<i32, Duration> = children_of(web.server.pid()).into_iter().map(|pid| (pid, cpu_of(pid))).collect();
    let began = Instant::now();
    loop {
        if let Some((pid, _)) = before.iter().find(|(pid, used)| cpu_of(**pid).saturating_sub(**used) > Duration::from_millis(100)) {
            return (id, reply, *pid);
        }
        assert!(began.elapsed() < PATIENCE, "no body runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a body's process is gone.
fn over(body: i32) {
    all_gone(&BTreeSet::from([body]));
}

#[test]
fn each_mode_lists_and_calls_over_http() {
    for (mode, first, arguments) in [
        ("code", "tool_search_code", json!({"code": "return openclaw.tools.call('demo:echo', {x: 1})"})),
        ("tools", "tool_search", json!({"query": "counter"})),
        ("directory", "tool_search", json!({"query": "counter"})),
    ] {
        let web = Web::start(&["--mode", mode]);
        let mut client = web.client();
        let tools = client.request("tools/list", json!({}));
        assert_eq!(tools["result"]["tools"][0]["name"], first);
        assert!(tools["result"].get("nextCursor").is_none(), "one page");
        let called = client.request("tools/call", json!({"name": first, "arguments": arguments}));
        assert_eq!(called["result"]["isError"], false, "{called}");
        assert_eq!(client.delete(), 202);
    }
}

#[test]
fn two_sessions_go_side_by_side_and_know_nothing_of_each_other() {
    let web = Web::start(&[]);
    let (mut one, mut other) = (web.client(), web.client());
    assert_ne!(one.session, other.session);
    let (id, reply, body) = endless(&web, &mut one);
    assert_eq!(other.code("return 2")["value"], 2, "while the first is busy");
    // The same request id means another request in another session.
    assert_eq!(other.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).status, 202);
    assert_eq!(other.code("return 3")["value"], 3, "a round trip later");
    assert!(is_alive(body), "the other session's word ends nothing here");
    assert_eq!(other.delete(), 202);
    std::thread::sleep(Duration::from_millis(300));
    assert!(is_alive(body), "nor does its end");
    drop(reply);
    over(body);
    assert_eq!(one.code("return 1")["value"], 1);
}

#[test]
fn progress_comes_with_the_answer_and_log_lines_on_the_stream_for_them() {
    let web = Web::start(&[]);
    let mut client = web.client();
    let mut listening = client.listen();
    let (id, reply) = client.ask(
        "tools/call",
        json!({"name": "tool_search_code", "arguments": {"code": "console.log('heard'); return openclaw.tools.call('demo:echo', {})"}, "_meta": {"progressToken": 5}}),
    );
    let messages = reply.messages();
    let methods: Vec<&str> = messages.iter().filter_map(|message| message["method"].as_str()).collect();
    assert_eq!(methods, ["notifications/progress", "notifications/progress"], "{messages:?}");
    assert_eq!(messages.last().expect("an answer")["id"], id);
    listening.until("heard");
}

#[test]
fn a_cancelled_request_ends_its_run() {
    let web = Web::start(&[]);
    let mut client = web.client();
    let (id, reply, body) = endless(&web, &mut client);
    assert_eq!(client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).status, 202);
    over(body);
    assert!(!reply.messages().iter().any(|message| message["id"] == id), "nobody is answered");
    assert_eq!(client.code("return 3")["value"], 3);
}

#[test]
fn a_cut_connection_ends_what_it_waited_for() {
    let web = Web::start(&[]);
    let mut client = web.client();
    let (_, reply, body) = endless(&web, &mut client);
    drop(reply);
    over(body);
    assert_eq!(client.code("return 4")["value"], 4, "the session goes on");
}

#[test]
fn a_deleted_session_ends_all_of_its_runs_and_is_gone() {
    let web = Web::start(&[]);
    let mut client = web.client();
    let (_, reply, body) = endless(&web, &mut client);
    let listening = client.listen();
    let began = Instant::now();
    assert_eq!(client.delete(), 202);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    over(body);
    // Both streams end with it.
    reply.text();
    listening.text();
    assert_eq!(client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).status, 404);
}

#[test]
fn signals_end_everything_in_time() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let web = Web::start(&[]);
        let mut client = web.client();
        let (_, reply, _) = endless(&web, &mut client);
        let _listening = client.listen();
        let children: BTreeSet<i32> = children_of(web.server.pid());
        let pid = web.server.pid();
        kill(Pid::from_raw(pid), signal).expect("it is ours");
        let began = Instant::now();
        let mut server = web.server;
        let status = loop {
            if let Some(status) = server.child.try_wait().expect("it is ours") {
                break status;
            }
            assert!(began.elapsed() < Duration::from_secs(2), "{signal}: it takes too long");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(status.success() && !is_alive(pid), "{status:?}");
        all_gone(&children);
        drop(reply);
    }
}

#[test]
fn ids_come_back_as_they_were_and_nothing_is_written_to_standard_output() {
    let web = Web::start(&["--mode", "tools"]);
    let client = web.client();
    for id in [json!("seven"), json!("7"), json!(7)] {
        let messages = client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"})).messages();
        assert_eq!((&messages[0]["id"], &messages[0]["result"]), (&id, &json!({})), "{messages:?}");
    }
    let mut server = web.server;
    assert!(server.next(Duration::from_millis(300)).is_none(), "standard output is empty");
}

#[test]
fn a_request_of_the_newest_revision_needs_no_session() {
    let web = Web::start(&[]);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"}, "io.modelcontextprotocol/clientCapabilities": {}});
    let call = json!({"jsonrpc": "2.0", "id": "n", "method": "tools/call", "params": {"name": "tool_search_code", "arguments": {"code": "return 5"}, "_meta": meta}});
    let reply = web.post(&[("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "tool_search_code")], &call);
    assert_eq!(reply.status, 200);
    let messages = reply.messages();
    assert_eq!(messages[0]["result"]["structuredContent"]["value"], 5, "{messages:?}");
}
