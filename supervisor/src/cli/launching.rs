//! How children are started and what they may use: the same words for every command that runs bodies.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use codemode_protocol::{Limit, LimitError, RunLimits};

use super::number;
use crate::launch::{self, LaunchConfig, WallPolicy};

/// Limits of a body, and how its child is started.
#[derive(Args, Debug)]
pub(super) struct LaunchArguments {
    /// Wall clock of the body in milliseconds [1 to 60000, default: 10000]
    #[arg(long, value_name = "MS", value_parser = number::milliseconds, allow_negative_numbers = true)]
    pub(super) timeout: Option<u64>,

    /// Memory of the body in MiB [8 to 1024, default: 128]
    #[arg(long, value_name = "MIB", value_parser = number::mebibytes, allow_negative_numbers = true)]
    memory: Option<u64>,

    /// The node program [default: $CODEMODE_NODE, else from PATH]
    #[arg(long, value_name = "PATH", value_hint = ValueHint::ExecutablePath)]
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
    /// The best for what is asked: a Node start for one run, a template for many
    Auto,
    /// Forks of one waiting Node
    Template,
    /// One Node start a run
    Spawn,
}

impl LaunchArguments {
    pub(super) fn limits(&self) -> Result<RunLimits, LimitError> {
        let mut limits = RunLimits::default();
        if let Some(ms) = self.timeout {
            limits = limits.with(Limit::WallMs, ms)?;
        }
        if let Some(mib) = self.memory {
            limits = limits.with(Limit::MemoryBytes, mib.saturating_mul(number::MIB))?;
        }
        Ok(limits)
    }

    /// Words that cannot both be meant.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let both = self.jit && matches!(self.walls, Walls::Strict);
        both.then_some("`--jit` takes down the wall no_exec_memory, and `--walls strict` needs every wall\nleave one of the two out")
    }

    /// A single run has nothing to share a template with: left to us, it is a Node start.
    pub(super) fn launcher_of_one(&self) -> launch::LauncherChoice {
        match self.launcher {
            LauncherChoice::Template => launch::LauncherChoice::Template,
            LauncherChoice::Auto | LauncherChoice::Spawn => launch::LauncherChoice::Spawn,
        }
    }

    /// Many runs share one.
    pub(super) fn launcher_of_many(&self) -> launch::LauncherChoice {
        match self.launcher {
            LauncherChoice::Template => launch::LauncherChoice::Template,
            LauncherChoice::Auto => launch::LauncherChoice::Auto,
            LauncherChoice::Spawn => launch::LauncherChoice::Spawn,
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
