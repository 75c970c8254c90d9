//! `--record` and `--replay`.

use std::sync::Arc;

use serde_json::json;

use codemode_protocol::JsonText;

use super::arguments::RunArguments;
use super::input::{self, Files, InputError, Opened};
use crate::catalog::{McpConnections, RecordError, RecordFile, Recording, Replay, RunContext};
use crate::run::{ErrorCode, RunError, RunReport};

/// What is recorded or played back with a run.
#[derive(Debug)]
pub(super) enum Tape {
    /// Nothing.
    None,
    /// The run is written down.
    Record(Arc<Recording>, RecordFile),
    /// The run is answered from a record.
    Replay(Arc<Replay>),
}

/// The files of a run, before its catalog is made of them.
#[derive(Debug)]
pub(super) enum Read {
    /// A catalog, and the file that the run is written to.
    Files(Box<Files>, Option<RecordFile>),
    /// A record, what to say of it, and for whom the run is.
    Record(Arc<Replay>, Vec<String>, RunContext),
}

/// Reads the files of a run.
pub(super) fn read(arguments: &TapedArguments) -> Result<Read, InputError> {
    if let Some(path) = &arguments.replay {
        let replay = Arc::new(Replay::open(path)?);
        let others = arguments.catalog.tools.is_some() || arguments.catalog.mcp.is_some() || arguments.catalog.has_policy();
        let note = "--tools, --mcp, --config, --allow and --deny say nothing with --replay: the record has the tools of its run".to_owned();
        return Ok(Read::Record(replay, if others { vec![note] } else { Vec::new() }, arguments.catalog.context()));
    }
    let file = arguments.record.as_ref().map(RecordFile::claim).transpose()?;
    Ok(Read::Files(Box::new(input::files(&arguments.catalog)?), file))
}

impl Read {
    /// The MCP servers of these files; none is started yet.
    pub(super) fn servers(&self) -> McpConnections {
        match self {
            Read::Files(files, _) => files.servers().clone(),
            Read::Record(..) => McpConnections::default(),
        }
    }

    /// Makes the catalog, and puts the tape between it and the run.
    pub(super) async fn opened(self) -> (Opened, Tape) {
        match self {
            Read::Record(replay, notes, context) => {
                let opened = Opened { catalog: Arc::clone(&replay) as _, gate: Arc::default(), context, tools: Vec::new(), notes };
                (opened, Tape::Replay(replay))
            }
            Read::Files(files, None) => (files.opened().await, Tape::None),
            Read::Files(files, Some(file)) => {
                let mut opened = files.opened().await;
                let recording = Arc::new(Recording::new(Arc::clone(&opened.catalog)));
                opened.catalog = Arc::clone(&recording) as _;
                (opened, Tape::Record(recording, file))
            }
        }
    }
}

/// Those arguments that say what is recorded, played back, and called.
#[derive(Clone, Debug)]
pub(super) struct TapedArguments {
    catalog: super::arguments::CatalogArguments,
    record: Option<std::path::PathBuf>,
    replay: Option<std::path::PathBuf>,
}

impl From<&RunArguments> for TapedArguments {
    fn from(arguments: &RunArguments) -> Self {
        TapedArguments { catalog: arguments.catalog.clone(), record: arguments.record.clone(), replay: arguments.replay.clone() }
    }
}

impl Tape {
    /// Waits until the run does what the record has not; for ever when there is none. Cancel-safe.
    pub(super) async fn diverged(&self) {
        match self {
            Tape::Replay(replay) => replay.diverged().await,
            Tape::None | Tape::Record(..) => std::future::pending().await,
        }
    }

    /// Puts a divergence into the report. What ended a run before it made every request is the report's own error, if there is one.
    pub(super) fn judge(&self, report: &mut RunReport) {
        let Tape::Replay(replay) = self else { return };
        let divergence = if report.ok { replay.divergence_at_end() } else { replay.divergence() };
        let Some(divergence) = divergence else { return };
        let mut error = RunError::new(ErrorCode::BodyError, divergence.to_string());
        error.name = "ReplayDivergence".to_owned();
        let data = json!({
            "request": divergence.request,
            "expected": divergence.expected,
            "got": divergence.got,
            "leftOver": divergence.left_over,
        });
        error.data = JsonText::of(&data).ok();
        report.ok = false;
        report.error = Some(error);
    }

    /// Writes the record.
    pub(super) fn save(self) -> Result<(), RecordError> {
        match self {
            Tape::Record(recording, file) => recording.save(file),
            Tape::None | Tape::Replay(_) => Ok(()),
        }
    }
}
