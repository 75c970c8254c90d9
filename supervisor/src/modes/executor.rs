//! Doing what a model asks for by a name of its surface.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use codemode_protocol::{JsonText, Limit, LimitError, RunLimits};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::control::Control;
use super::plan::Plan;
use super::surface::Target;
use crate::catalog::{CallCode, CallFailure, Catalog, SearchQuery, Source, Tool, json_bytes};
use crate::gate::{Approver, Gate, Listener, Passage, Told, check_arguments};
use crate::run::{RunEvent, RunReport, RunRequest, Runner};
use crate::telemetry::{Recorder, SurfaceNote};

/// Does what a model asks for. One for each turn or session of a run's plan; its calls may go side by side.
#[derive(Debug)]
pub struct Executor {
    plan: Arc<Plan>,
    gate: Arc<Gate>,
    passage: Passage,
    recorder: Recorder,
    runner: Option<Arc<dyn Runner>>,
    limits: RunLimits,
    run_id: Arc<str>,
    began: Instant,
    seq: AtomicU64,
    bodies: AtomicU64,
}

/// What came of it.
#[derive(Debug)]
pub enum Outcome {
    /// The value of a tool, or the answer of a search or description.
    Value(Value),
    /// It was refused or failed.
    Failed(CallFailure),
    /// A body was run; this is its report.
    Ran(Box<RunReport>),
}

impl Outcome {
    /// What goes back to the model: JSON.
    pub fn for_model(&self) -> Value {
        match self {
            Outcome::Value(value) => value.clone(),
            Outcome::Failed(failure) => json!({"error": {"code": failure.code, "message": failure.message, "data": failure.data}}),
            Outcome::Ran(report) => {
                let logs: Vec<&str> = report.logs.iter().map(|entry| entry.text.as_str()).collect();
                let value = report.value.to_value().unwrap_or_default();
                let mut told = json!({"ok": report.ok, "value": value});
                if !logs.is_empty() {
                    told["logs"] = json!(logs);
                }
                if let Some(error) = &report.error {
                    told["error"] = json!({"code": error.code, "message": error.message, "line": error.line, "column": error.column});
                }
                told
            }
        }
    }
}

impl Executor {
    /// For this plan, through a gate with these rules; what the plan's policy says is added to them.
    ///
    /// `run_id` names it in logs, and its bodies as `run_id/1` and so on.
    pub fn new(plan: Arc<Plan>, gate: Gate, recorder: Recorder, run_id: Arc<str>) -> Executor {
        let gate = Arc::new(gate.with_policy(Arc::clone(&plan.policy) as _));
        let began = Instant::now();
        let catalog = recorder.watch(Arc::clone(&plan.catalog) as Arc<dyn Catalog>, Arc::clone(&run_id));
        let passage = Passage::new(Arc::clone(&gate), catalog, Arc::clone(&run_id));
        let ear = Ear { recorder: recorder.clone(), run_id: Arc::clone(&run_id) };
        let passage = passage.with_listener(Arc::new(ear));
        note_surface(&plan, &recorder);
        let (seq, bodies) = (AtomicU64::new(0), AtomicU64::new(0));
        Executor { plan, gate, passage, recorder, runner: None, limits: RunLimits::default(), run_id, began, seq, bodies }
    }

    /// The same with somebody who runs bodies: a supervisor, or a fleet.
    #[must_use]
    pub fn with_supervisor(mut self, supervisor: impl Runner + 'static) -> Executor {
        self.runner = Some(Arc::new(supervisor));
        self
    }

    /// The same with other limits for bodies, and for answers of a person. The wall clock is the configuration's.
    #[must_use]
    pub fn with_limits(mut self, limits: RunLimits) -> Executor {
        self.passage = self.passage.with_approval_limit(Duration::from_millis(limits.get(Limit::ApprovalMs)));
        self.limits = limits;
        self
    }

    /// What it does things for.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Does what a model asks for by this name: a control, a tool that is shown, or (in a directory) a hidden one by its exact name.
    ///
    /// Dropping the future cancels what it does.
    pub async fn execute(&self, name: &str, args: &Value) -> Outcome {
        self.execute_until(name, args, None, |_| {}, std::future::pending()).await
    }

