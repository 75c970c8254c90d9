//! A policy that can change while runs go on.

use std::sync::{Arc, PoisonError, RwLock};

use super::effective::EffectivePolicy;
use crate::catalog::Permission;

/// The policy of a session as it is now. Runs hold it and ask it at each call; whoever reads a new configuration replaces what it says.
///
/// What a run *sees* was fixed when it started, so a policy that gets wider changes nothing for it; one that gets narrower is felt at the next call.
#[derive(Debug, Default)]
pub struct LivePolicy(RwLock<Arc<EffectivePolicy>>);

impl LivePolicy {
    /// A policy that says this for now.
    pub fn new(policy: EffectivePolicy) -> LivePolicy {
        LivePolicy(RwLock::new(Arc::new(policy)))
    }

    /// What it says now.
    pub fn now(&self) -> Arc<EffectivePolicy> {
        // A policy is replaced whole: whoever broke down while holding the lock left either the old or the new one.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From here on it says this.
    pub fn replace(&self, policy: EffectivePolicy) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }
}

impl Permission for LivePolicy {
    fn permits(&self, id: &str) -> bool {
        self.now().permits(id)
    }
}
