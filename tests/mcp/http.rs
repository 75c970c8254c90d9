//! Servers on the network, as small as they can be and as wrong as they like.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use codemode::catalog::{CallCode, Catalog};
use codemode::config::McpServer;
use serde_json::{Value, json};

use crate::stage::{Scene, call};

/// What a server has seen: method, headers, message.
type Seen = Arc<Mutex<Vec<(String, BTreeMap<String, String>, Value)>>>;

struct Web {
    port: u16,
    seen: Seen,
    ended: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// An answer: status, further headers, body.
type Answer = (u16, Vec<(&'static str, String)>, String);

impl Web {
    /// A server whose requests of a tool are answered by `on_call`; the rest is as it should be.
    fn start(mut on_call: impl FnMut(&Value) -> Answer + Send + 'static) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, ended) = (Seen::default(), Arc::new(AtomicBool::new(false)));
        let (note, is_over) = (Arc::clone(&seen), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            let mut sessions = 0;
            for stream in listener.incoming() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let mut stream = stream.unwrap();
                let Some((method, headers, message)) = read(&stream) else { continue };
                note.lock().unwrap().push((method.clone(), headers, message.clone()));
                let (status, more, body) = match (&*method, message["method"].as_str()) {
                    ("POST", Some("initialize")) => {
                        sessions += 1;
                        let result = json!({"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "1"}});
                        let (status, mut more, body) = answer(&message, &result);
                        more.push(("mcp-session-id", format!("s{sessions}")));
                        (status, more, body)
                    }
                    ("POST", Some("tools/list")) => {
                        answer(&message, &json!({"tools": [{"name": "t", "inputSchema": {"type": "object", "x": [1]}}]}))
                    }
                    ("POST", Some("tools/call")) => on_call(&message),
                    ("POST", _) => (202, vec![], String::new()),
                    ("DELETE", _) => (204, vec![], String::new()),
                    _ => (405, vec![], String::new()),
                };
                let more: String = more.into_iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
                let head = format!("HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {}\r\n{more}\r\n", body.len());
                // Whoever asked may be gone.
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
            }
        });
        Web { port, seen, ended, thread: Some(thread) }
    }

    fn scene(&self) -> Scene {
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        let headers = [("Authorization".to_owned(), "Bearer secret".to_owned())].into();
        Scene::with([("web".to_owned(), McpServer::Url { url, headers, roots: Vec::new() })].into(), tempfile::tempdir().unwrap())
    }

    fn count(&self, of: impl Fn(&str, &Value) -> bool) -> usize {
        self.seen.lock().unwrap().iter().filter(|(method, _, message)| of(method, message)).count()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes it.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// One request: method, headers, message.
pub(crate) fn read(stream: &TcpStream) -> Option<(String, BTreeMap<String, String>, Value)> {
    let mut reader = BufReader::new(stream).take(1 << 20);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let method = line.split(' ').next()?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some((method, headers, serde_json::from_slice(&body).unwrap_or_default()))
}

fn answer(message: &Value, result: &Value) -> Answer {
    (
        200,
        vec![("content-type", "application/json".to_owned())],
        json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string(),
    )
}

fn said(message: &Value, text: &str) -> Answer {
    answer(message, &json!({"content": [{"type": "text", "text": text}]}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_are_listed_and_called_with_the_entrys_headers_and_the_session_is_ended() {
    let web = Web::start(|message| said(message, &message["params"]["arguments"].to_string()));
    let scene = web.scene();
    let catalog = scene.view().await;
    assert_eq!(catalog.describe("mcp:web:t").await.unwrap().parameters.value(), &json!({"type": "object", "x": [1]}));
    assert_eq!(call(&catalog, "mcp:web:t", json!({"a": 1})).await.unwrap(), "{\"a\":1}");
    scene.servers.stop().await;
    assert!(web.seen.lock().unwrap().iter().all(|(_, headers, _)| headers["authorization"] == "Bearer secret"));
    assert_eq!(web.count(|method, _| method == "DELETE"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_session_is_made_again_and_the_call_goes_once_more() {
    let expired = AtomicBool::new(false);
    let web = Web::start(
        move |message| {
            if expired.swap(true, Ordering::Relaxed) { said(message, "again") } else { (404, vec![], String::new()) }
        },
    );
    let scene = web.scene();
    let catalog = scene.view().await;
    assert_eq!(call(&catalog, "mcp:web:t", json!({})).await.unwrap(), "again");
    assert_eq!(web.count(|_, message| message["method"] == "initialize"), 2);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_to_a_stranger_is_not_followed() {
    let stranger = Web::start(|message| said(message, "caught"));
    let port = stranger.port;
    let web = Web::start(move |_| (307, vec![("location", format!("http://127.0.0.1:{port}/mcp"))], String::new()));
    let scene = web.scene();
    let catalog = scene.view().await;
    let failure = call(&catalog, "mcp:web:t", json!({})).await.unwrap_err();
    assert_eq!(failure.code, CallCode::ToolUnavailable, "{failure:?}");
    assert!(stranger.seen.lock().unwrap().is_empty());
    scene.end().await;

    // The control: at home it is followed.
    let home = Arc::new(Mutex::new(0_u16));
    let own = Arc::clone(&home);
    let turned = AtomicBool::new(false);
    let web = Web::start(move |message| {
        if turned.swap(true, Ordering::Relaxed) {
            return said(message, "home");
        }
        (307, vec![("location", format!("http://127.0.0.1:{}/other", own.lock().unwrap()))], String::new())
    });
    *home.lock().unwrap() = web.port;
    let scene = web.scene();
    assert_eq!(call(&scene.view().await, "mcp:web:t", json!({})).await.unwrap(), "home");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_above_the_limit_is_an_error_and_the_next_call_works() {
    let mut calls = 0;
    let web = Web::start(move |message| {
        calls += 1;
        said(message, &if calls == 1 { "x".repeat(20 << 20) } else { "small".to_owned() })
    });
    let scene = web.scene();
    let catalog = scene.view().await;
    let failure = call(&catalog, "mcp:web:t", json!({})).await.unwrap_err();
    assert!(failure.code == CallCode::ToolUnavailable && failure.message.contains("exceeded the maximum size"), "{failure:?}");
    assert_eq!(call(&catalog, "mcp:web:t", json!({})).await.unwrap(), "small");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_request_may_have_had_its_effect_and_one_that_never_arrived_has_not() {
    let web = Web::start(|_| (500, vec![], "oops".to_owned()));
    let scene = web.scene();
    let catalog = scene.view().await;
    let failure = call(&catalog, "mcp:web:t", json!({})).await.unwrap_err();
    assert!(failure.code == CallCode::ToolUnavailable && failure.is_unanswered && failure.message.contains("500"), "{failure:?}");
    drop(web);
    let failure = call(&catalog, "mcp:web:t", json!({})).await.unwrap_err();
    assert!(
        failure.code == CallCode::ToolUnavailable && !failure.is_unanswered && failure.message.contains("was not called"),
        "{failure:?}"
    );
    let began = Instant::now();
    scene.end().await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_an_unavailable_server() {
    let url = "http://127.0.0.1:9/mcp".to_owned();
    let scene = Scene::with(
        [("web".to_owned(), McpServer::Url { url, headers: BTreeMap::new(), roots: Vec::new() })].into(),
        tempfile::tempdir().unwrap(),
    );
    let missing = scene.view().await.summary().unavailable;
    assert!(missing.len() == 1 && missing[0].reason.contains("no connection"), "{missing:?}");
    scene.end().await;
}