    /// The same; `approver` is asked what this request wants approved, instead of whom the gate would ask; `hear` gets each event of a body's run, and everything ends when
    /// `stop` does. A body is cancelled then, and its child is gone when this returns.
    pub async fn execute_until(
        &self,
        name: &str,
        args: &Value,
        approver: Option<Arc<dyn Approver>>,
        hear: impl FnMut(&RunEvent) + Send,
        stop: impl Future<Output = ()> + Send,
    ) -> Outcome {
        if let Some(Target::Control(Control::Code)) = self.plan.surface.target(name) {
            return match self.checked(Control::Code, args) {
                Ok(args) => self.code(args["code"].as_str().unwrap_or_default(), approver, hear, stop).await,
                Err(failure) => Outcome::Failed(failure),
            };
        }
        tokio::select! {
            outcome = self.structured(name, args, approver) => outcome,
            () = stop => Outcome::Failed(CallFailure::new(CallCode::Cancelled, name, "the request was cancelled")),
        }
    }

    async fn structured(&self, name: &str, args: &Value, approver: Option<Arc<dyn Approver>>) -> Outcome {
        match self.plan.surface.target(name) {
            Some(Target::Control(control)) => self.control(*control, args, approver).await,
            Some(Target::Tool(tool)) => self.call(&tool.id, args, approver).await,
            None => match self.plan.surface.hydrate(name) {
                Ok((tool, _)) => self.call(&tool.id, args, approver).await,
                Err(failure) => {
                    let call = self.begin("call", Some(name), args);
                    self.end(call, None, Err(&failure));
                    Outcome::Failed(failure)
                }
            },
        }
    }

    /// The arguments of a control pass the same check as those of any tool.
    fn checked(&self, control: Control, args: &Value) -> Result<Value, CallFailure> {
        let parameters = control.parameters(self.plan.catalog.limits());
        let tool = Tool::new(Source::Openclaw, "codemode", control.as_str(), "", parameters).with_id(control.as_str());
        check_arguments(&tool, args.clone()).map(|checked| checked.args)
    }

    async fn control(&self, control: Control, args: &Value, approver: Option<Arc<dyn Approver>>) -> Outcome {
        let args = match self.checked(control, args) {
            Ok(args) => args,
            Err(failure) => return Outcome::Failed(failure),
        };
        let text = |key: &str| args[key].as_str().unwrap_or_default();
        match control {
            Control::Code => self.code(text("code"), approver, |_| {}, std::future::pending()).await,
            Control::Search => {
                let query = SearchQuery { query: text("query").to_owned(), limit: args["limit"].as_u64() };
                let call = self.begin("search", None, &args);
                let found = self.passage.search(&query).await.map(|tools| self.found(tools.iter().map(|tool| tool.row()).collect()));
                self.end(call, None, found.as_ref());
                found.map_or_else(Outcome::Failed, Outcome::Value)
            }
            Control::Describe => {
                let call = self.begin("describe", Some(text("id")), &args);
                let found = self.passage.describe(text("id")).await;
                let source = found.as_ref().ok().map(|tool| tool.source);
                let described = found.map(|tool| tool.description_value());
                self.end(call, source, described.as_ref());
                described.map_or_else(Outcome::Failed, Outcome::Value)
            }
            Control::Call => self.call(text("id"), &args["args"], approver).await,
        }
    }

    /// What a search gives: the rows; beside them, when servers are missing, which and why, so that nothing found is not taken for nothing there.
    fn found(&self, rows: Vec<Value>) -> Value {
        match self.plan.catalog.summary().unavailable {
            missing if missing.is_empty() => Value::Array(rows),
            missing => json!({"tools": rows, "unavailable": missing}),
        }
    }

    async fn call(&self, id: &str, args: &Value, approver: Option<Arc<dyn Approver>>) -> Outcome {
        let Ok(text) = JsonText::of(args) else {
            return Outcome::Failed(CallFailure::new(CallCode::InvalidArguments, id, "the arguments have no JSON"));
        };
        let own = approver.map(|approver| self.passage.for_request(approver));
        let passage = own.as_ref().unwrap_or(&self.passage);
        let mut call = self.begin("call", Some(id), args);
        let admitted = match passage.admit(call.seq, id, &text).await {
            Ok(admitted) => admitted,
            Err(failure) => {
                self.end(call, None, Err(&failure));
                return Outcome::Failed(failure);
            }
        };
        let source = admitted.tool().source;
        call.id = Some(admitted.tool().id.clone());
        call.args_bytes = admitted.args_bytes();
        call.is_sent = true;
        self.recorder.event(Some(&self.run_id), &json!({"event": "call_sent", "seq": call.seq, "id": call.id}));
        let answered = passage.call(admitted).await;
        self.end(call, Some(source), answered.as_ref());
        answered.map_or_else(Outcome::Failed, Outcome::Value)
    }

