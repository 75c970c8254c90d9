//! Where tools come from.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use codemode::catalog::{
    CallContext, CallFailure, ListFailure, Listing, Permission, SearchLimits, Source, Sources, Tool, ToolPage, ToolSource,
};
use codemode_tests::fake_source::FakeSource;
use codemode_tests::fault::Fault;
use codemode_tests::script::call;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::backend::asking;
use crate::table::{Party, Plan, Seen, ends};
use crate::witness::Place;

const STALL: Duration = Duration::from_millis(150);

/// A server, plug-in or client that tools come from.
pub struct Servers;

const ONCE: &str = "a future gives one answer, whole, and has no direction to close";
const A_NUMBER: &str = "it is a number that goes up, and nothing else";

#[async_trait]
impl Party for Servers {
    fn name(&self) -> &'static str {
        "source"
    }

    fn what(&self) -> &'static str {
        "A source of tools among others; here an implementation of the trait, beside a healthy one. Its tool is called."
    }

    fn steps(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("list", "it is asked for its first page"),
            ("page", "it is asked for its second page"),
            ("changed", "its list may have changed: it says so, while the run goes on"),
            ("call", "it is asked to do it"),
            ("neighbour", "it fails at its list, and the healthy one is called"),
        ]
    }

    fn plan(&self, step: &'static str, fault: Fault) -> Plan {
        use Fault::{Deaf, Die, Flood, Garbage, Late, Mute, Slowly, Stop, Twice};
        const GONE: &str = "refused:tool_unavailable|refused:unknown_tool";
        let calls = match (step, fault) {
            (_, Mute | Deaf) => return Plan::NoSense(ONCE),
            ("changed", Garbage | Slowly | Twice) => return Plan::NoSense(A_NUMBER),
            ("changed", _) => "ok",
            ("call", Twice | Slowly) => return Plan::NoSense(ONCE),
            ("call", Stop) => "unknown:tool_timeout",
            ("call", Die) => "error:tool_error",
            ("call", Garbage) => "error:invalid_result",
            ("call", Flood) => "error:too_large",
            ("call", Late) | ("neighbour", _) | (_, Late | Twice | Slowly) => "ok",
            // What is wrong with some of its tools is no reason to lose the others.
            ("list" | "page", Garbage) => "ok",
            _ => GONE,
        };
        ends("ok", calls, 4_000).with_logs(1)
    }

    async fn run(&self, step: &'static str, fault: Fault, _place: &Place) -> Seen {
        let bad = Arc::new(Bad { step, fault, changed: watch::Sender::new(0), pages: AtomicUsize::new(0) });
        let good = FakeSource::new(Source::Mcp, "good", &["beta"]);
        let sources = Sources::new();
        sources.add(Arc::clone(&bad) as _);
        sources.add(Arc::clone(&good) as _);
        let sources = Arc::new(sources);
        let mut listing = Listing::of(&sources);
        listing.add_own().await;
        listing.add_mcp().await;
        listing.add_client(&[]).await;
        let catalog = listing.index(&All, SearchLimits::default());
        let id = if step == "neighbour" { "mcp:good:beta" } else { "mcp:bad:alpha" };
        let nagging = (step == "changed").then(|| tokio::spawn(Arc::clone(&bad).nag()));
        let report = asking(&call(1, id, &json!({"n": 1})), 5_000, Arc::new(catalog)).await;
        if let Some(nagging) = nagging {
            nagging.abort();
        }
        report.into()
    }
}

#[derive(Debug)]
pub struct All;

impl Permission for All {
    fn permits(&self, _id: &str) -> bool {
        true
    }
}

#[derive(Debug)]
struct Bad {
    step: &'static str,
    fault: Fault,
    changed: watch::Sender<u64>,
    pages: AtomicUsize,
}

impl Bad {
    fn tool(name: &str) -> Arc<Tool> {
        Arc::new(Tool::new(Source::Mcp, "bad", name, "A tool.", json!({"type": "object"})))
    }

    /// Says that its list has changed.
    async fn nag(self: Arc<Self>) {
        match self.fault {
            Fault::Flood => loop {
                self.changed.send_modify(|count| *count += 1);
                tokio::task::yield_now().await;
            },
            Fault::Late => {
                tokio::time::sleep(Duration::from_millis(5)).await;
                self.changed.send_modify(|count| *count += 1);
            }
            _ => {}
        }
    }

    fn fails_at(&self, second: bool) -> bool {
        match self.step {
            "list" | "neighbour" => !second,
            "page" => second,
            _ => false,
        }
    }
}

#[async_trait]
impl ToolSource for Bad {
    fn source(&self) -> Source {
        Source::Mcp
    }

    fn name(&self) -> &str {
        "bad"
    }

    async fn list(&self, cursor: Option<&str>) -> Result<ToolPage, ListFailure> {
        self.pages.fetch_add(1, Ordering::Relaxed);
        let honest = match cursor {
            None if self.step == "page" => ToolPage { tools: vec![Bad::tool("alpha")], next: Some("second".to_owned()) },
            None => ToolPage { tools: vec![Bad::tool("alpha")], next: None },
            Some(_) => ToolPage { tools: vec![Bad::tool("gamma")], next: None },
        };
        if !self.fails_at(cursor.is_some()) {
            return Ok(honest);
        }
        match self.fault {
            Fault::Stop => std::future::pending().await,
            Fault::Die => panic!("a source of a test"),
            Fault::Late => tokio::time::sleep(STALL).await,
            Fault::Twice => return Ok(ToolPage { tools: [honest.tools.clone(), honest.tools].concat(), next: honest.next }),
            Fault::Garbage => {
                let names = ["", " ", "\u{1b}[2J", "a\0b", &"x".repeat(1_000)].map(Bad::tool);
                return Ok(ToolPage { tools: [&names[..], &honest.tools].concat(), next: honest.next });
            }
            Fault::Slowly => {
                let at: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
                tokio::time::sleep(Duration::from_millis(5)).await;
                let name = if at == 0 { honest.tools[0].name.clone() } else { format!("t{at}") };
                return Ok(ToolPage { tools: vec![Bad::tool(&name)], next: (at < 20).then(|| (at + 1).to_string()) });
            }
            Fault::Flood => {
                let tools = (0..1_000).map(|n| Bad::tool(&format!("t{n}-{}", self.pages.load(Ordering::Relaxed)))).collect();
                return Ok(ToolPage { tools, next: Some(self.pages.load(Ordering::Relaxed).to_string()) });
            }
            Fault::Mute | Fault::Deaf => unreachable!("no such cell"),
        }
        Ok(honest)
    }

    async fn call(&self, tool: &Arc<Tool>, _args: Value, _context: &CallContext) -> Result<Value, CallFailure> {
        let honest = json!({"tool": tool.name});
        if self.step != "call" {
            return Ok(honest);
        }
        match self.fault {
            Fault::Stop => std::future::pending().await,
            Fault::Die => panic!("a source of a test"),
            Fault::Late => tokio::time::sleep(STALL).await,
            Fault::Garbage => return Ok((0..300).fold(json!(1), |inner, _| json!([inner]))),
            Fault::Flood => return Ok(json!("x".repeat(16 << 20))),
            _ => {}
        }
        Ok(honest)
    }

    fn changed(&self) -> watch::Receiver<u64> {
        if self.step == "changed" && self.fault == Fault::Die {
            // Of somebody who is gone by the time it is looked at.
            return watch::Sender::new(0).subscribe();
        }
        self.changed.subscribe()
    }
}
