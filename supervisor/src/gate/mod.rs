//! The gate: what a call passes between the body's request and the backend.
//!
//! The order is fixed: policy ▸ argument schema ▸ hooks (rewrites are checked again) ▸ approval ▸ backend ▸ output schema ▸
//! redaction. Everything before the backend can refuse the call, and then nothing has happened. Today the gate checks arguments; each further
//! step takes its place in [`Gate::check`] and [`Gate`]'s fields.

mod arguments;
mod decode;
mod faults;
mod policy;

pub use arguments::{CheckedArguments, check_arguments};
pub use policy::{Glob, Policed, Policy};

use serde_json::Value;

use crate::catalog::{CallContext, CallFailure, Tool};

/// The rules that stand between a body and the tools of its catalog.
#[derive(Debug, Default)]
pub struct Gate {}

impl Gate {
    /// A gate that checks arguments and nothing else.
    pub fn new() -> Gate {
        Gate::default()
    }

    /// Asks whether this call may go. The arguments that come back are the ones to send: they may differ from the body's own.
    ///
    /// # Errors
    /// The first step that refuses; nothing has been dispatched then.
    pub async fn check(&self, tool: &Tool, args: Value, _context: &CallContext) -> Result<CheckedArguments, CallFailure> {
        check_arguments(tool, args)
    }
}