    async fn code(
        &self,
        body: &str,
        approver: Option<Arc<dyn Approver>>,
        hear: impl FnMut(&RunEvent) + Send,
        stop: impl Future<Output = ()> + Send,
    ) -> Outcome {
        let Some(runner) = &self.runner else {
            let message = "no isolated child can be started here; use tool_search, tool_describe and tool_call";
            return Outcome::Failed(CallFailure::new(CallCode::ToolUnavailable, Control::Code.as_str(), message));
        };
        let limits = match self.body_limits() {
            Ok(limits) => limits,
            Err(error) => return Outcome::Failed(CallFailure::new(CallCode::ToolUnavailable, Control::Code.as_str(), error.to_string())),
        };
        let number = self.bodies.fetch_add(1, Ordering::Relaxed) + 1;
        let run_id: Arc<str> = format!("{}/{number}", self.run_id).into();
        let catalog = self.recorder.watch(Arc::clone(&self.plan.catalog) as Arc<dyn Catalog>, Arc::clone(&run_id));
        let gate = match approver {
            Some(approver) => Arc::new((*self.gate).clone().with_approver(approver)),
            None => Arc::clone(&self.gate),
        };
        let mut request = RunRequest::new(body).with_limits(limits).with_gate(gate).with_context(self.plan.context.clone());
        request.run_id = Some(Arc::clone(&run_id));
        let report = recorded_until(&**runner, request, catalog, &self.recorder, &run_id, hear, stop).await;
        Outcome::Ran(Box::new(report))
    }

    fn body_limits(&self) -> Result<RunLimits, LimitError> {
        match self.plan.effective.tool_search {
            Some(search) => self.limits.with(Limit::WallMs, u64::try_from(search.code_timeout.as_millis()).unwrap_or(u64::MAX)),
            None => Ok(self.limits),
        }
    }

    fn begin(&self, method: &'static str, id: Option<&str>, args: &Value) -> Pending {
        let seq = self.seq.fetch_add(1, Ordering::Relaxed) + 1;
        let args_bytes = json_bytes(args);
        Pending {
            seq,
            method,
            id: id.map(str::to_owned),
            start: self.began.elapsed().as_secs_f64() * 1_000.0,
            at: Instant::now(),
            args_bytes,
            is_sent: false,
        }
    }

    /// Notes the end of a request, in the words of a run's ledger.
    fn end(&self, call: Pending, source: Option<Source>, result: Result<&Value, &CallFailure>) {
        let code = result.err().map(|failure| failure.code);
        let is_unanswered = result.err().is_some_and(|failure| failure.is_unanswered);
        let state = match code {
            None => "ok",
            Some(_) if call.is_sent && is_unanswered => "unknown",
            Some(_) if call.is_sent => "error",
            Some(code) if code.is_denial() => "denied",
            Some(_) => "refused",
        };
        self.recorder.counters().count_request(call.method, source.map(Source::as_str), state);
        if self.recorder.is_logging() {
            self.recorder.event(
                Some(&self.run_id),
                &json!({
                    "event": "call_ended", "seq": call.seq, "method": call.method, "id": call.id, "source": source, "state": state, "code": code,
                    "startMs": call.start, "durationMs": call.at.elapsed().as_secs_f64() * 1_000.0,
                    "argsBytes": call.args_bytes, "resultBytes": result.map_or(0, json_bytes),
                }),
            );
        }
    }
}

/// A request that is on its way.
struct Pending {
    seq: u64,
    method: &'static str,
    id: Option<String>,
    start: f64,
    at: Instant,
    args_bytes: usize,
    is_sent: bool,
}

