//! The gate that a configuration describes.

use std::sync::Arc;

use super::Config;
use crate::gate::{Approvals, CommandHook, Gate};

impl Config {
    /// Its hooks, in their order, and its rules for approvals. Policy is a matter of the run ([`Config::effective`]), and who is asked for approvals one of
    /// whoever runs this.
    pub fn gate(&self) -> Gate {
        let gate = Gate::new().with_approvals(Approvals::new(self.approvals.iter().cloned()));
        self.before_tool_call
            .iter()
            .fold(gate, |gate, hook| gate.with_hook(Arc::new(CommandHook::new(hook.command.clone()).with_limit(hook.timeout))))
    }
}
