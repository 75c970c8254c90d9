//! A file of `mcpServers` as other MCP clients write it: what means something here is read as strictly as in a configuration, the rest is told and left.

use super::error::ConfigProblem;
use super::raw::{Fault, Kind, Node};
use super::reader::{At, Fields};
use super::servers::{McpServers, entry};
use crate::catalog::quoted;

/// The servers of such a file, and what else stood in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpFile {
    /// The servers by name, without those that are turned off.
    pub servers: McpServers,
    /// What was left out, a line each; for people.
    pub notes: Vec<String>,
}

/// Keys that mean something here. `type` and `disabled` are other clients' words.
const KNOWN: [&str; 8] = ["command", "args", "env", "cwd", "url", "headers", "roots", "type"];

pub(super) fn mcp_file(tree: &Node) -> Result<McpFile, Fault> {
    let root = At::root(tree);
    let mut file = McpFile::default();
    let mut found = false;
    for (key, at, _) in root.entries("an object with `mcpServers`")? {
        if key != "mcpServers" {
            file.notes.push(format!("{} means nothing in a file of MCP servers; it is left out", quoted(&key)));
            continue;
        }
        found = true;
        for (name, at, _) in at.entries("an object of servers")? {
            server(&mut file, name, &at)?;
        }
    }
    if found { Ok(file) } else { Err(root.fault(ConfigProblem::Missing { missing: "a file of MCP servers needs `mcpServers`" })) }
}

fn server(file: &mut McpFile, name: String, at: &At<'_>) -> Result<(), Fault> {
    let members = at.entries("an object with `command` or `url`")?;
    let all = Fields::of(members.clone());
    if let Some(disabled) = all.get("disabled")
        && disabled.boolean().ok_or_else(|| disabled.wrong("true or false"))?
    {
        file.notes.push(format!("the MCP server {} is turned off by `disabled`", quoted(&name)));
        return Ok(());
    }
    if let Some(kind) = all.get("type") {
        transport(kind, all.get("url").is_some())?;
    }
    let read = entry(at, &all)?;
    let of_the_other: &[&str] = if all.get("command").is_some() { &["headers"] } else { &["args", "env", "cwd"] };
    for (key, ..) in &members {
        if key != "disabled" && (!KNOWN.contains(&key.as_str()) || of_the_other.contains(&key.as_str())) {
            file.notes.push(format!("{} of the MCP server {} means nothing here; it is left out", quoted(key), quoted(&name)));
        }
    }
    file.servers.insert(name, read);
    Ok(())
}

/// The words for a transport that is spoken here. The older one of two addresses (`sse`) is not.
fn transport(kind: &At<'_>, has_url: bool) -> Result<(), Fault> {
    let words: &[&str] = if has_url { &["http", "streamable-http", "streamableHttp", "streamable_http"] } else { &["stdio", "local"] };
    match &kind.node.kind {
        Kind::Scalar(serde_json::Value::String(word)) if words.contains(&word.as_str()) => Ok(()),
        _ => Err(kind.wrong(words.join(" or "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::McpServer;

    fn read(text: &str) -> Result<McpFile, String> {
        McpFile::from_bytes(text.as_bytes(), "mcp.json").map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_of_another_client_is_read_and_what_is_left_out_is_told() {
        let text = r#"{
            "inputs": [], // for another program
            "mcpServers": {
                "files": {"type": "stdio", "command": "npx", "args": ["-y", "files"], "autoApprove": [], "disabled": false},
                "docs": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer x"}},
                "old": {"command": "old", "disabled": true},
            },
        }"#;
        let file = read(text).unwrap();
        assert_eq!(file.servers.keys().collect::<Vec<_>>(), ["docs", "files"]);
        assert!(matches!(&file.servers["files"], McpServer::Command { command, args, .. } if command == "npx" && args.len() == 2));
        assert_eq!(file.notes.len(), 3, "{:?}", file.notes);
        assert!(file.notes[1].contains("autoApprove") && file.notes[2].contains("turned off"), "{:?}", file.notes);
    }

    #[test]
    fn what_means_something_is_read_as_strictly_as_a_configuration() {
        for (text, word) in [
            (r#"{"mcpServers": {"a": {"command": 1}}}"#, "mcpServers.a.command"),
            (r#"{"mcpServers": {"a": {"command": "x", "url": "http://y"}}}"#, "either `command` or `url`"),
            (r#"{"mcpServers": {"a": {"type": "sse", "url": "http://y"}}}"#, "http or streamable-http"),
            (r#"{"mcpServers": {"a": {"command": "x", "roots": ["here"]}}}"#, "whole path"),
            (r#"{"mcpServers": {"a": {"command": "x", "disabled": "no"}}}"#, "true or false"),
            (r#"{"servers": {}}"#, "needs `mcpServers`"),
            (r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#, "twice"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
