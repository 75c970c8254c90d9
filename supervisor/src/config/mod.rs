//! What an operator writes down: which tools who may use, how they are shown, and what a call passes.
//!
//! Three passes, each with its own types: *raw* (`raw`: the text as a tree that knows where everything stands), *checked* (`checked`: [`Config`],
//! in which every key is known and every number in its range, with a [`Clamp`] for each that was not), *effective* (`effective`: what is left
//! for one [`RunContext`]). A file that cannot be read is an error with its place; it is never ignored, and no part of it is used.
//!
//! The rule of policy stands in one place, [`EffectivePolicy`]: what every scope allows, minus what any scope denies. A missing allow list allows all,
//! an empty one nothing.

mod checked;
mod effective;
mod error;
mod file;
mod gate;
mod live;
mod mcp_file;
mod number;
mod raw;
mod reader;
mod servers;

pub use crate::catalog::RunContext;
pub use checked::{Config, HookCommand, Mode, ToolRules, ToolSearch};
pub use effective::{Effective, EffectivePolicy, Scope};
pub use error::{ConfigError, ConfigProblem};
pub use live::LivePolicy;
pub use mcp_file::McpFile;
pub use number::Clamp;
pub use servers::{McpServer, McpServers};
