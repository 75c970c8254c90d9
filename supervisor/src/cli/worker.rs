//! `codemode worker`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueHint};
use serde_json::value::to_raw_value;
use tokio::sync::watch;

use super::fleet::NatsArguments;
use super::launching::LaunchArguments;
use super::stop::Stop;
use super::{exit, fleet, run, show};
use crate::catalog::FileCatalog;
use crate::catalog::visible;
use crate::doctor::examine;
use crate::fleet::{Worker, WorkerLimits};
use crate::launch::LaunchError;
use crate::run::{Admission, RunRequest, Supervisor, unavailable};
use crate::telemetry::{Recorder, SessionLog};

#[derive(Args, Debug)]
pub(super) struct WorkerArguments {
    /// Where NATS is, e.g. nats://127.0.0.1:4222 or tls://nats.example:4222; several with commas between
    #[arg(long, value_name = "URL")]
    nats: String,

    #[command(flatten)]
    reach: NatsArguments,

    /// Runs that go on at once [1 to 1024, default: 32]
    #[arg(long, value_name = "N", value_parser = super::number::concurrency, allow_negative_numbers = true)]
    concurrency: Option<u64>,

    /// How long runs that go on have when a signal comes; then they are cancelled [0 to 600 seconds, default: 15]
    #[arg(long, value_name = "S", value_parser = super::number::drain, allow_negative_numbers = true)]
    drain: Option<u64>,

    #[command(flatten)]
    launching: LaunchArguments,

    /// Append what happens to this file, as lines of JSON (mode 0600, secrets masked)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    session_log: Option<PathBuf>,
}

/// Works until a signal comes.
pub(super) fn main(arguments: &WorkerArguments) -> ExitCode {
    if let Some(contradiction) = arguments.launching.contradiction() {
        return run::refused(exit::USAGE, contradiction);
    }
    let ready = run::descriptors().and_then(|()| tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(run::no_runtime));
    match ready {
        Ok(runtime) => runtime.block_on(work(arguments)),
        Err(error) => not_launched(&error),
    }
}

async fn work(arguments: &WorkerArguments) -> ExitCode {
    let usual = match arguments.launching.limits() {
        Ok(usual) => usual,
        Err(error) => return run::refused(exit::USAGE, &error.to_string()),
    };
    let recorder = match &arguments.session_log {
        Some(path) => match SessionLog::open(path) {
            Ok(log) => Recorder::default().with_log(Arc::new(log)),
            Err(error) => return run::unusable(&error.into()),
        },
        None => Recorder::default(),
    };
    let mut limits = WorkerLimits::default();
    if let Some(places) = arguments.concurrency.and_then(|places| usize::try_from(places).ok()) {
        limits.places = places;
    }
    if let Some(seconds) = arguments.drain {
        limits.drain = Duration::from_secs(seconds);
    }
    let mut stop = match Stop::listen() {
        Ok(stop) => stop,
        Err(error) => return not_launched(&run::no_runtime(error)),
    };
    let config = arguments.launching.launch_config();
    // A run has a place before it comes here, so nobody waits in the supervisor's own queue.
    let admission = Admission { running: limits.places, waiting: limits.places };
    let supervisor = Supervisor::builder()
        .launch(config.clone())
        .launcher_choice(arguments.launching.launcher_of_many())
        .usual_limits(usual)
        .admission(admission)
        .build();
    let supervisor = match supervisor {
        Ok(supervisor) => supervisor,
        Err(error) => return not_launched(&error),
    };
    // Whoever cannot run a body must not claim one.
    let Ok(empty) = FileCatalog::from_str("[]", "none") else { return ExitCode::from(exit::INTERNAL) };
    let tried = tokio::select! {
        tried = supervisor.run(RunRequest::new("return 1").with_limits(usual), Arc::new(empty)) => tried,
        () = stop.asked() => return ExitCode::SUCCESS,
    };
    if let Some(error) = &tried.error {
        show::error(&visible::visible(&error.message));
        return exit::of(&tried);
    }
    let worker = match Worker::connect(&arguments.reach.settings(&arguments.nats), supervisor, limits).await {
        Ok(worker) => worker.with_recorder(recorder),
        Err(error) => return fleet::unreachable(&error),
    };
    let (doctor, found) = watch::channel(None);
    let worker = worker.with_doctor(found);
    let examining = tokio::spawn(async move {
        // What it cannot examine, the worker could not have run on either. Names, numbers and text: there is nothing in it that JSON cannot say.
        if let Some(found) = examine(&config).await.ok().and_then(|found| to_raw_value(&found).ok()) {
            doctor.send_replace(Some(found));
        }
    });
    show::note(&format!("worker {} has {} places", visible::visible_line(worker.name()), limits.places));
    let served = worker.serve(async move { stop.asked().await }).await;
    examining.abort();
    // It ends what it has started.
    let _ = examining.await;
    match served {
        Ok(drained) => {
            show::note(&format!("{} runs went on, {} of them were cancelled", drained.running, drained.cancelled));
            ExitCode::SUCCESS
        }
        Err(error) => fleet::unreachable(&error),
    }
}

fn not_launched(error: &LaunchError) -> ExitCode {
    show::error(&visible::visible(&error.to_string()));
    exit::of(&unavailable(error, codemode_protocol::RunLimits::default()))
}
