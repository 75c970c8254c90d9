//! Hooks that are programs: a JSON object on standard input, a JSON object on standard output.
//!
//! Input, one line:
//! `{"event": "before_tool_call", "callId": "RUN/SEQ", "runId": "RUN", "seq": 1, "tool": {"id", "source", "sourceName", "name"}, "args": {…}}`.
//! Output: `{"decision": "allow"}`, `{"decision": "allow", "args": {…}}` to rewrite the arguments, or `{"decision": "block", "reason": "…"}`; and exit code 0.
//! Anything else is a failure of the hook, and then the call does not go.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use codemode_protocol::Limit;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::hook::{BeforeToolCall, HOOK_LIMIT, HookDecision, HookFault, PendingCall};
use super::process::{ask, ending};

/// Bytes of an answer: the largest arguments that any configuration allows, and a reason beside them.
const ANSWER_BYTES: usize = (Limit::ArgsBytes.cap() + (64 << 10)) as usize;

/// A hook that is a program, started once for each call: without a shell, with little of the environment, in a process group of its own that does not outlive
/// its answer.
#[derive(Clone, Debug)]
pub struct CommandHook {
    name: String,
    command: Vec<String>,
    limit: Duration,
}

impl CommandHook {
    /// A program and its arguments. A program without a slash is looked for on the PATH. An empty list is a hook that always fails.
    pub fn new(command: Vec<String>) -> CommandHook {
        let program = command.first().map(Path::new).and_then(Path::file_name);
        let name = program.map_or_else(|| "hook".to_owned(), |name| name.to_string_lossy().into_owned());
        CommandHook { name, command, limit: HOOK_LIMIT }
    }

    /// The same with another time for one answer.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> CommandHook {
        self.limit = limit;
        self
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    decision: Decision,
    reason: Option<String>,
    args: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Allow,
    Block,
}

#[async_trait]
impl BeforeToolCall for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    fn limit(&self) -> Duration {
        self.limit
    }

    async fn before_tool_call(&self, call: PendingCall<'_>) -> Result<HookDecision, HookFault> {
        let mut input = question(call).to_string().into_bytes();
        input.push(b'\n');
        let said = ask(&self.command, input, ANSWER_BYTES).await.map_err(|error| HookFault::NotStarted(error.kind()))?;
        if said.stdout.len() > ANSWER_BYTES {
            return Err(HookFault::TooLong { limit: ANSWER_BYTES });
        }
        if !said.status.success() {
            // Its complaints may name secrets of the host: they are for those who run it, not for a body.
            tracing::warn!(hook = self.name, ending = ending(said.status), stderr = %String::from_utf8_lossy(&said.stderr), "a hook failed");
            return Err(HookFault::Ended(ending(said.status)));
        }
        decision(&said.stdout)
    }
}

fn question(call: PendingCall<'_>) -> Value {
    let (tool, context) = (call.tool, call.context);
    json!({
        "event": "before_tool_call",
        "callId": format!("{}/{}", context.run_id, context.seq),
        "runId": &*context.run_id,
        "seq": context.seq,
        "tool": {"id": tool.id, "source": tool.source.as_str(), "sourceName": tool.source_name, "name": tool.name},
        "args": call.args,
    })
}

fn decision(said: &[u8]) -> Result<HookDecision, HookFault> {
    // A list would be read as the fields in their order.
    if !said.trim_ascii_start().starts_with(b"{") {
        return Err(HookFault::Unreadable(r#"it is no JSON object such as {"decision": "allow"}"#.to_owned()));
    }
    // The reader has a limit of depth of its own.
    let answer: Answer = serde_json::from_slice(said).map_err(|error| HookFault::Unreadable(error.to_string()))?;
    Ok(match (answer.decision, answer.args) {
        (Decision::Block, _) => HookDecision::Block { reason: answer.reason.unwrap_or_else(|| "no reason given".to_owned()) },
        (Decision::Allow, Some(args)) => HookDecision::Rewrite(Value::Object(args)),
        (Decision::Allow, None) => HookDecision::Allow,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_decision_is_one() {
        let said = |text: &str| decision(text.as_bytes());
        assert_eq!(said(r#"{"decision": "allow"}"#).unwrap(), HookDecision::Allow);
        assert_eq!(said(r#"{"decision": "allow", "args": {"a": 1}}"#).unwrap(), HookDecision::Rewrite(json!({"a": 1})));
        assert_eq!(said(r#"{"decision": "block", "reason": "no"}"#).unwrap(), HookDecision::Block { reason: "no".into() });
        assert!(matches!(said(r#"{"decision": "block", "args": {}}"#).unwrap(), HookDecision::Block { .. }));
        for bad in [
            "",
            "null",
            "true",
            "{}",
            r#"{"decision": "al"#,
            r#"{"decision": "Allow"}"#,
            r#"{"decision": "allow"} {"decision": "block"}"#,
            r#"{"decision": "allow", "decision": "block"}"#,
            r#"{"decision": "allow", "args": []}"#,
            r#"{"decision": "allow", "arguments": {}}"#,
            "allow",
            r#"["allow", null, {}]"#,
            "\u{feff}{\"decision\": \"allow\"}",
        ] {
            assert!(matches!(said(bad), Err(HookFault::Unreadable(_))), "{bad}");
        }
    }
}
