//! Sources that change while a client is there: the library's server, over pipes inside this process.

use std::sync::Arc;
use std::time::Duration;

use codemode::RunLimits;
use codemode::catalog::{RunContext, Source, Sources};
use codemode::config::{Config, Mode};
use codemode::gate::Policy;
use codemode::modes::ShownInstead;
use codemode::serve::mcp::{McpServer, McpServerSetup};
use codemode::telemetry::Recorder;
use codemode_tests::fake_source::FakeSource;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::time::timeout;

pub struct Client {
    from: BufReader<ReadHalf<DuplexStream>>,
    to: WriteHalf<DuplexStream>,
    pub aside: Vec<Value>,
}

impl Client {
    /// A client of a server in front of these sources, in mode `tools`.
    async fn of(sources: &[Arc<FakeSource>]) -> Client {
        Client::with(sources, Config::default(), RunLimits::default(), json!({})).await
    }

    /// The same with this configuration and these limits; the client can do so much.
    pub async fn with(sources: &[Arc<FakeSource>], config: Config, limits: RunLimits, capabilities: Value) -> Client {
        let shelf = Sources::new();
        sources.iter().for_each(|source| shelf.add(Arc::clone(source) as _));
        let server = McpServer::open(McpServerSetup {
            config,
            sources: Arc::new(shelf),
            context: RunContext::default(),
            policy: Policy::default(),
            shown: ShownInstead { mode: Some(Mode::Tools), ..ShownInstead::default() },
            limits,
            supervisor: Err("not needed".to_owned()),
            recorder: Recorder::default(),
        })
        .await;
        let (here, there) = duplex(1 << 16);
        let (from, to) = split(there);
        tokio::spawn(async move { server.serve_pipes(from, to, std::future::pending()).await });
        let (from, to) = split(here);
        let mut client = Client { from: BufReader::new(from), to, aside: Vec::new() };
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": {"name": "x", "version": "1"}});
        let info = client.request("initialize", params).await;
        assert_eq!(info["capabilities"]["tools"]["listChanged"], true);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    pub async fn send(&mut self, message: &Value) {
        self.to.write_all(format!("{message}\n").as_bytes()).await.expect("it reads");
    }

    pub async fn next(&mut self) -> Value {
        let mut line = String::new();
        timeout(Duration::from_secs(20), self.from.read_line(&mut line)).await.expect("in time").expect("it writes");
        serde_json::from_str(&line).expect("a message")
    }

    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await;
        loop {
            let message = self.next().await;
            if message["id"] == 1 {
                return message["result"].clone();
            }
            self.aside.push(message);
        }
    }

    async fn search(&mut self, query: &str) -> Value {
        self.request("tools/call", json!({"name": "tool_search", "arguments": {"query": query}})).await["structuredContent"].clone()
    }
}

#[tokio::test]
async fn a_client_is_told_of_a_new_list_and_finds_what_is_in_it() {
    let source = FakeSource::new(Source::Mcp, "files", &["read_file"]);
    let mut client = Client::of(&[Arc::clone(&source)]).await;
    assert_eq!(client.search("write file").await["tools"].as_array().map(Vec::len), Some(1));
    source.set(&["read_file", "write_file"]);
    source.notify();
    assert_eq!(client.next().await, json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    assert_eq!(client.search("write file").await["tools"][0]["id"], "mcp:files:write_file");
    let listed = client.request("tools/list", json!({})).await;
    assert!(listed["tools"][0]["description"].as_str().is_some_and(|text| text.contains("2 tools can be found")), "{listed}");
    assert_eq!(client.aside, Vec::<Value>::new());
}

#[tokio::test]
async fn a_source_that_is_not_there_stands_in_the_result_until_it_comes() {
    let (well, ill) = (FakeSource::new(Source::Mcp, "well", &["one"]), FakeSource::new(Source::Mcp, "ill", &["other"]));
    ill.set_failing(Some("cannot be started"));
    let mut client = Client::of(&[well, Arc::clone(&ill)]).await;
    let found = client.search("other").await;
    assert_eq!(found["unavailable"], json!([{"server": "ill", "reason": "cannot be started"}]), "{found}");
    ill.set_failing(None);
    // It says nothing of it: it is looked for.
    assert_eq!(client.next().await["method"], "notifications/tools/list_changed");
    let found = client.search("other").await;
    assert_eq!((&found["tools"][0]["id"], found.get("unavailable")), (&json!("mcp:ill:other"), None), "{found}");
}
