//! From a configuration and sources to what one run sees, in steps.

use std::sync::Arc;
use std::time::Duration;

use super::surface::{Surface, SurfaceRequest};
use crate::catalog::{Listing, RunCatalog, RunContext, SearchLimits, Sources, ToolSource};
use crate::config::{Config, Effective, LivePolicy, Mode, Scope, ToolSearch};
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
    /// What the caller wants shown in place of what the configuration says. Rows of searches stay the configuration's.
    pub shown: Option<ShownInstead>,
    /// Why no isolated child can be started, if none can.
    pub no_isolation: Option<String>,
    /// Tools whose schemas the model has to have, by id or unique name.
    pub required: Vec<String>,
    /// What the user wants, in the user's words.
    pub prompt: String,
}

/// What a caller wants shown, whatever a configuration says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ShownInstead {
    /// What the model gets; `None`: as configured, and where direct exposure is configured, the usual mode.
    pub mode: Option<Mode>,
    /// Wall clock of a body; `None`: as configured.
    pub code_timeout: Option<Duration>,
}

impl ShownInstead {
    /// What is shown then, over what is configured.
    pub(crate) fn over(self, configured: Option<ToolSearch>) -> ToolSearch {
        let configured = configured.unwrap_or_default();
        ToolSearch {
            mode: self.mode.unwrap_or(configured.mode),
            code_timeout: self.code_timeout.unwrap_or(configured.code_timeout),
            ..configured
        }
    }
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
    if let Some(instead) = request.shown {
        effective.tool_search = Some(instead.over(effective.tool_search));
    }

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
