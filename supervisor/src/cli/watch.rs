//! `codemode run --watch`: the body again, whenever it or its catalog changes.
//!
//! Files are looked at, not subscribed to: editors save by rename, and a look at two files costs nothing.

use std::cell::RefCell;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use codemode_protocol::RunLimits;
use tokio::time::sleep;

use super::arguments::RunArguments;
use super::input::{self, InputError, Opened};
use super::paint::{Paint, columns};
use super::run::{self, Run};
use super::stop::Stop;
use super::table::cut;
use super::{exit, show};
use crate::catalog::McpConnections;
use crate::catalog::visible::visible_line;

/// Soon enough for a person, rare enough to cost nothing.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What tells one state of a file from another; `None` when it is not there.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

#[derive(Eq, PartialEq)]
struct Stamps {
    body: Stamp,
    catalog: Stamp,
    servers: Stamp,
    config: Stamp,
}

/// Runs until a signal comes.
pub(super) async fn run(arguments: &RunArguments, limits: RunLimits, mut stop: Stop) -> ExitCode {
    let supervisor = match run::supervisor(arguments) {
        Ok(supervisor) => supervisor,
        Err(error) => return run::not_launched(&error, arguments, limits),
    };
    let recorder = match run::recorder(arguments.session_log.as_deref(), &arguments.catalog) {
        Ok(recorder) => recorder,
        Err(error) => return run::unusable(&error),
    };
    // The servers of the run that goes on.
    let servers = RefCell::new(McpConnections::default());
    let watched = async {
        let mut seen = Stamps::take(arguments);
        let mut why = "first run".to_owned();
        for number in 1_u64.. {
            header(number, &why);
            match files(arguments, limits, &servers).await {
                Ok((body, opened)) => {
                    opened.notes.iter().for_each(|note| show::note(note));
                    let mut run = Run::start(&supervisor, None, body, &opened, limits, recorder.clone(), !arguments.json);
                    tokio::select! {
                        report = run.finished() => {
                            run.end(&report, arguments);
                        }
                        () = seen.change(arguments) => {
                            run.cancel();
                            run.finished().await;
                            run.forget();
                        }
                    }
                }
                Err(error) => {
                    run::unusable(&error);
                }
            }
            let stopped = servers.take();
            stopped.stop().await;
            stopped.lines().iter().for_each(|line| show::note(line));
            seen.change(arguments).await;
            let now = Stamps::settled(arguments).await;
            let file = if now.body != seen.body {
                arguments.body.as_deref()
            } else if now.catalog != seen.catalog {
                arguments.catalog.tools.as_deref()
            } else if now.servers != seen.servers {
                arguments.catalog.mcp.as_deref()
            } else {
                arguments.catalog.config.as_deref()
            };
            why = format!("{} has changed", file.unwrap_or(Path::new("a file")).display());
            seen = now;
        }
    };
    tokio::select! {
        () = watched => {}
        () = stop.asked() => {}
    }
    servers.take().stop().await;
    // The run that was dropped cleans up behind itself as soon as the runtime gets to it.
    tokio::task::yield_now().await;
    ExitCode::from(exit::CANCELLED)
}

async fn files(arguments: &RunArguments, limits: RunLimits, servers: &RefCell<McpConnections>) -> Result<(Vec<u8>, Opened), InputError> {
    let (path, catalog) = (arguments.body.clone(), arguments.catalog.clone());
    let read = run::in_background(move || Ok((input::body(path.as_deref(), &limits)?, input::files(&catalog)?)));
    let (body, files) = read.await.unwrap_or(Err(InputError::Lost))?;
    servers.replace(files.servers().clone());
    Ok((body, files.opened().await))
}

fn header(number: u64, why: &str) {
    let text = cut(&format!("== run {number}: {} ", visible_line(why)), columns() - 4);
    let rule = "=".repeat(columns().saturating_sub(text.chars().count()).min(80));
    show::to_stderr(&format!("{}\n", Paint::stderr().strong(&format!("{text}{rule}"))));
}

impl Stamps {
    fn take(arguments: &RunArguments) -> Stamps {
        Stamps {
            body: stamp(arguments.body.as_deref()),
            catalog: stamp(arguments.catalog.tools.as_deref()),
            servers: stamp(arguments.catalog.mcp.as_deref()),
            config: stamp(arguments.catalog.config.as_deref()),
        }
    }

    /// Waits until a file is not as it was. Cancel-safe.
    async fn change(&self, arguments: &RunArguments) {
        while Stamps::take(arguments) == *self {
            sleep(LOOK_EVERY).await;
        }
    }

    /// The files when two looks agree: an editor may still be writing.
    async fn settled(arguments: &RunArguments) -> Stamps {
        let mut last = Stamps::take(arguments);
        loop {
            sleep(LOOK_EVERY / 2).await;
            let now = Stamps::take(arguments);
            if now == last {
                return now;
            }
            last = now;
        }
    }
}

fn stamp(path: Option<&Path>) -> Stamp {
    let meta = path?.metadata().ok()?;
    Some((meta.dev(), meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
}
