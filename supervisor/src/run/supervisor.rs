//! The library's front door.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use codemode_protocol::{JsonText, Limit, Run, RunLimits, Seed, ValueType};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::admission::{Admission, Door};
use super::driver::{self, Ready, Setup};
use super::event::RunEvent;
use super::limits;
use super::report::{ErrorCode, Resources, RunError, RunReport};
use super::request::RunRequest;
use super::timing::Timing;
use super::trace::TraceParent;
use crate::bridge::rehearsal;
use crate::catalog::Catalog;
use crate::launch::{Confined, LaunchConfig, LaunchError, LaunchOrder, Launcher, LauncherChoice, Spawn, Template};
use crate::telemetry::Telemetry;

/// Runs bodies. Cheap to clone; every clone shares the launcher and nothing else.
///
/// It needs a tokio runtime of the caller with I/O and time enabled; it starts none.
#[derive(Clone, Debug)]
pub struct Supervisor {
    launcher: Arc<dyn Launcher>,
    door: Arc<Door>,
}

/// Makes a [`Supervisor`].
#[derive(Debug, Default)]
pub struct Builder {
    config: LaunchConfig,
    choice: LauncherChoice,
    usual: RunLimits,
    launcher: Option<Arc<dyn Launcher>>,
    admission: Admission,
}

impl Builder {
    /// How children are started and walled; unused when [`launcher`](Self::launcher) gives a launcher.
    #[must_use]
    pub fn launch(mut self, config: LaunchConfig) -> Self {
        self.config = config;
        self
    }

    /// Which way children are started.
    #[must_use]
    pub fn launcher_choice(mut self, choice: LauncherChoice) -> Self {
        self.choice = choice;
        self
    }

    /// The limits that most runs will have: what waits is made for these. A run with others is served too, a little later.
    #[must_use]
    pub fn usual_limits(mut self, limits: RunLimits) -> Self {
        self.usual = limits;
        self
    }

    /// How many runs go on at once, and how many wait; the rest is refused as `busy`.
    #[must_use]
    pub fn admission(mut self, admission: Admission) -> Self {
        self.admission = admission;
        self
    }

    /// Children come from here.
    #[must_use]
    pub fn launcher(mut self, launcher: Arc<dyn Launcher>) -> Self {
        self.launcher = Some(launcher);
        self
    }

    /// Finds Node and makes what all children share.
    ///
    /// # Errors
    ///
    /// When there is no usable Node, or the host refuses what every launch needs.
    pub fn build(self) -> Result<Supervisor, LaunchError> {
        let launcher = match self.launcher {
            Some(launcher) => launcher,
            None if self.choice == LauncherChoice::Spawn => Arc::new(Spawn::new(self.config)?),
            None => {
                let rehearsal = rehearsal(&self.usual, limits::order(&self.usual), Limit::MemoryBytes.cap());
                Arc::new(Template::new(self.config, rehearsal)?)
            }
        };
        Ok(Supervisor { launcher, door: Arc::new(Door::new(self.admission)) })
    }
}

impl Supervisor {
    /// With the default walls, the Node that is found, and forks of a template, unless told otherwise.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Runs a body to its report. Dropping the future cancels the run, which still cleans up behind itself.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub async fn run(&self, request: RunRequest, catalog: Arc<dyn Catalog>) -> RunReport {
        self.begin(None, request, catalog, None).report().await
    }

    /// Starts a run and gives the handle to it.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start(&self, request: RunRequest, catalog: Arc<dyn Catalog>) -> RunHandle {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut handle = self.begin(None, request, catalog, Some(sender));
        handle.events = Some(receiver);
        handle
    }

    /// Launches a child before its body is known, so that a caller can read files meanwhile.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn launch_ahead(&self, limits: &RunLimits) -> Ahead {
        let launcher = Arc::clone(&self.launcher);
        let order = limits::order(limits);
        Ahead { order, launched: Aborted(tokio::spawn(async move { launcher.launch(order).await })) }
    }

    /// [`start`](Self::start) with a child that was launched ahead. One that was launched for other limits is not used.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start_ahead(&self, ahead: Ahead, request: RunRequest, catalog: Arc<dyn Catalog>) -> RunHandle {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut handle = self.begin(Some(ahead), request, catalog, Some(sender));
        handle.events = Some(receiver);
        handle
    }

    fn begin(
        &self,
        ahead: Option<Ahead>,
        mut request: RunRequest,
        catalog: Arc<dyn Catalog>,
        events: Option<mpsc::UnboundedSender<RunEvent>>,
    ) -> RunHandle {
        let (cancel, cancelled) = watch::channel(false);
        let limits = request.limits;
        let launcher = Arc::clone(&self.launcher);
        // Before the task: who is refused costs nothing.
        let place = self.door.enter();
        let context = &request.context;
        let span = tracing::info_span!(
            "codemode.run",
            otel.kind = "internal",
            codemode.run.id = request.run_id.as_deref(),
            gen_ai.agent.id = context.agent.as_deref(),
            session.id = context.session.as_deref(),
            codemode.channel = context.channel.as_deref(),
            traceparent = request.trace_parent.as_ref().map(TraceParent::as_str),
            codemode.verdict = tracing::field::Empty,
        );
        let work = async move {
            let mut place = match place {
                Ok(place) => place,
                Err(busy) => return without_child(&*catalog, limits, busy),
            };
            let (body, seed) = match (request.take_body(), request.fixed_seed().map_or_else(seed, |fixed| Ok(Seed::new(fixed)))) {
                (Ok(body), Ok(seed)) => (body, seed),
                (Err(problem), _) => return without_child(&*catalog, limits, problem.into()),
                (_, Err(_)) => return without_child(&*catalog, limits, RunError::internal("the host gives no random bits")),
            };
            let run_id = request.run_id.unwrap_or_else(|| seed.to_string().into());
            let run = Run { body, seed, limits: limits.wire() };
            let setup = Setup { run, run_id, limits, gate: request.gate, catalog, events, cancel: cancelled };
            let launch = async {
                let beginning = place.turn().await;
                let ready = launch(launcher, ahead, limits::order(&limits)).await?;
                Ok(Ready { beginning: Some(beginning), ..ready })
            };
            let report = driver::drive(setup, launch).await;
            let verdict = report.error.as_ref().map_or("ok", |error| error.code.as_str());
            tracing::Span::current().record("codemode.verdict", verdict);
            report
        };
        let task = tokio::spawn(work.instrument(span));
        RunHandle::of(cancel, None, task, limits)
    }
}

