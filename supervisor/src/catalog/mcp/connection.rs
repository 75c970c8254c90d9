//! One connection to a server: made, asked, and taken down in order.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, NumberOrString, ServerResult};
use rmcp::service::{ClientInitializeError, Peer, PeerRequestOptions, RequestHandle, RunningService, ServiceError, serve_client};
use serde_json::Value;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::super::cleaned_line;
use super::chatter::Chatter;
use super::environment::environment;
use super::failures::Failed;
use super::host::Host;
use super::process::{Process, Program};
use super::stdio::{Input, Signs, Stdio};
use super::web::Web;
use super::{failures, http};
use crate::config::McpServer;

/// How long a server may take to be ready.
const READY_LIMIT: Duration = Duration::from_secs(20);
/// How long the last answers may take to come out of the pipe of a program that has ended, and its exit code to be known when the pipe is at its end.
const SETTLE: Duration = Duration::from_millis(250);
/// How long the SDK may take to let go of a connection; then it is told no more.
const FAREWELL: Duration = Duration::from_millis(200);
/// How long the notice of a cancelled request may wait to be written.
const NOTICE_LIMIT: Duration = Duration::from_secs(1);
/// Characters of a server's words in a reason.
const WORDS_CHARS: usize = 300;

/// A connection that is ready.
#[derive(Debug)]
pub(super) struct Connection {
    peer: Peer<RoleClient>,
    running: Mutex<Option<RunningService<RoleClient, Host>>>,
    program: Option<Arc<Watched>>,
    web: Option<Web>,
}

/// The program of a connection, and its end in words.
#[derive(Debug)]
struct Watched {
    process: Process,
    signs: watch::Receiver<Signs>,
    /// So that a program whose connection has ended does not end because of that before it is seen whether it has by itself.
    input: std::sync::Mutex<Option<Input>>,
    end: watch::Sender<Option<Arc<str>>>,
    /// Kept until the program has been stopped and nobody asks about it any more.
    _pumps: JoinSet<()>,
}

/// What a connection is made of.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) server: &'a McpServer,
    pub(super) chatter: &'a Arc<Chatter>,
    pub(super) changed: &'a watch::Sender<u64>,
}

impl Connection {
    /// Connects. `stop`: nobody wants it any more; what was started is ended in order, too.
    ///
    /// # Errors
    /// Why not, in one line.
    pub(super) async fn open(wanted: Wanted<'_>, stop: impl Future<Output = ()>) -> Result<Connection, String> {
        match wanted.server {
            McpServer::Command { command, args, env, cwd, roots } => {
                let environment = environment(std::env::vars_os(), env).into_iter().collect();
                let (process, pipes) = Process::start(&Program { command, args, environment, cwd: cwd.as_deref() })?;
                let (tell, signs) = watch::channel(Signs::default());
                let (transport, input, pumps) =
                    Stdio::over(pipes, wanted.chatter, tell).map_err(|error| format!("its pipes cannot be used: {}", error.kind()))?;
                let program = Arc::new(Watched {
                    process,
                    signs,
                    input: std::sync::Mutex::new(Some(input)),
                    end: watch::Sender::new(None),
                    _pumps: pumps,
                });
                match ready(serve_client(Host::of(roots, wanted.changed), transport), stop).await {
                    Ok(running) => {
                        tokio::spawn(Arc::clone(&program).attend());
                        Ok(Connection::of(running, Some(program), None))
                    }
                    Err(NotReady { words, is_closed }) => {
                        let why = if is_closed { program.why().await } else { None };
                        program.close_input();
                        program.process.stop().await;
                        let last_words = wanted.chatter.last_words().map(|words| format!("; its last words: {words}")).unwrap_or_default();
                        Err(format!("{}{last_words}", why.map_or(words, |why| format!("{why} before it was ready"))))
                    }
                }
            }
            McpServer::Url { url, headers, roots } => {
                let (transport, web) = http::transport(url, headers, wanted.chatter)?;
                let connecting = serve_client(Host::of(roots, wanted.changed), transport);
                match ready(connecting, stop).await {
                    Ok(running) => Ok(Connection::of(running, None, Some(web))),
                    // The SDK says that it is over, and not why.
                    Err(NotReady { words, is_closed }) => {
                        Err(web.trouble().filter(|_| is_closed).map_or(words, |why| cleaned_line(&why, WORDS_CHARS).into_owned()))
                    }
                }
            }
        }
    }

