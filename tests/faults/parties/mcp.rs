//! MCP servers: programs on pipes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use codemode::catalog::{Listing, McpConnections, SearchLimits, Sources};
use codemode::config::McpServer;
use codemode_tests::fault::Fault;
use codemode_tests::host;
use codemode_tests::script::call;
use serde_json::json;

use super::backend::asking_within;
use super::source::All;
use crate::table::{Party, Plan, Seen, ends};
use crate::witness::Place;

/// How long a run waits for a server's list; the server is a Node that has to start, on a machine that may be busy.
const PATIENCE: Duration = Duration::from_secs(4);
/// The time that a call may take.
const CALL_LIMIT: Duration = Duration::from_secs(1);

/// A server on pipes.
pub struct McpServers;

#[async_trait]
impl Party for McpServers {
    fn name(&self) -> &'static str {
        "mcp"
    }

    fn what(&self) -> &'static str {
        "An MCP server on standard input and output; here a script for Node. Its tool is called."
    }

    fn steps(&self) -> &'static [(&'static str, &'static str)] {
        &[("initialize", "it is greeted"), ("tools/list", "it is asked for its tools"), ("tools/call", "it is asked to do it")]
    }

    fn plan(&self, step: &'static str, fault: Fault) -> Plan {
        use Fault::{Deaf, Die, Flood, Garbage, Late, Mute, Slowly, Stop, Twice};
        const GONE: &str = "refused:tool_unavailable|refused:unknown_tool";
        let calls = match (step, fault) {
            (_, Late | Slowly | Twice) | ("tools/call", Deaf) => "ok",
            ("tools/call", Stop) => "unknown:tool_timeout",
            ("tools/call", Die | Mute) => "unknown:tool_unavailable",
            // The call finds the pipe closed and is not made, or went into it before that.
            ("tools/list", Deaf) => "error:tool_unavailable|unknown:tool_unavailable",
            ("tools/call", Garbage) => "error:invalid_result",
            // Cut off at the longest line that is read, or by the clock, whichever comes first on this machine.
            ("tools/call", Flood) => "unknown:tool_timeout|unknown:tool_unavailable|error:too_large",
            _ => GONE,
        };
        ends("ok", calls, 8_000).with_logs(1)
    }

    async fn run(&self, step: &'static str, fault: Fault, _place: &Place) -> Seen {
        let script = host::repository().join("tests/faults/parties/server.mjs").display().to_string();
        let command = host::nodes()[0].display().to_string();
        let args = vec![script, step.to_owned(), fault.name().to_owned()];
        let server = McpServer::Command { command, args, env: BTreeMap::new(), cwd: None, roots: Vec::new() };
        let servers = McpConnections::of(&[("bad".to_owned(), server)].into_iter().collect());
        let sources = Sources::new().with_patience(PATIENCE);
        servers.add_to(&sources);
        let sources = Arc::new(sources);
        let mut listing = Listing::of(&sources);
        listing.add_mcp().await;
        let catalog = listing.index(&All, SearchLimits::default());
        let report = asking_within(&call(1, "mcp:bad:alpha", &json!({})), 6_000, Arc::new(catalog), CALL_LIMIT).await;
        servers.stop().await;
        report.into()
    }
}
