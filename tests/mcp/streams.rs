//! Servers on the network that answer with streams, and with anything else: byte by byte.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use codemode::catalog::CallCode;
use codemode::config::McpServer;
use serde_json::{Value, json};

use crate::bounds::{SHORT_AND_LARGE, peak_kib};
use crate::http::read;
use crate::stage::{Scene, call};

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

type Plain = fn(&Value, &mut TcpStream);

/// What a server does with a connection.
trait Way: Fn(&Value, &mut TcpStream) + Send + Sync + 'static {}
impl<T: Fn(&Value, &mut TcpStream) + Send + Sync + 'static> Way for T {}

/// A server whose calls, streams and answers of ours are dealt with as a test says; the rest is as it should be.
struct Server {
    port: u16,
    ended: Arc<AtomicBool>,
    /// Streams that were opened with GET.
    gets: Arc<AtomicUsize>,
    /// Answers of ours that it has not answered, the most at once.
    most_open: Arc<AtomicUsize>,
}

impl Server {
    fn start(on_call: impl Way, on_get: impl Way, on_answer: impl Way) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (ended, gets, open, most_open) =
            (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let server = Server { port, ended: Arc::clone(&ended), gets: Arc::clone(&gets), most_open: Arc::clone(&most_open) };
        let ways = Arc::new((on_call, on_get, on_answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let (ways, gets, open, most_open) = (Arc::clone(&ways), Arc::clone(&gets), Arc::clone(&open), Arc::clone(&most_open));
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let Some((method, _, message)) = read(&stream) else { return };
                    match (&*method, message["method"].as_str()) {
                        ("POST", Some("initialize")) => {
                            let result = json!({"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "1"}});
                            say(&mut stream, "mcp-session-id: s\r\n", &answer(&message, result));
                        }
                        ("POST", Some("tools/list")) => {
                            say(&mut stream, "", &answer(&message, json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]})))
                        }
                        ("POST", Some("tools/call")) => ways.0(&message, &mut stream),
                        ("POST", Some(_)) => put(&mut stream, "HTTP/1.1 202 x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"),
                        ("POST", None) => {
                            let now = open.fetch_add(1, Ordering::Relaxed) + 1;
                            most_open.fetch_max(now, Ordering::Relaxed);
                            ways.2(&message, &mut stream);
                            open.fetch_sub(1, Ordering::Relaxed);
                        }
                        ("GET", _) => {
                            gets.fetch_add(1, Ordering::Relaxed);
                            ways.1(&message, &mut stream);
                        }
                        _ => put(&mut stream, "HTTP/1.1 204 x\r\nconnection: close\r\n\r\n"),
                    }
                });
            }
        });
        server
    }

    /// One whose calls alone are out of order.
    fn calls(on_call: impl Way) -> Server {
        Server::start(on_call, no_stream, taken)
    }

    fn scene(&self) -> Scene {
        let url = format!("http://127.0.0.1:{}/mcp", self.port);
        let server = McpServer::Url { url, headers: BTreeMap::new(), roots: Vec::new() };
        Scene::with([("web".to_owned(), server)].into(), tempfile::tempdir().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // Wakes it.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// Whoever asked may be gone.
fn put(stream: &mut TcpStream, text: &str) {
    let _ = stream.write_all(text.as_bytes());
}

fn say(stream: &mut TcpStream, headers: &str, body: &str) {
    put(
        stream,
        &format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            body.len()
        ),
    );
}

fn answer(message: &Value, result: Value) -> String {
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string()
}

fn text(message: &Value, text: &str) -> String {
    answer(message, json!({"content": [{"type": "text", "text": text}]}))
}

fn no_stream(_: &Value, stream: &mut TcpStream) {
    put(stream, "HTTP/1.1 405 x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
}

fn taken(_: &Value, stream: &mut TcpStream) {
    put(stream, "HTTP/1.1 202 x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_answer_fails_its_call_at_once_and_says_what_it_was() {
    let ways: [(Plain, &str); 7] = [
        (taken, "HTTP 202"),
        (|message, stream| say(stream, "", &text(&json!({"id": message["id"].as_u64().unwrap() + 7}), "x")), "something else"),
        (|_, stream| say(stream, "", &text(&json!({"id": null}), "x")), "something else"),
        (|message, stream| say(stream, "", &format!("[{}]", text(message, "x"))), "something else"),
        (
            |_, stream| put(stream, "HTTP/1.1 200 x\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: 3\r\n\r\n<b>"),
            "text/html",
        ),
        (|_, stream| put(stream, "HTTP/1.1 403 x\r\nconnection: close\r\ncontent-length: 3\r\n\r\nbad"), "403 Forbidden: bad"),
        (|_, stream| put(stream, EVENTS), "no answer in it"),
    ];
    for (way, words) in ways {
        let server = Server::calls(way);
        let scene = server.scene();
        let catalog = scene.view().await;
        let began = Instant::now();
        let failure = call(&catalog, "mcp:web:t", json!({})).await.unwrap_err();
        assert!(
            failure.code == CallCode::ToolUnavailable && failure.is_unanswered && failure.message.contains(words),
            "{words}: {failure:?}"
        );
        assert!(began.elapsed() < Duration::from_secs(10), "{words}: {:?}", began.elapsed());
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_wants_to_know_who_asks_has_not_been_called() {
    let server = Server::calls(|_, stream| {
        put(stream, "HTTP/1.1 401 x\r\nwww-authenticate: Bearer\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
    });
    let scene = server.scene();
    let failure = call(&scene.view().await, "mcp:web:t", json!({})).await.unwrap_err();
    assert!(failure.code == CallCode::ToolUnavailable && !failure.is_unanswered && failure.message.contains("`headers`"), "{failure:?}");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_beside_an_answer_in_its_stream_does_it_no_harm() {
    let server = Server::calls(|message, stream| {
        put(stream, EVENTS);
        put(
            stream,
            ": a comment\r\n\r\nretry: 0\n\nevent: error\ndata: boom\n\ndata: no message\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"zzz\",\"result\":{}}\n\n",
        );
        put(
            stream,
            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"nobody's\",\"progress\":1}}\n\n",
        );
        let answer = answer(message, json!({"content": [{"type": "text", "text": "é\n日"}, {"type": "from the future", "x": 1}]}));
        // In lines, as a stream of events has it.
        let (head, tail) = answer.split_at(answer.find(",\"result\"").unwrap());
        put(stream, &format!("id: 1\ndata: {head}\r\ndata: {tail}\r\n\r\n"));
    });
    let scene = server.scene();
    let value = call(&scene.view().await, "mcp:web:t", json!({})).await.unwrap();
    assert_eq!(value, json!([{"type": "text", "text": "é\n日"}, {"type": "from the future", "x": 1}]));
    let lines = scene.servers.lines();
    assert!(lines.iter().any(|line| line.contains("no JSON")) && lines.iter().any(|line| line.contains("no open request")), "{lines:?}");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bounds_are_those_of_pipes() {
    for in_events in [false, true] {
        let server = Server::calls(move |message, stream| {
            let what = message["params"]["arguments"]["what"].as_u64().unwrap() as usize;
            let value = match SHORT_AND_LARGE.get(what) {
                Some((piece, times)) => format!("[{}0]", piece.repeat(usize::try_from(*times).unwrap())),
                None => format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
            };
            let body = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{{\"content\":[],\"structuredContent\":{{\"v\":{value}}}}}}}",
                message["id"]
            );
            if in_events { put(stream, &format!("{EVENTS}data: {body}\n\n")) } else { say(stream, "", &body) }
        });
        let scene = server.scene();
        let catalog = scene.view().await;
        for what in 0..SHORT_AND_LARGE.len() {
            let failure = call(&catalog, "mcp:web:t", json!({"what": what})).await.unwrap_err();
            assert!(failure.code == CallCode::TooLarge && failure.message.contains("so many values"), "{failure:?}");
        }
        let failure = call(&catalog, "mcp:web:t", json!({"what": 99})).await.unwrap_err();
        assert!(failure.code == CallCode::InvalidResult && !failure.is_unanswered, "{failure:?}");
        assert!(peak_kib() < 1 << 20, "{} KiB", peak_kib());
        scene.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_closes_at_once_is_opened_ever_less_often() {
    let closes = |_: &Value, stream: &mut TcpStream| put(stream, &format!("{EVENTS}id: 1\nretry: 0\ndata: \n\n"));
    let breaks = |_: &Value, stream: &mut TcpStream| {
        put(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\nid: 1\n\n")
    };
    let ways: [Plain; 2] = [closes, breaks];
    for on_get in ways {
        let server = Server::start(|message, stream| say(stream, "", &text(message, "said")), on_get, taken);
        let scene = server.scene();
        let catalog = scene.view().await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        // Sixteen at most without a wait, then after 1, 2 and 4 s. Without the pace one that breaks gets thousands.
        let gets = server.gets.load(Ordering::Relaxed);
        assert!((2..=19).contains(&gets), "{gets}");
        assert_eq!(call(&catalog, "mcp:web:t", json!({})).await.unwrap(), "said");
        scene.end().await;
    }
}

/// Each answer of ours is a connection, and a server that takes none of them must not get all that this process may have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_requests_whose_answers_are_not_taken_costs_few_connections() {
    let asks = |message: &Value, stream: &mut TcpStream| {
        put(stream, EVENTS);
        for n in 0..5_000 {
            put(stream, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"sampling/createMessage\",\"params\":{{}}}}\n\n"));
        }
        thread::sleep(Duration::from_millis(500));
        put(stream, &format!("data: {}\n\n", text(message, "done")));
    };
    let server = Server::start(asks, no_stream, |_: &Value, _: &mut TcpStream| thread::sleep(Duration::from_secs(3)));
    let scene = server.scene();
    assert_eq!(call(&scene.view().await, "mcp:web:t", json!({})).await.unwrap(), "done");
    let most = server.most_open.load(Ordering::Relaxed);
    assert!((1..=64).contains(&most), "{most}");
    scene.end().await;
}
