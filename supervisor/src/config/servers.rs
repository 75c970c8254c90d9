//! `mcpServers`, in the shape that other MCP clients have it.

use std::collections::BTreeMap;
use std::fmt;

use super::error::ConfigProblem;
use super::raw::Fault;
use super::reader::{At, Fields};

/// MCP servers by name.
pub type McpServers = BTreeMap<String, McpServer>;

/// How to reach an MCP server.
#[derive(Clone, Eq, PartialEq)]
pub enum McpServer {
    /// A program that speaks on its standard input and output.
    Command {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// What it gets of an environment, beyond what every program needs to start.
        env: BTreeMap<String, String>,
        /// Where it runs.
        cwd: Option<String>,
        /// The folders that it is told of; none: it is told of no folder, and not that it could ask.
        roots: Vec<String>,
    },
    /// A server on the network.
    Url {
        /// Its address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
        /// The folders that it is told of; none: it is told of no folder, and not that it could ask.
        roots: Vec<String>,
    },
}

impl fmt::Debug for McpServer {
    /// Environment and headers hold keys: their names alone are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            McpServer::Command { command, args, env, cwd, roots } => {
                let env: Vec<_> = env.keys().collect();
                let mut shown = f.debug_struct("Command");
                shown.field("command", command).field("args", args).field("env", &env).field("cwd", cwd).field("roots", roots).finish()
            }
            McpServer::Url { url, headers, roots } => {
                let headers: Vec<_> = headers.keys().collect();
                f.debug_struct("Url").field("url", url).field("headers", &headers).field("roots", roots).finish()
            }
        }
    }
}

/// What a server with a program may say.
const OF_A_PROGRAM: [&str; 5] = ["command", "args", "env", "cwd", "roots"];
/// What a server with an address may say.
const OF_AN_ADDRESS: [&str; 3] = ["url", "headers", "roots"];

pub(super) fn servers(at: &At<'_>) -> Result<McpServers, Fault> {
    at.entries("an object of servers")?.into_iter().map(|(name, at, _)| Ok((name, server(&at)?))).collect()
}

fn server(at: &At<'_>) -> Result<McpServer, Fault> {
    const WHAT: &str = "an object with `command` or `url`";
    let all = at.fields(&[&OF_A_PROGRAM[..], &OF_AN_ADDRESS[..2]].concat(), WHAT)?;
    match (all.get("command"), all.get("url")) {
        (Some(_), None) => drop(at.fields(&OF_A_PROGRAM, "an object with `command`")?),
        (None, Some(_)) => drop(at.fields(&OF_AN_ADDRESS, "an object with `url`")?),
        _ => {}
    }
    entry(at, &all)
}

/// A server of the members that mean something; who looks at the others is the caller's business.
pub(super) fn entry(at: &At<'_>, all: &Fields<'_>) -> Result<McpServer, Fault> {
    let texts = |key: &str| all.get(key).map(|at| at.text_map("an object of texts")).transpose();
    let roots = all.get("roots").map(roots).transpose()?.unwrap_or_default();
    match (all.get("command"), all.get("url")) {
        (Some(command), None) => Ok(McpServer::Command {
            command: command.text("a program")?,
            args: all.get("args").map(arguments).transpose()?.unwrap_or_default(),
            env: texts("env")?.unwrap_or_default().into_iter().collect(),
            cwd: all.get("cwd").map(|at| at.text("a folder")).transpose()?,
            roots,
        }),
        (None, Some(url)) => {
            let address = url.text("an http or https address")?;
            if !address.starts_with("http://") && !address.starts_with("https://") {
                return Err(url.wrong("an http or https address"));
            }
            Ok(McpServer::Url { url: address, headers: texts("headers")?.unwrap_or_default().into_iter().collect(), roots })
        }
        _ => Err(at.fault(ConfigProblem::Missing { missing: "a server needs either `command` or `url`" })),
    }
}

/// Folders by their whole path: a server may run anywhere.
fn roots(at: &At<'_>) -> Result<Vec<String>, Fault> {
    const WHAT: &str = "the whole path of a folder, or a file:// address";
    at.items("a list of folders")?
        .iter()
        .map(|item| {
            let root = item.text(WHAT)?;
            if root.starts_with('/') || root.starts_with("file://") { Ok(root) } else { Err(item.wrong(WHAT)) }
        })
        .collect()
}

/// Arguments may be empty and may span lines.
fn arguments(at: &At<'_>) -> Result<Vec<String>, Fault> {
    at.items("a list of texts")?
        .iter()
        .map(|item| match &item.node.kind {
            super::raw::Kind::Scalar(serde_json::Value::String(text)) if !text.contains('\0') => Ok(text.clone()),
            _ => Err(item.wrong("a text")),
        })
        .collect()
}
