//! The way of calls through the gate: the one code path from a request to a backend, whoever asks.
//!
//! Policy ▸ arguments ▸ hooks ▸ approval ▸ call ▸ output ▸ redaction. [`Passage::admit`] takes the steps before the backend and gives an [`Admitted`], which
//! nothing else makes; [`Passage::call`] takes it, and the steps from the backend on. Between the two a caller writes down that the call is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use codemode_protocol::{JsonText, Limit};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::guard::{Panicked, caught_within};
use super::hook::{HookDecision, HookFault, PendingCall};
use super::line::{Line, Place};
use super::output::{check_output, is_checkable};
use super::redact::redacted;
use super::step::{Listener, Step, StepOutcome, StepTaken, Told};
use super::{ApprovalAnswer, ApprovalRequest, ApprovalRule, Approver, CheckedArguments, Gate, check_arguments};
use crate::catalog::{
    ARGS_WEIGHT, CallCode, CallContext, CallFailure, Catalog, Schema, SearchQuery, TooHeavy, Tool, cleaned_line, quoted, weighed,
};

/// Arguments up to this size are checked where the caller is: that takes microseconds, and a thread would take more. What a schema can make of them is
/// bounded (`catalog::Schema`), but the bound is for the largest arguments.
const CHECKED_AT_ONCE: usize = 4 * 1024;

/// Questions that one run may put to a person. Who is asked a hundred times by one body does not read the questions any more.
const MOST_QUESTIONS: usize = 64;

/// Characters of a reason that a hook or a person gave.
const REASON_CHARS: usize = 500;

/// A call that passed everything that can stop it before dispatch. Only [`Passage::admit`] makes one.
#[derive(Debug)]
pub struct Admitted {
    tool: Arc<Tool>,
    args: Arc<Value>,
    context: CallContext,
    decoded: Vec<String>,
    rewritten_by: Vec<String>,
    args_bytes: usize,
}

impl Admitted {
    /// The tool.
    pub fn tool(&self) -> &Arc<Tool> {
        &self.tool
    }

    /// The arguments as the backend gets them.
    pub fn args(&self) -> &Value {
        &self.args
    }

    /// Paths of arguments that came as text and were decoded.
    pub fn decoded(&self) -> &[String] {
        &self.decoded
    }

    /// The hooks that rewrote the arguments, in order.
    pub fn rewritten_by(&self) -> &[String] {
        &self.rewritten_by
    }

    /// JSON text of the arguments in bytes: as they came, or as the last hook that rewrote them left them.
    pub fn args_bytes(&self) -> usize {
        self.args_bytes
    }

    #[cfg(any(test, feature = "danger"))]
    pub(crate) fn unasked(tool: Arc<Tool>, args: Value, args_bytes: usize) -> Admitted {
        let context = CallContext { run_id: "test".into(), seq: 1 };
        Admitted { tool, args: Arc::new(args), context, decoded: Vec::new(), rewritten_by: Vec::new(), args_bytes }
    }
}

/// What one run, or one session of another surface, has of the gate: its catalog, its limits, and its turn at asking a person.
#[derive(Debug)]
pub struct Passage {
    gate: Arc<Gate>,
    catalog: Arc<dyn Catalog>,
    run_id: Arc<str>,
    listener: Option<Arc<dyn Listener>>,
    approval_limit: Duration,
    args_limit: u64,
    line: Arc<Line>,
    questions: AtomicUsize,
}

impl Passage {
    /// Through `gate` to `catalog`, at the default limits, with nobody who listens.
    pub fn new(gate: Arc<Gate>, catalog: Arc<dyn Catalog>, run_id: Arc<str>) -> Passage {
        Passage {
            gate,
            catalog,
            run_id,
            listener: None,
            approval_limit: Duration::from_millis(Limit::ApprovalMs.default_value()),
            args_limit: Limit::ArgsBytes.default_value(),
            line: Arc::default(),
            questions: AtomicUsize::new(0),
        }
    }

    /// The same with somebody who hears of every step.
    #[must_use]
    pub fn with_listener(mut self, listener: Arc<dyn Listener>) -> Passage {
        self.listener = Some(listener);
        self
    }

