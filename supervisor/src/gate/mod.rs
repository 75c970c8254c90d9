//! The gate: what a call passes between a request and a backend, whoever asks.
//!
//! The order is fixed: policy ▸ argument schema ▸ hooks (rewrites are checked again) ▸ approval ▸ backend ▸ output schema ▸ redaction (for logs alone). Each
//! step is taken once for each call. Everything before the backend can refuse the call, and then nothing has happened.
//!
//! A [`Gate`] holds the rules; a [`Passage`] is the way of one run's calls through them, and the only one: a run and every other surface take the same.
//! Whoever embeds brings a [`Permission`], any number of [`BeforeToolCall`], and an [`Approver`].

mod approval;
mod arguments;
mod command;
mod decode;
mod faults;
mod guard;
mod hook;
mod line;
mod output;
mod passage;
mod policy;
mod process;
mod question;
mod redact;
mod rules;
mod step;

pub use crate::catalog::Permission;
pub use approval::{ApprovalAnswer, ApprovalRequest, ApprovalRule, Approvals, Approver};
pub use arguments::{CheckedArguments, check_arguments};
pub use command::CommandHook;
pub use hook::{BeforeToolCall, HOOK_LIMIT, HookDecision, HookFault, PendingCall};
pub use passage::{Admitted, Passage};
pub use policy::{Glob, Policed, Policy};
#[cfg(test)]
pub(crate) use question::rows;
pub(crate) use question::{ShownCall, is_one_row, one_line};
pub use redact::{MASK, redacted};
pub use rules::{CALL_LIMIT, Gate};
pub use step::{Listener, Step, StepOutcome, StepTaken, Told};
