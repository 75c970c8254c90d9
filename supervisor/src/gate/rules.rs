//! What stands between calls and tools, as a configuration has it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::{Approvals, Approver, BeforeToolCall, Glob, Permission};

/// How long one call may take when nothing else is said: the most that a run's own clock allows. A surface without a clock has this one.
pub const CALL_LIMIT: Duration = Duration::from_secs(60);

/// Checks of much at a time, for all runs of a gate: one may take a hundred bytes of memory for each byte that it looks at.
const LARGE_CHECKS: usize = 2;

/// The rules that stand between a body and the tools of its catalog. The same value serves any number of runs and surfaces; what one of them needs for
/// itself is its [`super::Passage`].
///
/// The default has no rule: arguments and values are checked against their schemas, and that is all.
///
/// ```
/// use codemode::gate::{ApprovalRule, Approvals, Gate, Glob};
///
/// let gate = Gate::new().with_approvals(Approvals::new([(Glob::new("mail:*"), ApprovalRule::Ask)]));
/// ```
#[derive(Clone, Debug)]
pub struct Gate {
    pub(super) policy: Option<Arc<dyn Permission>>,
    pub(super) hooks: Vec<Arc<dyn BeforeToolCall>>,
    pub(super) approvals: Approvals,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) call_limit: Duration,
    /// Turns for checks of much, see [`LARGE_CHECKS`].
    pub(super) large_checks: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Gate {
        Gate {
            policy: None,
            hooks: Vec::new(),
            approvals: Approvals::default(),
            approver: None,
            call_limit: CALL_LIMIT,
            large_checks: Arc::new(Semaphore::new(LARGE_CHECKS)),
        }
    }
}

impl Gate {
    /// Does what may take its time on a thread of its own, in its turn: the clock of the run goes on, and so does everybody else. The turn is kept until the work is
    /// done, whoever has stopped waiting for it. Nothing when the work panicked.
    pub(super) async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let turn = Arc::clone(&self.large_checks).acquire_owned().await.ok()?;
        let working = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        working.await.ok()
    }

    /// A gate that checks against schemas and nothing else.
    pub fn new() -> Gate {
        Gate::default()
    }

    /// The same gate, which asks `policy` at each call, search and description, as things are then.
    #[must_use]
    pub fn with_policy(mut self, policy: Arc<dyn Permission>) -> Gate {
        self.policy = Some(policy);
        self
    }

    /// The same gate with one more hook. Hooks are asked in the order in which they were added.
    #[must_use]
    pub fn with_hook(mut self, hook: Arc<dyn BeforeToolCall>) -> Gate {
        self.hooks.push(hook);
        self
    }

    /// The same gate with these rules for approvals.
    #[must_use]
    pub fn with_approvals(mut self, approvals: Approvals) -> Gate {
        self.approvals = approvals;
        self
    }

    /// The same gate with somebody to ask. Without one, a call that needs an approval is refused.
    #[must_use]
    pub fn with_approver(mut self, approver: Arc<dyn Approver>) -> Gate {
        self.approver = Some(approver);
        self
    }

    /// The same gate with another limit for one call to a backend.
    #[must_use]
    pub fn with_call_limit(mut self, limit: Duration) -> Gate {
        self.call_limit = limit;
        self
    }

    /// Whether a call may have to wait for somebody before it is dispatched.
    pub(crate) fn may_wait(&self) -> bool {
        !self.hooks.is_empty() || self.approvals.may_ask()
    }

    /// Which calls may have to wait for a person.
    pub(crate) fn asking(&self) -> impl Iterator<Item = &Glob> {
        self.approvals.asking()
    }

    pub(super) fn permits(&self, id: &str) -> bool {
        self.policy.as_ref().is_none_or(|policy| policy.permits(id))
    }
}