    /// The same with another time for the answer to one question.
    #[must_use]
    pub fn with_approval_limit(mut self, limit: Duration) -> Passage {
        self.approval_limit = limit;
        self
    }

    /// The same with another limit for the JSON text of one call's arguments, in bytes.
    #[must_use]
    pub fn with_args_limit(mut self, bytes: u64) -> Passage {
        self.args_limit = bytes;
        self
    }

    /// The same for one request of a session, with its own person to ask: its questions are counted for themselves, and stand in the session's line.
    #[must_use]
    pub fn for_request(&self, approver: Arc<dyn Approver>) -> Passage {
        Passage {
            gate: Arc::new((*self.gate).clone().with_approver(approver)),
            catalog: Arc::clone(&self.catalog),
            run_id: Arc::clone(&self.run_id),
            listener: self.listener.clone(),
            approval_limit: self.approval_limit,
            args_limit: self.args_limit,
            line: Arc::clone(&self.line),
            questions: AtomicUsize::new(0),
        }
    }

    /// Whether a call may have to wait for somebody before it is dispatched.
    pub(crate) fn may_wait(&self) -> bool {
        self.gate.may_wait()
    }

    /// The best tools for a query, of those that the policy permits now.
    ///
    /// # Errors
    /// The catalog's.
    pub async fn search(&self, query: &SearchQuery) -> Result<Vec<Arc<Tool>>, CallFailure> {
        let mut found = self.catalog.search(query).await?;
        found.retain(|tool| self.gate.permits(&tool.id));
        Ok(found)
    }

    /// The tool with this id or unique bare name, if the policy permits it now.
    ///
    /// # Errors
    /// The catalog's; `denied`, with no word about the tool.
    pub async fn describe(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        let tool = self.catalog.describe(id).await?;
        if self.gate.permits(&tool.id) { Ok(tool) } else { Err(CallFailure::denied(id)) }
    }

    /// Both halves, for a surface that keeps no ledger.
    ///
    /// # Errors
    /// Those of [`Passage::admit`] and [`Passage::call`].
    pub async fn pass(&self, seq: u64, id: &str, args: &JsonText) -> Result<Value, CallFailure> {
        let admitted = self.admit(seq, id, args).await?;
        self.call(admitted).await
    }

    /// Asks whether this call may go. Dropping the future calls everything off: hooks, and an open question.
    ///
    /// # Errors
    /// The first step that refuses. Nothing has been dispatched then.
    pub async fn admit(&self, seq: u64, id: &str, args: &JsonText) -> Result<Admitted, CallFailure> {
        self.admit_from(self.join(seq), id, args).await
    }

    /// A place for this call in the line before a person, taken when the call is made and not when somebody gets round to it.
    pub(crate) fn join(&self, seq: u64) -> Place {
        self.line.join(seq)
    }

    /// [`Passage::admit`] for a call that stands in line already.
    ///
    /// # Errors
    /// The same.
    pub(crate) async fn admit_from(&self, place: Place, id: &str, args: &JsonText) -> Result<Admitted, CallFailure> {
        let seq = place.seq;
        let context = CallContext { run_id: Arc::clone(&self.run_id), seq };

        let began = Instant::now();
        let found = self.permitted(id).await;
        self.tell(seq, Step::Policy, began, Vec::new(), found.as_ref().map(|_| None));
        let tool = found?;
        self.hear(seq, || Told::Resolved { id: tool.id.clone(), source: tool.source });

        let began = Instant::now();
        let checked = self.checked(&tool, args).await;
        self.tell(seq, Step::Arguments, began, Vec::new(), checked.as_ref().map(|checked| Some((&*tool, &checked.args))));
        let CheckedArguments { args: value, decoded } = checked?;
        let mut call = Admitted { tool, args: Arc::new(value), context, decoded, rewritten_by: Vec::new(), args_bytes: args.bytes() };

        let began = Instant::now();
        let mut asked = Vec::new();
        let hooked = self.hooks(&mut call, &mut asked).await;
        let changed = (!call.rewritten_by.is_empty()).then_some((&*call.tool, &*call.args));
        self.tell(seq, Step::Hooks, began, asked, hooked.as_ref().map(|()| changed));
        hooked?;

        let began = Instant::now();
        let rule = self.gate.approvals.rule_for(&call.tool.id);
        let approved = self.approved(rule, &call, &place).await;
        let by = match rule {
            ApprovalRule::Allow => None,
            ApprovalRule::Deny => Some("rule"),
            ApprovalRule::Ask => Some("approver"),
        };
        let shown = (rule == ApprovalRule::Ask).then_some((&*call.tool, &*call.args));
        self.tell(seq, Step::Approval, began, by.map(str::to_owned).into_iter().collect(), approved.as_ref().map(|()| shown));
        approved?;
        Ok(call)
    }

