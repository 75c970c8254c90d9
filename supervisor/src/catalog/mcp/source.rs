//! A server as a source of tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ErrorCode, ListToolsRequest, PaginatedRequestParams};
use serde_json::Value;
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, timeout};

use super::super::{CallCode, CallContext, CallFailure, ListFailure, Source, Tool, ToolPage, ToolSource, json_bytes, tool_value};
use super::chatter::Chatter;
use super::connection::{Connection, Wanted};
use super::failures::Failed;
use super::restarts::Restarts;
use super::tools;
use crate::config::McpServer;

/// Bytes of JSON in all pages of one list at most. The largest known server lists 2 MB.
const LIST_BYTES: usize = 64 << 20;

/// An MCP server. It is connected to when it is first asked, and again, within limits, when the connection has ended.
#[derive(Debug)]
pub struct McpSource {
    name: String,
    server: McpServer,
    changed: watch::Sender<u64>,
    chatter: Arc<Chatter>,
    stopped: watch::Sender<bool>,
    link: Mutex<Link>,
    /// Of the list that is being read.
    listed_bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct Link {
    connection: Option<Arc<Connection>>,
    restarts: Restarts,
}

impl McpSource {
    /// The server of this name; nothing is started yet.
    pub fn new(name: impl Into<String>, server: McpServer) -> McpSource {
        let name = name.into();
        let chatter = Arc::new(Chatter::of(&name));
        McpSource {
            name,
            server,
            changed: watch::Sender::new(0),
            chatter,
            stopped: watch::Sender::new(false),
            link: Mutex::default(),
            listed_bytes: AtomicUsize::new(0),
        }
    }

    /// What it says beside the protocol.
    pub fn chatter(&self) -> &Chatter {
        &self.chatter
    }

    /// Takes the connection down, for good: input closed, SIGTERM, SIGKILL, with half a second between; nothing of the server is left afterwards. What is open fails.
    pub async fn stop(&self) {
        self.stopped.send_replace(true);
        let connection = self.link.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.stop().await;
        }
    }

    async fn connection(&self) -> Result<Arc<Connection>, String> {
        let mut link = self.link.lock().await;
        if *self.stopped.borrow() {
            return Err("it was stopped".to_owned());
        }
        if let Some(connection) = link.connection.as_ref().filter(|connection| connection.is_alive()) {
            return Ok(Arc::clone(connection));
        }
        let is_again = link.connection.is_some();
        if let Some(old) = link.connection.take() {
            old.stop().await;
        }
        let wait = link.restarts.start(Instant::now()).map_err(super::restarts::TooMany::words)?;
        let mut stopped = self.stopped.subscribe();
        // A wait that is over because of a stop ends in an attempt that is stopped at once.
        let _ = timeout(wait, stopped.wait_for(|stopped| *stopped)).await;
        let stop = async { drop(stopped.wait_for(|stopped| *stopped).await) };
        let wanted = Wanted { server: &self.server, chatter: &self.chatter, changed: &self.changed };
        let connection = Arc::new(Connection::open(wanted, stop).await?);
        link.connection = Some(Arc::clone(&connection));
        drop(link);
        if is_again {
            // Another process may offer other tools.
            self.changed.send_modify(|changes| *changes += 1);
        }
        Ok(connection)
    }

    async fn ask(&self, request: ClientRequest) -> Result<Value, Failed> {
        self.connection().await.map_err(Failed::NotSent)?.ask(request).await
    }
}

#[async_trait]
impl ToolSource for McpSource {
    fn source(&self) -> Source {
        Source::Mcp
    }

    fn name(&self) -> &str {
        &self.name
    }

    async fn list(&self, cursor: Option<&str>) -> Result<ToolPage, ListFailure> {
        let params = PaginatedRequestParams::default().with_cursor(cursor.map(str::to_owned));
        let result = match self.ask(ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params))).await {
            Ok(result) => result,
            // A server that has no tools need not know how to list them.
            Err(Failed::Refused(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => return Ok(ToolPage::default()),
            Err(failed) => return Err(ListFailure::new(failed.words())),
        };
        // A list is read aside: it may be as long as an answer can be, and no clock may wait for it.
        let (name, chatter) = (self.name.clone(), Arc::clone(&self.chatter));
        let reading = tokio::task::spawn_blocking(move || (json_bytes(&result), tools::page(&name, result, &chatter)));
        let (bytes, page) = reading.await.map_err(|_| ListFailure::new("its list could not be read"))?;
        let before = if cursor.is_none() { 0 } else { self.listed_bytes.load(Ordering::Relaxed) };
        self.listed_bytes.store(before + bytes, Ordering::Relaxed);
        if before + bytes > LIST_BYTES {
            return Err(ListFailure::new(format!("its list has more than {} MiB", LIST_BYTES >> 20)));
        }
        page.map_err(ListFailure::new)
    }

    async fn call(&self, tool: &Arc<Tool>, args: Value, _: &CallContext) -> Result<Value, CallFailure> {
        let Value::Object(args) = args else {
            return Err(CallFailure::new(CallCode::InvalidArguments, &tool.id, "the arguments are not an object"));
        };
        let request = CallToolRequest::new(CallToolRequestParams::new(tool.name.clone()).with_arguments(args));
        let result = self.ask(ClientRequest::CallToolRequest(request)).await.map_err(|failed| failed.of_call(tool))?;
        tool_value(&tool.id, result)
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}
