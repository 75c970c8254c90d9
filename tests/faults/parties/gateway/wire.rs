//! A gateway's end of the wire, by hand.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use codemode_protocol::{Decoder, FrameLimit};
use codemode_tests::patience::PACE;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::{Value, json};

/// Longer than anything takes that comes at all, on a machine that is busy with others; the longest is the clock of `hello`.
const SOON: Duration = Duration::from_secs(20);

/// One connection.
pub struct Link {
    stream: UnixStream,
    decoder: Decoder,
    asked: u64,
    /// Messages that came while another was waited for.
    kept: Vec<Value>,
}

/// Text in a frame.
pub fn framed(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("short").to_be_bytes();
    [&length[..], text.as_bytes()].concat()
}

/// An answer in a frame.
pub fn answer(to: &Value, result: &Value) -> Vec<u8> {
    framed(&json!({"jsonrpc": "2.0", "id": to["id"], "result": result}).to_string())
}

/// A tool that takes and gives anything.
pub fn tool(name: &str, description: &str) -> Value {
    json!({"source": "client", "sourceName": "test", "name": name, "description": description, "parameters": {"type": "object"}})
}

/// What a gateway says that does what it should.
pub fn right(method: &str) -> Value {
    match method {
        "catalog.search" => json!([tool("t", "t")]),
        "catalog.describe" => tool("t", "t"),
        "approval.request" => json!({"answer": "granted"}),
        "hook.beforeToolCall" => json!({"decision": "allow"}),
        _ => json!(7),
    }
}

impl Link {
    /// A connection on which nothing was said.
    pub fn open(socket: &Path) -> Result<Link, String> {
        let opened = || {
            let stream = UnixStream::connect(socket)?;
            stream.set_read_timeout(Some(SOON))?;
            stream.set_write_timeout(Some(SOON))?;
            Ok(Link { stream, decoder: Decoder::new(FrameLimit::LARGEST), asked: 0, kept: Vec::new() })
        };
        opened().map_err(|error: io::Error| format!("no connection: {error}"))
    }

    /// One that has said hello.
    pub fn greeted(socket: &Path) -> Result<Link, String> {
        let mut link = Link::open(socket)?;
        let hello = link.hello();
        link.say(&hello)?;
        link.is_answered()?;
        Ok(link)
    }

    /// The frame of the next request.
    pub fn request(&mut self, method: &str, params: &Value) -> Vec<u8> {
        self.asked += 1;
        framed(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}).to_string())
    }

    /// The frame of hello.
    pub fn hello(&mut self) -> Vec<u8> {
        self.request("hello", &json!({"protocol": 1, "name": "test", "capabilities": ["catalog", "approvals", "hooks"]}))
    }

    /// Writes.
    pub fn say(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream.write_all(bytes).map_err(|error| format!("nothing more can be said: {error}"))
    }

    /// Writes where the other end may close meanwhile; what it said tells.
    pub fn say_if_heard(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Closes a direction.
    pub fn shut(&mut self, which: Shutdown) -> Result<(), String> {
        self.stream.shutdown(which).map_err(|error| format!("it is closed already: {error}"))
    }

    /// The id of the latest request.
    pub fn latest(&self) -> u64 {
        self.asked
    }

    /// Waits until the latest request is answered with a result.
    pub fn is_answered(&mut self) -> Result<(), String> {
        let answer = self.answer_to(self.asked)?;
        if answer["result"].is_object() { Ok(()) } else { Err(format!("refused: {answer}")) }
    }

    /// The answer to a request.
    pub fn answer_to(&mut self, id: u64) -> Result<Value, String> {
        self.next(|message| message["method"].is_null() && message["id"] == id)
    }

    /// The next message that is meant; others are kept.
    pub fn next(&mut self, meant: impl Fn(&Value) -> bool) -> Result<Value, String> {
        if let Some(at) = self.kept.iter().position(&meant) {
            return Ok(self.kept.remove(at));
        }
        loop {
            let message = self.heard()?.ok_or_else(|| format!("closed; kept: {:?}", self.kept))?;
            if meant(&message) {
                return Ok(message);
            }
            self.kept.push(message);
        }
    }

    /// The first question of this kind; all before it have their right answers.
    pub fn asks(&mut self, method: &str) -> Result<Value, String> {
        self.answering(|message| message["method"] == method)
    }

    /// The report of a run, all questions up to it having their right answers.
    pub fn report_of(&mut self, run: &str) -> Result<Value, String> {
        let finished = self.answering(|message| message["method"] == "run.finished" && message["params"]["run"] == run)?;
        Ok(finished["params"]["report"].clone())
    }

    fn answering(&mut self, meant: impl Fn(&Value) -> bool) -> Result<Value, String> {
        loop {
            let is_question = |message: &Value| message["method"].is_string() && message["id"].is_u64();
            let message = self.next(|message| meant(message) || is_question(message))?;
            if meant(&message) {
                return Ok(message);
            }
            self.say(&answer(&message, &right(message["method"].as_str().unwrap_or_default())))?;
        }
    }

    /// Sees that this connection carries a run from start to end.
    pub fn runs_well(&mut self, run: &str) -> Result<(), String> {
        let start = self.request("run.start", &json!({"run": run, "body": "return 2", "catalog": "gateway"}));
        self.say(&start)?;
        self.is_answered()?;
        let report = self.report_of(run)?;
        if report["value"] == 2 { Ok(()) } else { Err(format!("the run after it: {report}")) }
    }

    /// What the end of the connection is: the code of its `goodbye`, or nothing. All that comes before is passed over.
    pub fn end(&mut self) -> Result<Option<String>, String> {
        let mut code = None;
        while let Some(message) = self.heard()? {
            if message["method"] == "goodbye" {
                code = message["params"]["code"].as_str().map(str::to_owned);
            }
        }
        Ok(code)
    }

    /// Waits until the other end has closed, where nothing can be heard any more.
    pub fn is_left(&self) -> Result<(), String> {
        let began = Instant::now();
        while began.elapsed() < SOON {
            let mut ends = [PollFd::new(self.stream.as_fd(), PollFlags::empty())];
            poll(&mut ends, PollTimeout::ZERO).map_err(|error| error.to_string())?;
            if ends[0].revents().is_some_and(|events| events.contains(PollFlags::POLLHUP)) {
                return Ok(());
            }
            thread::sleep(PACE);
        }
        Err("the connection is still there".to_owned())
    }

    /// The next message; nothing at the end.
    fn heard(&mut self) -> Result<Option<Value>, String> {
        loop {
            if let Some(frame) = self.decoder.next().map_err(|error| error.to_string())? {
                return serde_json::from_str(frame.text()).map(Some).map_err(|error| error.to_string());
            }
            match self.stream.read(self.decoder.space()) {
                Ok(0) => return Ok(None),
                Ok(read) => self.decoder.filled(read),
                // Closed while words of ours were unread there.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(format!("nothing comes: {error}; kept: {:?}", self.kept)),
            }
        }
    }
}
