//! What a gateway sends, one text after the other.

use std::sync::Arc;

use codemode_protocol::gateway::{
    Cancelled, Capabilities, Capability, CatalogChoice, FromGateway, GATEWAY_PROTOCOL, GatewayAsk, GoodbyeCode, Hello, HelloAnswer, Notice,
    Refusal, RefusalCode, RunStart,
};
use codemode_protocol::{FrameLimit, JsonText, RequestId, RunLimits, Violation};
use serde_json::json;
use tokio::task::JoinSet;

use super::person::{RemoteApprover, RemoteHook};
use super::run::{Job, NotTaken, Runs};
use super::{Host, Line, context};
use crate::catalog::gateway::{Outgoing, Overdue, Peer, RemoteCatalog, tool_set};
use crate::gate::Gate;
use crate::run::{RunRequest, TraceParent};

/// Texts up to this size are read where they come in: that takes a fraction of a millisecond. A catalog of 16 MiB takes a good part of a second, and other
/// connections must not wait for it.
const AT_ONCE: usize = 128 << 10;

/// Why a session ends.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Goodbye {
    /// As a word.
    pub code: GoodbyeCode,
    /// For people; nothing of it is the gateway's own text.
    pub message: String,
}

impl Goodbye {
    /// For this reason.
    pub fn new(code: GoodbyeCode, message: impl Into<String>) -> Goodbye {
        Goodbye { code, message: message.into() }
    }
}

impl From<Violation> for Goodbye {
    fn from(violation: Violation) -> Goodbye {
        Goodbye::new(GoodbyeCode::ProtocolViolation, violation.to_string())
    }
}

impl From<Overdue> for Goodbye {
    fn from(overdue: Overdue) -> Goodbye {
        Goodbye::new(GoodbyeCode::Unanswered, overdue.to_string())
    }
}

/// One gateway's runs. Dropping it cancels them; [`Session::close`] waits until they are reaped.
#[derive(Debug)]
pub struct Session {
    host: Host,
    peer: Peer,
    line: Arc<Line>,
    offered: Option<Capabilities>,
    runs: Runs,
    tasks: JoinSet<()>,
    trace_parent: Option<TraceParent>,
}

impl Session {
    /// How long a text of a gateway may be: the largest that a run may carry at its hard caps. Longer frames are refused before they are read.
    pub fn frame_limit() -> FrameLimit {
        RunLimits::capped().frame_limit()
    }

    /// A new session, and where what it says comes out.
    pub fn open(host: &Host) -> (Session, Outgoing) {
        let (peer, outgoing) = Peer::connected();
        let line = Arc::new(host.admission.line());
        (
            Session { host: host.clone(), peer, line, offered: None, runs: Runs::default(), tasks: JoinSet::new(), trace_parent: None },
            outgoing,
        )
    }

    /// The same, its runs being parts of this span.
    #[must_use]
    pub fn with_trace_parent(mut self, parent: Option<TraceParent>) -> Session {
        self.trace_parent = parent;
        self
    }

    /// Takes the text of one message. It waits for as long as the gateway does not read its answers.
    ///
    /// # Errors
    ///
    /// When the gateway broke the wire: [`Session::close`] is next.
    pub async fn receive(&mut self, text: &str) -> Result<(), Goodbye> {
        while self.tasks.try_join_next().is_some() {}
        match parsed(text).await? {
            FromGateway::Answer { id, result } => Ok(self.peer.settle(id, result)?),
            FromGateway::Request { id, ask } => {
                self.peer.hear(id, matches!(ask, GatewayAsk::Hello(_)))?;
                match ask {
                    GatewayAsk::Hello(hello) => self.hello(id, hello).await,
                    GatewayAsk::Start(start) => {
                        match self.taken(*start, text.len()).await {
                            Ok(job) => {
                                self.answer(id, Ok(JsonText::of(&json!({})))).await;
                                self.tasks.spawn(job.done());
                            }
                            Err(refusal) => self.answer(id, Err(refusal)).await,
                        }
                        Ok(())
                    }
                    GatewayAsk::Cancel { run } => {
                        let known = self.runs.cancel(&run);
                        self.answer(id, Ok(JsonText::of(&Cancelled { known }))).await;
                        Ok(())
                    }
                }
            }
        }
    }

    /// Waits until the gateway owes too many answers. Cancel-safe.
    pub async fn overdue(&self) -> Goodbye {
        self.peer.overdue().await.into()
    }

    /// Whether the gateway has said `hello`.
    pub fn is_greeted(&self) -> bool {
        self.offered.is_some()
    }

    /// Waits until no run goes on, whatever becomes of the session meanwhile. Cancel-safe.
    pub fn idle(&self) -> impl Future<Output = ()> + Send + use<> {
        let runs = self.runs.clone();
        async move { runs.none().await }
    }

    /// Cancels its runs. Each still has its `run.finished`.
    pub fn cancel(&self) {
        self.runs.cancel_all();
    }

    /// Ends the session: says why, cancels its runs, and waits until every child is reaped.
    pub async fn close(mut self, goodbye: Option<Goodbye>) {
        self.runs.cancel_all();
        // First the runs: a call whose answer will not come is then what it is, sent and unknown, and no failure of its own.
        self.peer.hush(goodbye.map(|Goodbye { code, message }| Notice::Goodbye { code, message }));
        while self.tasks.join_next().await.is_some() {}
        self.peer.close();
    }

