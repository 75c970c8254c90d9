//! The transport under the SDK for a server on pipes.
//!
//! The SDK sees sound messages only. Results are handed on as the JSON that they are, but for that of `initialize`: so nothing of a tool or value is lost in a type
//! that does not know it, and one bad tool does not take the list with it. What a server asks is reduced to its method: no parameter of a stranger is decoded.

use std::collections::{HashMap, VecDeque};
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, CustomRequest, CustomResult, ErrorCode, ErrorData, InitializeResult,
    NumberOrString, RequestId, ServerJsonRpcMessage, ServerNotification, ServerRequest, ServerResult, ToolListChangedNotification,
};
use rmcp::transport::Transport;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::chatter::Chatter;
use super::envelope::{Message, Stray, message};
use super::failures::{TOO_LONG, UNREADABLE};
use super::lines::{Line, Lines, NoMore};
use super::process::Pipes;

/// Lines up to this size are read where they come in: that takes a fraction of a millisecond. One of 16 MiB takes a second and more, and no clock may wait for a server.
const AT_ONCE: usize = 128 << 10;
/// Messages that wait to be written. A server that reads none holds up its own calls alone.
const OUTBOX: usize = 16;
/// Requests of the server's that may be without our answer; a server that reads none cannot make us keep more.
const MOST_ASKED: usize = 64;
/// Bytes that may go by without one sound message: a server that only babbles is given up.
const MOST_STRAY_BYTES: u64 = 256 << 20;
/// Ids of cancelled requests that are remembered: their answers may be on their way.
const CANCELLED_KEPT: usize = 256;
/// Characters of an id or a method of the server's that are repeated to it.
const WORD_CHARS: usize = 256;

/// What became of the pipes.
#[derive(Clone, Debug, Default)]
pub(super) struct Signs {
    /// Every message that will ever come has been handed on.
    pub(super) is_read: bool,
    /// The first reason for which the connection cannot go on.
    pub(super) cut: Option<Cut>,
}

/// Why a connection cannot go on.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    pub(super) words: String,
    /// We have given it up; otherwise a pipe was closed, which the end of the program may explain.
    pub(super) is_ours: bool,
}

/// Keeps the input of a program open.
pub(super) type Input = mpsc::Sender<Vec<u8>>;

/// The pipes of a server as the SDK wants them.
#[derive(Debug)]
pub(super) struct Stdio {
    lines: Lines<pipe::Receiver>,
    /// A line that is read aside, to which nobody has listened to the end yet.
    aside: Option<JoinHandle<Aside>>,
    outbox: Option<mpsc::Sender<Vec<u8>>>,
    open: Arc<Mutex<Open>>,
    signs: watch::Sender<Signs>,
    chatter: Arc<Chatter>,
    stray_bytes: u64,
}

/// What waits for an answer.
#[derive(Debug, Default)]
struct Open {
    /// Ours; `true` for `initialize`.
    ours: HashMap<i64, bool>,
    cancelled: VecDeque<i64>,
    theirs: usize,
}

/// The connection cannot be written to any more.
#[derive(Debug, thiserror::Error)]
#[error("its input is closed")]
pub(super) struct InputClosed;

impl Stdio {
    /// Takes the pipes of a program. Its standard error is read, and what is said to it is written, as long as the third of these is kept: a process that it left
    /// behind, and that holds the other ends, holds nothing of ours.
    pub(super) fn over(pipes: Pipes, chatter: &Arc<Chatter>, signs: watch::Sender<Signs>) -> std::io::Result<(Stdio, Input, JoinSet<()>)> {
        let stdout = pipe::Receiver::from_owned_fd(pipes.stdout)?;
        let stdin = pipe::Sender::from_owned_fd(pipes.stdin)?;
        let stderr = pipe::Receiver::from_owned_fd(pipes.stderr)?;
        let mut pumps = JoinSet::new();
        pumps.spawn(drain(stderr, Arc::clone(chatter)));
        let (outbox, queue) = mpsc::channel(OUTBOX);
        pumps.spawn(write(queue, stdin, signs.clone()));
        let (chatter, input) = (Arc::clone(chatter), outbox.clone());
        Ok((
            Stdio { lines: Lines::of(stdout), aside: None, outbox: Some(outbox), open: Arc::default(), signs, chatter, stray_bytes: 0 },
            input,
            pumps,
        ))
    }

    fn stray(&mut self, stray: Stray, line: &[u8]) -> Option<ServerJsonRpcMessage> {
        self.chatter.stray(stray, line);
        self.stray_bytes += line.len() as u64 + 1;
        None
    }

