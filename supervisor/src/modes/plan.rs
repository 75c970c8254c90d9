//! From a configuration and sources to what one run sees, in steps.

use std::sync::Arc;

use super::surface::{Surface, SurfaceRequest};
use crate::catalog::{Listing, RunCatalog, RunContext, SearchLimits, Sources, ToolSource};
use crate::config::{Config, Effective, LivePolicy, Scope};
use crate::gate::Policy;

/// What a run asks of a plan.
#[derive(Clone, Debug, Default)]
pub struct PlanRequest {
    /// For whom it is.
    pub context: RunContext,
    /// The tools of its client.
    pub client: Vec<Arc<dyn ToolSource>>,
    /// What the caller takes away beyond the configuration.
    pub policy: Policy,
    /// Why no isolated child can be started, if none can.
    pub no_isolation: Option<String>,
    /// Tools whose schemas the model has to have, by id or unique name.
    pub required: Vec<String>,
    /// What the user wants, in the user's words.
    pub prompt: String,
}

/// What one run sees and may do.
#[derive(Debug)]
pub struct Plan {
    /// For whom it is.
    pub context: RunContext,
    /// What the configuration means for it.
    pub effective: Effective,
    /// What may be called, asked at each call. Whoever reads a new configuration replaces what it says.
    pub policy: Arc<LivePolicy>,
    /// The tools, fixed from here on.
    pub catalog: Arc<RunCatalog>,
    /// What the model is shown.
    pub surface: Surface,
    /// Tools that were left out, and why; for people who run the gateway.
    pub notes: Vec<String>,
}

/// Puts the catalog of a run together, and what a model is shown of it.
pub async fn plan(config: &Config, sources: &Arc<Sources>, request: PlanRequest) -> Plan {
    // 1. What may be seen and called: agent, profile, sandbox, session, channel, runtime, caller.
    let mut effective = config.effective(&request.context);
    effective.policy = effective.policy.and(Scope::Caller, request.policy);

    // 2. The gateway's own tools and those of its plug-ins.
    let mut listing = Listing::of(sources);
    listing.add_own().await;

    // 3. The tools of MCP servers.
    listing.add_mcp().await;

    // 4. The tools of the client.
    listing.add_client(&request.client).await;

    // 5. What policy leaves of them, as compact descriptors that can be searched.
    let notes = listing.notes().to_vec();
    let limits = effective
        .tool_search
        .map_or_else(SearchLimits::default, |search| SearchLimits { usual: search.default_limit, most: search.max_limit });
    let catalog = Arc::new(listing.index(&effective.policy, limits));

    // 6. What the model is shown. How (and whether code can be run at all) is decided before anything is left out of it.
    let surface = Surface::of(
        Arc::clone(&catalog),
        &SurfaceRequest {
            tool_search: effective.tool_search,
            harness: request.context.harness.as_deref(),
            no_isolation: request.no_isolation.as_deref(),
            required: &request.required,
            prompt: &request.prompt,
        },
    );
    let policy = Arc::new(LivePolicy::new(effective.policy.clone()));
    Plan { context: request.context, effective, policy, catalog, surface, notes }
}
