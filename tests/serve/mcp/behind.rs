//! MCP servers behind the server: a client of ours has theirs, and their processes go with it.

use std::fs;

use codemode_tests::census::with_argument;
use codemode_tests::host::{nodes, repository};
use serde_json::json;

use super::lines::{Lines, all_gone};

#[test]
fn a_server_behind_is_called_by_a_body_and_goes_with_the_client() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (log, file) = (folder.path().join("seen"), folder.path().join("mcp.json"));
    let wants = json!({"tools": ["echo"], "log": log}).to_string();
    let script = repository().join("tests/mcp/fake.mjs");
    fs::write(&file, json!({"mcpServers": {"back": {"command": nodes()[0], "args": [script, wants]}}}).to_string()).expect("it is ours");
    let mut lines = Lines::of(&["mcp", "--launcher", "spawn", "--mcp", &file.display().to_string()].map(str::to_owned));
    lines.initialize(json!({}));
    let envelope = lines.code("return openclaw.tools.call('mcp:back:echo', { x: 1 })");
    assert_eq!((&envelope["ok"], &envelope["value"]), (&json!(true), &json!("{\"x\":1}")), "{envelope}");
    let servers = with_argument(&wants);
    assert_eq!(servers.len(), 1, "{servers:?}");
    lines.hang_up();
    let (status, _, stderr) = lines.end();
    assert!(status.success(), "{stderr}");
    all_gone(&servers);
}
