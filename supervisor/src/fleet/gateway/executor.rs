//! The library's door to a fleet.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tracing::Instrument;

use super::run::Job;
use crate::catalog::Catalog;
use crate::fleet::post::Post;
use crate::fleet::subjects::End;
use crate::fleet::{FleetError, FleetSettings};
use crate::run::{RunEvent, RunHandle, RunReport, RunRequest, Runner, TraceParent};

/// Runs bodies on the workers of a fleet: in the place of a [`Supervisor`](crate::Supervisor), with the same requests, handles and reports. Cheap to clone; all clones are one
/// gateway, over one connection.
///
/// Calls are answered here, by the catalog of the run and through the gate of its request. Three ends are a fleet's own: `busy` when no worker takes a run within 100 ms (it was not begun), `worker_lost`
/// when nothing is heard of the worker for a second, and `protocol_violation` when a message is forged or missing.
///
/// It needs a tokio runtime of the caller with I/O and time enabled; it starts none.
#[derive(Clone, Debug)]
pub struct FleetExecutor {
    post: Arc<Post>,
}

impl FleetExecutor {
    /// Connects. A connection that is lost later comes back by itself; runs that went on then are lost.
    ///
    /// # Errors
    ///
    /// [`FleetError`].
    pub async fn connect(settings: &FleetSettings) -> Result<FleetExecutor, FleetError> {
        Ok(FleetExecutor { post: Arc::new(Post::open(settings, End::Gateway).await?) })
    }

    /// Runs a body to its report. Dropping the future cancels the run.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn run(&self, request: RunRequest, catalog: Arc<dyn Catalog>) -> RunReport {
        self.begin(request, catalog, None).report().await
    }

    /// Starts a run and gives the handle to it. There is no [`RunEvent::Confined`]: what stood around the child is in the report.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start(&self, request: RunRequest, catalog: Arc<dyn Catalog>) -> RunHandle {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.begin(request, catalog, Some((sender, receiver)))
    }

    fn begin(
        &self,
        request: RunRequest,
        catalog: Arc<dyn Catalog>,
        events: Option<(mpsc::UnboundedSender<RunEvent>, mpsc::UnboundedReceiver<RunEvent>)>,
    ) -> RunHandle {
        let (sender, receiver) = events.unzip();
        let (cancel, cancelled) = watch::channel(false);
        let limits = request.limits;
        let context = &request.context;
        let span = tracing::info_span!(
            "codemode.fleet.run",
            otel.kind = "client",
            codemode.run.id = request.run_id.as_deref(),
            codemode.fleet.worker = tracing::field::Empty,
            gen_ai.agent.id = context.agent.as_deref(),
            session.id = context.session.as_deref(),
            codemode.channel = context.channel.as_deref(),
            traceparent = request.trace_parent.as_ref().map(TraceParent::as_str),
            codemode.verdict = tracing::field::Empty,
        );
        let job = Job { post: Arc::clone(&self.post), request, catalog, events: sender, cancelled, is_begun: false };
        let task = tokio::spawn(job.done().instrument(span));
        RunHandle::of(cancel, receiver, task, limits)
    }
}

impl Runner for FleetExecutor {
    fn start(&self, request: RunRequest, catalog: Arc<dyn Catalog>) -> RunHandle {
        FleetExecutor::start(self, request, catalog)
    }
}