    /// Asks the backend. Dropping the future cancels the call.
    ///
    /// # Errors
    /// The backend's; `tool_timeout`; `invalid_result` with the value in `data.result` when the value does not fit the tool's own schema of it. In all of
    /// them an effect may have happened.
    pub async fn call(&self, call: Admitted) -> Result<Value, CallFailure> {
        let Admitted { tool, args, context, .. } = call;
        let seq = context.seq;
        let began = Instant::now();
        let shown = self.wants_steps().then(|| redacted(Some(tool.parameters.value()), &args));
        // Who was asked to approve may hold the arguments still; then the backend gets a copy.
        let args = Arc::try_unwrap(args).unwrap_or_else(|shared| (*shared).clone());
        let limit = self.gate.call_limit;
        let answered = timeout(limit, self.catalog.call(&tool, args, &context)).await.unwrap_or_else(|_| Err(timed_out(&tool, limit)));
        self.tell_shown(seq, Step::Call, began, Vec::new(), answered.as_ref().map(|_| shown.clone()));
        let value = answered?;

        let began = Instant::now();
        let checked = check_output(&tool, value, &self.gate).await;
        self.tell(seq, Step::Output, began, Vec::new(), checked.as_ref().map(|_| None));
        let value = checked?;

        if self.wants_steps() {
            let began = Instant::now();
            let shown = redacted(tool.output_schema.as_ref().map(|schema| schema.value()), &value);
            self.tell_shown(seq, Step::Redaction, began, Vec::new(), Ok(Some(shown)));
        }
        Ok(value)
    }

    async fn permitted(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        let tool = self.catalog.resolve(id).await?;
        if !self.gate.permits(&tool.id) {
            return Err(CallFailure::denied(id));
        }
        self.catalog.available(&tool).await?;
        Ok(tool)
    }

    /// Both schemas are made ready here: a tool whose value cannot be checked is refused before anything has happened, and before anybody is asked.
    async fn checked(&self, tool: &Arc<Tool>, args: &JsonText) -> Result<CheckedArguments, CallFailure> {
        let limit = usize::try_from(self.args_limit).unwrap_or(usize::MAX);
        if args.bytes() > limit {
            return Err(too_large(tool, args.bytes(), limit));
        }
        // Many calls may wait at once, each with its arguments.
        weighed(args.text(), ARGS_WEIGHT.saturating_mul(limit)).map_err(|heavy| {
            let TooHeavy { weight, limit } = heavy;
            let message = format!(
                "arguments of {} have so many values that they take {weight} bytes of memory where {limit} are the limit; use fewer at a time",
                quoted(&tool.id)
            );
            CallFailure::new(CallCode::TooLarge, &tool.id, message).with_data(heavy.data())
        })?;
        let work = |tool: &Tool, args: &JsonText| {
            let unreadable = |_| CallFailure::new(CallCode::InvalidArguments, &tool.id, "the arguments are no JSON this side can read");
            let checked = check_arguments(tool, args.to_value().map_err(unreadable)?)?;
            is_checkable(tool)?;
            Ok(checked)
        };
        if args.bytes() <= CHECKED_AT_ONCE && tool.parameters.is_quick() && tool.output_schema.as_ref().is_none_or(Schema::is_quick) {
            return work(tool, args);
        }
        let (own, text) = (Arc::clone(tool), args.clone());
        let checked = self.gate.in_turn(move || work(&own, &text)).await;
        checked.unwrap_or_else(|| Err(CallFailure::new(CallCode::InvalidArguments, &tool.id, "the arguments could not be checked")))
    }

