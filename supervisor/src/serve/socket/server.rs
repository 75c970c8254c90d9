//! The server: takes connections, and lets them go at the end.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use codemode_protocol::FrameLimit;
use codemode_protocol::frame::encode;
use codemode_protocol::gateway::{GoodbyeCode, Notice, ToGateway};
use interprocess::local_socket::tokio::{Listener, Stream};
use interprocess::local_socket::traits::StreamCommon;
use interprocess::local_socket::traits::tokio::Listener as _;
use nix::unistd::geteuid;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::SocketError;
use super::claim::{Claim, claim};
use super::connection::{Phase, attend};
use crate::serve::session::Host;

/// A host without descriptors for a connection may have some again in a moment.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(50);
/// A refusal is some hundred bytes, which a fresh socket takes at once.
const REFUSED_WITHIN: Duration = Duration::from_millis(100);

/// How much a server takes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ServerLimits {
    /// Connections at once.
    pub connections: usize,
    /// How long runs may go on after the server was asked to end.
    pub drain: Duration,
}

impl Default for ServerLimits {
    /// 64 connections: each may make us hold a frame of 16 MiB and as much of its runs, and a host has a few gateways. 10 s: the usual clock of a body.
    fn default() -> ServerLimits {
        ServerLimits { connections: 64, drain: Duration::from_secs(10) }
    }
}

/// A server with its socket.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    claim: Claim,
    limits: ServerLimits,
}

impl Server {
    /// Makes the socket. From here on connections wait in its queue.
    ///
    /// # Errors
    ///
    /// When another server answers there, something else lies there, or the host refuses.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn bind(path: &Path, limits: ServerLimits) -> Result<Server, SocketError> {
        let (listener, claim) = claim(path)?;
        Ok(Server { listener, claim, limits })
    }

    /// Serves until `stop` says so for the first time, then takes no further run and gives those that go on their time; when it says so again, or the time
    /// is over, they are cancelled. At the end no child and no file is left.
    pub async fn serve<F: Future<Output = ()>>(self, host: Host, mut stop: impl FnMut() -> F) {
        let (phase, watched) = watch::channel(Phase::Serving);
        let mut connections = JoinSet::new();
        let mut stopped = std::pin::pin!(stop());
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok(stream) => match self.refusal(&stream, connections.len()) {
                        None => drop(connections.spawn(attend(stream, host.clone(), watched.clone()))),
                        Some(notice) => refuse(stream, notice).await,
                    },
                    Err(error) => {
                        tracing::warn!(%error, "a connection could not be taken");
                        sleep(ACCEPT_AGAIN_AFTER).await;
                    }
                }
            }
        }
        // The name goes first: who comes now finds nobody, or the next server.
        let Server { listener, claim, limits } = self;
        claim.release();
        drop(listener);
        host.drain();
        phase.send_replace(Phase::Draining);
        let all = async { while connections.join_next().await.is_some() {} };
        tokio::select! {
            () = all => return,
            () = sleep(limits.drain) => {}
            () = stop() => {}
        }
        phase.send_replace(Phase::Ending);
        while connections.join_next().await.is_some() {}
    }

    /// Why a connection is not taken.
    fn refusal(&self, stream: &Stream, connections: usize) -> Option<Notice> {
        let notice = |code, message: &str| Some(Notice::Goodbye { code, message: message.to_owned() });
        let owner = stream.peer_creds().ok().and_then(|peer| peer.euid());
        if owner.is_none_or(|owner| owner != 0 && owner != geteuid().as_raw()) {
            return notice(GoodbyeCode::NotPermitted, "only the user of this server and root may connect");
        }
        if connections >= self.limits.connections {
            return notice(
                GoodbyeCode::TooManyConnections,
                "as many connections as there may be are there; close one, or use it for more runs",
            );
        }
        None
    }
}

async fn refuse(mut stream: Stream, notice: Notice) {
    let text = serde_json::to_vec(&ToGateway::Notice(notice)).unwrap_or_default();
    if let Ok(frame) = encode(&text, FrameLimit::LARGEST) {
        // It may be gone already.
        let _ = timeout(REFUSED_WITHIN, stream.write_all(&frame)).await;
    }
}
