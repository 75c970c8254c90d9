//! For whom a run is: the ids by which scopes of policy are chosen, and which a backend may want in its log.

use std::sync::Arc;

/// Who asks for a run, from where. An id that is missing chooses no scope.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunContext {
    /// The agent.
    pub agent: Option<Arc<str>>,
    /// The profile of tools that it uses.
    pub profile: Option<Arc<str>>,
    /// The session.
    pub session: Option<Arc<str>>,
    /// The channel that the session came by.
    pub channel: Option<Arc<str>>,
    /// The runtime that executes the agent.
    pub runtime: Option<Arc<str>>,
    /// Whether the session is in the gateway's sandbox.
    pub sandbox: bool,
    /// The harness that drives the model. Some have a tool search of their own.
    pub harness: Option<Arc<str>>,
}