    async fn hooks(&self, call: &mut Admitted, asked: &mut Vec<String>) -> Result<(), CallFailure> {
        for hook in &self.gate.hooks {
            let name = cleaned_line(hook.name(), REASON_CHARS).into_owned();
            asked.push(name.clone());
            let limit = hook.limit();
            let decision = {
                let pending = PendingCall { tool: &call.tool, args: &call.args, context: &call.context };
                match caught_within(limit, || hook.before_tool_call(pending)).await {
                    Some(Ok(decision)) => decision,
                    Some(Err(Panicked)) => Err(HookFault::Panicked),
                    None => Err(HookFault::TimedOut(limit)),
                }
            };
            match decision {
                Ok(HookDecision::Allow) => {}
                Ok(HookDecision::Rewrite(args)) => self.rewrite(call, &name, args).await?,
                Ok(HookDecision::Block { reason }) => return Err(blocked(call, &name, &reason)),
                Err(fault) => return Err(hook_failed(call, &name, &fault.to_string())),
            }
        }
        Ok(())
    }

    /// Takes a hook's arguments, if the tool's schema does.
    async fn rewrite(&self, call: &mut Admitted, hook: &str, args: Value) -> Result<(), CallFailure> {
        let Ok(text) = JsonText::of(&args) else {
            return Err(hook_failed(call, hook, "its arguments have no JSON"));
        };
        let checked = self.checked(&call.tool, &text).await.map_err(|failure| {
            let why = format!("the arguments that it gave cannot go: {}", failure.message);
            hook_failed(call, hook, &why).with_data(failure.data)
        })?;
        if checked.args != *call.args {
            call.rewritten_by.push(hook.to_owned());
            call.decoded = checked.decoded;
            call.args_bytes = text.bytes();
            call.args = Arc::new(checked.args);
        }
        Ok(())
    }

    async fn approved(&self, rule: ApprovalRule, call: &Admitted, place: &Place) -> Result<(), CallFailure> {
        let tool = &call.tool;
        let refused = |code, message: String| Err(CallFailure::new(code, &tool.id, message));
        match rule {
            ApprovalRule::Allow => return Ok(()),
            ApprovalRule::Deny => {
                let message = format!("{} is refused by the rules for approvals; use another tool", quoted(&tool.id));
                return refused(CallCode::ApprovalDenied, message);
            }
            ApprovalRule::Ask => {}
        }
        let Some(approver) = &self.gate.approver else {
            let message =
                format!("approval needed, no approver: {} needs a person's approval, and nobody is there to ask", quoted(&tool.id));
            return refused(CallCode::ApprovalUnavailable, message);
        };
        if self.questions.fetch_add(1, Ordering::Relaxed) >= MOST_QUESTIONS {
            let message = format!("this run has asked for {MOST_QUESTIONS} approvals already; let it do with fewer");
            return refused(CallCode::ApprovalUnavailable, message);
        }
        let question = ApprovalRequest {
            tool: Arc::clone(tool),
            args: Arc::clone(&call.args),
            run_id: Arc::clone(&self.run_id),
            seq: call.context.seq,
        };
        let answer = {
            let _waiting = Waiting::begin(self.listener.as_deref(), call.context.seq);
            place.turn().await;
            caught_within(self.approval_limit, || approver.ask(&question)).await
        };
        match answer {
            // A person may take minutes; what the policy says now is what counts.
            Some(Ok(ApprovalAnswer::Granted)) if self.gate.permits(&tool.id) => Ok(()),
            Some(Ok(ApprovalAnswer::Granted)) => Err(CallFailure::denied(&tool.id)),
            Some(Ok(ApprovalAnswer::Refused { reason })) => {
                let why = reason.map(|reason| format!(": {}", cleaned_line(&reason, REASON_CHARS))).unwrap_or_default();
                refused(CallCode::ApprovalDenied, format!("the call of {} was not approved{why}", quoted(&tool.id)))
            }
            Some(Ok(ApprovalAnswer::Unavailable { reason })) => {
                let why = cleaned_line(&reason, REASON_CHARS);
                refused(
                    CallCode::ApprovalUnavailable,
                    format!("approval needed, no approver: nobody can be asked about {}: {why}", quoted(&tool.id)),
                )
            }
            Some(Err(Panicked)) => {
                refused(CallCode::ApprovalUnavailable, format!("nobody could be asked about {}: the approver broke down", quoted(&tool.id)))
            }
            None => {
                let message = format!(
                    "the approval of {} was left unanswered for {} ms; ask a person to look, then try again",
                    quoted(&tool.id),
                    self.approval_limit.as_millis()
                );
                refused(CallCode::ApprovalTimeout, message)
            }
        }
    }

