//! A client over standard input and output that knows nothing but lines.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use codemode_tests::census::{children_of, is_alive};
use codemode_tests::program::codemode;
use serde_json::{Value, json};

use super::words;

/// Longer than anything here takes, on a machine that is busy with others.
pub const PATIENCE: Duration = Duration::from_secs(40);
/// How long what was ended may take to be gone.
pub const GONE_WITHIN: Duration = Duration::from_secs(4);

/// A server and the pipes to it.
pub struct Lines {
    pub child: Child,
    stdin: Option<ChildStdin>,
    received: Receiver<Result<Value, String>>,
    /// What came meanwhile and nobody asked for.
    pub aside: Vec<Value>,
    next_id: u64,
}

impl Lines {
    /// Starts a server with the demo catalog and these words besides.
    pub fn start(more: &[&str]) -> Lines {
        Lines::of(&words(more))
    }

    /// Starts the program with these words.
    pub fn of(words: &[String]) -> Lines {
        let mut command = Command::new(codemode());
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let (send, received) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        thread::spawn(move || {
            for line in stdout.split(b'\n') {
                let Ok(line) = line else { return };
                // Whatever is no message is a stray byte: the test that gets it fails.
                let message = serde_json::from_slice::<Value>(&line).map_err(|_| String::from_utf8_lossy(&line).into_owned());
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        Lines { stdin: child.stdin.take(), child, received, aside: Vec::new(), next_id: 100 }
    }

    /// The same, with a session that is open.
    pub fn open(more: &[&str]) -> Lines {
        let mut lines = Lines::start(more);
        lines.initialize(json!({}));
        lines
    }

    /// Opens the session; gives what the server says of itself.
    pub fn initialize(&mut self, capabilities: Value) -> Value {
        let params =
            json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "lines", "version": "1"}});
        let answer = self.request("initialize", params);
        self.notify("notifications/initialized", json!({}));
        answer["result"].clone()
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid")
    }

    /// Sends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("it is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the server reads");
    }

    pub fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request; gives its id.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = json!(self.next_id);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(&id)
    }

    /// Calls a tool; gives the result.
    pub fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": name, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Has a body run; gives the envelope.
    pub fn code(&mut self, code: &str) -> Value {
        self.call("tool_search_code", json!({"code": code}))["structuredContent"].clone()
    }

    /// The next message, whatever it is; `None` when none comes in time or the server has ended.
    pub fn next(&mut self, patience: Duration) -> Option<Value> {
        match self.received.recv_timeout(patience) {
            Ok(Ok(message)) => Some(message),
            Ok(Err(stray)) => panic!("on standard output, and no message: {stray:?}"),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// The answer with this id; what comes before it is put aside.
    pub fn answer(&mut self, id: &Value) -> Value {
        let is_it = |message: &Value| message.get("id") == Some(id) && message.get("method").is_none();
        if let Some(at) = self.aside.iter().position(is_it) {
            return self.aside.remove(at);
        }
        let began = Instant::now();
        while let Some(message) = self.next(PATIENCE.saturating_sub(began.elapsed())) {
            if is_it(&message) {
                return message;
            }
            self.aside.push(message);
        }
        panic!("no answer to {id}; aside: {:?}", self.aside);
    }

    /// The processes that the server has started, once there are some.
    pub fn children(&self) -> BTreeSet<i32> {
        let began = Instant::now();
        loop {
            let children = children_of(self.pid());
            if !children.is_empty() {
                return children;
            }
            assert!(began.elapsed() < PATIENCE, "it starts no child");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes the pipe on which the server reads.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end; gives how it ended, how long it took, and what stood on standard error.
    pub fn end(mut self) -> (ExitStatus, Duration, String) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                break status;
            }
            assert!(began.elapsed() < PATIENCE, "it does not end");
            thread::sleep(Duration::from_millis(5));
        };
        let took = began.elapsed();
        // What is left to read has to be messages, too.
        while self.next(Duration::from_secs(1)).is_some() {}
        let mut stderr = String::new();
        if let Some(mut pipe) = self.child.stderr.take() {
            let _ = pipe.read_to_string(&mut stderr);
        }
        (status, took, stderr)
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until none of these processes is left.
pub fn all_gone(pids: &BTreeSet<i32>) {
    let began = Instant::now();
    while pids.iter().any(|pid| is_alive(*pid)) {
        assert!(began.elapsed() < GONE_WITHIN, "left: {:?}", pids.iter().filter(|pid| is_alive(**pid)).collect::<Vec<_>>());
        thread::sleep(Duration::from_millis(5));
    }
}
