//! `codemode serve` in a process of its own, and connections to it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use codemode::launch::LauncherKind;
use codemode_protocol::{Decoder, FrameLimit};
use codemode_tests::binary::{Ran, Typed, finish};
use codemode_tests::census::{children_of, cpu_of, is_alive};
use codemode_tests::patience::PACE;
use codemode_tests::rig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any message of these tests takes, on a machine that is busy with others.
pub const SOON: Duration = Duration::from_secs(25);

/// A server that goes on.
pub struct Serve {
    child: Option<Child>,
    pub socket: PathBuf,
    /// Children that it has without any run.
    idle: usize,
    _folder: TempDir,
}

impl Serve {
    pub fn start(words: &[&str]) -> Serve {
        Serve::after("", words)
    }

    /// After a line of shell.
    pub fn after(setup: &str, words: &[&str]) -> Serve {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("codemode.sock");
        let child = typed(setup, folder.path(), &socket, words).start();
        let mut serve = Serve { child: Some(child), socket, idle: 0, _folder: folder };
        // A server that answers has made all that it makes.
        let mut first = serve.connect();
        assert_eq!(first.run("first", "return 1", json!({}))["value"], 1);
        serve.idle = serve.settled();
        serve
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.as_ref().expect("it goes on").id()).expect("a pid")
    }

    pub fn children(&self) -> BTreeSet<i32> {
        children_of(self.pid())
    }

    /// The number of its children once it stays the same: a template keeps some waiting.
    fn settled(&self) -> usize {
        let (mut count, mut since) = (self.children().len(), Instant::now());
        while since.elapsed() < Duration::from_millis(300) {
            thread::sleep(PACE);
            let now = self.children().len();
            if now != count {
                (count, since) = (now, Instant::now());
            }
        }
        count
    }

    /// Children that it may have while so many runs go on. A template keeps as many waiting as the last half minute asked for, so under it this is a bound, and a
    /// count only where each run is a start of its own.
    pub fn most_children(&self, runs: usize) -> usize {
        /// Forks that wait at most, by processor, and a template besides.
        const WAITING: usize = 8;
        let processors = thread::available_parallelism().map_or(1, usize::from);
        runs + match rig::way() {
            LauncherKind::Spawn => self.idle,
            LauncherKind::Template => 2 + WAITING * processors,
        }
    }

    /// Waits until only so many runs can have a child.
    pub fn comes_down_to(&self, runs: usize) {
        until("the children of the other runs are gone", || self.children().len() <= self.most_children(runs));
    }

    /// The child that computes, where all others wait.
    pub fn busy_child(&self) -> i32 {
        let mut found = None;
        until("a child computes", || {
            let before: Vec<(i32, Duration)> = self.children().into_iter().map(|pid| (pid, cpu_of(pid))).collect();
            thread::sleep(Duration::from_millis(300));
            found = before.iter().find(|(pid, cpu)| is_alive(*pid) && cpu_of(*pid) > *cpu + Duration::from_millis(20)).map(|(pid, _)| *pid);
            found.is_some()
        });
        found.expect("it was found")
    }

    /// Waits until no run has a child.
    pub fn becomes_idle(&self) {
        self.comes_down_to(0);
    }

    /// A connection that has said hello.
    pub fn connect(&self) -> Link {
        let mut link = self.raw();
        let id = link.ask("hello", json!({"protocol": 1, "name": "test", "capabilities": ["catalog", "approvals", "hooks"]}));
        assert_eq!(link.answer_to(id)["result"]["protocol"], 1);
        link
    }

    /// A connection on which nothing was said.
    pub fn raw(&self) -> Link {
        let began = Instant::now();
        loop {
            match UnixStream::connect(&self.socket) {
                Ok(stream) => return Link::of(stream),
                Err(error) => assert!(began.elapsed() < SOON, "nobody answers: {error}"),
            }
            thread::sleep(PACE);
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("it is ours");
    }

    /// Ends it, and sees that it left nothing.
    pub fn stop(mut self) -> Ran {
        self.signal(Signal::SIGTERM);
        let children = self.children();
        let ran = finish(self.child.take().expect("it goes on"));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(!self.socket.exists(), "the socket is gone");
        for child in children {
            until("its children are gone", || !Path::new(&format!("/proc/{child}")).exists());
        }
        ran
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // A test has failed: it is ours to end.
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// `codemode serve` for this socket, not yet started.
pub fn typed(setup: &str, folder: &Path, socket: &Path, words: &[&str]) -> Typed {
    let way = match rig::way() {
        LauncherKind::Spawn => "spawn",
        LauncherKind::Template => "template",
    };
    let socket = socket.to_str().expect("text");
    Typed::after(setup, folder, [&["serve", "--socket", socket, "--launcher", way], words].concat())
}

pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < SOON, "not within {SOON:?}: {what}");
        thread::sleep(PACE);
    }
}