async fn launch(launcher: Arc<dyn Launcher>, ahead: Option<Ahead>, order: LaunchOrder) -> Result<Ready<crate::launch::Child>, RunError> {
    let launched = match ahead {
        Some(ahead) if ahead.order == order => match ahead.launched.await {
            Some(launched) => launched,
            None => return Err(RunError::internal("the launch of a child broke down")),
        },
        _ => launcher.launch(order).await,
    };
    launched.map(Ready::from).map_err(|error| launch_error(&error))
}

fn launch_error(error: &LaunchError) -> RunError {
    let code = match error {
        // The host's refusal to start a process at all stands with Node's: there is none to be had.
        LaunchError::Node(_) | LaunchError::Host { .. } => ErrorCode::NodeUnavailable,
        LaunchError::Isolation(_) => ErrorCode::IsolationUnavailable,
        LaunchError::Internal(_) => ErrorCode::InternalError,
    };
    RunError::new(code, error.to_string())
}

/// The seed of the body's `Math.random`: not to be guessed from other runs.
fn seed() -> Result<Seed, getrandom::Error> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits)?;
    Ok(Seed::new(bits))
}

pub(crate) fn without_child(catalog: &dyn Catalog, limits: RunLimits, error: RunError) -> RunReport {
    report(Telemetry::of_catalog(driver::summary_of(catalog)), limits, error)
}

/// The report of a run that was cancelled before its turn came.
pub(crate) fn never_begun(catalog: &dyn Catalog, limits: RunLimits) -> RunReport {
    without_child(catalog, limits, super::state::cancelled())
}

/// The report of a run for which no [`Supervisor`] could be made.
pub(crate) fn unavailable(error: &LaunchError, limits: RunLimits) -> RunReport {
    report(Telemetry::default(), limits, launch_error(error))
}

fn report(telemetry: Telemetry, limits: RunLimits, error: RunError) -> RunReport {
    RunReport {
        ok: false,
        value: JsonText::null(),
        value_type: ValueType::Undefined,
        logs: Vec::new(),
        logs_dropped: 0,
        error: Some(error),
        calls: Vec::new(),
        telemetry,
        timing: Timing::default(),
        resources: Resources { peak_rss_bytes: 0, limits },
        isolation: None,
    }
}

/// A child launched before its body is known. Dropping it ends the child.
#[derive(Debug)]
pub struct Ahead {
    order: LaunchOrder,
    launched: Aborted<Result<Confined, LaunchError>>,
}

/// A task that ends with its handle. `None`: it broke down.
#[derive(Debug)]
struct Aborted<T>(JoinHandle<T>);

impl<T> Future for Aborted<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        Pin::new(&mut self.0).poll(context).map(Result::ok)
    }
}

impl<T> Drop for Aborted<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A run that goes on. Dropping the handle cancels it; its task ends the child and reaps it all the same.
pub struct RunHandle {
    cancel: watch::Sender<bool>,
    events: Option<mpsc::UnboundedReceiver<RunEvent>>,
    task: JoinHandle<RunReport>,
    limits: RunLimits,
    /// The task must not be awaited again.
    taken: bool,
}

impl RunHandle {
    /// The handle to a run that this task carries out. It ends the run soon after `cancel` says so, and is the last to hold `events`.
    pub(crate) fn of(
        cancel: watch::Sender<bool>,
        events: Option<mpsc::UnboundedReceiver<RunEvent>>,
        task: JoinHandle<RunReport>,
        limits: RunLimits,
    ) -> RunHandle {
        RunHandle { cancel, events, task, limits, taken: false }
    }

    /// Ends the run as soon as possible, with the verdict `cancelled` unless it had another one already.
    pub fn cancel(&self) {
        self.cancel.send_replace(true);
    }

    /// The next event, or `None` after the last. Events wait here until they are taken; their number and size are bounded by the limits of the run.
    pub async fn event(&mut self) -> Option<RunEvent> {
        self.events.as_mut()?.recv().await
    }

    /// Waits until the child is gone. Dropping the future cancels the run.
    pub async fn report(mut self) -> RunReport {
        self.finished().await
    }

    /// The same for who keeps the handle, to cancel meanwhile. Cancel-safe. After it has given the report it gives an `internal_error`.
    pub async fn finished(&mut self) -> RunReport {
        if self.taken {
            return report(Telemetry::default(), self.limits, RunError::internal("the report of this run was taken before"));
        }
        let joined = (&mut self.task).await;
        self.taken = true;
        match joined {
            Ok(report) => report,
            Err(error) => {
                let what = if error.is_panic() { "the run broke down" } else { "the runtime went down under the run" };
                report(Telemetry::default(), self.limits, RunError::internal(what))
            }
        }
    }
}

impl fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunHandle").field("finished", &self.task.is_finished()).finish_non_exhaustive()
    }
}
