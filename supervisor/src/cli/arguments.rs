//! What can be typed. Help, completions and manual pages all come from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

use super::fleet::FleetArguments;
use super::launching::LaunchArguments;
use super::{examples, number};
use crate::catalog::RunContext;
use crate::config::Mode;
use crate::gate::{Glob, Policy};
use crate::serve::mcp::HttpAddress;

/// Runs model-written JavaScript against a tool catalog in a locked-down, short-lived Node process.
#[derive(Debug, Parser)]
#[command(name = "codemode", version, propagate_version = true, arg_required_else_help = true, after_help = examples::ALL)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Runs one body and prints its value.
    #[command(after_help = examples::RUN)]
    Run(RunArguments),
    /// Looks at the tools of a catalog, and calls them, by hand.
    #[command(after_help = examples::TOOLS)]
    Tools(ToolsArguments),
    /// Serves the catalog to MCP clients.
    #[command(after_help = examples::MCP)]
    Mcp(McpArguments),
    /// Runs bodies for gateways in any language, over a local socket.
    #[command(after_help = examples::SERVE)]
    Serve(super::serve::ServeArguments),
    /// Runs bodies for the gateways of a fleet, over NATS.
    #[command(after_help = examples::WORKER)]
    Worker(super::worker::WorkerArguments),
    /// Tries on this host what each wall claims to stop, one wall at a time.
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorArguments),
    /// Tells what a session's log says: what the model saw, searched and called.
    #[command(after_help = examples::REPORT)]
    Report(ReportArguments),
    /// Prints completions for a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArguments),
    /// Prints a manual page.
    #[command(after_help = examples::MAN)]
    Man(ManArguments),
}

#[derive(Args, Debug)]
pub(super) struct RunArguments {
    /// The file with the body; `-` or nothing: standard input
    #[arg(value_name = "BODY", value_hint = ValueHint::FilePath)]
    pub(super) body: Option<PathBuf>,

    #[command(flatten)]
    pub(super) catalog: CatalogArguments,

    /// Write down every search, describe and call with its answer
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["replay", "watch"])]
    pub(super) record: Option<PathBuf>,

    /// Answer from what --record wrote, and fail on the first request it has not; needs no tools
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "watch")]
    pub(super) replay: Option<PathBuf>,

    /// Print the whole report as one line of JSON
    #[arg(long)]
    pub(super) json: bool,

    /// Run again whenever the body or the catalog file changes, until Ctrl-C
    #[arg(long, requires = "body")]
    pub(super) watch: bool,

    /// Append what happens to this file, as lines of JSON (mode 0600, secrets masked)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) session_log: Option<PathBuf>,

    #[command(flatten)]
    pub(super) launch: LaunchArguments,
}

#[derive(Args, Debug)]
pub(super) struct McpArguments {
    /// What a client gets [default: what --config says, else code]
    #[arg(long, value_enum)]
    pub(super) mode: Option<ShownMode>,

    /// Serve over HTTP, at ADDR/mcp, instead of standard input and output; a bare port means 127.0.0.1
    #[arg(long, value_name = "ADDR")]
    pub(super) http: Option<HttpAddress>,

    /// Let --http take an address that others than this host can reach
    #[arg(long, requires = "http")]
    pub(super) http_anyone: bool,

    /// A further name, or name and port, under which HTTP clients reach this; may be given again
    #[arg(long, value_name = "HOST", requires = "http")]
    pub(super) http_host: Vec<String>,

    /// A web page that may be a client, e.g. `https://app.example:443`; may be given again
    #[arg(long, value_name = "URL", requires = "http")]
    pub(super) http_origin: Vec<String>,

    #[command(flatten)]
    pub(super) catalog: CatalogArguments,

    /// Append what happens to this file, as lines of JSON (mode 0600, secrets masked)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) session_log: Option<PathBuf>,

    #[command(flatten)]
    pub(super) launch: LaunchArguments,

    #[command(flatten)]
    pub(super) fleet: FleetArguments,
}

/// What a client gets in place of every tool's schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ShownMode {
    /// One tool that runs JavaScript over all the others
    Code,
    /// Three tools: search, describe, call
    Tools,
    /// The three, and a directory of all names
    Directory,
}

impl From<ShownMode> for Mode {
    fn from(mode: ShownMode) -> Mode {
        match mode {
            ShownMode::Code => Mode::Code,
            ShownMode::Tools => Mode::Tools,
            ShownMode::Directory => Mode::Directory,
        }
    }
}

