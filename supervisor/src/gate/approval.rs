//! Calls that a person has to approve.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Glob;
use crate::catalog::Tool;

/// What a rule says about the tools that its pattern fits. The order is the order of restriction, least first.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalRule {
    /// Nobody is asked.
    #[default]
    Allow,
    /// A person is asked, each time.
    Ask,
    /// Nobody is asked, and the answer is no.
    Deny,
}

/// The rules, each with its pattern of tool ids. No rules: nobody is asked.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Approvals(Vec<(Glob, ApprovalRule)>);

impl Approvals {
    /// These rules. Their order means nothing.
    pub fn new(rules: impl IntoIterator<Item = (Glob, ApprovalRule)>) -> Approvals {
        Approvals(rules.into_iter().collect())
    }

    /// The most restrictive of all the rules that fit; [`ApprovalRule::Allow`] when none does.
    pub fn rule_for(&self, id: &str) -> ApprovalRule {
        self.0.iter().filter(|(glob, _)| glob.matches(id)).map(|(_, rule)| *rule).max().unwrap_or_default()
    }

    /// The patterns of the tools about which a person may have to be asked.
    pub fn asking(&self) -> impl Iterator<Item = &Glob> {
        self.0.iter().filter(|(_, rule)| *rule == ApprovalRule::Ask).map(|(glob, _)| glob)
    }

    /// Whether any call could have to wait for a person.
    pub fn may_ask(&self) -> bool {
        self.asking().next().is_some()
    }
}

/// A question to a person.
#[derive(Clone, Debug)]
pub struct ApprovalRequest {
    /// The tool. Its texts are its origin's, who may be a stranger: clean them before they are shown.
    pub tool: Arc<Tool>,
    /// The arguments exactly as the backend gets them. They are a stranger's words too.
    pub args: Arc<Value>,
    /// The run.
    pub run_id: Arc<str>,
    /// The call's number in the run's ledger.
    pub seq: u64,
}

/// A person's answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ApprovalAnswer {
    /// The call may go, this once.
    Granted,
    /// It may not.
    Refused {
        /// Why, for the body and its author.
        reason: Option<String>,
    },
    /// Nobody can be asked now.
    Unavailable {
        /// Why.
        reason: String,
    },
}

/// Asks a person.
///
/// Questions of one run come one after the other, so two of them are never open at once. Dropping the future withdraws the question: the run was
/// cancelled, or the time for an answer is over.
#[async_trait]
pub trait Approver: Send + Sync + fmt::Debug {
    /// Asks. May take as long as it likes; the gate stops waiting by itself.
    async fn ask(&self, question: &ApprovalRequest) -> ApprovalAnswer;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_restrictive_rule_that_fits_wins_whatever_the_order() {
        let rules = [("demo:*", ApprovalRule::Ask), ("*", ApprovalRule::Allow), ("*:drop", ApprovalRule::Deny)];
        let rules = rules.map(|(glob, rule)| (Glob::new(glob), rule));
        for order in [vec![0, 1, 2], vec![2, 1, 0], vec![1, 2, 0]] {
            let approvals = Approvals::new(order.into_iter().map(|index| rules[index].clone()));
            assert_eq!(approvals.rule_for("demo:echo"), ApprovalRule::Ask);
            assert_eq!(approvals.rule_for("demo:drop"), ApprovalRule::Deny);
            assert_eq!(approvals.rule_for("other:echo"), ApprovalRule::Allow);
        }
        assert_eq!(Approvals::default().rule_for("demo:echo"), ApprovalRule::Allow);
        assert!(!Approvals::default().may_ask());
    }
}