    fn of(running: RunningService<RoleClient, Host>, program: Option<Arc<Watched>>, web: Option<Web>) -> Connection {
        Connection { peer: running.peer().clone(), running: Mutex::new(Some(running)), program, web }
    }

    /// Whether it can still be asked.
    pub(super) fn is_alive(&self) -> bool {
        let is_cut = self.web.as_ref().is_some_and(|web| web.cut().is_some());
        !self.peer.is_transport_closed() && !is_cut && self.program.as_ref().is_none_or(|program| program.end.borrow().is_none())
    }

    /// Asks the server. Dropping the future tells it that nobody waits any more.
    pub(super) async fn ask(&self, request: ClientRequest) -> Result<Value, Failed> {
        let sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let handle = sent.map_err(|_| Failed::NotSent(self.end().unwrap_or_else(|| "the connection has ended".to_owned())))?;
        let id = match &handle.id {
            NumberOrString::Number(id) => Some(*id),
            NumberOrString::String(_) => None,
        };
        let mut asked = Asked { handle: Some(handle), kept: id.zip(self.web.clone()) };
        let answer = async {
            match &mut asked.handle {
                Some(handle) => (&mut handle.rx).await.unwrap_or(Err(ServiceError::TransportClosed)),
                None => Err(ServiceError::TransportClosed),
            }
        };
        let answer = tokio::select! {
            // What has been answered is an answer, whatever has ended meanwhile.
            biased;
            answer = answer => answer,
            () = self.ended() => Err(ServiceError::TransportClosed),
        };
        asked.handle = None;
        if answer.is_ok()
            && let Some(kept) = asked.kept.as_ref().and_then(|(id, web)| web.take(*id))
        {
            return kept.map_err(Failed::Refused);
        }
        match answer {
            Ok(ServerResult::CustomResult(result)) => Ok(result.0),
            Ok(result) => serde_json::to_value(result).map_err(|_| Failed::Refused(unreadable())),
            Err(ServiceError::McpError(error)) => Err(Failed::Refused(error)),
            Err(ServiceError::TransportSend(error)) => {
                let words = || cleaned_line(&http::words(&error), WORDS_CHARS).into_owned();
                if self.program.is_some() {
                    Err(Failed::NotSent(self.end().unwrap_or_else(words)))
                } else if http::never_arrived(&error) {
                    Err(Failed::NotSent(words()))
                } else {
                    Err(Failed::Lost(words()))
                }
            }
            Err(error) => {
                if self.program.is_some() {
                    // Its end is told a moment after that of its pipes.
                    let _ = timeout(2 * SETTLE, self.ended()).await;
                }
                let of_web = |web: &Web| web.trouble().unwrap_or_else(|| "what it sent had an end and no answer in it".to_owned());
                let why = self.end().or_else(|| self.web.as_ref().map(of_web));
                Err(Failed::Lost(cleaned_line(&why.unwrap_or_else(|| error.to_string()), WORDS_CHARS).into_owned()))
            }
        }
    }

    /// Takes the connection down, in order; ends when nothing of its program is left.
    pub(super) async fn stop(&self) {
        if let Some(mut running) = self.running.lock().await.take() {
            // What cannot be said in this time stays unsaid.
            let _ = running.close_with_timeout(FAREWELL).await;
        }
        if let Some(program) = &self.program {
            program.close_input();
            program.process.stop().await;
        }
    }

    /// Waits for the end of the program; for ever where there is none.
    async fn ended(&self) {
        match &self.program {
            Some(program) => {
                let _ = program.end.subscribe().wait_for(Option::is_some).await;
            }
            None => std::future::pending().await,
        }
    }

