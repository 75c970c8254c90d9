//! Whom the gate asks, where the gateway wants to be asked.

use async_trait::async_trait;
use codemode_protocol::JsonText;
use codemode_protocol::gateway::{ApprovalWord, Ask, CalledTool, HookWord, RunName, ToolSource};
use serde_json::Value;

use crate::catalog::gateway::Peer;
use crate::catalog::{MOST_WEIGHT, Source, Tool, weighed};
use crate::gate::{ApprovalAnswer, ApprovalRequest, Approver, BeforeToolCall, HookDecision, HookFault, PendingCall};

/// Puts questions of one run to its gateway.
#[derive(Debug)]
pub(super) struct RemoteApprover {
    pub(super) peer: Peer,
    pub(super) run: RunName,
}

/// Puts calls of one run before its gateway.
#[derive(Debug)]
pub(super) struct RemoteHook {
    pub(super) peer: Peer,
    pub(super) run: RunName,
}

#[async_trait]
impl Approver for RemoteApprover {
    async fn ask(&self, question: &ApprovalRequest) -> ApprovalAnswer {
        let unavailable = |reason: String| ApprovalAnswer::Unavailable { reason };
        let Some(args) = text(&question.args) else { return unavailable("the arguments have no JSON".to_owned()) };
        let ask = Ask::Approve { run: self.run.clone(), seq: question.seq, tool: called(&question.tool), args };
        match self.peer.ask(&ask).await {
            Ok(answer) => match ApprovalWord::read(&answer) {
                Ok(ApprovalWord::Granted) => ApprovalAnswer::Granted,
                Ok(ApprovalWord::Refused { reason }) => ApprovalAnswer::Refused { reason },
                Ok(ApprovalWord::Unavailable { reason }) => unavailable(reason),
                Err(violation) => unavailable(format!("the gateway's answer is not one: {violation}")),
            },
            Err(failure) => unavailable(failure.to_string()),
        }
    }
}

#[async_trait]
impl BeforeToolCall for RemoteHook {
    fn name(&self) -> &str {
        "gateway"
    }

    async fn before_tool_call(&self, call: PendingCall<'_>) -> Result<HookDecision, HookFault> {
        let args = text(call.args).ok_or_else(|| HookFault::Other("the arguments have no JSON".to_owned()))?;
        let ask = Ask::Hook { run: self.run.clone(), seq: call.context.seq, tool: called(call.tool), args };
        let answer = self.peer.ask(&ask).await.map_err(|failure| HookFault::Other(failure.to_string()))?;
        let word = HookWord::read(&answer).map_err(|violation| HookFault::Unreadable(violation.to_string()))?;
        Ok(match word {
            HookWord::Allow { args: None } => HookDecision::Allow,
            HookWord::Allow { args: Some(args) } => {
                if weighed(args.text(), MOST_WEIGHT).is_err() {
                    return Err(HookFault::Unreadable(format!(
                        "its arguments have so many values that they take more than {MOST_WEIGHT} bytes of memory"
                    )));
                }
                HookDecision::Rewrite(args.to_value().map_err(|violation| HookFault::Unreadable(violation.to_string()))?)
            }
            HookWord::Block { reason } => HookDecision::Block { reason: reason.unwrap_or_else(|| "no reason given".to_owned()) },
        })
    }
}

fn text(args: &Value) -> Option<JsonText> {
    JsonText::of(args).ok()
}

fn called(tool: &Tool) -> CalledTool {
    let source = match tool.source {
        Source::Openclaw => ToolSource::Openclaw,
        Source::Plugin => ToolSource::Plugin,
        Source::Mcp => ToolSource::Mcp,
        Source::Client => ToolSource::Client,
    };
    CalledTool { id: tool.id.clone(), source, source_name: tool.source_name.clone(), name: tool.name.clone() }
}
