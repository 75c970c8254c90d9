//! The second pass: from the tree to a configuration in which every key is known and every number in its range.

use std::collections::BTreeMap;
use std::time::Duration;

use super::error::ConfigProblem;
use super::number::{Clamp, ranged};
use super::raw::{Fault, Node};
use super::reader::At;
use super::servers::{McpServers, servers};
use crate::catalog::place_of;
use crate::gate::{ApprovalRule, Glob, Policy};

/// A configuration whose every value can be used as it stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// For every run.
    pub tools: ToolRules,
    /// For the runs of an agent, by its id.
    pub agents: BTreeMap<String, ToolRules>,
    /// For the runs under a profile, by its id.
    pub profiles: BTreeMap<String, ToolRules>,
    /// For the runs of a session, by its id.
    pub sessions: BTreeMap<String, ToolRules>,
    /// For the runs by a channel, by its id.
    pub channels: BTreeMap<String, ToolRules>,
    /// For the runs in a runtime, by its id.
    pub runtimes: BTreeMap<String, ToolRules>,
    /// For the runs of sandboxed sessions.
    pub sandbox: ToolRules,
    /// Which calls need a person, in the order of the file.
    pub approvals: Vec<(Glob, ApprovalRule)>,
    /// What each call is shown to before it goes, in this order.
    pub before_tool_call: Vec<HookCommand>,
    /// MCP servers by name.
    pub mcp_servers: McpServers,
    /// Every number that was outside its range, once.
    pub clamps: Vec<Clamp>,
}

/// What one scope says of tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolRules {
    /// How the catalog is shown; `None`: nothing is said here. `Some(None)`: directly, every tool with its schema.
    pub tool_search: Option<Option<ToolSearch>>,
    /// What may be seen and called.
    pub policy: Policy,
}

/// How a compacted catalog is shown to a model.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ToolSearch {
    /// What the model gets.
    pub mode: Mode,
    /// Wall clock of a body.
    pub code_timeout: Duration,
    /// Rows of a search that asks for no number.
    pub default_limit: u64,
    /// Rows of a search at most.
    pub max_limit: u64,
    /// Full schemas in a directory at most.
    pub directory_schemas: usize,
}

/// What a model gets in place of every tool's schema.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Mode {
    /// One tool that runs JavaScript.
    #[default]
    Code,
    /// Three tools: search, describe, call.
    Tools,
    /// The three, and a directory of names.
    Directory,
}

/// A program that is asked before each call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HookCommand {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// The range of `codeTimeoutMs`: a second is a short body, a minute is as long as anybody waits.
const CODE_TIMEOUT_MS: (u64, u64) = (1_000, 60_000);
/// The range of `maxSearchLimit`: fifty rows of 512 characters are 25 KiB of prompt.
const MAX_SEARCH_LIMIT: (u64, u64) = (1, 50);
/// Full schemas in a directory: twelve are what a model tells apart at a glance.
const DIRECTORY_SCHEMAS: (u64, u64) = (0, 12);
/// The range of a hook's `timeoutMs`: it stands in the way of every call.
const HOOK_TIMEOUT_MS: (u64, u64) = (10, 60_000);
const DEFAULT_HOOK_TIMEOUT: Duration = Duration::from_secs(5);

impl Default for ToolSearch {
    fn default() -> Self {
        let code_timeout = Duration::from_secs(10);
        ToolSearch { mode: Mode::default(), code_timeout, default_limit: 8, max_limit: 20, directory_schemas: 4 }
    }
}

impl Mode {
    const ALL: [Mode; 3] = [Mode::Code, Mode::Tools, Mode::Directory];

    /// The word for it in a configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Code => "code",
            Mode::Tools => "tools",
            Mode::Directory => "directory",
        }
    }

    /// The mode of this name.
    pub fn named(word: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}

pub(super) fn config(text: &str, tree: &Node) -> Result<Config, Fault> {
    Checker { text, clamps: Vec::new() }.config(&At::root(tree))
}

struct Checker<'t> {
    text: &'t str,
    clamps: Vec<Clamp>,
}

