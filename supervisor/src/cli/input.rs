//! The files of a command: bodies, catalogs, arguments. Everything is bounded while it is read, and every error says what to do.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codemode_protocol::{JsonText, RunLimits};
use serde_json::Value;

use super::approve;
use super::arguments::CatalogArguments;
use super::exit;
use crate::catalog::{
    Catalog, CatalogFileError, CatalogFileProblem, FileCatalog, McpConnections, RecordError, RunCatalog, RunContext, Sources, Tool,
    known_reason, quoted,
};
use crate::config::{Config, ConfigError, McpFile};
use crate::gate::{Gate, Glob, Policy};
use crate::modes::{Plan, PlanRequest, plan};
use crate::telemetry::SessionLogError;

/// A catalog file of this size takes as long to read as a Node takes to start. Smaller ones are read before anything is started.
const LARGE_CATALOG: u64 = 512 << 10;

/// Bytes of arguments that are read from standard input: the hard cap of a body's own call.
pub(super) const MOST_ARGUMENTS: u64 = 4 << 20;

/// What a user gave cannot be used. The first line is what, the second what to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum InputError {
    #[error("cannot read the body from {}: {why}\nname a file, or `-` for standard input", path.display())]
    Body { path: PathBuf, why: String },
    #[error("cannot read standard input: {0}\nname a file instead")]
    Stdin(io::Error),
    #[error("{0}")]
    Catalog(CatalogFileError),
    #[error("{0}")]
    Record(#[from] RecordError),
    #[error("{0}\nmend it there; nothing of a configuration with a fault is used")]
    Config(#[from] ConfigError),
    #[error("{0}\nname a file that can be written")]
    SessionLog(#[from] SessionLogError),
    #[error("a catalog comes from a file, not from standard input\nname a file; in bash `--tools <(command)` is one")]
    CatalogFromStdin,
    #[error("no catalog is named\nname one with `--tools FILE`, or MCP servers with `--mcp FILE`")]
    NoCatalog,
    #[error("{0}")]
    Limit(#[from] codemode_protocol::LimitError),
    #[error("the MCP server {} stands in both --mcp and --config\nleave it in one of them, or give it another name", quoted(.0))]
    DoubleServer(String),
    #[error("too few descriptors are left to speak with MCP servers\nraise `ulimit -n`")]
    NoDescriptors,
    #[error("the arguments are no JSON: {0}\nwrite a JSON object, for example '{{\"path\": \"a.txt\"}}'")]
    Arguments(serde_json::Error),
    #[error("the arguments are longer than {} MiB\nlet a body make them, or send less", MOST_ARGUMENTS >> 20)]
    ArgumentsTooLong,
    #[error("--watch needs files, and the body comes from standard input\nname a file")]
    WatchedStdin,
    #[error("the files could not be read\nthis is a bug in codemode; please report it")]
    Lost,
}

impl From<CatalogFileError> for InputError {
    fn from(mut error: CatalogFileError) -> Self {
        // The parser's words alone say no more than what.
        if let CatalogFileProblem::Syntax { message } = &mut error.problem {
            message.push_str("\nmend it there; comments and trailing commas are fine");
        }
        InputError::Catalog(error)
    }
}

impl InputError {
    /// Its exit code.
    pub(super) fn code(&self) -> u8 {
        match self {
            InputError::Lost => exit::INTERNAL,
            _ => exit::USAGE,
        }
    }
}

/// Whether a body of this name comes from standard input.
pub(super) fn is_stdin(path: Option<&Path>) -> bool {
    path.is_none_or(|path| path == Path::new("-"))
}

/// Reads the body, and no more of it than shows that it is too long.
pub(super) fn body(path: Option<&Path>, limits: &RunLimits) -> Result<Vec<u8>, InputError> {
    let most = limits.body_bytes() + 1;
    match path.filter(|_| !is_stdin(path)) {
        Some(path) => File::open(path)
            .and_then(|file| bounded(file, most))
            .map_err(|error| InputError::Body { path: path.to_owned(), why: reason(&error) }),
        None => bounded(io::stdin().lock(), most).map_err(InputError::Stdin),
    }
}

fn bounded(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn reason(error: &io::Error) -> String {
    known_reason(error.kind()).map_or_else(|| error.to_string(), str::to_owned)
}

/// The name of a body in messages.
pub(super) fn body_name(path: Option<&Path>) -> String {
    match path {
        Some(path) if !is_stdin(Some(path)) => path.display().to_string(),
        _ => "<stdin>".to_owned(),
    }
}

/// What the files say, before anybody is asked for anything.
#[derive(Debug)]
pub(super) struct Files {
    file: Option<(FileCatalog, String)>,
    servers: McpConnections,
    config: Config,
    policy: Policy,
    context: RunContext,
    notes: Vec<String>,
}

/// A catalog behind the policy of configuration and command line.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) catalog: Arc<dyn Catalog>,
    /// What calls pass.
    pub(super) gate: Arc<Gate>,
    /// For whom it is.
    pub(super) context: RunContext,
    /// What the policy leaves, in the order of the file.
    pub(super) tools: Vec<Arc<Tool>>,
    /// What a user should know of the policy, a line each.
    pub(super) notes: Vec<String>,
}

/// How long a command waits for the lists of its servers. The slowest of nineteen known ones takes 0.9 s to start on an idle machine; unlike a gateway, a command has no
/// next run for which a late list would be there.
const PATIENCE: Duration = Duration::from_secs(3);

/// Reads catalog, servers and configuration; an empty one of each when none is named.
pub(super) fn files(arguments: &CatalogArguments) -> Result<Files, InputError> {
    let config = match arguments.config.as_deref() {
        Some(path) => Config::open(path)?,
        None => Config::default(),
    };
    let file = match arguments.tools.as_deref() {
        Some(path) if is_stdin(Some(path)) => return Err(InputError::CatalogFromStdin),
        Some(path) => {
            let stem = path.file_stem().map_or_else(|| "tools".to_owned(), |stem| stem.to_string_lossy().into_owned());
            Some((FileCatalog::open(path)?, stem))
        }
        None => None,
    };
    let McpFile { mut servers, mut notes } = match arguments.mcp.as_deref() {
        Some(path) if is_stdin(Some(path)) => return Err(InputError::CatalogFromStdin),
        Some(path) => McpFile::open(path)?,
        None => McpFile::default(),
    };
    for (name, server) in &config.mcp_servers {
        if servers.insert(name.clone(), server.clone()).is_some() {
            return Err(InputError::DoubleServer(name.clone()));
        }
    }
    notes.extend(config.clamps.iter().map(ToString::to_string));
    let (policy, context) = (arguments.policy(), arguments.context());
    if arguments.config.is_some() {
        notes.extend(without_rules(&config, &context));
    }
    Ok(Files { file, servers: McpConnections::of(&servers), config, policy, context, notes })
}

/// Ids that the configuration has nothing for. That is allowed, but a misspelt one is among them, and it takes nothing away.
fn without_rules(config: &Config, context: &RunContext) -> Vec<String> {
    let named = [
        ("--agent", &context.agent, &config.agents),
        ("--profile", &context.profile, &config.profiles),
        ("--session", &context.session, &config.sessions),
        ("--channel", &context.channel, &config.channels),
    ];
    let unknown = named.into_iter().filter_map(|(flag, id, rules)| Some((flag, id.as_deref().filter(|id| !rules.contains_key(*id))?)));
    unknown.map(|(flag, id)| format!("{flag} {} has no rules in the configuration", quoted(id))).collect()
}

/// Everything that tools come from, ready for the plan of any number of runs.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) config: Config,
    pub(super) sources: Arc<Sources>,
    pub(super) context: RunContext,
    pub(super) policy: Policy,
    /// What a user should know, a line each.
    pub(super) notes: Vec<String>,
}

impl Files {
    /// Whether there is nothing that a tool could come from.
    pub(super) fn is_empty(&self) -> bool {
        self.file.is_none() && self.servers.servers().is_empty()
    }

    /// The MCP servers; none is started yet. Whoever puts the files to use stops these at the end.
    pub(super) fn servers(&self) -> &McpConnections {
        &self.servers
    }

    /// The sources, none of them asked yet, no server started.
    pub(super) fn shelved(self) -> Shelf {
        let sources = Sources::new().with_patience(PATIENCE);
        if let Some((file, stem)) = self.file {
            Arc::new(file).into_sources(&stem).into_iter().for_each(|source| sources.add(source));
        }
        self.servers.add_to(&sources);
        Shelf { config: self.config, sources: Arc::new(sources), policy: self.policy, context: self.context, notes: self.notes }
    }

    /// The catalog of one run.
    pub(super) async fn opened(self) -> Opened {
        let Shelf { config, sources, context, policy, mut notes } = self.shelved();
        let request = PlanRequest { context, policy: policy.clone(), ..PlanRequest::default() };
        let plan = plan(&config, &sources, request).await;
        notes.extend(told(&policy, &plan));
        let tools = plan.catalog.tools().tools().to_vec();
        let gate = Arc::new(config.gate().with_policy(plan.policy).with_approver(approve::approver()));
        Opened { catalog: plan.catalog, gate, context: plan.context, tools, notes }
    }
}

/// What a user should know of a plan, a line each.
pub(super) fn told(policy: &Policy, plan: &Plan) -> Vec<String> {
    let missing = plan.catalog.summary().unavailable;
    // A pattern may well be for what is missing.
    let mut notes = if missing.is_empty() { idle(policy, &plan.catalog) } else { Vec::new() };
    notes.extend(missing.iter().map(|missing| format!("{} is not available: {}", quoted(&missing.server), missing.reason)));
    notes.extend(plan.notes.iter().cloned());
    notes
}

/// Patterns that fit no tool: a misspelt deny is one.
fn idle(policy: &Policy, catalog: &RunCatalog) -> Vec<String> {
    let note = |flag: &str, glob: &Glob| format!("{flag} {} fits no tool of this catalog", quoted(&glob.to_string()));
    let idle = |glob: &&Glob| !catalog.knows_any(|id| glob.matches(id));
    let allowed = policy.allow.iter().flatten().filter(idle).map(|glob| note("--allow", glob));
    let denied = policy.deny.iter().filter(idle).map(|glob| note("--deny", glob));
    allowed.chain(denied).collect()
}

/// Whether the child should start while this catalog is still being read.
pub(super) fn is_large(arguments: &CatalogArguments) -> bool {
    let size = arguments.tools.as_deref().and_then(|path| path.metadata().ok()).map_or(0, |meta| meta.len());
    size > LARGE_CATALOG
}

/// The arguments of `tools call`.
pub(super) fn call_arguments(text: Option<&str>) -> Result<JsonText, InputError> {
    let read;
    let text = match text {
        None => return Ok(JsonText::null()),
        Some("-") => {
            read = bounded(io::stdin().lock(), MOST_ARGUMENTS + 1).map_err(InputError::Stdin)?;
            if read.len() as u64 > MOST_ARGUMENTS {
                return Err(InputError::ArgumentsTooLong);
            }
            read.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&read)
        }
        Some(text) => text.as_bytes(),
    };
    let value: Value = serde_json::from_slice(text).map_err(InputError::Arguments)?;
    JsonText::of(&value).map_err(InputError::Arguments)
}