    fn end(&self) -> Option<String> {
        self.program.as_ref()?.end.borrow().as_deref().map(str::to_owned)
    }
}

impl Drop for Connection {
    /// For whoever forgets to stop it: the program sees the end of its input, and is then taken down by the one who attends to it.
    fn drop(&mut self) {
        if let Some(program) = &self.program {
            program.close_input();
        }
    }
}

impl Watched {
    /// Waits for the end of program or pipes, says what it was, and sees to it that nothing is left.
    async fn attend(self: Arc<Self>) {
        let mut signs = self.signs.clone();
        let is_cut = async { drop(signs.wait_for(|signs| signs.cut.is_some()).await) };
        tokio::select! {
            _ = self.process.ended() => {}
            () = is_cut => {}
        }
        let why = self.why().await.unwrap_or_else(|| "it has ended".to_owned());
        self.end.send_replace(Some(why.into()));
        self.close_input();
        self.process.stop().await;
    }

    /// Why program or pipes are at their end, as soon as both are seen to be, or after a moment.
    async fn why(&self) -> Option<String> {
        let cut = || self.signs.borrow().cut.clone();
        if let Some(cut) = cut().filter(|cut| cut.is_ours) {
            return Some(cut.words);
        }
        let mut signs = self.signs.clone();
        let settled = async {
            self.process.ended().await;
            drop(signs.wait_for(|signs| signs.is_read).await);
        };
        let _ = timeout(SETTLE, settled).await;
        self.process.ending().map(|ending| ending.words()).or_else(|| cut().map(|cut| cut.words))
    }

    fn close_input(&self) {
        self.input.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A request that is on its way.
struct Asked {
    handle: Option<RequestHandle<RoleClient>>,
    /// Where its answer is kept.
    kept: Option<(i64, Web)>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some((id, web)) = &self.kept {
            web.take(*id);
        }
        // Where no runtime is left there is nobody to tell either.
        if let Some(handle) = self.handle.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                let _ = timeout(NOTICE_LIMIT, handle.cancel(Some("nobody waits for it any more".to_owned()))).await;
            });
        }
    }
}

/// Why a connection was not made.
struct NotReady {
    words: String,
    /// The server's end is closed, which the end of its program may explain.
    is_closed: bool,
}

async fn ready(
    connecting: impl Future<Output = Result<RunningService<RoleClient, Host>, ClientInitializeError>>,
    stop: impl Future<Output = ()>,
) -> Result<RunningService<RoleClient, Host>, NotReady> {
    let open = |words: String| NotReady { words, is_closed: false };
    tokio::select! {
        connected = timeout(READY_LIMIT, connecting) => match connected {
            Ok(Ok(running)) => Ok(running),
            Ok(Err(error)) => Err(refusal(&error)),
            Err(_) => Err(open(format!("it was not ready within {} s", READY_LIMIT.as_secs()))),
        },
        () = stop => Err(open("it is not wanted any more".to_owned())),
    }
}

fn refusal(error: &ClientInitializeError) -> NotReady {
    let (words, is_closed) = match error {
        ClientInitializeError::JsonRpcError(error) => (format!("it refused the connection: {}", error.message), false),
        ClientInitializeError::ConnectionClosed(_) => ("it closed the connection before it was ready".to_owned(), true),
        ClientInitializeError::TransportError { error, .. } => (http::words(error), true),
        ClientInitializeError::ExpectedInitResponse(_) | ClientInitializeError::ExpectedInitResult(_) => {
            ("its answer to `initialize` is none".to_owned(), false)
        }
        other => (other.to_string(), false),
    };
    NotReady { words: cleaned_line(&words, WORDS_CHARS).into_owned(), is_closed }
}

fn unreadable() -> rmcp::ErrorData {
    rmcp::ErrorData::new(failures::UNREADABLE, "its answer has no JSON", None)
}
