//! One client over two pipes: lines in, lines out.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::GetExtensions as _;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::framing::{Incoming, Lines, opens, refused};
use super::line::{Ending, Line};

/// Requests that a connection may have open. A client that wants more waits for an answer first.
pub(super) const MOST_REQUESTS: usize = 64;
/// Lines that wait for a client who does not read.
const WAITING_LINES: usize = 16;

/// The client has closed the pipe on which it reads.
#[derive(Debug, thiserror::Error)]
#[error("the client reads no more")]
pub(super) struct Gone;

/// The connection to one client.
pub(super) struct Pipes<R> {
    lines: Lines<R>,
    writer: mpsc::Sender<Outgoing>,
    writing: JoinHandle<()>,
    /// Requests that were read and are not answered.
    open: Arc<Mutex<HashSet<RequestId>>>,
    /// An answer of this file's own that waits for its turn.
    pending: Option<Value>,
    has_opened: bool,
    connection: Ending,
}

struct Outgoing {
    line: Vec<u8>,
    written: oneshot::Sender<()>,
}

impl<R: AsyncRead + Unpin + Send + 'static> Pipes<R> {
    /// Over these pipes, until `connection` ends or the client goes; then both have.
    pub(super) fn new(from: R, to: impl AsyncWrite + Unpin + Send + 'static, connection: Ending) -> Pipes<R> {
        let (writer, outgoing) = mpsc::channel(WAITING_LINES);
        let writing = tokio::spawn(write(to, outgoing, connection.clone()));
        let open = Arc::default();
        Pipes { lines: Lines::new(from), writer, writing, open, pending: None, has_opened: false, connection }
    }

    /// Whether a message may go on; what is to be answered where it may not.
    fn admitted(&mut self, message: &mut ClientJsonRpcMessage) -> Result<bool, Value> {
        self.has_opened |= opens(message);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let request = match message {
            JsonRpcMessage::Request(request) => request,
            JsonRpcMessage::Notification(notification) => {
                // A request that is given up is not answered.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    open.remove(id);
                }
                return Ok(self.has_opened);
            }
            // There is nothing yet that it could be about.
            _ => return Ok(self.has_opened),
        };
        let id = request.id.clone().into_json_value();
        if open.contains(&request.id) {
            return Err(refused(&id, -32_600, "a request with this id is still open"));
        }
        if open.len() >= MOST_REQUESTS {
            return Err(refused(&id, -32_000, &format!("{MOST_REQUESTS} requests are open already; wait for an answer")));
        }
        open.insert(request.id.clone());
        request.request.extensions_mut().insert(Line::of(&self.connection));
        Ok(true)
    }

    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(answer) = &self.pending {
                let slot = self.writer.reserve().await.ok()?;
                let (written, _) = oneshot::channel();
                slot.send(Outgoing { line: line_of(answer), written });
                self.pending = None;
            }
            match self.lines.next().await {
                Ok(Some(Incoming::Message(mut message))) => match self.admitted(&mut message) {
                    Ok(true) => return Some(*message),
                    Ok(false) => {}
                    Err(answer) => self.pending = Some(answer),
                },
                Ok(Some(Incoming::Refused(answer))) => self.pending = Some(answer),
                // A pipe that cannot be read has no client.
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleServer> for Pipes<R> {
    type Error = Gone;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = Result<(), Gone>> + Send + 'static {
        let writer = self.writer.clone();
        let open = Arc::clone(&self.open);
        async move {
            let answered = match &item {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            let (written, done) = oneshot::channel();
            let slot = writer.reserve().await.map_err(|_| Gone)?;
            // From here on the id is free: before the client can have read the answer, and not before there is room for it.
            if let Some(id) = answered {
                open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            }
            slot.send(Outgoing { line: line_of(&item), written });
            done.await.map_err(|_| Gone)
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let connection = self.connection.clone();
        let message = tokio::select! {
            message = self.next() => message,
            () = connection.ended() => None,
        };
        if message.is_none() {
            self.connection.end();
        }
        message
    }

    async fn close(&mut self) -> Result<(), Gone> {
        self.connection.end();
        // Nobody is left who would answer; what was handed over is written.
        let (writer, _) = mpsc::channel(1);
        self.writer = writer;
        let _ = (&mut self.writing).await;
        Ok(())
    }
}

impl<R> fmt::Debug for Pipes<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipes").field("has_opened", &self.has_opened).finish_non_exhaustive()
    }
}

/// JSON has no line end of its own.
fn line_of(message: &impl serde::Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

async fn write(mut to: impl AsyncWrite + Unpin, mut outgoing: mpsc::Receiver<Outgoing>, connection: Ending) {
    while let Some(Outgoing { line, written }) = outgoing.recv().await {
        let done = async {
            to.write_all(&line).await?;
            to.flush().await
        };
        if done.await.is_err() {
            // A client that reads no more is gone, whether or not it still writes.
            connection.end();
            return;
        }
        // Not everybody waits.
        let _ = written.send(());
    }
}