impl Checker<'_> {
    fn config(mut self, root: &At<'_>) -> Result<Config, Fault> {
        const KEYS: [&str; 10] =
            ["tools", "agents", "profiles", "sessions", "channels", "runtimes", "sandbox", "approvals", "hooks", "mcpServers"];
        let fields = root.fields(&KEYS, "an object")?;
        let tools = fields.get("tools").map(|at| self.rules(at)).transpose()?.unwrap_or_default();
        let mut scopes = |key: &str| fields.get(key).map(|at| self.scopes(at)).transpose().map(Option::unwrap_or_default);
        Ok(Config {
            tools,
            agents: scopes("agents")?,
            profiles: scopes("profiles")?,
            sessions: scopes("sessions")?,
            channels: scopes("channels")?,
            runtimes: scopes("runtimes")?,
            sandbox: fields.get("sandbox").map(|at| self.scope(at)).transpose()?.unwrap_or_default(),
            approvals: fields.get("approvals").map(approvals).transpose()?.unwrap_or_default(),
            before_tool_call: fields.get("hooks").map(|at| self.hooks(at)).transpose()?.unwrap_or_default(),
            mcp_servers: fields.get("mcpServers").map(servers).transpose()?.unwrap_or_default(),
            clamps: self.clamps,
        })
    }

    fn scopes(&mut self, at: &At<'_>) -> Result<BTreeMap<String, ToolRules>, Fault> {
        at.entries("an object of ids")?.into_iter().map(|(id, at, _)| Ok((id, self.scope(&at)?))).collect()
    }

    /// `{tools}` of an agent, a profile, a session, a channel, a runtime, or the sandbox.
    fn scope(&mut self, at: &At<'_>) -> Result<ToolRules, Fault> {
        let fields = at.fields(&["tools"], "an object with `tools`")?;
        fields.get("tools").map(|at| self.rules(at)).transpose().map(Option::unwrap_or_default)
    }

    fn rules(&mut self, at: &At<'_>) -> Result<ToolRules, Fault> {
        let fields = at.fields(&["toolSearch", "allow", "deny"], "an object with toolSearch, allow or deny")?;
        let tool_search = fields.get("toolSearch").map(|at| self.tool_search(at)).transpose()?;
        let allow = fields.get("allow").map(globs).transpose()?;
        let deny = fields.get("deny").map(globs).transpose()?.unwrap_or_default();
        Ok(ToolRules { tool_search, policy: Policy { allow, deny } })
    }

    fn tool_search(&mut self, at: &At<'_>) -> Result<Option<ToolSearch>, Fault> {
        if let Some(on) = at.boolean() {
            return Ok(on.then(ToolSearch::default));
        }
        const KEYS: [&str; 5] = ["mode", "codeTimeoutMs", "searchDefaultLimit", "maxSearchLimit", "directorySchemas"];
        let fields = at.fields(&KEYS, "true, false or an object")?;
        let usual = ToolSearch::default();
        let mode = match fields.get("mode") {
            Some(at) => at
                .text("\"code\", \"tools\" or \"directory\"")
                .and_then(|word| Mode::named(&word).ok_or_else(|| at.wrong("\"code\", \"tools\" or \"directory\"")))?,
            None => usual.mode,
        };
        let mut number = |key: &str, range, usual: u64| match fields.get(key) {
            Some(at) => ranged(at, range, &mut self.clamps, |offset| place_of(self.text, offset)),
            None => Ok(usual.min(range.1)),
        };
        let max_limit = number("maxSearchLimit", MAX_SEARCH_LIMIT, usual.max_limit)?;
        Ok(Some(ToolSearch {
            mode,
            max_limit,
            default_limit: number("searchDefaultLimit", (1, max_limit), usual.default_limit)?,
            code_timeout: number("codeTimeoutMs", CODE_TIMEOUT_MS, 10_000).map(Duration::from_millis)?,
            directory_schemas: number("directorySchemas", DIRECTORY_SCHEMAS, 4)? as usize,
        }))
    }

    fn hooks(&mut self, at: &At<'_>) -> Result<Vec<HookCommand>, Fault> {
        let fields = at.fields(&["beforeToolCall"], "an object with `beforeToolCall`")?;
        let Some(list) = fields.get("beforeToolCall") else { return Ok(Vec::new()) };
        list.items("a list of hooks")?.iter().map(|at| self.hook(at)).collect()
    }

    fn hook(&mut self, at: &At<'_>) -> Result<HookCommand, Fault> {
        let fields = at.fields(&["command", "timeoutMs"], "an object with `command`")?;
        let what = "a program, or a list of a program and its arguments";
        let Some(command) = fields.get("command") else {
            return Err(at.fault(ConfigProblem::Missing { missing: "a hook needs a `command`" }));
        };
        let words = command.text(what).map(|program| vec![program]).or_else(|_| command.texts(what))?;
        if words.is_empty() {
            return Err(command.wrong(what));
        }
        let timeout = match fields.get("timeoutMs") {
            Some(at) => Duration::from_millis(ranged(at, HOOK_TIMEOUT_MS, &mut self.clamps, |offset| place_of(self.text, offset))?),
            None => DEFAULT_HOOK_TIMEOUT,
        };
        Ok(HookCommand { command: words, timeout })
    }
}

fn globs(at: &At<'_>) -> Result<Vec<Glob>, Fault> {
    Ok(at.texts("a list of patterns of tool ids")?.iter().map(|pattern| Glob::new(pattern)).collect())
}

fn approvals(at: &At<'_>) -> Result<Vec<(Glob, ApprovalRule)>, Fault> {
    let what = "\"ask\", \"deny\" or \"allow\"";
    at.entries("an object of patterns")?
        .into_iter()
        .map(|(pattern, at, _)| {
            let mode = match at.text(what)?.as_str() {
                "allow" => ApprovalRule::Allow,
                "ask" => ApprovalRule::Ask,
                "deny" => ApprovalRule::Deny,
                _ => return Err(at.wrong(what)),
            };
            Ok((Glob::new(&pattern), mode))
        })
        .collect()
}