    /// What the SDK is to see of a line that was too long.
    fn too_long(&mut self, id: Option<i64>, bytes: u64) -> Option<ServerJsonRpcMessage> {
        self.stray_bytes += bytes;
        let Some(id) = id.filter(|id| self.open().ours.remove(id).is_some()) else { return self.stray(Stray::TooLong, b"") };
        Some(failed(id, ErrorData::new(TOO_LONG, bytes.to_string(), None)))
    }

    /// What the SDK is to see of a line that was read.
    fn sorted(&mut self, line: &[u8], read: Result<Read, Stray>) -> Option<ServerJsonRpcMessage> {
        match read {
            Err(stray) => self.stray(stray, line),
            Ok(Read::Answer { id, message }) => {
                // A cancelled request's answer, which was on its way.
                self.open().ours.remove(&id)?;
                Some(*message)
            }
            Ok(Read::Request { id, method }) => {
                if self.open().theirs >= MOST_ASKED {
                    return self.stray(Stray::TooManyRequests, line);
                }
                self.open().theirs += 1;
                let request = match &*method {
                    "ping" => ServerRequest::PingRequest(Default::default()),
                    "roots/list" => ServerRequest::ListRootsRequest(Default::default()),
                    _ => ServerRequest::CustomRequest(CustomRequest::new(method, None)),
                };
                Some(ServerJsonRpcMessage::request(request, id))
            }
            Ok(Read::Notification { method }) => {
                if method == "notifications/tools/list_changed" {
                    let changed = ToolListChangedNotification { method: Default::default(), extensions: Default::default() };
                    return Some(ServerJsonRpcMessage::notification(ServerNotification::ToolListChangedNotification(changed)));
                }
                // Progress, log messages, news of resources: nobody here waits for them.
                tracing::trace!(%method, "an MCP server tells");
                self.stray_bytes += line.len() as u64 + 1;
                None
            }
        }
    }

    /// The next message of the line that is read aside, if there is one; else of the next line. Cancel-safe: what is under way stays here.
    async fn next(&mut self) -> Result<Option<ServerJsonRpcMessage>, NoMore> {
        if self.aside.is_none() {
            match self.lines.next().await? {
                Line::TooLong { id, bytes } => return Ok(self.too_long(id, bytes)),
                Line::Whole(line) if line.len() <= AT_ONCE => {
                    let read = read(&line, &self.open);
                    return Ok(self.sorted(&line, read));
                }
                Line::Whole(line) => {
                    let open = Arc::clone(&self.open);
                    self.aside = Some(tokio::task::spawn_blocking(move || {
                        let read = read(&line, &open);
                        (line, read)
                    }));
                }
            }
        }
        let Some(aside) = &mut self.aside else { return Ok(None) };
        let done = aside.await;
        self.aside = None;
        match done {
            Ok((line, read)) => Ok(self.sorted(&line, read)),
            // The runtime goes down.
            Err(_) => Err(NoMore::Closed),
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, cut: Cut) {
        self.signs.send_modify(|signs| {
            signs.is_read = true;
            signs.cut.get_or_insert(cut);
        });
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = InputClosed;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = Result<(), InputClosed>> + Send + 'static {
        let line = serde_json::to_vec(&item).ok().map(|mut line| {
            line.push(b'\n');
            line
        });
        self.open().note(&item);
        let outbox = self.outbox.clone();
        async move {
            let (Some(outbox), Some(line)) = (outbox, line) else { return Err(InputClosed) };
            outbox.send(line).await.map_err(|_| InputClosed)
        }
    }

    /// Cancel-safe: a line that was read is handed on before the next is waited for, and one that is read aside is waited for again.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            match self.next().await {
                Ok(Some(message)) => {
                    self.stray_bytes = 0;
                    return Some(message);
                }
                Ok(None) => {}
                Err(end) => {
                    self.end(cut(&end));
                    return None;
                }
            }
            if self.stray_bytes > MOST_STRAY_BYTES {
                self.end(Cut { words: format!("it wrote {} MiB without an answer", self.stray_bytes >> 20), is_ours: true });
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), InputClosed> {
        // The writer ends with the queue, and its end of the pipe with it.
        self.outbox = None;
        Ok(())
    }
}

