//! From the params of `run.start` to a run.

use std::sync::Arc;

use codemode_protocol::gateway::{ApprovalRule as RuleWord, Context, RunStart};
use codemode_protocol::{LimitError, RunLimits};

use crate::catalog::RunContext;
use crate::gate::{ApprovalRule, Approvals, Glob};

/// The limits of a run: the usual ones where it says nothing.
pub(super) fn limits(start: &RunStart, usual: RunLimits) -> Result<RunLimits, LimitError> {
    start.limits.iter().try_fold(usual, |limits, (limit, value)| limits.with(*limit, *value))
}

/// For whom it is.
pub(super) fn context(context: Context) -> RunContext {
    let id = |id: Option<String>| id.map(Arc::from);
    RunContext {
        agent: id(context.agent),
        profile: id(context.profile),
        session: id(context.session),
        channel: id(context.channel),
        runtime: id(context.runtime),
        harness: id(context.harness),
        sandbox: false,
    }
}

/// Its rules for approvals.
pub(super) fn approvals(start: &RunStart) -> Approvals {
    let rule = |word: &RuleWord| match word {
        RuleWord::Allow => ApprovalRule::Allow,
        RuleWord::Ask => ApprovalRule::Ask,
        RuleWord::Deny => ApprovalRule::Deny,
    };
    Approvals::new(start.approvals.iter().map(|(pattern, word)| (Glob::new(pattern), rule(word))))
}
