//! `codemode serve`, and this program as its gateway: one connection for all callers.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use codemode::catalog::{CallContext, Catalog};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};

use super::{demo, program};
use crate::arguments::Arguments;
use crate::mix::Piece;

/// The socket is there by then.
const LISTENS_WITHIN: Duration = Duration::from_secs(20);

type Ends = Arc<Mutex<HashMap<String, oneshot::Sender<Value>>>>;

/// A connection to one server.
#[derive(Debug)]
pub struct Connection {
    child: Child,
    said: mpsc::UnboundedSender<Value>,
    ends: Ends,
    runs: AtomicU64,
    _folder: TempDir,
}

impl Connection {
    /// Starts a server, connects and says hello.
    pub async fn start(arguments: &Arguments) -> Connection {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("codemode.sock");
        let mut command = Command::new(program());
        command.arg("serve").arg("--socket").arg(&path);
        if let Some(node) = &arguments.node {
            command.arg("--node").arg(node);
        }
        let child = command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().expect("codemode starts");
        let connected = async {
            loop {
                if let Ok(stream) = UnixStream::connect(&path).await {
                    return stream;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let stream = tokio::time::timeout(LISTENS_WITHIN, connected).await.expect("it listens");
        let (read, write) = stream.into_split();
        let (said, saying) = mpsc::unbounded_channel();
        let ends = Ends::default();
        tokio::spawn(say(write, saying));
        tokio::spawn(hear(read, said.clone(), Arc::clone(&ends)));
        let hello = json!({"protocol": 1, "name": "load", "capabilities": ["catalog"]});
        // Only who hears nothing any more is not told.
        let _ = said.send(json!({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": hello}));
        Connection { child, said, ends, runs: AtomicU64::new(1), _folder: folder }
    }

    /// Runs a body to its end.
    pub async fn run(&self, piece: &Piece) -> Result<String, String> {
        let (sender, report) = oneshot::channel();
        {
            // Requests are numbered in the order in which they are sent.
            let mut ends = self.ends.lock().expect("nobody panics with it");
            let id = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
            let run = id.to_string();
            let params = json!({"run": run, "body": piece.body, "catalog": "gateway", "limits": {"wallMs": piece.wall_ms}});
            ends.insert(run, sender);
            self.said.send(json!({"jsonrpc": "2.0", "id": id, "method": "run.start", "params": params})).expect("the connection stands");
        }
        let report = report.await.expect("every run has its end");
        match report["error"]["code"].as_str() {
            None => Ok(report["value"].to_string()),
            Some(code) => Err(code.to_owned()),
        }
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }
}

async fn say(mut write: OwnedWriteHalf, mut saying: mpsc::UnboundedReceiver<Value>) {
    while let Some(message) = saying.recv().await {
        let text = message.to_string();
        let length = u32::try_from(text.len()).expect("far below 4 GiB");
        let frame = [&length.to_be_bytes()[..], text.as_bytes()].concat();
        if write.write_all(&frame).await.is_err() {
            return;
        }
    }
}

async fn hear(mut read: OwnedReadHalf, said: mpsc::UnboundedSender<Value>, ends: Ends) {
    let catalog = demo();
    while let Ok(length) = read.read_u32().await {
        let mut text = vec![0; length as usize];
        if read.read_exact(&mut text).await.is_err() {
            return;
        }
        let mut message: Value = serde_json::from_slice(&text).expect("a frame is JSON");
        match message["method"].as_str() {
            Some("run.finished") => {
                let run = message["params"]["run"].as_str().unwrap_or_default().to_owned();
                let waiting = ends.lock().expect("nobody panics with it").remove(&run);
                // Who asked may be gone.
                let _ = waiting.map(|waiting| waiting.send(message["params"]["report"].take()));
            }
            Some(method @ ("catalog.search" | "catalog.describe" | "catalog.call")) => {
                let (catalog, said, method) = (Arc::clone(&catalog), said.clone(), method.to_owned());
                // A slow tool keeps nobody from hearing.
                tokio::spawn(async move {
                    let result = answer(&catalog, &method, &message["params"]).await;
                    // Likewise.
                    let _ = said.send(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
                });
            }
            Some("goodbye") => panic!("{message}"),
            _ => assert!(message.get("error").is_none(), "{message}"),
        }
    }
}

/// The demo tools, as a gateway would answer for them.
async fn answer(catalog: &Arc<dyn Catalog>, method: &str, params: &Value) -> Value {
    let id = params["id"].as_str().unwrap_or_default();
    if method == "catalog.search" {
        let query = codemode::catalog::SearchQuery {
            query: params["query"].as_str().unwrap_or_default().to_owned(),
            limit: params["limit"].as_u64(),
        };
        let found = catalog.search(&query).await.expect("it is in memory");
        return found.iter().map(|tool| described(tool)).collect();
    }
    let tool = catalog.describe(id).await.expect("the bodies name tools that there are");
    if method == "catalog.describe" {
        return described(&tool);
    }
    let context = CallContext { run_id: "load".into(), seq: params["seq"].as_u64().unwrap_or(1) };
    catalog.call(&tool, params["args"].clone(), &context).await.expect("they do not fail")
}

fn described(tool: &codemode::catalog::Tool) -> Value {
    json!({
        "id": tool.id, "source": tool.source, "sourceName": tool.source_name, "name": tool.name, "description": tool.description,
        "parameters": tool.description_value()["parameters"],
    })
}
