//! `before_tool_call` hooks: what may stop or rewrite a call before anybody is asked to approve it.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::catalog::{CallContext, Tool};

/// How long a hook may take when it does not say. The clock of the run goes on meanwhile, so this is half of the usual one.
pub const HOOK_LIMIT: Duration = Duration::from_secs(5);

/// A call that waits for a hook's word.
#[derive(Clone, Copy, Debug)]
pub struct PendingCall<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// The arguments as they would go to the backend: an object that fits the tool's schema.
    pub args: &'a Value,
    /// Which call of which run.
    pub context: &'a CallContext,
}

/// A hook's word.
#[derive(Clone, Debug, PartialEq)]
pub enum HookDecision {
    /// The call may go on as it is.
    Allow,
    /// The call may go on with these arguments instead. They are checked against the schema again, and everybody after this hook sees them and
    /// no others.
    Rewrite(Value),
    /// The call must not go.
    Block {
        /// Why, for the body and its author.
        reason: String,
    },
}

fn unstarted(kind: std::io::ErrorKind) -> String {
    if kind == std::io::ErrorKind::NotFound { "there is no such program".to_owned() } else { kind.to_string() }
}

/// Why a hook gave no word. The call does not go then, whatever the reason.
#[derive(Debug, thiserror::Error)]
pub enum HookFault {
    /// Its program cannot be started.
    #[error("it cannot be started: {}", unstarted(*.0))]
    NotStarted(std::io::ErrorKind),
    /// It took too long.
    #[error("it gave no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// Its program ended in a way that is no answer.
    #[error("it ended with {0}")]
    Ended(String),
    /// What it said is no decision.
    #[error("its answer is no decision: {0}")]
    Unreadable(String),
    /// It said more than anybody reads.
    #[error("its answer is longer than {limit} bytes")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// It broke down.
    #[error("it broke down")]
    Panicked,
    /// A reason of its own.
    #[error("{0}")]
    Other(String),
}

/// Looks at each call before it goes.
///
/// It is asked exactly once for each call that policy and schema let pass, never for searches and descriptions. Dropping its future calls it off: the run
/// was cancelled, or the limit is over.
#[async_trait]
pub trait BeforeToolCall: Send + Sync + fmt::Debug {
    /// The name in messages and logs.
    fn name(&self) -> &str;

    /// How long it may take.
    fn limit(&self) -> Duration {
        HOOK_LIMIT
    }

    /// Gives its word on a call.
    ///
    /// # Errors
    ///
    /// When it cannot. The call is refused with `hook_failed`.
    async fn before_tool_call(&self, call: PendingCall<'_>) -> Result<HookDecision, HookFault>;
}
