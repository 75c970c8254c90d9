//! `codemode serve`.

use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueHint};
use tokio::sync::Notify;

use super::fleet::FleetArguments;
use super::input::InputError;
use super::launching::LaunchArguments;
use super::stop::Stop;
use super::{exit, fleet, run, show};
use crate::launch::LaunchError;
use crate::run::{Admission, Runner, Supervisor, unavailable};
use crate::serve::session::{Host, HostLimits};
use crate::serve::socket::{Server, ServerLimits};
use crate::telemetry::{Recorder, SessionLog};

#[derive(Args, Debug)]
pub(super) struct ServeArguments {
    /// The path of the socket: made with mode 0600, removed at the end
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    socket: PathBuf,

    #[command(flatten)]
    launching: LaunchArguments,

    #[command(flatten)]
    fleet: FleetArguments,

    /// Runs that go on at once [1 to 1024, default: 32]
    #[arg(long, value_name = "N", value_parser = super::number::concurrency, allow_negative_numbers = true)]
    concurrency: Option<u64>,

    /// Append what happens to this file, as lines of JSON (mode 0600, secrets masked)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    session_log: Option<PathBuf>,
}

/// Serves until a signal comes.
pub(super) fn main(arguments: &ServeArguments) -> ExitCode {
    if let Some(contradiction) = arguments.launching.contradiction().or_else(|| arguments.fleet.contradiction()) {
        show::error(contradiction);
        return ExitCode::from(exit::USAGE);
    }
    let ready = run::descriptors().and_then(|()| tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(run::no_runtime));
    match ready {
        Ok(runtime) => runtime.block_on(serve(arguments)),
        Err(error) => not_launched(&error),
    }
}

async fn serve(arguments: &ServeArguments) -> ExitCode {
    let usual = match arguments.launching.limits() {
        Ok(usual) => usual,
        Err(error) => return refused(&error.to_string()),
    };
    let recorder = match recorder(arguments) {
        Ok(recorder) => recorder,
        Err(error) => return run::unusable(&error),
    };
    let limits = HostLimits::default();
    let at_once = arguments.concurrency.and_then(|n| usize::try_from(n).ok()).unwrap_or(limits.at_once);
    let stop = match Stop::listen() {
        Ok(stop) => stop,
        Err(error) => return not_launched(&run::no_runtime(error)),
    };
    // Whose turn it is is said by the sessions; the supervisor's own queue is never used.
    let admission = Admission { running: at_once, waiting: at_once };
    let runner = match arguments.fleet.runner().await {
        Some(Ok(fleet)) => fleet,
        Some(Err(error)) => return fleet::unreachable(&error),
        None => {
            let supervisor = Supervisor::builder()
                .launch(arguments.launching.launch_config())
                .launcher_choice(arguments.launching.launcher_of_many())
                .usual_limits(usual)
                .admission(admission)
                .build();
            match supervisor {
                Ok(supervisor) => Arc::new(supervisor) as Arc<dyn Runner>,
                Err(error) => return not_launched(&error),
            }
        }
    };
    let host = Host::new(runner, HostLimits { at_once, ..limits }).with_usual(usual).with_recorder(recorder);
    let server = match Server::bind(&arguments.socket, ServerLimits::default()) {
        Ok(server) => server,
        Err(error) => return refused(&crate::catalog::visible::visible(&error.to_string())),
    };
    show::note(&format!("serving on {}", arguments.socket.display()));
    let signals = Signals::of(stop);
    server.serve(host, || signals.next()).await;
    ExitCode::SUCCESS
}

/// Signals one after the other, each answered once.
struct Signals {
    came: Arc<Notify>,
}

impl Signals {
    fn of(mut stop: Stop) -> Signals {
        let came = Arc::new(Notify::new());
        let notify = Arc::clone(&came);
        tokio::spawn(async move {
            loop {
                stop.asked().await;
                notify.notify_one();
            }
        });
        Signals { came }
    }

    fn next(&self) -> impl Future<Output = ()> + use<> {
        let came = Arc::clone(&self.came);
        async move { came.notified().await }
    }
}

fn recorder(arguments: &ServeArguments) -> Result<Recorder, InputError> {
    match &arguments.session_log {
        Some(path) => Ok(Recorder::default().with_log(Arc::new(SessionLog::open(path)?))),
        None => Ok(Recorder::default()),
    }
}

fn not_launched(error: &LaunchError) -> ExitCode {
    let report = unavailable(error, codemode_protocol::RunLimits::default());
    show::error(&crate::catalog::visible::visible(&error.to_string()));
    exit::of(&report)
}

fn refused(message: &str) -> ExitCode {
    show::error(message);
    ExitCode::from(exit::USAGE)
}