/// One connection, by hand.
pub struct Link {
    stream: UnixStream,
    decoder: Decoder,
    asked: u64,
    /// Messages that came while another was waited for.
    kept: Vec<Value>,
}

impl Link {
    fn of(stream: UnixStream) -> Link {
        stream.set_read_timeout(Some(SOON)).expect("a timeout");
        stream.set_write_timeout(Some(SOON)).expect("a timeout");
        Link { stream, decoder: Decoder::new(FrameLimit::LARGEST), asked: 0, kept: Vec::new() }
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        // The other end may have closed already; what it said tells.
        let _ = self.stream.write_all(bytes);
    }

    /// Says that nothing more will be sent.
    pub fn shut(&mut self) {
        self.stream.shutdown(std::net::Shutdown::Write).expect("it is open");
    }

    pub fn text(&mut self, text: &str) {
        let length = u32::try_from(text.len()).expect("short").to_be_bytes();
        self.bytes(&[&length[..], text.as_bytes()].concat());
    }

    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        self.text(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}).to_string());
        self.asked
    }

    pub fn answer(&mut self, to: &Value, result: Value) {
        self.text(&json!({"jsonrpc": "2.0", "id": to["id"], "result": result}).to_string());
    }

    pub fn fail(&mut self, to: &Value, code: &str, message: &str) {
        let data = json!({"code": code, "name": "ToolError", "toolId": null});
        self.text(&json!({"jsonrpc": "2.0", "id": to["id"], "error": {"code": -32000, "message": message, "data": data}}).to_string());
    }

    /// Starts a run whose tools this end answers for.
    pub fn start(&mut self, run: &str, body: &str, more: Value) {
        let id = self.try_start(run, body, more);
        assert_eq!(self.answer_to(id)["result"], json!({}));
    }

    pub fn try_start(&mut self, run: &str, body: &str, more: Value) -> u64 {
        let mut params = json!({"run": run, "body": body, "catalog": "gateway"});
        params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        self.ask("run.start", params)
    }

    /// Runs a body that asks for nothing, to its report.
    pub fn run(&mut self, run: &str, body: &str, more: Value) -> Value {
        self.start(run, body, more);
        self.report_of(run)
    }

    pub fn report_of(&mut self, run: &str) -> Value {
        let finished = self.next(|message| message["method"] == "run.finished" && message["params"]["run"] == run);
        finished["params"]["report"].clone()
    }

    pub fn answer_to(&mut self, id: u64) -> Value {
        self.next(|message| message["method"].is_null() && message["id"] == id)
    }

    pub fn method(&mut self, method: &str) -> Value {
        self.next(|message| message["method"] == method)
    }

    /// How many such messages came while others were waited for.
    pub fn seen(&self, method: &str) -> usize {
        self.kept.iter().filter(|message| message["method"] == method).count()
    }

    /// Lets time pass without reading: what is sent piles up at the other end.
    pub fn hear_none_for(&self, time: Duration) {
        thread::sleep(time);
    }

    /// Why this end was let go; the connection is closed behind it.
    pub fn goodbye(&mut self) -> (String, String) {
        let goodbye = self.method("goodbye");
        until("the connection is closed", || self.closed());
        let text = |name: &str| goodbye["params"][name].as_str().expect("text").to_owned();
        (text("code"), text("message"))
    }

    /// Whether the other end has closed; what it said before is read over.
    pub fn closed(&mut self) -> bool {
        let mut bytes = [0; 4096];
        !matches!(self.stream.read(&mut bytes), Ok(1..))
    }

    /// The next message that is meant; others are kept.
    pub fn next(&mut self, meant: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&meant) {
            return self.kept.remove(at);
        }
        loop {
            let message = self.heard();
            if meant(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    fn heard(&mut self) -> Value {
        loop {
            if let Some(frame) = self.decoder.next().expect("frames") {
                return serde_json::from_str(frame.text()).expect("JSON");
            }
            let read = self.stream.read(self.decoder.space()).expect("something comes soon");
            assert!(read > 0, "closed; kept: {:?}", self.kept);
            self.decoder.filled(read);
        }
    }
}

/// A tool that takes and gives anything.
pub fn tool(name: &str) -> Value {
    json!({"source": "client", "sourceName": "test", "name": name, "description": format!("{name}s."), "parameters": {"type": "object"}})
}

/// Bytes of memory that a process has.
pub fn resident(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it goes on");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("kilobytes") * 1024
}
