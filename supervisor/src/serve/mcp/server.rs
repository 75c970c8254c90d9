//! What all connections share: the sources, the plan of what is shown, and whoever runs bodies.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use codemode_protocol::RunLimits;
use rmcp::service::ServerInitializeError;
use rmcp::service::serve_server;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use super::error::ServeError;
use super::fresh;
use super::line::Ending;
use super::session::Session;
use super::stdio::Pipes;
use crate::catalog::{FileCatalog, RunContext, Sources};
use crate::config::{Config, Mode};
use crate::gate::Policy;
use crate::modes::{Executor, Plan, PlanRequest, ShownInstead, plan};
use crate::run::{ErrorCode, RunRequest, Runner};
use crate::telemetry::Recorder;

/// Bodies that run at once, of all connections together; further ones wait their turn. Each is a process.
const MOST_BODIES: usize = 32;
/// How long a connection has to end what it does once its client is gone. A killed child takes a tenth of a second.
const ENDS_WITHIN: Duration = Duration::from_millis(1_500);

/// What a server is made of.
#[derive(Debug)]
pub struct McpServerSetup {
    /// Who may use which tool, and how they are shown.
    pub config: Config,
    /// Where the tools come from.
    pub sources: Arc<Sources>,
    /// For whom this server is.
    pub context: RunContext,
    /// What is taken away beyond the configuration.
    pub policy: Policy,
    /// What is shown instead of what the configuration says.
    pub shown: ShownInstead,
    /// Limits of bodies; the wall clock is that of `shown` and the configuration.
    pub limits: RunLimits,
    /// Who runs bodies, or why nobody does.
    pub supervisor: Result<Arc<dyn Runner>, String>,
    /// Where it is noted what happens.
    pub recorder: Recorder,
}

/// An MCP server in front of a catalog. Cheap to clone; all clones are one server.
#[derive(Clone, Debug)]
pub struct McpServer {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    setup: McpServerSetup,
    no_isolation: Option<String>,
    plan: RwLock<Arc<Plan>>,
    /// Goes up when what clients list has changed.
    pub(super) listed: watch::Sender<u64>,
    pub(super) bodies: Semaphore,
    /// Names runs in logs: those of many processes may be put together.
    name: String,
    connections: AtomicU64,
}

impl McpServer {
    /// Puts the catalog together and, where bodies are to be run, tries whether they can be: a mode that needs an isolated child is shown only if there is one.
    pub async fn open(setup: McpServerSetup) -> McpServer {
        let configured = setup.config.effective(&setup.context).tool_search;
        let runs_bodies = setup.shown.over(configured).mode == Mode::Code;
        let no_isolation = match &setup.supervisor {
            Err(why) => Some(why.clone()),
            Ok(supervisor) if runs_bodies => no_child(&**supervisor, setup.limits).await,
            Ok(_) => None,
        };
        // Before the lists are read, so that no change of one falls between.
        let changes = setup.sources.changes();
        let plan = RwLock::new(Arc::new(planned(&setup, no_isolation.clone()).await));
        let bodies = Semaphore::new(MOST_BODIES);
        let listed = watch::Sender::new(0);
        let shared = Arc::new(Shared { setup, no_isolation, plan, listed, bodies, name: name(), connections: AtomicU64::new(0) });
        // It ends with the server, which it does not hold.
        tokio::spawn(fresh::keep(Arc::downgrade(&shared), changes));
        McpServer { shared }
    }

    /// What is shown now.
    pub fn plan(&self) -> Arc<Plan> {
        self.shared.plan()
    }

    /// Why something is not shown as it was asked for, a line each.
    pub fn notes(&self) -> Vec<String> {
        let surface = &self.shared.plan().surface;
        let refused = surface.refused.iter().map(|refused| format!("{} is not shown: {}", refused.id, refused.reason));
        surface.reason.iter().cloned().chain(refused).collect()
    }

    /// Serves one client over two pipes, until it closes the one that is read, or `stop` is over. Whatever was done for it is over then.
    ///
    /// # Errors
    /// When what is at the other end does not speak the protocol.
    pub async fn serve_pipes(
        &self,
        from: impl AsyncRead + Send + Unpin + 'static,
        to: impl AsyncWrite + Send + Unpin + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let connection = Ending::new();
        let pipes = Pipes::new(from, to, connection.clone());
        let served = async {
            match serve_server(Session::new(Arc::clone(&self.shared)), pipes).await {
                Ok(running) => {
                    // A service that broke down is over all the same.
                    let _ = running.waiting().await;
                    Ok(())
                }
                // It went before it began, and may.
                Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
                Err(error) => Err(ServeError::Handshake { reason: error.to_string() }),
            }
        };
        let mut served = std::pin::pin!(served);
        tokio::select! {
            done = &mut served => return done,
            () = stop => connection.end(),
            () = connection.ended() => {}
        }
        // A client that does not read can hold up what is still written to it, but not the end.
        timeout(ENDS_WITHIN, served).await.unwrap_or(Ok(()))
    }
}

impl Shared {
    /// What is shown now.
    pub(super) fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at the sources again. What clients list counts as changed when they would read something else.
    pub(super) async fn plan_again(&self) {
        let next = planned(&self.setup, self.no_isolation.clone()).await;
        let before = std::mem::replace(&mut *self.plan.write().unwrap_or_else(PoisonError::into_inner), Arc::new(next));
        if before.surface.definitions != self.plan().surface.definitions {
            self.listed.send_modify(|times| *times += 1);
        }
    }

    /// A name for a connection.
    pub(super) fn connection_name(&self) -> String {
        format!("{}-{}", self.name, self.connections.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Whoever does what a connection asks for.
    pub(super) fn executor(&self, plan: Arc<Plan>, name: &str) -> Executor {
        let setup = &self.setup;
        let executor = Executor::new(plan, setup.config.gate(), setup.recorder.clone(), name.into()).with_limits(setup.limits);
        match &setup.supervisor {
            Ok(supervisor) if self.no_isolation.is_none() => executor.with_supervisor(Arc::clone(supervisor)),
            _ => executor,
        }
    }
}

async fn planned(setup: &McpServerSetup, no_isolation: Option<String>) -> Plan {
    let request = PlanRequest {
        context: setup.context.clone(),
        policy: setup.policy.clone(),
        shown: Some(setup.shown),
        no_isolation,
        ..PlanRequest::default()
    };
    plan(&setup.config, &setup.sources, request).await
}

/// Why no isolated child can be started, if none can: tried with the smallest body.
async fn no_child(runner: &dyn Runner, limits: RunLimits) -> Option<String> {
    let Ok(empty) = FileCatalog::from_str("[]", "none") else { return Some("there is no empty catalog".to_owned()) };
    let report = runner.start(RunRequest::new("return 1").with_limits(limits), Arc::new(empty)).report().await;
    let error = report.error?;
    match error.code {
        ErrorCode::IsolationUnavailable | ErrorCode::NodeUnavailable => Some(error.message.replace('\n', "; ")),
        // Anything else is a matter of the one run, and will be told with it.
        _ => None,
    }
}

fn name() -> String {
    let mut bits = [0; 4];
    // Without random bits there is no run either; the name does not matter then.
    let _ = getrandom::fill(&mut bits);
    format!("mcp-{:08x}", u32::from_be_bytes(bits))
}
