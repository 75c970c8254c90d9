//! Real servers, in the versions whose lists are recorded. Where no registry can be reached the tests say so, loudly, and have shown nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use codemode::config::McpServer;
use codemode_tests::{host, rig};
use serde_json::{Value, json};

use crate::stage::{Scene, call, node};

/// The exit code with which the script says that there is nothing to test with.
const UNREACHED: i32 = 75;

/// Fetches the servers once; `None`: they cannot be had.
fn fetched() -> Option<PathBuf> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = host::repository().join("target/mcp-servers");
    let script = host::repository().join("tests/mcp/real/fetch.sh");
    let output = Command::new("bash").arg(script).arg(&folder).output().expect("bash");
    match output.status.code() {
        Some(0) => Some(folder),
        Some(UNREACHED) => {
            // To the process's own standard error, which no test runner keeps to itself.
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            std::io::Write::write_all(
                &mut std::io::stderr(),
                format!("\n!!! SKIPPED, nothing shown: real MCP servers: {why}\n").as_bytes(),
            )
            .expect("stderr");
            None
        }
        other => panic!("{other:?}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

fn program(command: impl AsRef<Path>, args: &[&str], env: &[(&str, &str)]) -> McpServer {
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    McpServer::Command {
        command: text(command.as_ref()),
        args: args.iter().map(|word| (*word).to_owned()).collect(),
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        cwd: None,
        roots: Vec::new(),
    }
}

/// The seven servers, each with a place of its own in `place`.
fn servers(folder: &Path, place: &Path) -> BTreeMap<String, McpServer> {
    let text = |path: PathBuf| path.to_str().expect("UTF-8").to_owned();
    let script = |name: &str| text(folder.join(format!("node_modules/@modelcontextprotocol/server-{name}/dist/index.js")));
    let node = PathBuf::from(node());
    let repository = text(place.join("repository"));
    let made = Command::new("git").args(["init", "-q", &repository]).status().expect("git");
    assert!(made.success());
    let memory = text(place.join("memory.jsonl"));
    [
        ("everything", program(&node, &[&script("everything"), "stdio"], &[])),
        ("filesystem", program(&node, &[&script("filesystem"), &text(place.to_owned())], &[])),
        ("memory", program(&node, &[&script("memory")], &[("MEMORY_FILE_PATH", &memory)])),
        ("sequential-thinking", program(&node, &[&script("sequential-thinking")], &[])),
        ("time", program(folder.join("python/bin/mcp-server-time"), &["--local-timezone", "UTC"], &[])),
        ("git", program(folder.join("python/bin/mcp-server-git"), &["--repository", &repository], &[])),
        ("sqlite", program(folder.join("python-sqlite/bin/mcp-server-sqlite"), &["--db-path", &text(place.join("a.db"))], &[])),
    ]
    .map(|(name, server)| (name.to_owned(), server))
    .into()
}

fn recorded(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(host::data().join(format!("mcp/{name}.json"))).expect("a recorded list");
    serde_json::from_str::<Value>(&text).expect("JSON")["tools"].as_array().expect("tools").clone()
}

/// What the recorded client declared and this one does not; the server has these tools for such clients alone.
const FOR_OTHER_CLIENTS: [&str; 3] = ["get-roots-list", "trigger-sampling-request", "trigger-elicitation-request"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lists_of_real_servers_are_those_that_were_recorded() {
    let Some(folder) = fetched() else { return };
    let place = tempfile::tempdir().unwrap();
    let servers = servers(&folder, place.path());
    let names: Vec<String> = servers.keys().cloned().collect();
    let scene = Scene::with(servers, place);
    let catalog = scene.view().await;
    assert!(codemode::catalog::Catalog::summary(&catalog).unavailable.is_empty(), "{:?} {:?}", catalog, scene.servers.lines());
    let mut count = 0;
    for name in names {
        let mut missing = BTreeSet::new();
        let recorded = recorded(&name);
        for listed in &recorded {
            let own = listed["name"].as_str().unwrap();
            let Ok(tool) = codemode::catalog::Catalog::describe(&catalog, &format!("mcp:{name}:{own}")).await else {
                missing.insert(own.to_owned());
                continue;
            };
            count += 1;
            assert_eq!(*tool.parameters.value(), listed["inputSchema"], "{}", tool.id);
            assert_eq!(
                tool.output_schema.as_ref().map(|schema| schema.value().clone()),
                listed.get("outputSchema").cloned(),
                "{}",
                tool.id
            );
            assert_eq!(tool.description, listed["description"].as_str().unwrap_or_default(), "{}", tool.id);
        }
        let expected: BTreeSet<String> = if name == "everything" { FOR_OTHER_CLIENTS.map(str::to_owned).into() } else { BTreeSet::new() };
        assert_eq!(missing, expected, "{name}");
        let own = catalog.tools().tools().iter().filter(|tool| tool.source_name == name).count();
        assert_eq!(own, recorded.len() - missing.len(), "{name} has tools that were not recorded");
    }
    println!("{count} tools of seven servers are as recorded");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_body_uses_four_servers_at_once() {
    let Some(folder) = fetched() else { return };
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("note.txt"), "grüße").unwrap();
    let note = place.path().join("note.txt").to_str().unwrap().to_owned();
    let scene = Scene::with(servers(&folder, place.path()), place);
    let catalog = std::sync::Arc::new(scene.view().await);
    assert_eq!(call(&catalog, "mcp:sqlite:list_tables", json!({})).await.unwrap(), "[]");
    let body = format!(
        r#"const call = openclaw.tools.call;
        const [sum, file, time, graph] = await Promise.all([
            call("mcp:everything:get-sum", {{ a: 2, b: 40 }}),
            call("mcp:filesystem:read_text_file", {{ path: {note:?} }}),
            call("mcp:time:get_current_time", {{ timezone: "UTC" }}),
            call("mcp:memory:create_entities", {{ entities: [{{ name: "a", entityType: "b", observations: ["c"] }}] }}),
        ]);
        return {{ sum, file, time, graph }};"#
    );
    let supervisor = rig::supervisor();
    let report = tokio::time::timeout(Duration::from_secs(30), supervisor.run(codemode::RunRequest::new(body), catalog)).await.unwrap();
    let value = report.value.to_value().unwrap();
    assert!(report.ok, "{:?} {:?}", report.error, report.calls);
    assert!(value["sum"].as_str().unwrap().contains("42"), "{value}");
    assert_eq!(value["file"], json!({"content": "grüße"}), "{value}");
    assert!(value["time"].to_string().contains("UTC"), "{value}");
    assert_eq!(value["graph"]["entities"][0]["name"], "a", "{value}");
    let servers: BTreeSet<_> = report.calls.iter().map(|call| call.id.clone().unwrap().split(':').nth(1).unwrap().to_owned()).collect();
    assert_eq!(servers.len(), 4);
    drop(supervisor);
    scene.end().await;
}
