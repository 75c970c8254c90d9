//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use codemode_protocol::{Limit, LimitError, RunLimits};

use crate::launch::{self, LaunchConfig, WallPolicy};

/// Runs model-written JavaScript against a tool catalog in a locked-down, short-lived Node process.
#[derive(Debug, Parser)]
#[command(name = "codemode", version, propagate_version = true, arg_required_else_help = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Runs one body and prints its value.
    Run(RunArguments),
}

#[derive(Args, Debug)]
pub(super) struct RunArguments {
    /// The file with the body; `-` or nothing: standard input
    #[arg(value_name = "BODY")]
    pub(super) body: Option<PathBuf>,

    /// The tools the body may use: a file of JSON or JSON5
    #[arg(long, value_name = "FILE")]
    pub(super) tools: Option<PathBuf>,

    /// Wall clock of the body in milliseconds
    #[arg(long, value_name = "MS")]
    timeout: Option<u64>,

    /// Memory of the body in MiB
    #[arg(long, value_name = "MIB")]
    memory: Option<u64>,

    /// Print the whole report as one line of JSON
    #[arg(long)]
    pub(super) json: bool,

    /// The node program [default: $CODEMODE_NODE, else from PATH]
    #[arg(long, value_name = "PATH")]
    node: Option<PathBuf>,

    /// What to do about a wall this host cannot raise
    #[arg(long, value_enum, default_value_t = Walls::Default)]
    walls: Walls,

    /// How children are started
    #[arg(long, value_enum, default_value_t = LauncherChoice::Auto)]
    launcher: LauncherChoice,

    /// Let Node make machine code: faster loops, one wall less
    #[arg(long)]
    jit: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Walls {
    /// Refuse when a wall is missing that every host has; report the others
    Default,
    /// Refuse when any wall is missing
    Strict,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LauncherChoice {
    /// The best for a single run
    Auto,
    /// Forks of one waiting Node
    Template,
    /// One Node start a run
    Spawn,
}

impl RunArguments {
    pub(super) fn limits(&self) -> Result<RunLimits, LimitError> {
        let mut limits = RunLimits::default();
        if let Some(ms) = self.timeout {
            limits = limits.with(Limit::WallMs, ms)?;
        }
        if let Some(mib) = self.memory {
            limits = limits.with(Limit::MemoryBytes, mib.saturating_mul(1 << 20))?;
        }
        Ok(limits)
    }

    /// A single run has nothing to share a template with: left to us, it is a Node start.
    pub(super) fn launcher(&self) -> launch::LauncherChoice {
        match self.launcher {
            LauncherChoice::Template => launch::LauncherChoice::Template,
            LauncherChoice::Auto | LauncherChoice::Spawn => launch::LauncherChoice::Spawn,
        }
    }

    #[allow(clippy::needless_update, reason = "with the feature `danger` there is a further field")]
    pub(super) fn launch_config(&self) -> LaunchConfig {
        let policy = match self.walls {
            Walls::Default => WallPolicy::Default,
            Walls::Strict => WallPolicy::Strict,
        };
        LaunchConfig { node: self.node.clone(), policy, jit: self.jit, ..LaunchConfig::default() }
    }
}