/// Runs a body and notes all that it does; `hear` gets each event, too.
pub async fn recorded(
    runner: &dyn Runner,
    request: RunRequest,
    catalog: Arc<dyn Catalog>,
    recorder: &Recorder,
    run_id: &str,
    hear: impl FnMut(&RunEvent),
) -> RunReport {
    recorded_until(runner, request, catalog, recorder, run_id, hear, std::future::pending()).await
}

/// The same; the run is cancelled when `stop` is over.
async fn recorded_until(
    runner: &dyn Runner,
    request: RunRequest,
    catalog: Arc<dyn Catalog>,
    recorder: &Recorder,
    run_id: &str,
    mut hear: impl FnMut(&RunEvent),
    stop: impl Future<Output = ()>,
) -> RunReport {
    note_start(recorder, run_id, &request);
    let mut handle = runner.start(request, catalog);
    let mut stop = std::pin::pin!(stop);
    let mut is_stopped = false;
    loop {
        tokio::select! {
            event = handle.event() => {
                let Some(event) = event else { break };
                note_event(recorder, run_id, &event);
                hear(&event);
            }
            () = &mut stop, if !is_stopped => {
                is_stopped = true;
                handle.cancel();
            }
        }
    }
    let report = handle.finished().await;
    note_end(recorder, run_id, &report);
    report
}

/// Notes that a body is about to run.
pub(crate) fn note_start(recorder: &Recorder, run_id: &str, request: &RunRequest) {
    let context = &request.context;
    let event = json!({
        "event": "run_started", "bodyBytes": request.body.len(), "agent": context.agent.as_deref(), "profile": context.profile.as_deref(), "channel": context.channel.as_deref(),
        "runtime": context.runtime.as_deref(), "sandbox": context.sandbox, "harness": context.harness.as_deref(),
    });
    recorder.event(Some(run_id), &event);
}

/// Notes what a run tells while it goes on.
pub(crate) fn note_event(recorder: &Recorder, run_id: &str, event: &RunEvent) {
    if let RunEvent::CallEnded(entry) = event {
        recorder.counters().count_request(entry.method.as_str(), entry.source.map(Source::as_str), entry.state.as_str());
    }
    // The start and the end are noted with more than the event has.
    if !matches!(event, RunEvent::Started | RunEvent::Ended { .. }) {
        recorder.event(Some(run_id), event);
    }
}

/// Notes how a run ended.
pub(crate) fn note_end(recorder: &Recorder, run_id: &str, report: &RunReport) {
    let code = report.error.as_ref().map(|error| error.code.as_str());
    recorder.counters().count_run(code.unwrap_or("ok"), report.timing.total);
    let event = json!({
        "event": "run_ended", "ok": report.ok, "code": code, "message": report.error.as_ref().map(|error| &error.message),
        "valueBytes": report.value.bytes(), "telemetry": report.telemetry, "timing": report.timing,
        "launcher": report.isolation.as_ref().map(|isolation| isolation.launcher),
    });
    recorder.event(Some(run_id), &event);
}

fn note_surface(plan: &Plan, recorder: &Recorder) {
    let surface = &plan.surface;
    recorder.surface(&SurfaceNote {
        shown: surface.shown.as_str(),
        reason: surface.reason.as_deref(),
        definitions: surface.definitions.iter().map(|definition| definition.name.as_str()).collect(),
        schemas_up_front: surface.schemas_up_front(),
        directory_chars: surface.directory.as_ref().map_or(0, |text| text.chars().count()),
        bytes_sent: surface.bytes.sent,
        bytes_direct: surface.bytes.direct,
        catalog_size: plan.catalog.tools().tools().len(),
        sources: plan.catalog.summary().into(),
    });
}

/// Notes the steps of structured calls, as a run notes those of its body.
#[derive(Debug)]
struct Ear {
    recorder: Recorder,
    run_id: Arc<str>,
}

impl Listener for Ear {
    fn hear(&self, seq: u64, told: Told) {
        let event = match told {
            Told::Step(taken) => RunEvent::Gate { seq, taken },
            Told::ApprovalStarted => RunEvent::ApprovalStarted { seq },
            Told::ApprovalEnded => RunEvent::ApprovalEnded { seq },
            _ => return,
        };
        self.recorder.event(Some(&self.run_id), &event);
    }

    fn wants_steps(&self) -> bool {
        self.recorder.is_logging()
    }
}
