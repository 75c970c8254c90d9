//! From sources to what a model sees and may call.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod denied;
mod directory;
mod sources;
mod structured;
mod surfaces;

use std::sync::Arc;

use codemode::catalog::{RunContext, Source, Sources, ToolSource};
use codemode::config::Config;
use codemode::modes::{Plan, PlanRequest, plan};
use codemode_tests::fake_source::FakeSource;

/// A gateway with tools of every kind: what a test does not care about is still there.
pub(crate) struct Gateway {
    pub(crate) sources: Arc<Sources>,
    pub(crate) core: Arc<FakeSource>,
    pub(crate) plugin: Arc<FakeSource>,
    pub(crate) server: Arc<FakeSource>,
    pub(crate) client: Arc<FakeSource>,
}

impl Gateway {
    pub(crate) fn new() -> Gateway {
        let core = FakeSource::new(Source::Openclaw, "core", &["read_file", "exec"]);
        let plugin = FakeSource::new(Source::Plugin, "weather", &["current_weather", "weather_forecast"]);
        let server = FakeSource::new(Source::Mcp, "mail", &["send_email", "list.mails", "delete_email"]);
        let client = FakeSource::new(Source::Client, "app", &["open_tab"]);
        let sources = Sources::new();
        for source in [&server, &plugin, &core] {
            sources.add(Arc::clone(source) as _);
        }
        Gateway { sources: Arc::new(sources), core, plugin, server, client }
    }

    pub(crate) fn request(&self) -> PlanRequest {
        PlanRequest { client: vec![Arc::clone(&self.client) as Arc<dyn ToolSource>], ..PlanRequest::default() }
    }

    pub(crate) async fn plan(&self, config: &str) -> Plan {
        self.plan_of(config, self.request()).await
    }

    pub(crate) async fn plan_of(&self, config: &str, request: PlanRequest) -> Plan {
        plan(&Config::from_bytes(config.as_bytes(), "c").unwrap(), &self.sources, request).await
    }
}

pub(crate) const MODES: [&str; 3] = ["code", "tools", "directory"];

pub(crate) fn in_mode(mode: &str) -> String {
    format!("{{tools: {{toolSearch: {{mode: '{mode}'}}}}}}")
}

pub(crate) fn names(plan: &Plan) -> Vec<&str> {
    plan.surface.definitions.iter().map(|definition| definition.name.as_str()).collect()
}

pub(crate) fn agent(id: &str) -> RunContext {
    RunContext { agent: Some(id.into()), ..RunContext::default() }
}
