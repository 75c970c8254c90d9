//! The sessions of HTTP clients: bounded in number, ended when idle, and everything done for one ends with it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError, SessionConfig};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::time::{Instant, timeout};

use super::line::{Ending, Line};

/// Sessions at once. When one more is wanted, the one that has been quiet for longest makes room, if it has nothing open.
pub(super) const MOST_SESSIONS: usize = 64;
/// A session without a message for so long is over. A person at lunch keeps theirs.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// How long the end of a session may take to be told to what holds it.
const CLOSES_WITHIN: Duration = Duration::from_secs(1);

/// The sessions of a server.
#[derive(Debug)]
pub(super) struct Sessions {
    inner: LocalSessionManager,
    known: Mutex<HashMap<SessionId, Known>>,
}

#[derive(Clone, Debug)]
struct Known {
    ending: Ending,
    /// Streams that its client holds open.
    open: Arc<AtomicUsize>,
    used: Instant,
}

/// Why a session cannot do what is asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionsError {
    #[error("{MOST_SESSIONS} sessions are open; end one of them first")]
    Full,
    #[error(transparent)]
    Inner(#[from] LocalSessionManagerError),
}

impl Sessions {
    pub(super) fn new() -> Sessions {
        let mut inner = LocalSessionManager::default();
        let mut config = SessionConfig::default();
        config.keep_alive = Some(IDLE);
        // No stream can be taken up again once it was cut: what was done for it has ended.
        config.sse_retry = None;
        inner.session_config = config;
        Sessions { inner, known: Mutex::default() }
    }

    /// Ends all of them.
    pub(super) fn end(&self) {
        self.known().values().for_each(|known| known.ending.end());
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn used(&self, id: &SessionId) -> Result<Known, SessionsError> {
        match self.known().get_mut(id) {
            Some(known) => {
                known.used = Instant::now();
                Ok(known.clone())
            }
            None => Err(LocalSessionManagerError::SessionNotFound(id.clone()).into()),
        }
    }

    /// Room for one more, by the end of the quietest.
    async fn make_room(&self) -> Result<(), SessionsError> {
        let quietest = {
            let known = self.known();
            if known.len() < MOST_SESSIONS {
                return Ok(());
            }
            let quiet = known.iter().filter(|(_, known)| known.open.load(Ordering::Relaxed) == 0);
            quiet.min_by_key(|(_, known)| known.used).map(|(id, _)| id.clone())
        };
        self.close_session(&quietest.ok_or(SessionsError::Full)?).await
    }
}

/// A stream to a client: it is counted while it is open, and ends with its session.
fn held(
    stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    known: Known,
    line: Option<Line>,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    known.open.fetch_add(1, Ordering::Relaxed);
    let open = Open { count: known.open, _line: line.map(|line| line.guard()) };
    let ending = known.ending;
    stream.take_until(async move { ending.ended().await }).map(move |message| {
        // The stream owns it: it goes when the stream does.
        let _ = &open;
        message
    })
}

/// A stream that a client holds.
struct Open {
    count: Arc<AtomicUsize>,
    _line: Option<super::line::Guard>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError> {
        self.make_room().await?;
        let (id, transport) = self.inner.create_session().await?;
        let known = Known { ending: Ending::new(), open: Arc::default(), used: Instant::now() };
        self.known().insert(id.clone(), known);
        Ok((id, transport))
    }

    async fn initialize_session(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<ServerJsonRpcMessage, SessionsError> {
        Ok(self.inner.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        Ok(self.known().contains_key(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        if let Some(known) = self.known().remove(id) {
            known.ending.end();
        }
        // A session whose client does not read takes no word; its streams have just ended, so it will.
        match timeout(CLOSES_WITHIN, self.inner.close_session(id)).await {
            Ok(closed) => Ok(closed?),
            Err(_) => Ok(()),
        }
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let known = self.used(id)?;
        let line = Line::of(&known.ending);
        if let JsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(line.clone());
        }
        let stream = self.inner.create_stream(id, message).await?;
        Ok(held(stream, known, Some(line)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), SessionsError> {
        self.used(id)?;
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let known = self.used(id)?;
        let stream = self.inner.create_standalone_stream(id).await?;
        Ok(held(stream, known, None))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let known = self.used(id)?;
        let stream = self.inner.resume(id, last_event_id).await?;
        Ok(held(stream, known, None))
    }
}
