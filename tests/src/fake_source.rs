//! A source of tools that does what a test tells it to, and keeps account of what it was asked.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use codemode::catalog::{CallContext, CallFailure, ListFailure, Source, Tool, ToolPage, ToolSource};
use serde_json::{Value, json};
use tokio::sync::watch;

/// The source. Each of its tools answers with its source's name, its own name and its arguments.
#[derive(Debug)]
pub struct FakeSource {
    source: Source,
    name: String,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    tools: Vec<Arc<Tool>>,
    page: usize,
    failing: Option<String>,
    delay: Duration,
    cursors: Vec<Option<String>>,
    calls: Vec<(String, Value)>,
}

impl FakeSource {
    /// A source with tools of these names.
    pub fn new(source: Source, name: &str, tools: &[&str]) -> Arc<FakeSource> {
        let fake = FakeSource { source, name: name.to_owned(), state: Mutex::default(), changed: watch::Sender::new(0) };
        fake.state().page = usize::MAX;
        fake.set(tools);
        Arc::new(fake)
    }

    /// From here on it lists these tools; it does not say so.
    pub fn set(&self, tools: &[&str]) {
        let tool = |name: &&str| {
            let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
            Arc::new(Tool::new(
                self.source,
                &*self.name,
                *name,
                format!("The tool {} of the source {}.", name.replace('_', " "), self.name),
                schema,
            ))
        };
        self.set_tools(tools.iter().map(tool).collect());
    }

    /// The same with tools of any kind.
    pub fn set_tools(&self, tools: Vec<Arc<Tool>>) {
        self.state().tools = tools;
    }

    /// It says that its list has changed.
    pub fn notify(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// So many tools are on a page.
    pub fn set_page(&self, tools: usize) {
        self.state().page = tools;
    }

    /// Listing fails for this reason, or works again.
    pub fn set_failing(&self, reason: Option<&str>) {
        self.state().failing = reason.map(str::to_owned);
    }

    /// Listing takes so long.
    pub fn set_delay(&self, delay: Duration) {
        self.state().delay = delay;
    }

    /// The cursors it was asked with.
    pub fn cursors(&self) -> Vec<Option<String>> {
        self.state().cursors.clone()
    }

    /// The calls that reached it: names as it knows them, and arguments.
    pub fn calls(&self) -> Vec<(String, Value)> {
        self.state().calls.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a test that panicked is over")
    }
}

#[async_trait]
impl ToolSource for FakeSource {
    fn source(&self) -> Source {
        self.source
    }

    fn name(&self) -> &str {
        &self.name
    }

    async fn list(&self, cursor: Option<&str>) -> Result<ToolPage, ListFailure> {
        let delay = self.state().delay;
        tokio::time::sleep(delay).await;
        let mut state = self.state();
        state.cursors.push(cursor.map(str::to_owned));
        if let Some(reason) = &state.failing {
            return Err(ListFailure::new(reason));
        }
        // A cursor that only this server understands, and that has to come back as it was.
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                match cursor.strip_prefix("after=").and_then(|rest| rest.strip_suffix("&é%20")).and_then(|rest| rest.parse().ok()) {
                    Some(start) => start,
                    None => return Err(ListFailure::new(format!("the cursor {cursor} is none of mine"))),
                }
            }
        };
        let end = state.tools.len().min(state.page.saturating_add(start));
        let next = (end < state.tools.len()).then(|| format!("after={end}&é%20"));
        Ok(ToolPage { tools: state.tools[start..end].to_vec(), next })
    }

    async fn call(&self, tool: &Arc<Tool>, args: Value, _context: &CallContext) -> Result<Value, CallFailure> {
        self.state().calls.push((tool.name.clone(), args.clone()));
        Ok(json!({"source": self.name, "tool": tool.name, "args": args}))
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}
