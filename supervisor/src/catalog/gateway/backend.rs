//! A gateway that this program connects to, as the backend of its runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codemode_protocol::gateway::{Ask, Capabilities, Capability, FromGateway, GATEWAY_PROTOCOL, Hello, HelloAnswer, RunName};
use codemode_protocol::{RunLimits, Violation, ViolationKind};
use interprocess::local_socket::tokio::Stream;
use interprocess::local_socket::traits::tokio::Stream as _;
use interprocess::local_socket::{GenericFilePath, ToFsName};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::frames::{FrameReader, write};
use super::{AskFailure, Peer, RemoteCatalog};

/// How long a gateway may take to answer `hello`.
const HELLO_WITHIN: Duration = Duration::from_secs(10);

/// Why a gateway cannot be a backend.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// Nobody answers there.
    #[error("no gateway answers on {}: {source}", path.display())]
    Unreachable {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It did not answer `hello` in time.
    #[error("the gateway gave no answer to hello within {} s", HELLO_WITHIN.as_secs())]
    Silent,
    /// It refused, or went.
    #[error("the gateway did not take hello: {0}")]
    Refused(#[from] AskFailure),
    /// Its answer is not one.
    #[error("the gateway's answer to hello is not one: {0}")]
    Unreadable(#[from] Violation),
    /// It speaks another version.
    #[error("the gateway speaks protocol {0}, this end {GATEWAY_PROTOCOL}")]
    Version(u64),
    /// It has no catalog.
    #[error("the gateway offers no catalog")]
    NoCatalog,
}

/// A connection to a gateway. It serves any number of runs; dropping it ends it, and what they still ask for fails.
#[derive(Debug)]
pub struct Backend {
    peer: Peer,
    reading: JoinHandle<()>,
    writing: JoinHandle<()>,
}

impl Backend {
    /// Connects to the gateway that listens on this path, and says hello.
    ///
    /// # Errors
    ///
    /// [`BackendError`]
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn connect(path: &Path) -> Result<Backend, BackendError> {
        let unreachable = |source| BackendError::Unreachable { path: path.to_owned(), source };
        let name = path.to_fs_name::<GenericFilePath>().map_err(unreachable)?;
        let stream = Arc::new(Stream::connect(name).await.map_err(unreachable)?);
        let (peer, outgoing) = Peer::reached();
        let backend = Backend {
            reading: tokio::spawn(read(Arc::clone(&stream), peer.clone())),
            writing: tokio::spawn({
                let peer = peer.clone();
                async move {
                    if let Err(end) = write(outgoing, &*stream).await {
                        tracing::warn!(%end, "nothing can be said to the gateway any more");
                    }
                    peer.close();
                }
            }),
            peer,
        };
        let hello = Ask::Hello(Hello::new(concat!("codemode ", env!("CARGO_PKG_VERSION")), Capabilities::default()));
        let answer = timeout(HELLO_WITHIN, backend.peer.ask(&hello)).await.map_err(|_| BackendError::Silent)??;
        let answer = HelloAnswer::read(&answer)?;
        if answer.protocol != GATEWAY_PROTOCOL {
            return Err(BackendError::Version(answer.protocol));
        }
        if !answer.capabilities.has(Capability::Catalog) {
            return Err(BackendError::NoCatalog);
        }
        Ok(backend)
    }

    /// The catalog of one run, under the name by which the gateway is to know it.
    pub fn catalog(&self, run: RunName) -> RemoteCatalog {
        RemoteCatalog::new(self.peer.clone(), run)
    }

    /// Whether the connection is over. There is no other one by itself: connect again, for the runs to come.
    pub fn is_over(&self) -> bool {
        self.reading.is_finished()
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.peer.close();
        self.reading.abort();
        self.writing.abort();
    }
}

/// Takes the gateway's answers, to the end of the connection or the first violation.
async fn read(stream: Arc<Stream>, peer: Peer) {
    let mut reader = FrameReader::new(&*stream, RunLimits::capped().frame_limit());
    let end = tokio::select! {
        end = answers(&mut reader, &peer) => end.err().map(|violation| violation.to_string()),
        overdue = peer.overdue() => Some(overdue.to_string()),
    };
    if let Some(reason) = end {
        tracing::warn!(reason, "the connection to a gateway ends");
    }
    peer.close();
}

async fn answers(reader: &mut FrameReader<&Stream>, peer: &Peer) -> Result<(), Violation> {
    loop {
        while let Some(frame) = reader.decoder.next()? {
            match FromGateway::parse(frame.text())? {
                FromGateway::Answer { id, result } => peer.settle(id, result)?,
                // This end has offered nothing to be asked for.
                FromGateway::Request { .. } => return Err(Violation::of_message(ViolationKind::UnknownMethod)),
            }
        }
        if !reader.fill().await? {
            return Ok(());
        }
    }
}
