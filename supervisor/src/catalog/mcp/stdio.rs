//! The transport under the SDK for a server on pipes.
//!
//! The SDK sees sound messages only. Results are handed on as the JSON that they are, but for that of `initialize`: so nothing of a tool or value is lost in a type
//! that does not know it, and one bad tool does not take the list with it. What a server asks is reduced to its method: no parameter of a stranger is decoded.

use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::chatter::Chatter;
use super::envelope::Stray;
use super::failures::TOO_LONG;
use super::lines::{Line, Lines, NoMore};
use super::process::Pipes;
use super::sorting::{AT_ONCE, MOST_STRAY_BYTES, Open, Read, Sorted, failed, read, sorted};

/// Messages that wait to be written. A server that reads none holds up its own calls alone.
const OUTBOX: usize = 16;

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
        let Some(id) = id.filter(|id| self.open().ours.remove(id).is_some()) else {
            self.stray_bytes += bytes;
            return self.stray(Stray::TooLong, b"");
        };
        self.stray_bytes = 0;
        Some(failed(id, ErrorData::new(TOO_LONG, bytes.to_string(), None)))
    }

    /// What the SDK is to see of a line that was read.
    fn sorted(&mut self, line: &[u8], read: Result<Read, Stray>) -> Option<ServerJsonRpcMessage> {
        match sorted(read, &self.open) {
            Sorted::Answer { message, .. } => {
                self.stray_bytes = 0;
                Some(message)
            }
            Sorted::Late => None,
            Sorted::Said(message) => {
                self.stray_bytes += line.len() as u64 + 1;
                message
            }
            Sorted::Stray(stray) => self.stray(stray, line),
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
                Ok(Some(message)) if self.stray_bytes <= MOST_STRAY_BYTES => return Some(message),
                Ok(_) => {}
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

/// A line, and what was read in it.
type Aside = (Vec<u8>, Result<Read, Stray>);

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
