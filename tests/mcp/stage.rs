//! Fake servers, and a catalog made of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codemode::catalog::{
    CallContext, CallFailure, Catalog, Listing, McpConnections, Permission, RunCatalog, SearchLimits, SearchQuery, Sources,
};
use codemode::config::{McpServer, McpServers};
use serde_json::Value;

/// The Node of the fakes.
pub(crate) fn node() -> String {
    std::env::var("CODEMODE_NODE").unwrap_or_else(|_| "node".to_owned())
}

fn script() -> String {
    codemode_tests::host::repository().join("tests/mcp/fake.mjs").to_string_lossy().into_owned()
}

/// The words that start a fake server which does as `wants` says.
pub(crate) fn words(wants: &Value) -> Vec<String> {
    vec![node(), script(), wants.to_string()]
}

/// An entry of a configuration for it.
pub(crate) fn fake(wants: &Value) -> McpServer {
    program(&words(wants))
}

pub(crate) fn program(words: &[String]) -> McpServer {
    McpServer::Command { command: words[0].clone(), args: words[1..].to_vec(), env: BTreeMap::new(), cwd: None, roots: Vec::new() }
}

#[derive(Debug)]
struct All;

impl Permission for All {
    fn permits(&self, _id: &str) -> bool {
        true
    }
}

/// Servers and what a gateway makes of them.
pub(crate) struct Scene {
    pub(crate) servers: McpConnections,
    pub(crate) sources: Arc<Sources>,
    pub(crate) folder: tempfile::TempDir,
}

impl Scene {
    /// Servers by name; each keeps a log.
    pub(crate) fn of(wanted: &[(&str, Value)]) -> Scene {
        let folder = tempfile::tempdir().expect("a folder");
        let servers = wanted
            .iter()
            .map(|(name, wants)| {
                let mut wants = wants.clone();
                wants["log"] = folder.path().join(format!("{name}.log")).to_str().expect("UTF-8").into();
                wants["name"] = (*name).into();
                ((*name).to_owned(), fake(&wants))
            })
            .collect();
        Scene::with(servers, folder)
    }

    pub(crate) fn with(servers: McpServers, folder: tempfile::TempDir) -> Scene {
        let servers = McpConnections::of(&servers);
        // The fakes are Nodes, and the machine may be busy.
        let sources = Sources::new().with_patience(std::time::Duration::from_secs(20));
        servers.add_to(&sources);
        Scene { servers, sources: Arc::new(sources), folder }
    }

    /// What a run that starts now sees.
    pub(crate) async fn view(&self) -> RunCatalog {
        let mut listing = Listing::of(&self.sources);
        listing.add_mcp().await;
        listing.index(&All, SearchLimits::default())
    }

    pub(crate) fn log_file(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    /// What a server noted.
    pub(crate) fn log(&self, name: &str) -> Vec<Value> {
        log(&self.log_file(name))
    }

    /// The tools that a server was called with.
    pub(crate) fn called(&self, name: &str) -> Vec<String> {
        let called = self.log(name);
        called.iter().filter(|line| line["what"] == "call").map(|line| line["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Ends the servers, and shows that nothing of them is left.
    pub(crate) async fn end(self) {
        self.servers.stop().await;
        for name in self.servers.servers().iter().map(|server| codemode::catalog::ToolSource::name(&**server)) {
            for line in self.log(name) {
                for pid in [&line["pid"], &line["grandchild"]].iter().filter_map(|pid| pid.as_i64()) {
                    assert!(!runs(pid), "{name} left {pid}: {line}");
                }
            }
        }
    }
}

pub(crate) fn log(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of the log")).collect()
}

/// Whether a process runs; a corpse does not.
pub(crate) fn runs(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// A call as the gate makes it.
pub(crate) async fn call(catalog: &RunCatalog, id: &str, args: Value) -> Result<Value, CallFailure> {
    let tool = catalog.describe(id).await?;
    catalog.available(&tool).await?;
    catalog.call(&tool, args, &CallContext { run_id: "r".into(), seq: 1 }).await
}

pub(crate) async fn found(catalog: &RunCatalog, query: &str) -> Vec<String> {
    let found = catalog.search(&SearchQuery { query: query.into(), limit: Some(20) }).await.expect("rows");
    found.iter().map(|tool| tool.id.clone()).collect()
}
