//! A client over HTTP that knows nothing but sockets.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};

use super::lines::{Lines, PATIENCE};

/// A server that listens.
pub struct Web {
    pub server: Lines,
    pub port: u16,
}

/// A session of a client.
pub struct Client {
    port: u16,
    pub session: String,
    next_id: u64,
}

/// An answer whose body is still to be read.
pub struct Reply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    body: BufReader<TcpStream>,
    is_chunked: bool,
    text: Vec<u8>,
}

impl Web {
    pub fn start(more: &[&str]) -> Web {
        let mut server = Lines::start(&[&["--http", "0"], more].concat());
        let stderr = server.child.stderr.take().expect("piped");
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // It is read to its end: a full pipe would hold up the server.
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        let began = Instant::now();
        loop {
            let line = receive.recv_timeout(PATIENCE.saturating_sub(began.elapsed())).expect("it says where it listens");
            if let Some(port) = line.strip_suffix("/mcp").and_then(|url| url.rsplit_once(':')?.1.parse().ok()) {
                return Web { server, port };
            }
        }
    }

    pub fn client(&self) -> Client {
        self.client_that(json!({}))
    }

    /// A client that can do so much.
    pub fn client_that(&self, capabilities: Value) -> Client {
        let mut opening = initialize("2025-06-18");
        opening["params"]["capabilities"] = capabilities;
        let reply = self.post(&[], &opening);
        assert_eq!(reply.status, 200);
        let session = reply.headers.get("mcp-session-id").expect("a session").clone();
        let mut client = Client { port: self.port, session, next_id: 0 };
        assert!(reply.messages()[0]["result"]["capabilities"]["tools"].is_object());
        assert_eq!(client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).status, 202);
        client.next_id = 10;
        client
    }

    /// POSTs a message with further headers.
    pub fn post(&self, headers: &[(&str, &str)], message: &Value) -> Reply {
        post(self.port, headers, message.to_string().as_bytes())
    }
}

fn data(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim).filter(|data| !data.is_empty())
}

pub fn initialize(version: &str) -> Value {
    let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "web", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

pub fn post(port: u16, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let usual = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    request(port, "POST", "/mcp", &[&usual, headers].concat(), body)
}

/// Sends a request. A header of the list takes the place of the usual one of its name.
pub fn request(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let host = format!("127.0.0.1:{port}");
    let length = body.len().to_string();
    let mut all: BTreeMap<&str, &str> = BTreeMap::from([("host", host.as_str()), ("content-length", &length), ("connection", "close")]);
    all.extend(headers.iter().copied());
    let head: String = all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has one");
    stream.write_all(format!("{method} {path} HTTP/1.1\r\n{head}\r\n").as_bytes()).expect("it reads");
    // A server that refuses a body by its size reads no further.
    let _ = stream.write_all(body);
    let mut body = BufReader::new(stream);
    let mut line = String::new();
    body.read_line(&mut line).expect("a status");
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no status: {line:?}"));
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        body.read_line(&mut line).expect("a header");
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let is_chunked = headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked");
    Reply { status, headers, body, is_chunked, text: Vec::new() }
}

impl Reply {
    /// Reads the next piece; `false` at the end.
    fn more(&mut self) -> bool {
        if !self.is_chunked {
            return self.body.read_to_end(&mut self.text).is_ok_and(|read| read > 0);
        }
        let mut size = String::new();
        if self.body.read_line(&mut size).is_err() {
            return false;
        }
        let Ok(size) = usize::from_str_radix(size.trim(), 16) else { return false };
        let mut chunk = vec![0; size + 2];
        if size == 0 || self.body.read_exact(&mut chunk).is_err() {
            return false;
        }
        self.text.extend_from_slice(&chunk[..size]);
        true
    }

    /// The whole body.
    pub fn text(mut self) -> String {
        while self.more() {}
        String::from_utf8_lossy(&self.text).into_owned()
    }

    /// The messages of the whole body, whether it is a stream of events or one message.
    pub fn messages(self) -> Vec<Value> {
        let is_stream = self.headers.get("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        let text = self.text();
        if !is_stream {
            return vec![serde_json::from_str(&text).unwrap_or_else(|_| panic!("no message: {text}"))];
        }
        data(&text).map(|data| serde_json::from_str(data).unwrap_or_else(|_| panic!("no message: {data}"))).collect()
    }

    /// Waits until a text has come.
    pub fn until(&mut self, text: &str) {
        while !String::from_utf8_lossy(&self.text).contains(text) {
            assert!(self.more(), "it ends without {text}");
        }
    }

    /// Waits for a message with this method, on a stream of events.
    pub fn message(&mut self, method: &str) -> Value {
        loop {
            let text = String::from_utf8_lossy(&self.text);
            let found = data(&text).filter_map(|data| serde_json::from_str::<Value>(data).ok()).find(|message| message["method"] == method);
            if let Some(message) = found {
                return message;
            }
            assert!(self.more(), "it ends without {method}");
        }
    }
}

impl Client {
    fn headers(&self) -> [(&str, &str); 2] {
        [("mcp-session-id", &self.session), ("mcp-protocol-version", "2025-06-18")]
    }

    pub fn send(&self, message: &Value) -> Reply {
        post(self.port, &self.headers(), message.to_string().as_bytes())
    }

    /// Sends a request; the answer is still to be read.
    pub fn ask(&mut self, method: &str, params: Value) -> (Value, Reply) {
        self.next_id += 1;
        let id = json!(self.next_id);
        let reply = self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        (id, reply)
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let (id, reply) = self.ask(method, params);
        assert_eq!(reply.status, 200);
        let messages = reply.messages();
        messages.iter().find(|message| message["id"] == id).unwrap_or_else(|| panic!("no answer: {messages:?}")).clone()
    }

    pub fn code(&mut self, code: &str) -> Value {
        let answer = self.request("tools/call", json!({"name": "tool_search_code", "arguments": {"code": code}}));
        answer["result"]["structuredContent"].clone()
    }

    /// Opens the stream for what no request is answered with.
    pub fn listen(&self) -> Reply {
        let reply = request(self.port, "GET", "/mcp", &[&self.headers()[..], &[("accept", "text/event-stream")]].concat(), b"");
        assert_eq!(reply.status, 200);
        reply
    }

    pub fn delete(&self) -> u16 {
        request(self.port, "DELETE", "/mcp", &self.headers(), b"").status
    }
}