/// Where the tools come from, and which of them are left.
#[derive(Args, Clone, Debug)]
pub(super) struct CatalogArguments {
    /// The catalog: a file of JSON or JSON5
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) tools: Option<PathBuf>,

    /// MCP servers, whose tools there are too: a file with `mcpServers`, as other MCP clients have it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) mcp: Option<PathBuf>,

    /// Who may use which tool, and MCP servers: a file of JSON5
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) config: Option<PathBuf>,

    /// The agent whose rules of --config apply
    #[arg(long, value_name = "ID")]
    agent: Option<String>,

    /// The profile whose rules apply
    #[arg(long, value_name = "ID")]
    profile: Option<String>,

    /// The session whose rules apply
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// The channel whose rules apply
    #[arg(long, value_name = "ID")]
    channel: Option<String>,

    /// Only the tools whose id fits, e.g. 'mcp:files:*'; may be given again
    #[arg(long, value_name = "GLOB")]
    allow: Option<Vec<String>>,

    /// None of the tools whose id fits; wins over --allow; may be given again
    #[arg(long, value_name = "GLOB")]
    deny: Vec<String>,
}

impl CatalogArguments {
    /// Whether no file is named that tools could come from.
    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_none() && self.mcp.is_none() && self.config.is_none()
    }

    pub(super) fn has_policy(&self) -> bool {
        self.config.is_some() || self.allow.is_some() || !self.deny.is_empty()
    }

    /// For whom the catalog is.
    pub(super) fn context(&self) -> RunContext {
        let id = |id: &Option<String>| id.as_deref().map(Into::into);
        RunContext {
            agent: id(&self.agent),
            profile: id(&self.profile),
            session: id(&self.session),
            channel: id(&self.channel),
            ..RunContext::default()
        }
    }

    pub(super) fn policy(&self) -> Policy {
        let globs = |patterns: &[String]| patterns.iter().map(|pattern| Glob::new(pattern)).collect::<Vec<_>>();
        Policy { allow: self.allow.as_deref().map(globs), deny: globs(&self.deny) }
    }
}

#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub(super) struct ToolsArguments {
    #[command(subcommand)]
    pub(super) action: ToolsAction,
}

#[derive(Debug, Subcommand)]
pub(super) enum ToolsAction {
    /// Lists every tool.
    List(ShownCatalog),
    /// Finds tools by words, as a body's `search` does.
    Search {
        /// The words
        query: String,
        /// Rows at most [1 to 20, default: 8]
        #[arg(long, value_name = "N", value_parser = number::rows, allow_negative_numbers = true)]
        limit: Option<u64>,
        #[command(flatten)]
        shown: ShownCatalog,
    },
    /// Shows one tool with its schema.
    Describe {
        /// The id, or a bare name that only one tool has
        id: String,
        #[command(flatten)]
        shown: ShownCatalog,
    },
    /// Calls one tool, with the checks that a body's call passes.
    Call {
        /// The id, or a bare name that only one tool has
        id: String,
        /// The arguments, a JSON object; `-`: from standard input; nothing: `{}`
        #[arg(value_name = "ARGS-JSON")]
        args: Option<String>,
        #[command(flatten)]
        shown: ShownCatalog,
    },
}

/// A catalog, and how to print what is found in it.
#[derive(Args, Debug)]
pub(super) struct ShownCatalog {
    #[command(flatten)]
    pub(super) catalog: CatalogArguments,

    /// Print JSON, one line
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct DoctorArguments {
    /// Print what was found as one line of JSON
    #[arg(long)]
    pub(super) json: bool,

    /// The node program [default: $CODEMODE_NODE, else from PATH]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::ExecutablePath)]
    pub(super) node: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct ReportArguments {
    /// The log, as `--session-log` or a gateway wrote it
    #[arg(value_name = "SESSION.jsonl", value_hint = ValueHint::FilePath)]
    pub(super) log: PathBuf,

    /// Draw one page that needs nothing else, too
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) html: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(super) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(super) struct ManArguments {
    /// The command whose page it is to be, e.g. `tools call`; nothing: codemode itself
    #[arg(value_name = "COMMAND")]
    pub(super) command: Vec<String>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definitions_are_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn an_empty_allow_list_is_not_a_missing_one() {
        let policy = |words: &[&str]| match Arguments::try_parse_from([&["codemode", "run"], words].concat()).unwrap().command {
            Command::Run(arguments) => arguments.catalog.policy(),
            other => panic!("{other:?}"),
        };
        assert!(policy(&[]).permits("demo:echo"));
        assert!(!policy(&["--allow", ""]).permits("demo:echo"));
        assert!(policy(&["--allow", "x", "--allow", "demo:*"]).permits("demo:echo"));
        assert!(!policy(&["--allow", "*", "--deny", "*:echo"]).permits("demo:echo"));
    }
}
