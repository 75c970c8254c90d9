//! `codemode run`.

use std::cell::OnceCell;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use codemode_protocol::RunLimits;
use tokio::sync::oneshot;

use super::arguments::{CatalogArguments, RunArguments};
use super::input::{self, InputError, Opened};
use super::live::Live;
use super::stop::Stop;
use super::tape::{self, TapedArguments};
use super::{exit, show, watch};
use crate::catalog::Catalog;
use crate::launch::LaunchError;
use crate::modes::{note_end, note_event, note_start};
use crate::run::{Ahead, RunHandle, RunReport, RunRequest, Supervisor, unavailable};
use crate::telemetry::{Recorder, SessionLog};

/// Runs a body, once or whenever it changes.
pub(super) fn main(arguments: &RunArguments) -> ExitCode {
    let limits = match arguments.launch.limits() {
        Ok(limits) => limits,
        Err(error) => return refused(exit::USAGE, &error.to_string()),
    };
    if arguments.watch && input::is_stdin(arguments.body.as_deref()) {
        return unusable(&InputError::WatchedStdin);
    }
    if let Some(contradiction) = arguments.launch.contradiction() {
        return refused(exit::USAGE, contradiction);
    }
    if let Err(error) = descriptors() {
        return not_launched(&error, arguments, limits);
    }
    // One run needs one thread; a start of more would cost as much as the run itself.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return not_launched(&no_runtime(error), arguments, limits),
    };
    runtime.block_on(async {
        // From here on a signal is ours to answer: before it, there is nothing to clean up.
        match Stop::listen() {
            Ok(stop) if arguments.watch => watch::run(arguments, limits, stop).await,
            Ok(stop) => once(arguments, limits, stop).await,
            Err(error) => not_launched(&no_runtime(error), arguments, limits),
        }
    })
}

/// Sees to it that there are descriptors for a run. Libraries of ours take it for granted that they get one.
pub(super) fn descriptors() -> Result<(), LaunchError> {
    /// What a run takes, and some that the caller may have left open.
    const LEAST: u64 = 32;
    const WANTED: u64 = 1_024;
    let refused = |source| LaunchError::Host {
        what: "too few descriptors",
        advice: "This process is out of descriptors: raise `ulimit -n`.",
        source,
    };
    let granted = rlimit::increase_nofile_limit(WANTED).map_err(refused)?;
    if granted < LEAST { Err(refused(std::io::Error::from_raw_os_error(libc::EMFILE))) } else { Ok(()) }
}

pub(super) fn no_runtime(source: std::io::Error) -> LaunchError {
    LaunchError::Host {
        what: "waiting for input and signals",
        advice: "This process is out of descriptors or memory: raise `ulimit -n` and `ulimit -v`.",
        source,
    }
}

async fn once(arguments: &RunArguments, limits: RunLimits, mut stop: Stop) -> ExitCode {
    let recorder = match recorder(arguments.session_log.as_deref(), &arguments.catalog) {
        Ok(recorder) => recorder,
        Err(error) => return unusable(&error),
    };
    // The files are read while Node is found.
    let body = in_background({
        let path = arguments.body.clone();
        move || input::body(path.as_deref(), &limits)
    });
    let catalog = in_background({
        let taped = TapedArguments::from(arguments);
        move || tape::read(&taped)
    });
    let supervisor = match supervisor(arguments) {
        Ok(supervisor) => supervisor,
        Err(error) => return not_launched(&error, arguments, limits),
    };
    // A child starts before its catalog is read only when that takes long, and not for a body that will not be run.
    let is_large = input::is_large(&arguments.catalog);
    let body = async {
        let body = body.await.unwrap_or(Err(InputError::Lost))?;
        let ahead =
            (is_large && RunRequest::new(body.clone()).with_limits(limits).take_body().is_ok()).then(|| supervisor.launch_ahead(&limits));
        Ok((body, ahead))
    };
    let servers = OnceCell::new();
    let catalog = async {
        let read = catalog.await.unwrap_or(Err(InputError::Lost))?;
        servers.get_or_init(|| read.servers());
        Ok(read.opened().await)
    };
    let files = tokio::select! {
        files = async { tokio::try_join!(body, catalog) } => Some(files),
        () = stop.asked() => None,
    };
    let servers = servers.into_inner().unwrap_or_default();
    let ((body, ahead), (opened, tape)) = match files {
        Some(Ok(files)) => files,
        Some(Err(error)) => {
            servers.stop().await;
            return unusable(&error);
        }
        None => {
            servers.stop().await;
            // A child that was launched ahead went with the future; its task ends it when the runtime gets to it.
            tokio::task::yield_now().await;
            // A read from a terminal cannot be called off, so the process ends without waiting for it.
            std::process::exit(i32::from(exit::CANCELLED));
        }
    };
    opened.notes.iter().for_each(|note| show::note(note));
    let mut run = Run::start(&supervisor, ahead, body, &opened, limits, recorder, !arguments.json);
    let mut stopped = false;
    let mut diverged = false;
    let mut report = loop {
        tokio::select! {
            report = run.finished() => break report,
            () = tape.diverged(), if !diverged => {
                diverged = true;
                run.cancel();
            }
            () = stop.asked() => {
                stopped = true;
                run.cancel();
            }
        }
    };
    tape.judge(&mut report);
    let code = run.end(&report, arguments);
    servers.stop().await;
    servers.lines().iter().for_each(|line| show::note(line));
    if let Err(error) = tape.save() {
        let refused = unusable(&error.into());
        return if code == ExitCode::SUCCESS { refused } else { code };
    }
    if stopped { ExitCode::from(exit::CANCELLED) } else { code }
}

