//! The third pass: what a configuration means for one run.

use std::fmt;

use super::checked::{Config, ToolRules, ToolSearch};
use crate::catalog::{Permission, RunContext};
use crate::gate::Policy;

/// Where a rule stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Scope {
    /// `tools` at the top: every run.
    Gateway,
    /// A profile.
    Profile(String),
    /// An agent.
    Agent(String),
    /// The sandbox.
    Sandbox,
    /// A runtime.
    Runtime(String),
    /// A channel.
    Channel(String),
    /// A session.
    Session(String),
    /// The command line, or whoever embeds this.
    Caller,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Gateway => f.write_str("tools"),
            Scope::Profile(id) => write!(f, "profiles.{id}"),
            Scope::Agent(id) => write!(f, "agents.{id}"),
            Scope::Sandbox => f.write_str("sandbox"),
            Scope::Runtime(id) => write!(f, "runtimes.{id}"),
            Scope::Channel(id) => write!(f, "channels.{id}"),
            Scope::Session(id) => write!(f, "sessions.{id}"),
            Scope::Caller => f.write_str("the caller"),
        }
    }
}

/// What is left when every scope has had its say.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct EffectivePolicy {
    rules: Vec<(Scope, Policy)>,
}

impl EffectivePolicy {
    /// A policy that lets everything through.
    pub fn new() -> EffectivePolicy {
        EffectivePolicy::default()
    }

    /// The same, and what `policy` takes away.
    #[must_use]
    pub fn and(mut self, scope: Scope, policy: Policy) -> EffectivePolicy {
        if policy != Policy::default() {
            self.rules.push((scope, policy));
        }
        self
    }

    /// The scope that refuses a tool first; for people who run the gateway, not for a body.
    pub fn refused_by(&self, id: &str) -> Option<&Scope> {
        self.rules.iter().find(|(_, policy)| !policy.permits(id)).map(|(scope, _)| scope)
    }

    /// The scopes and what each says, in the order in which they were asked.
    pub fn rules(&self) -> &[(Scope, Policy)] {
        &self.rules
    }
}

impl Permission for EffectivePolicy {
    /// What every scope allows, minus what any scope denies.
    fn permits(&self, id: &str) -> bool {
        self.refused_by(id).is_none()
    }
}

/// What a configuration means for one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// What may be seen and called.
    pub policy: EffectivePolicy,
    /// How the catalog is shown; `None`: directly.
    pub tool_search: Option<ToolSearch>,
}

impl Config {
    /// What this configuration means for a run of this context.
    ///
    /// Policies add up. Of several scopes that say how the catalog is shown, the narrowest wins: session, channel, runtime, sandbox, agent,
    /// profile, everything.
    pub fn effective(&self, context: &RunContext) -> Effective {
        let mut effective = Effective { policy: EffectivePolicy::new(), tool_search: None };
        for (scope, rules) in self.scopes(context) {
            effective.policy = effective.policy.and(scope, rules.policy.clone());
            if let Some(said) = rules.tool_search {
                effective.tool_search = said;
            }
        }
        effective
    }

    /// The scopes of a run, from the widest to the narrowest.
    fn scopes(&self, context: &RunContext) -> Vec<(Scope, &ToolRules)> {
        let mut scopes = vec![(Scope::Gateway, &self.tools)];
        let of = |id: &Option<std::sync::Arc<str>>, map: &'_ std::collections::BTreeMap<String, ToolRules>| {
            id.as_deref().filter(|id| map.contains_key(*id)).map(str::to_owned)
        };
        if let Some(id) = of(&context.profile, &self.profiles) {
            scopes.push((Scope::Profile(id.clone()), &self.profiles[&id]));
        }
        if let Some(id) = of(&context.agent, &self.agents) {
            scopes.push((Scope::Agent(id.clone()), &self.agents[&id]));
        }
        if context.sandbox {
            scopes.push((Scope::Sandbox, &self.sandbox));
        }
        if let Some(id) = of(&context.runtime, &self.runtimes) {
            scopes.push((Scope::Runtime(id.clone()), &self.runtimes[&id]));
        }
        if let Some(id) = of(&context.channel, &self.channels) {
            scopes.push((Scope::Channel(id.clone()), &self.channels[&id]));
        }
        if let Some(id) = of(&context.session, &self.sessions) {
            scopes.push((Scope::Session(id.clone()), &self.sessions[&id]));
        }
        scopes
    }
}
