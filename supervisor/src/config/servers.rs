//! `mcpServers`, in the shape that other MCP clients have it.

use std::collections::BTreeMap;
use std::fmt;

use super::error::ConfigProblem;
use super::raw::Fault;
use super::reader::At;

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
    },
    /// A server on the network.
    Url {
        /// Its address.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

impl fmt::Debug for McpServer {
    /// Environment and headers hold keys: their names alone are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            McpServer::Command { command, args, env, cwd } => {
                let env: Vec<_> = env.keys().collect();
                f.debug_struct("Command").field("command", command).field("args", args).field("env", &env).field("cwd", cwd).finish()
            }
            McpServer::Url { url, headers } => {
                let headers: Vec<_> = headers.keys().collect();
                f.debug_struct("Url").field("url", url).field("headers", &headers).finish()
            }
        }
    }
}

pub(super) fn servers(at: &At<'_>) -> Result<McpServers, Fault> {
    at.entries("an object of servers")?.into_iter().map(|(name, at, _)| Ok((name, server(&at)?))).collect()
}

fn server(at: &At<'_>) -> Result<McpServer, Fault> {
    let all = at.fields(&["command", "args", "env", "cwd", "url", "headers"], "an object with `command` or `url`")?;
    let texts = |key: &str| all.get(key).map(|at| at.text_map("an object of texts")).transpose();
    match (all.get("command"), all.get("url")) {
        (Some(command), None) => {
            at.fields(&["command", "args", "env", "cwd"], "an object with `command`")?;
            Ok(McpServer::Command {
                command: command.text("a program")?,
                args: all.get("args").map(arguments).transpose()?.unwrap_or_default(),
                env: texts("env")?.unwrap_or_default().into_iter().collect(),
                cwd: all.get("cwd").map(|at| at.text("a folder")).transpose()?,
            })
        }
        (None, Some(url)) => {
            at.fields(&["url", "headers"], "an object with `url`")?;
            let address = url.text("an http or https address")?;
            if !address.starts_with("http://") && !address.starts_with("https://") {
                return Err(url.wrong("an http or https address"));
            }
            Ok(McpServer::Url { url: address, headers: texts("headers")?.unwrap_or_default().into_iter().collect() })
        }
        _ => Err(at.fault(ConfigProblem::Missing { missing: "a server needs either `command` or `url`" })),
    }
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