/// What starts the children of these arguments.
pub(super) fn supervisor(arguments: &RunArguments) -> Result<Supervisor, LaunchError> {
    let launch = &arguments.launch;
    let choice = if arguments.watch { launch.launcher_of_many() } else { launch.launcher_of_one() };
    Supervisor::builder().launch(launch.launch_config()).launcher_choice(choice).build()
}

/// What keeps the log that was asked for.
pub(super) fn recorder(session_log: Option<&Path>, catalog: &CatalogArguments) -> Result<Recorder, InputError> {
    let recorder = Recorder::default().with_session(catalog.context().session);
    match session_log {
        Some(path) => Ok(recorder.with_log(Arc::new(SessionLog::open(path)?))),
        None => Ok(recorder),
    }
}

/// A name for a run in logs: logs of many processes may be put together.
fn run_id() -> Arc<str> {
    let mut bits = [0; 8];
    // Without random bits there is no run either; the name does not matter then.
    let _ = getrandom::fill(&mut bits);
    format!("{:016x}", u64::from_be_bytes(bits)).into()
}

/// A run that goes on and is told about.
pub(super) struct Run {
    handle: RunHandle,
    live: Live,
    text: String,
    recorder: Recorder,
    run_id: Arc<str>,
}

impl Run {
    pub(super) fn start(
        supervisor: &Supervisor,
        ahead: Option<Ahead>,
        body: Vec<u8>,
        opened: &Opened,
        limits: RunLimits,
        recorder: Recorder,
        calls_too: bool,
    ) -> Run {
        let text = String::from_utf8_lossy(&body).into_owned();
        let mut request =
            RunRequest::new(body).with_limits(limits).with_gate(Arc::clone(&opened.gate)).with_context(opened.context.clone());
        let run_id = run_id();
        request.run_id = Some(Arc::clone(&run_id));
        let mut catalog: Arc<dyn Catalog> = Arc::clone(&opened.catalog);
        if recorder.is_logging() {
            catalog = recorder.watch(catalog, Arc::clone(&run_id));
            note_start(&recorder, &run_id, &request);
        }
        let handle = match ahead {
            Some(ahead) => supervisor.start_ahead(ahead, request, catalog),
            None => supervisor.start(request, catalog),
        };
        Run { handle, live: Live::new(calls_too), text, recorder, run_id }
    }

    /// Tells what happens until the report is there. Cancel-safe.
    pub(super) async fn finished(&mut self) -> RunReport {
        while let Some(event) = self.handle.event().await {
            note_event(&self.recorder, &self.run_id, &event);
            self.live.tell(&event);
        }
        let report = self.handle.finished().await;
        note_end(&self.recorder, &self.run_id, &report);
        report
    }

    pub(super) fn cancel(&self) {
        self.handle.cancel();
    }

    /// Prints the report.
    pub(super) fn end(self, report: &RunReport, arguments: &RunArguments) -> ExitCode {
        self.live.end(report);
        if let Some(loss) = self.recorder.log().and_then(SessionLog::loss) {
            show::note(&format!("{} events are missing from the session log: {}", loss.events, loss.reason));
        }
        if arguments.catalog.is_empty() && arguments.replay.is_none() && !report.calls.is_empty() {
            show::note("no catalog was named, so there were no tools; name one with `--tools FILE`, or MCP servers with `--mcp FILE`");
        }
        show::report(report, arguments.json, &self.text, &input::body_name(arguments.body.as_deref()));
        exit::of(report)
    }

    /// Says nothing about a run that nobody wants any more.
    pub(super) fn forget(self) {
        self.live.finish();
    }
}

/// Does something that blocks on a thread of its own, or, where there is none to be had, here.
pub(super) fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
    let (send, receive) = oneshot::channel();
    // The work is handed over by a channel, so that it is still here when no thread is.
    let (hand_over, take) = std::sync::mpsc::channel::<Box<dyn FnOnce() + Send>>();
    let work: Box<dyn FnOnce() + Send> = Box::new(move || {
        // The receiver goes when the command ends early.
        let _ = send.send(work());
    });
    let started = thread::Builder::new().name("codemode-reader".to_owned()).spawn(move || {
        if let Ok(work) = take.recv() {
            work();
        }
    });
    match started {
        // It waits for exactly this.
        Ok(_) => drop(hand_over.send(work)),
        Err(_) => work(),
    }
    receive
}

/// There is no supervisor: that is a report, too.
pub(super) fn not_launched(error: &LaunchError, arguments: &RunArguments, limits: RunLimits) -> ExitCode {
    let report = unavailable(error, limits);
    show::report(&report, arguments.json, "", &input::body_name(arguments.body.as_deref()));
    exit::of(&report)
}

/// A file that cannot be used.
pub(super) fn unusable(error: &InputError) -> ExitCode {
    refused(error.code(), &crate::catalog::visible::visible(&error.to_string()))
}

/// Ends with this code and message.
pub(super) fn refused(code: u8, message: &str) -> ExitCode {
    show::error(message);
    ExitCode::from(code)
}
