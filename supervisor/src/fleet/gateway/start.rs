//! From a request to the params of `run.start`.

use std::collections::BTreeMap;
use std::sync::Arc;

use codemode_protocol::gateway::{ApprovalRule, CatalogChoice, Context, RunName, RunStart, Wants};
use codemode_protocol::{Limit, RunLimits};

use crate::catalog::RunContext;
use crate::gate::Gate;

/// Rules that the wire carries, and bytes of the pattern of one.
const MOST_RULES: usize = 1_024;
const MOST_PATTERN: usize = 1_024;

/// The run as its worker gets to know it: body, limits, ids. No tool, and of the rules those alone at which the clock may have to stand.
pub(super) fn start(run: RunName, body: String, limits: &RunLimits, context: &RunContext, gate: &Gate, hears_calls: bool) -> RunStart {
    let approvals = asking(gate);
    RunStart {
        run,
        body,
        limits: Limit::ALL
            .into_iter()
            .map(|limit| (limit, limits.get(limit)))
            .filter(|(limit, value)| *value != limit.default_value())
            .collect(),
        context: named(context),
        catalog: CatalogChoice::Gateway,
        wants: Wants { approvals: !approvals.is_empty(), hooks: false, logs: true, calls: hears_calls },
        approvals,
    }
}

/// Which calls may have to wait for a person. Where the wire cannot say it, each of them: the gate decides here in any case, and then no clock stands.
fn asking(gate: &Gate) -> BTreeMap<String, ApprovalRule> {
    let patterns: Vec<String> = gate.asking().map(ToString::to_string).collect();
    let every = || BTreeMap::from([("*".to_owned(), ApprovalRule::Ask)]);
    if patterns.len() > MOST_RULES || patterns.iter().any(|pattern| pattern.len() > MOST_PATTERN) {
        return every();
    }
    patterns.into_iter().map(|pattern| (pattern, ApprovalRule::Ask)).collect()
}

/// For logs of the worker; an id that the wire does not carry is left out.
fn named(context: &RunContext) -> Context {
    let id = |id: &Option<Arc<str>>| id.as_deref().and_then(RunName::new).map(|name| name.as_str().to_owned());
    Context {
        agent: id(&context.agent),
        profile: id(&context.profile),
        session: id(&context.session),
        channel: id(&context.channel),
        runtime: id(&context.runtime),
        harness: id(&context.harness),
    }
}

#[cfg(test)]
mod tests {
    use codemode_protocol::RequestId;
    use codemode_protocol::gateway::{FromGateway, GatewayAsk};

    use super::*;
    use crate::gate::{ApprovalRule as Rule, Approvals, Glob};

    #[test]
    fn a_worker_learns_what_it_needs_and_the_wire_takes_it() {
        let rules = [("mail:*", Rule::Ask), ("secret:*", Rule::Deny), ("x", Rule::Allow)].map(|(glob, rule)| (Glob::new(glob), rule));
        let gate = Gate::new().with_approvals(Approvals::new(rules));
        let limits = RunLimits::default().with(Limit::WallMs, 1_234).unwrap();
        let context = RunContext { agent: Some("a".into()), session: Some("two\nlines".into()), ..RunContext::default() };
        let start = start(RunName::new("r").unwrap(), "return 1".to_owned(), &limits, &context, &gate, true);
        assert_eq!(start.approvals.keys().collect::<Vec<_>>(), ["mail:*"]);
        assert_eq!(start.limits, BTreeMap::from([(Limit::WallMs, 1_234)]));
        assert_eq!((start.context.agent.as_deref(), start.context.session.as_deref()), (Some("a"), None));
        let message = FromGateway::Request { id: RequestId::new(1).unwrap(), ask: GatewayAsk::Start(Box::new(start)) };
        assert_eq!(FromGateway::parse(&serde_json::to_string(&message).unwrap()), Ok(message));
    }
}
