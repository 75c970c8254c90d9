//! `codemode mcp`, over its standard input and output.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{Semaphore, oneshot};

use super::{program, tools};
use crate::arguments::Arguments;
use crate::mix::{HOSTILE_WALL_MS, Piece};

/// Requests that a client may have open; one more is refused. Whoever comes beyond waits here, as in a client.
const OPEN: usize = 64;

/// A session with one server.
#[derive(Debug)]
pub struct Session {
    child: Child,
    input: tokio::sync::Mutex<(u64, ChildStdin)>,
    open: Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>>,
    turns: Semaphore,
}

impl Session {
    /// Starts a server and says hello.
    pub async fn start(arguments: &Arguments) -> Session {
        let mut command = Command::new(program());
        // The wall clock is the server's: that of the hostile bodies serves for all.
        command.args(["mcp", "--mode", "code", "--timeout", &HOSTILE_WALL_MS.to_string(), "--tools"]).arg(tools());
        if let Some(node) = &arguments.node {
            command.arg("--node").arg(node);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().expect("codemode starts");
        let input = child.stdin.take().expect("it is piped");
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let open = Arc::new(Mutex::new(HashMap::new()));
        tokio::spawn(read(lines, Arc::clone(&open)));
        let session = Session { child, input: tokio::sync::Mutex::new((0, input)), open, turns: Semaphore::new(OPEN) };
        let who = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "load", "version": "1"}});
        session.ask("initialize", who).await;
        session.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        session
    }

    /// Runs a body to its end.
    pub async fn run(&self, piece: &Piece) -> Result<String, String> {
        let answer = self.ask("tools/call", json!({"name": "tool_search_code", "arguments": {"code": piece.body}})).await;
        let envelope = &answer["result"]["structuredContent"];
        match envelope["ok"].as_bool() {
            Some(true) => Ok(envelope["value"].to_string()),
            _ => Err(envelope["error"]["code"].as_str().map_or_else(|| answer.to_string(), str::to_owned)),
        }
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let _turn = self.turns.acquire().await.expect("nobody closes it");
        let (sender, answer) = oneshot::channel();
        let mut input = self.input.lock().await;
        input.0 += 1;
        let id = input.0;
        self.open.lock().expect("nobody panics with it").insert(id, sender);
        write(&mut input.1, &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        drop(input);
        answer.await.expect("the server answers")
    }

    async fn say(&self, message: &Value) {
        write(&mut self.input.lock().await.1, message).await;
    }
}

async fn write(input: &mut ChildStdin, message: &Value) {
    input.write_all(format!("{message}\n").as_bytes()).await.expect("the server reads");
}

async fn read(mut lines: Lines<BufReader<ChildStdout>>, open: Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>>) {
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).expect("one message a line");
        let waiting = message["id"].as_u64().and_then(|id| open.lock().expect("nobody panics with it").remove(&id));
        if let Some(waiting) = waiting {
            // Who asked may be gone.
            let _ = waiting.send(message);
        }
    }
}