    fn wants_steps(&self) -> bool {
        self.listener.as_ref().is_some_and(|listener| listener.wants_steps())
    }

    fn hear(&self, seq: u64, told: impl FnOnce() -> Told) {
        if let Some(listener) = &self.listener {
            listener.hear(seq, told());
        }
    }

    /// Tells of a step; `result` has the tool and the arguments that a log is to see.
    fn tell(&self, seq: u64, step: Step, began: Instant, by: Vec<String>, result: Result<Option<(&Tool, &Value)>, &CallFailure>) {
        if self.wants_steps() {
            let shown = result.map(|shown| shown.map(|(tool, args)| redacted(Some(tool.parameters.value()), args)));
            self.tell_shown(seq, step, began, by, shown);
        }
    }

    fn tell_shown(&self, seq: u64, step: Step, began: Instant, by: Vec<String>, result: Result<Option<Value>, &CallFailure>) {
        if !self.wants_steps() {
            return;
        }
        let (outcome, code, shown) = match result {
            Ok(shown) if step == Step::Hooks && shown.is_some() => (StepOutcome::Changed, None, shown),
            Ok(shown) => (StepOutcome::Passed, None, shown),
            Err(failure) => (StepOutcome::Stopped, Some(failure.code), None),
        };
        self.hear(seq, || Told::Step(StepTaken { step, outcome, code, by, duration: began.elapsed(), shown }));
    }
}

/// A call that waits for a person; it waits no longer when this is dropped, for whatever reason.
struct Waiting<'a> {
    listener: Option<&'a dyn Listener>,
    seq: u64,
}

impl<'a> Waiting<'a> {
    fn begin(listener: Option<&'a dyn Listener>, seq: u64) -> Waiting<'a> {
        if let Some(listener) = listener {
            listener.hear(seq, Told::ApprovalStarted);
        }
        Waiting { listener, seq }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(listener) = self.listener {
            listener.hear(self.seq, Told::ApprovalEnded);
        }
    }
}

fn blocked(call: &Admitted, hook: &str, reason: &str) -> CallFailure {
    let reason = cleaned_line(reason, REASON_CHARS);
    let message = format!("the hook {} blocked the call of {}: {reason}", quoted(hook), quoted(&call.tool.id));
    CallFailure::new(CallCode::HookBlocked, &call.tool.id, message).with_data(json!({"hook": hook, "reason": reason}))
}

fn hook_failed(call: &Admitted, hook: &str, why: &str) -> CallFailure {
    let why = cleaned_line(why, 2 * REASON_CHARS);
    let message = format!("the hook {} failed, so {} was not called: {why}", quoted(hook), quoted(&call.tool.id));
    CallFailure::new(CallCode::HookFailed, &call.tool.id, message)
}

fn timed_out(tool: &Tool, limit: Duration) -> CallFailure {
    let message =
        format!("{} gave no answer within {} ms; it was called, so what it does may have happened", quoted(&tool.id), limit.as_millis());
    CallFailure::new(CallCode::ToolTimeout, &tool.id, message).unanswered()
}

fn too_large(tool: &Tool, bytes: usize, limit: usize) -> CallFailure {
    let message = format!("arguments of {}: {bytes} bytes where {limit} are the limit; use less at a time", quoted(&tool.id));
    CallFailure::new(CallCode::TooLarge, &tool.id, message).with_data(json!({"bytes": bytes, "limit": limit}))
}
