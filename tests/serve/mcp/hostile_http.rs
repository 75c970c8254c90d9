//! Clients that mean no good, over HTTP; and those that only other people's web pages are.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use codemode_tests::binary::{Typed, demo};
use serde_json::json;

use super::web::{Web, initialize, post, request};

#[test]
fn only_the_names_of_the_address_are_taken_as_host() {
    let web = Web::start(&["--mode", "tools", "--http-host", "proxy.example"]);
    let port = web.port;
    let at = |host: &str| web.post(&[("host", host)], &initialize("2025-06-18")).status;
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("[::1]:{port}"),
        "proxy.example".into(),
        "proxy.example:9".into(),
    ] {
        assert_eq!(at(&host), 200, "{host}");
    }
    for host in [
        "evil.example".into(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        "localhost:1".into(),
        "localhost".into(),
        format!("127.0.0.2:{port}"),
    ] {
        assert_eq!(at(&host), 403, "{host}");
    }
    for (method, path) in [("GET", "/mcp"), ("DELETE", "/mcp")] {
        assert_eq!(request(port, method, path, &[("host", "evil.example")], b"").status, 403, "{method}");
    }
}

#[test]
fn scripts_of_other_pages_are_refused() {
    let web = Web::start(&["--mode", "tools", "--http-origin", "https://app.example:443"]);
    let port = web.port;
    let from = |origin: &str| web.post(&[("origin", origin)], &initialize("2025-06-18")).status;
    for origin in [format!("http://localhost:{port}"), format!("http://127.0.0.1:{port}"), "https://app.example".into()] {
        assert_eq!(from(&origin), 200, "{origin}");
    }
    for origin in ["https://evil.example", "http://localhost:1", "http://app.example", "null", "garbage", "file://"] {
        assert_eq!(from(origin), 403, "{origin}");
    }
}

#[test]
fn a_request_that_names_two_hosts_or_pages_is_refused_and_its_connection_closed() {
    let web = Web::start(&["--mode", "tools"]);
    let own = format!("127.0.0.1:{}", web.port);
    let body = initialize("2025-06-18").to_string();
    let said = |target: &str, headers: &str| {
        let mut stream = TcpStream::connect(&own).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        let usual = "content-type: application/json\r\naccept: application/json, text/event-stream";
        let length = body.len();
        write!(stream, "POST {target} HTTP/1.1\r\n{headers}{usual}\r\ncontent-length: {length}\r\n\r\n{body}").expect("it takes it");
        let mut answer = String::new();
        // A connection that is kept does not come to its end in this time.
        let closed = stream.read_to_string(&mut answer).is_ok();
        (answer.split(' ').nth(1).unwrap_or_default().to_owned(), closed)
    };
    let refused = |status: &str| (status.to_owned(), true);
    for (target, headers) in [
        ("/mcp".to_owned(), format!("host: {own}\r\nhost: evil.example\r\n")),
        ("/mcp".to_owned(), format!("host: evil.example\r\nhost: {own}\r\n")),
        ("/mcp".to_owned(), format!("host: evil.example@{own}\r\n")),
        ("http://evil.example/mcp".to_owned(), format!("host: {own}\r\n")),
        (format!("http://{own}@evil.example/mcp"), format!("host: {own}\r\n")),
        (format!("http://{own}/mcp"), "host: evil.example\r\n".to_owned()),
        ("/mcp".to_owned(), format!("host: {own}\r\norigin: http://{own}\r\norigin: http://evil.example\r\n")),
    ] {
        assert_eq!(said(&target, &headers), refused("400"), "{target} {headers}");
    }
    assert_eq!(said("/mcp", "host: evil.example\r\n"), refused("403"));
    // The control: the whole address may stand there, if it is this server's own.
    assert_eq!(said(&format!("http://{own}/mcp"), &format!("host: {own}\r\nconnection: close\r\n")), ("200".to_owned(), true));
}

#[test]
fn bodies_are_bounded_and_garbage_is_refused() {
    let web = Web::start(&["--mode", "tools"]);
    let port = web.port;
    let long = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}", "x".repeat(9 << 20));
    assert_eq!(post(port, &[], long.as_bytes()).status, 413);
    let deep =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}1{}}}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    for body in [deep.as_bytes(), b"hello", b"", b"[]", b"{\"jsonrpc\":\"1.0\"}"] {
        let status = post(port, &[], body).status;
        assert!((400..500).contains(&status), "{status} for {} bytes", body.len());
    }
    let plain = request(port, "POST", "/mcp", &[("content-type", "text/plain"), ("accept", "application/json, text/event-stream")], b"{}");
    assert_eq!(plain.status, 415, "a page's form cannot be a client");
    assert_eq!(request(port, "POST", "/elsewhere", &[], b"{}").status, 404);
    assert_eq!(request(port, "PUT", "/mcp", &[], b"{}").status, 405);
    assert_eq!(web.post(&[("mcp-session-id", "stranger")], &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).status, 404);
    assert_eq!(web.client().request("ping", json!({}))["result"], json!({}), "it goes on");
}

#[test]
fn one_session_too_many_takes_the_place_of_the_quietest() {
    let web = Web::start(&["--mode", "tools"]);
    let mut first = web.client();
    let second = web.client();
    let listening = second.listen();
    first.request("ping", json!({}));
    let others: Vec<_> = (0..70).map(|_| web.client()).collect();
    assert_eq!(first.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).status, 404, "it was quiet for longest");
    assert_eq!(second.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).status, 200, "it listens");
    assert_eq!(others[69].send(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).status, 200);
    drop(listening);
}

#[test]
fn connections_above_the_bound_wait_and_open_ones_go_on() {
    let web = Web::start(&["--mode", "tools"]);
    let mut client = web.client();
    // They say that they will send something, and never do.
    let mut idle: Vec<TcpStream> = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(("127.0.0.1", web.port)).expect("it listens");
        stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: ").expect("it reads");
        idle.push(stream);
    }
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    drop(idle);
}

#[test]
fn an_address_that_others_reach_has_to_be_asked_for_twice() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tools = demo().display().to_string();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let ran = Typed::new(folder.path(), ["mcp", "--tools", &tools, "--http", address]).run();
        assert!(ran.code == Some(2) && ran.stdout.is_empty(), "{ran:?}");
        assert!(ran.stderr.contains("--http-anyone"), "{ran:?}");
    }
    let ran = Typed::new(folder.path(), ["mcp", "--tools", &tools, "--http", "192.0.2.1:1", "--http-anyone"]).run();
    assert!(ran.code == Some(2) && ran.stderr.contains("can be reached from outside") && ran.stderr.contains("cannot listen"), "{ran:?}");
    let ran = Typed::new(folder.path(), ["mcp", "--tools", &tools, "--http", "example.org:80"]).run();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = Typed::new(folder.path(), ["mcp"]).run();
    assert!(ran.code == Some(2) && ran.stderr.contains("--tools"), "{ran:?}");
}