    async fn hello(&mut self, id: RequestId, hello: Hello) -> Result<(), Goodbye> {
        if hello.protocol != GATEWAY_PROTOCOL {
            let message = format!("hello names protocol {}, and this end speaks {GATEWAY_PROTOCOL}", hello.protocol);
            self.answer(id, Err(refusal(RefusalCode::UnsupportedProtocol, message.clone()))).await;
            return Err(Goodbye::new(GoodbyeCode::ProtocolViolation, message));
        }
        let answer = HelloAnswer {
            protocol: GATEWAY_PROTOCOL,
            name: concat!("codemode ", env!("CARGO_PKG_VERSION")).to_owned(),
            capabilities: Capabilities::new([Capability::Runs]),
            frame_bytes: Session::frame_limit().bytes() as u64,
            runs: self.host.limits.runs as u64,
        };
        self.offered = Some(hello.capabilities);
        self.answer(id, Ok(JsonText::of(&answer))).await;
        Ok(())
    }

    /// A failure to write an answer of ours cannot happen; where the connection is over, there is nobody to tell.
    async fn answer(&self, id: RequestId, result: Result<Result<JsonText, serde_json::Error>, Refusal>) {
        let result = result.map(|text| text.unwrap_or_else(|_| JsonText::null()));
        let _ = self.peer.answer(id, result).await;
    }

    async fn taken(&self, start: RunStart, bytes: usize) -> Result<Job, Refusal> {
        if self.host.is_draining() {
            return Err(refusal(RefusalCode::Draining, "this end is about to go; start the run elsewhere, or later"));
        }
        self.check_offers(&start)?;
        let limits = context::limits(&start, self.host.usual).map_err(|error| refusal(RefusalCode::InvalidLimits, error.to_string()))?;
        let approvals = context::approvals(&start);
        let RunStart { run, body, catalog, wants, context, .. } = start;
        let place = self.runs.enter(&run, bytes, &self.host).map_err(|reason| not_taken(reason, &self.host))?;
        let catalog = match catalog {
            CatalogChoice::Gateway => RemoteCatalog::new(self.peer.clone(), run.clone()),
            CatalogChoice::Tools(tools) => {
                let tools =
                    aside(bytes, move || tool_set(tools)).await.map_err(|error| refusal(RefusalCode::InvalidCatalog, error.to_string()))?;
                RemoteCatalog::with_tools(self.peer.clone(), run.clone(), tools)
            }
        };
        let mut gate = Gate::new().with_approvals(approvals);
        if wants.approvals {
            gate = gate.with_approver(Arc::new(RemoteApprover { peer: self.peer.clone(), run: run.clone() }));
        }
        if wants.hooks {
            gate = gate.with_hook(Arc::new(RemoteHook { peer: self.peer.clone(), run: run.clone() }));
        }
        let mut request = RunRequest::new(body).with_limits(limits).with_context(context::context(context)).with_gate(Arc::new(gate));
        request.run_id = Some(run.as_str().into());
        request.trace_parent.clone_from(&self.trace_parent);
        Ok(Job {
            host: self.host.clone(),
            peer: self.peer.clone(),
            place,
            turn: self.line.join(),
            line: Arc::clone(&self.line),
            wants,
            request,
            catalog: Arc::new(catalog),
        })
    }

    /// What a run needs of the gateway, the gateway has to have offered.
    fn check_offers(&self, start: &RunStart) -> Result<(), Refusal> {
        let needed = [(true, Capability::Catalog), (start.wants.approvals, Capability::Approvals), (start.wants.hooks, Capability::Hooks)];
        let missing =
            needed.into_iter().find(|(is_needed, word)| *is_needed && !self.offered.as_ref().is_some_and(|offered| offered.has(*word)));
        match missing {
            Some((_, word)) => Err(refusal(RefusalCode::NotOffered, format!("the run needs {word}, which hello did not offer"))),
            None => Ok(()),
        }
    }
}

/// Reads a text, wherever that holds nobody else up.
async fn parsed(text: &str) -> Result<FromGateway, Violation> {
    if text.len() <= AT_ONCE {
        return FromGateway::parse(text);
    }
    let text = text.to_owned();
    aside(text.len(), move || FromGateway::parse(&text)).await
}

/// Does work on so many bytes: here when they are few, else on a thread for it.
async fn aside<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if bytes <= AT_ONCE {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        // It is never cancelled while somebody waits for it; a panic is a bug and goes on as one.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn not_taken(reason: NotTaken, host: &Host) -> Refusal {
    match reason {
        NotTaken::Exists => refusal(RefusalCode::RunExists, "a run with this name goes on; give each run a name of its own"),
        NotTaken::TooMany => {
            refusal(RefusalCode::Busy, format!("{} runs of this connection are there already; wait for one to finish", host.limits.runs))
        }
        NotTaken::TooLarge => refusal(
            RefusalCode::Busy,
            format!("the runs of this connection hold {} bytes already; wait for one to finish", host.limits.held_bytes),
        ),
    }
}

fn refusal(code: RefusalCode, message: impl Into<String>) -> Refusal {
    Refusal { code, message: message.into() }
}
