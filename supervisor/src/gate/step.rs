//! What the gate tells of a call on its way, for logs and screens.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::catalog::{CallCode, Source};

/// The steps that a call takes, in their order. A call that is refused takes none after the one that refuses it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Which tool is meant, whether it may be called, and whether it is there: as things are now.
    Policy,
    /// The arguments against the tool's schema, texts decoded where the schema wants an object or array.
    Arguments,
    /// The hooks, one after the other; each sees what the one before it left.
    Hooks,
    /// What the rules, or a person, say to it.
    Approval,
    /// The backend. Before it nothing has happened.
    Call,
    /// The value against the tool's own schema of it.
    Output,
    /// The value as logs may keep it.
    Redaction,
}

impl Step {
    /// Every step, in order.
    pub const ALL: [Step; 7] = [Step::Policy, Step::Arguments, Step::Hooks, Step::Approval, Step::Call, Step::Output, Step::Redaction];
}

/// How a step went.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// The call goes on. A step that has nothing to do (no hook, no rule) is passed too.
    Passed,
    /// The call goes on with other arguments.
    Changed,
    /// The call ends here.
    Stopped,
}

/// One step of one call, as it went.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepTaken {
    /// Which.
    pub step: Step,
    /// How it went.
    pub outcome: StepOutcome,
    /// Why it stopped the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CallCode>,
    /// Who took part: the hooks that were asked, in order; `rule` or `approver` at an approval; nobody elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// How long it took.
    #[serde(rename = "durationMs", serialize_with = "millis")]
    pub duration: Duration,
    /// The arguments as they are after this step, secrets masked and long texts cut; at [`Step::Redaction`] the value, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Value>,
}

fn millis<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    // Exact for 285 years, f64 has 53 bits for the microseconds.
    to.serialize_f64(time.as_micros() as f64 / 1000.0)
}

/// What a [`Listener`] hears of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Told {
    /// It is known which tool is meant, and that it may be known.
    Resolved {
        /// Its id.
        id: String,
        /// Where it comes from.
        source: Source,
    },
    /// The call waits for a person, or for its turn to.
    ApprovalStarted,
    /// It waits no longer.
    ApprovalEnded,
    /// A step is over.
    Step(StepTaken),
}

/// Hears what becomes of calls while they are on their way: in order for each call, and from whatever thread it is on. Must not block.
pub trait Listener: Send + Sync + fmt::Debug {
    /// Takes the news of the call with this number.
    fn hear(&self, seq: u64, told: Told);

    /// Whether [`Told::Step`] is of interest. Without it nothing is masked or copied for a log that nobody keeps.
    fn wants_steps(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_reads_as_a_line_of_a_log() {
        let taken = StepTaken {
            step: Step::Hooks,
            outcome: StepOutcome::Stopped,
            code: Some(CallCode::HookFailed),
            by: vec!["audit".into()],
            duration: Duration::from_micros(1_250),
            shown: None,
        };
        let line = r#"{"step":"hooks","outcome":"stopped","code":"hook_failed","by":["audit"],"durationMs":1.25}"#;
        assert_eq!(serde_json::to_string(&taken).unwrap(), line);
        assert!(Step::ALL.is_sorted());
    }
}
