//! `codemode run`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use codemode_protocol::RunLimits;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::arguments::{Arguments, Command, RunArguments};
use super::{exit, read, show};
use crate::catalog::{Catalog, FileCatalog};
use crate::run::{RunReport, RunRequest, Supervisor, unavailable};

/// Does what the command line says.
pub fn main() -> ExitCode {
    let Command::Run(arguments) = Arguments::parse().command;
    let limits = match arguments.limits() {
        Ok(limits) => limits,
        Err(error) => return usage(&error.to_string()),
    };
    // One run needs one thread; a start of more would cost as much as the run itself.
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(run(&arguments, limits)),
        Err(error) => usage(&format!("cannot start: {error}\nraise `ulimit -n`")),
    }
}

async fn run(arguments: &RunArguments, limits: RunLimits) -> ExitCode {
    // From here on a signal is ours to answer: before it, there is nothing to clean up.
    let mut stop = match Stop::listen() {
        Ok(stop) => stop,
        Err(error) => return usage(&format!("cannot listen for signals: {error}")),
    };
    let body_name = read::name(arguments.body.as_deref());
    let supervisor = match Supervisor::builder().launch(arguments.launch_config()).launcher_choice(arguments.launcher()).build() {
        Ok(supervisor) => supervisor,
        Err(error) => return ended(&unavailable(&error, limits), arguments.json, "", &body_name),
    };
    // The child starts while the files are read: a Node start takes longer than either.
    let ahead = supervisor.launch_ahead(&limits);
    let files = tokio::task::spawn_blocking({
        let (body, tools) = (arguments.body.clone(), arguments.tools.clone());
        move || files(body, tools, &limits)
    });
    let (body, catalog) = tokio::select! {
        files = files => match files {
            Ok(Ok(files)) => files,
            Ok(Err(message)) => return usage(&message),
            Err(_) => return usage("the files could not be read\nthis is a bug in codemode; please report it"),
        },
        () = stop.asked() => {
            drop(ahead);
            // Its task goes, and the child with it, when the runtime gets to it.
            tokio::task::yield_now().await;
            // A read from a terminal cannot be called off, so the process ends without waiting for it.
            std::process::exit(i32::from(exit::CANCELLED));
        }
    };
    let text = String::from_utf8_lossy(&body).into_owned();
    let mut handle = supervisor.start_ahead(ahead, RunRequest::new(body).with_limits(limits), catalog);
    let mut stopped = false;
    let report = loop {
        tokio::select! {
            report = handle.finished() => break report,
            () = stop.asked() => {
                stopped = true;
                handle.cancel();
            }
        }
    };
    let code = ended(&report, arguments.json, &text, &body_name);
    if stopped { ExitCode::from(exit::CANCELLED) } else { code }
}

fn ended(report: &RunReport, as_json: bool, body: &str, body_name: &str) -> ExitCode {
    show::report(report, as_json, body, body_name);
    exit::of(report)
}

fn usage(message: &str) -> ExitCode {
    show::error(message);
    ExitCode::from(exit::USAGE)
}

/// The catalog first: it is the one that takes long.
fn files(body: Option<PathBuf>, tools: Option<PathBuf>, limits: &RunLimits) -> Result<(Vec<u8>, Arc<dyn Catalog>), String> {
    let catalog = match tools {
        Some(path) => FileCatalog::open(path),
        None => FileCatalog::from_str("[]", "tools"),
    };
    let catalog = catalog.map_err(|error| error.to_string())?;
    let body = read::body(body.as_deref(), limits).map_err(|error| error.to_string())?;
    Ok((body, Arc::new(catalog)))
}

/// The user's wish to stop.
struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    fn listen() -> std::io::Result<Stop> {
        Ok(Stop { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