impl Open {
    fn note(&mut self, sent: &ClientJsonRpcMessage) {
        match sent {
            ClientJsonRpcMessage::Request(request) => {
                if let NumberOrString::Number(id) = request.id {
                    self.ours.insert(id, matches!(request.request, ClientRequest::InitializeRequest(_)));
                }
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => self.theirs = self.theirs.saturating_sub(1),
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(NumberOrString::Number(id)) = cancelled.params.request_id
                    && self.ours.remove(&id).is_some()
                {
                    self.cancelled.push_back(id);
                    if self.cancelled.len() > CANCELLED_KEPT {
                        self.cancelled.pop_front();
                    }
                }
            }
        }
    }
}

/// A line, and what was read in it.
type Aside = (Vec<u8>, Result<Read, Stray>);

/// A line that was read; nothing of it is borrowed.
#[derive(Debug)]
enum Read {
    Answer { id: i64, message: Box<ServerJsonRpcMessage> },
    Request { id: RequestId, method: String },
    Notification { method: String },
}

fn read(line: &[u8], open: &Mutex<Open>) -> Result<Read, Stray> {
    let open = || open.lock().unwrap_or_else(PoisonError::into_inner);
    let known = |id| {
        let open = open();
        open.ours.contains_key(&id) || open.cancelled.contains(&id)
    };
    match message(line, known)? {
        Message::Answer { id, outcome } => {
            let is_initialize = open().ours.get(&id).copied().unwrap_or(false);
            let message = match outcome {
                Ok(result) => answer(id, is_initialize, result),
                Err(error) => failed(id, error_of(error)),
            };
            Ok(Read::Answer { id, message: Box::new(message) })
        }
        Message::Request { id, method } => Ok(Read::Request { id: their_id(id).ok_or(Stray::NotAMessage)?, method: head(&method) }),
        Message::Notification { method } => Ok(Read::Notification { method: head(&method) }),
    }
}

fn answer(id: i64, is_initialize: bool, result: &RawValue) -> ServerJsonRpcMessage {
    let read = if is_initialize {
        serde_json::from_str::<InitializeResult>(result.get()).map(ServerResult::InitializeResult)
    } else {
        serde_json::from_str::<Value>(result.get()).map(|value| ServerResult::CustomResult(CustomResult(value)))
    };
    match read {
        Ok(result) => ServerJsonRpcMessage::response(result, NumberOrString::Number(id)),
        Err(error) => failed(id, ErrorData::new(UNREADABLE, error.to_string(), None)),
    }
}

fn failed(id: i64, error: ErrorData) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(error, Some(NumberOrString::Number(id)))
}

/// The server's error, or what there is of it.
fn error_of(error: &RawValue) -> ErrorData {
    serde_json::from_str(error.get()).unwrap_or_else(|_| ErrorData::new(ErrorCode::INTERNAL_ERROR, head(error.get()), None))
}

fn their_id(id: &RawValue) -> Option<RequestId> {
    if id.get().len() > WORD_CHARS { None } else { serde_json::from_str(id.get()).ok() }
}

/// As much of a server's word as is repeated to it.
fn head(word: &str) -> String {
    word.chars().take(WORD_CHARS).collect()
}

fn cut(end: &NoMore) -> Cut {
    let (words, is_ours) = match end {
        NoMore::Closed => ("it closed its standard output".to_owned(), false),
        NoMore::Unreadable(kind) => (format!("its standard output cannot be read: {kind}"), false),
        NoMore::Endless(bytes) => (format!("it wrote a line of more than {} MiB", bytes >> 20), true),
    };
    Cut { words, is_ours }
}

/// Writes what is sent, until nobody sends any more: then the server sees the end of its input. A server that closes it is seen to at once: what a pipe had taken before
/// that would never be answered.
async fn write(mut queue: mpsc::Receiver<Vec<u8>>, mut stdin: pipe::Sender, signs: watch::Sender<Signs>) {
    let kind = loop {
        let line = tokio::select! {
            line = queue.recv() => line,
            _ = stdin.ready(Interest::ERROR) => break ErrorKind::BrokenPipe,
        };
        let Some(line) = line else { return };
        if let Err(error) = stdin.write_all(&line).await {
            break error.kind();
        }
    };
    let cut = Cut { words: format!("it closed its standard input ({kind})"), is_ours: false };
    signs.send_modify(|signs| {
        signs.cut.get_or_insert(cut);
    });
}

/// Keeps standard error empty, so that nobody is held up by a full pipe.
async fn drain(mut stderr: pipe::Receiver, chatter: Arc<Chatter>) {
    let mut piece = vec![0; 16 << 10];
    while let Ok(bytes @ 1..) = stderr.read(&mut piece).await {
        chatter.stderr(&piece[..bytes]);
    }
}
