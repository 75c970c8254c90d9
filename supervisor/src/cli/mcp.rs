//! `codemode mcp`: an MCP server in front of the catalog.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use codemode_protocol::Limit;

use super::arguments::McpArguments;
use super::input::{self, Files, InputError, Shelf};
use super::launching::LaunchArguments;
use super::stop::Stop;
use super::{exit, fleet, run, show};
use crate::catalog::visible;
use crate::fleet::FleetError;
use crate::modes::ShownInstead;
use crate::run::{Runner, Supervisor};
use crate::serve::mcp::{Http, McpServer, McpServerSetup, ServeError};
use crate::telemetry::{Recorder, SessionLog};

/// Serves until the client goes or a signal comes.
pub(super) fn main(arguments: &McpArguments) -> ExitCode {
    let http = match http(arguments) {
        Ok(http) => http,
        Err(message) => return run::refused(exit::USAGE, &message),
    };
    if let Some(contradiction) = arguments.launch.contradiction().or_else(|| arguments.fleet.contradiction()) {
        return run::refused(exit::USAGE, contradiction);
    }
    let runtime = match run::descriptors().and_then(|()| runtime()) {
        Ok(runtime) => runtime,
        Err(error) => return run::refused(exit::INTERNAL, &error.to_string()),
    };
    let code = runtime.block_on(async {
        match serve(arguments, http.as_ref()).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(Failure::Input(error)) => run::unusable(&error),
            Err(Failure::Fleet(error)) => fleet::unreachable(&error),
            Err(Failure::Serve(error)) => run::refused(exit::USAGE, &visible::visible(&error.to_string())),
        }
    });
    // A read from standard input cannot be called off, and nobody waits for it.
    runtime.shutdown_background();
    code
}

/// Why nothing is served.
#[derive(Debug)]
enum Failure {
    Input(InputError),
    Serve(ServeError),
    Fleet(FleetError),
}

impl<E: Into<InputError>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Input(error.into())
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, crate::launch::LaunchError> {
    /// Sessions share them; the work is done in children.
    const THREADS: usize = 2;
    tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build().map_err(run::no_runtime)
}

/// Where to listen, if that was asked for. An address that others can reach has to be asked for twice.
fn http(arguments: &McpArguments) -> Result<Option<Http>, String> {
    let Some(address) = arguments.http else { return Ok(None) };
    if !address.is_loopback() && !arguments.http_anyone {
        return Err(format!(
            "{address} can be reached from outside this host, and whoever reaches it can use every tool\n\
             name a port alone to listen on 127.0.0.1, or add `--http-anyone` if something in front of it checks who comes"
        ));
    }
    Ok(Some(Http { address, hosts: arguments.http_host.clone(), origins: arguments.http_origin.clone() }))
}

async fn serve(arguments: &McpArguments, http: Option<&Http>) -> Result<(), Failure> {
    let stop = Stop::listen().map_err(InputError::Stdin)?;
    let recorder = run::recorder(arguments.session_log.as_deref(), &arguments.catalog)?;
    let log = recorder.clone();
    let files = input::files(&arguments.catalog)?;
    if files.is_empty() {
        return Err(InputError::NoCatalog.into());
    }
    let servers = files.servers().clone();
    let served = with_files(arguments, http, files, stop, recorder).await;
    servers.stop().await;
    servers.lines().iter().for_each(|line| show::note(line));
    if let Some(loss) = log.log().and_then(SessionLog::loss) {
        show::note(&format!("{} events are missing from the session log: {}", loss.events, loss.reason));
    }
    served
}

/// Whoever runs bodies on this machine, or why nobody does.
fn local(launch: &LaunchArguments) -> Result<Arc<dyn Runner>, String> {
    match Supervisor::builder().launch(launch.launch_config()).launcher_choice(launch.launcher_of_many()).build() {
        Ok(supervisor) => Ok(Arc::new(supervisor)),
        Err(error) => Err(error.to_string().replace('\n', "; ")),
    }
}

async fn with_files(
    arguments: &McpArguments,
    http: Option<&Http>,
    files: Files,
    mut stop: Stop,
    recorder: Recorder,
) -> Result<(), Failure> {
    let opening = async {
        let Shelf { config, sources, context, policy, notes } = files.shelved();
        let limits = arguments.launch.limits()?;
        let launch = &arguments.launch;
        let supervisor = match arguments.fleet.runner().await {
            Some(fleet) => Ok(fleet.map_err(Failure::Fleet)?),
            None => local(launch),
        };
        notes.iter().for_each(|note| show::note(note));
        let shown = ShownInstead {
            mode: arguments.mode.map(Into::into),
            code_timeout: launch.timeout.is_some().then(|| Duration::from_millis(limits.get(Limit::WallMs))),
        };
        let setup = McpServerSetup { config, sources, context, policy: policy.clone(), shown, limits, supervisor, recorder };
        let server = McpServer::open(setup).await;
        let told = input::told(&policy, &server.plan());
        told.iter().chain(&server.notes()).for_each(|note| show::note(note));
        Ok::<_, Failure>(server)
    };
    let server = tokio::select! {
        server = opening => server?,
        () = stop.asked() => return Ok(()),
    };
    let served = match http {
        Some(http) => {
            if !http.address.is_loopback() {
                show::note(&format!(
                    "WARNING: {} can be reached from outside this host, and whoever reaches it can use every tool",
                    http.address
                ));
            }
            let told = |url: &str| show::note(&format!("serving MCP at {url}"));
            server.serve_http(http, told, async move { stop.asked().await }).await
        }
        None => server.serve_pipes(tokio::io::stdin(), tokio::io::stdout(), stop.asked()).await,
    };
    served.map_err(Failure::Serve)
}
