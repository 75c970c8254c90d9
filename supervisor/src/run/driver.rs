//! The loop of one run: waits for whatever comes first, tells the machine, does what the machine says.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use codemode_protocol::{CallCode as WireCode, JsonText, MAX_DEPTH, Received, RequestId, Run, RunLimits, Violation, WireError};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, Sleep};

use super::admission::Beginning;
use super::answer::Answer;
use super::cut;
use super::event::RunEvent;
use super::limits;
use super::manners::Manners;
use super::report::{RunError, RunReport};
use super::state::{Action, Event, Machine};
use super::waiting::{Activity, LOOK_EVERY, Watch};
use super::work::{Desk, Outcome};
use crate::bridge::{Bridge, Turn};
use crate::catalog::{CallCode, CallFailure, Catalog, CatalogSummary, Unavailable, within_depth};
use crate::gate::{Gate, Passage, Told};
use crate::launch::{self, Confined, Ended, Isolation};

/// A failure's message and its tool's id go into an error of the guest; a dump in there helps nobody. Written in escapes it is six times as long, and a frame
/// has 64 KiB beside the largest value.
const MESSAGE_BYTES: usize = 8 * 1024;
const NAME_BYTES: usize = 256;
/// The same for its data.
const DATA_BYTES: usize = 64 * 1024;
/// Levels around the data of an error: the message, its `error`, its `data`.
const DATA_ENVELOPE_DEPTH: u32 = 3;

/// A child that sleeps after its run has waited for an answer this long leaves the processors to others. Tools in memory answer within a tenth of it, and then the
/// body goes on at once.
const WAITS: Duration = Duration::from_millis(5);

/// The process at the other end, as the loop needs it.
pub(crate) trait Process: Send {
    /// Resolves when the process has ended; cancel-safe.
    fn exited(&mut self) -> impl Future<Output = ()> + Send;
    /// What the kernel says of it now; `None` when it cannot be told.
    fn activity(&self) -> Option<Activity>;
    /// Processor time of all its threads so far; `None` when it cannot be told.
    fn cpu(&self) -> Option<Duration>;
    /// Lets it and its group go behind others that want a processor. For good.
    fn step_back(&self);
    /// Ends it and its group if need be, reaps it, accounts for it.
    fn finish(self) -> impl Future<Output = Ended> + Send;
}

impl Process for launch::Child {
    fn exited(&mut self) -> impl Future<Output = ()> + Send {
        self.exited()
    }

    fn activity(&self) -> Option<Activity> {
        let (cpu, sleeps) = self.activity()?;
        Some(Activity { cpu, sleeps })
    }

    fn cpu(&self) -> Option<Duration> {
        self.cpu()
    }

    fn step_back(&self) {
        self.step_back();
    }

    fn finish(self) -> impl Future<Output = Ended> + Send {
        self.finish()
    }
}

/// A child that may be sent a body.
#[derive(Debug)]
pub(crate) struct Ready<P> {
    pub(crate) stream: UnixStream,
    pub(crate) process: P,
    pub(crate) isolation: Isolation,
    /// Until this is over, another run may have to wait for its beginning.
    pub(crate) beginning: Option<Beginning>,
}

impl From<Confined> for Ready<launch::Child> {
    fn from(confined: Confined) -> Self {
        let (stream, process, isolation) = confined.into_parts();
        Ready { stream, process, isolation, beginning: None }
    }
}

/// What a run needs besides its child.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) run: Run,
    pub(crate) run_id: Arc<str>,
    pub(crate) limits: RunLimits,
    pub(crate) gate: Arc<Gate>,
    pub(crate) catalog: Arc<dyn Catalog>,
    /// Somebody who listens. What is sent is bounded by the limits of the run, so the channel need not be, and never holds the run up.
    pub(crate) events: Option<mpsc::UnboundedSender<RunEvent>>,
    /// True, or no sender any more: the caller does not want the run.
    pub(crate) cancel: watch::Receiver<bool>,
}

/// Runs a body in the child that `launch` brings, to its report.
pub(crate) async fn drive<P: Process>(setup: Setup, launch: impl Future<Output = Result<Ready<P>, RunError>>) -> RunReport {
    let machine = Machine::new(setup.limits, summary_of(&*setup.catalog), setup.events.is_some());
    let passage = Passage::new(setup.gate, setup.catalog, setup.run_id)
        .with_approval_limit(limits::approval(&setup.limits))
        .with_args_limit(setup.limits.args_bytes());
    let mut driver = Driver {
        started: Instant::now(),
        machine,
        desk: Desk::new(passage, limits::size(setup.limits.result_bytes()), setup.events.is_some()),
        bridge: None,
        process: None,
        isolation: None,
        beginning: None,
        run: setup.run,
        limits: setup.limits,
        events: setup.events,
    };
    driver.tell(RunEvent::Started);
    let mut alarm = Alarm::new();
    let mut cancel = setup.cancel;
    driver.launch(launch, &mut alarm, &mut cancel).await;
    driver.body(&mut alarm, &mut cancel).await;
    driver.machine.into_report(driver.isolation)
}

/// What a catalog says of itself; one that breaks down over it says nothing, and the run goes on.
pub(crate) fn summary_of(catalog: &dyn Catalog) -> CatalogSummary {
    // Nothing is kept of a summary that was not finished.
    catch_unwind(AssertUnwindSafe(|| catalog.summary())).unwrap_or_else(|_| {
        let reason = "it broke down when it was asked what it has; see the log of the program that runs this body".to_owned();
        CatalogSummary { unavailable: vec![Unavailable { server: "catalog".to_owned(), reason }], ..CatalogSummary::default() }
    })
}

struct Driver<P> {
    started: Instant,
    machine: Machine,
    desk: Desk,
    /// Gone as soon as nothing more is wanted from the child.
    bridge: Option<Bridge>,
    process: Option<P>,
    isolation: Option<Isolation>,
    beginning: Option<Beginning>,
    run: Run,
    limits: RunLimits,
    events: Option<mpsc::UnboundedSender<RunEvent>>,
}

impl<P: Process> Driver<P> {
    async fn launch(
        &mut self,
        launch: impl Future<Output = Result<Ready<P>, RunError>>,
        alarm: &mut Alarm,
        cancel: &mut watch::Receiver<bool>,
    ) {
        let event = tokio::select! {
            biased;
            () = cancelled(cancel) => Event::Cancelled,
            () = alarm.wait(self.deadline()) => Event::Clock,
            launched = launch => match launched {
                Ok(ready) => {
                    self.bridge = Some(Bridge::new(ready.stream, &self.limits));
                    self.process = Some(ready.process);
                    self.beginning = ready.beginning;
                    self.tell(RunEvent::Confined(ready.isolation.clone()));
                    self.isolation = Some(ready.isolation);
                    Event::Launched
                }
                Err(error) => Event::LaunchFailed(error),
            },
        };
        self.handle(event).await;
    }

    async fn body(&mut self, alarm: &mut Alarm, cancel: &mut watch::Receiver<bool>) {
        let mut exited = false;
        let mut heard_cancel = false;
        let mut watch = Watch::default();
        let mut look = Alarm::new();
        let mut next_look = None;
        let mut manners = Manners::of(self.now(), self.process.as_ref().and_then(Process::cpu));
        let mut glance = Alarm::new();
        let mut patience = Alarm::new();
        let mut waits_at = None;
        while !self.machine.is_over() {
            let deadline = self.deadline();
            if !self.machine.watches_child() {
                next_look = None;
                watch.forget();
            } else if next_look.is_none() {
                next_look = Some(Instant::now());
            }
            if !self.desk.waits() || self.beginning.as_ref().is_none_or(Beginning::is_over) {
                waits_at = None;
            } else if waits_at.is_none() {
                waits_at = Some(Instant::now() + WAITS);
            }
            let listens = self.machine.listens();
            // What ends a run comes before what keeps it busy, whoever is louder.
            let event = tokio::select! {
                biased;
                () = cancelled(cancel), if !heard_cancel => {
                    heard_cancel = true;
                    Event::Cancelled
                }
                () = alarm.wait(deadline) => Event::Clock,
                () = look.wait(next_look) => {
                    next_look = Some(Instant::now() + LOOK_EVERY);
                    Event::ChildWaits(watch.look(self.now(), self.process.as_ref().and_then(Process::activity)))
                }
                () = glance.wait(manners.next().map(|at| self.started + at)) => {
                    if let Some(process) = &self.process && manners.glance(self.now(), process.cpu()) {
                        process.step_back();
                    }
                    continue;
                }
                () = patience.wait(waits_at) => {
                    // One that computes meanwhile is asked again as long after.
                    waits_at = None;
                    self.let_others_begin();
                    continue;
                }
                () = exit_of(self.process.as_mut()), if !exited => {
                    exited = true;
                    Event::ChildExited
                }
                (seq, outcome) = self.desk.next() => {
                    event_of(seq, outcome)
                }
                turn = turn_of(self.bridge.as_mut()), if listens => {
                    if let Turn::Torn(_) = turn {
                        // It may be dying: then its end says more than the half of a frame does.
                        self.handle(Event::BridgeClosed).await;
                    }
                    self.heard(turn)
                }
            };
            let left = matches!(event, Event::ChildExited);
            self.handle(event).await;
            if left {
                self.hear_out().await;
            }
        }
    }

    /// If the child sleeps.
    fn let_others_begin(&mut self) {
        let activity = self.process.as_ref().and_then(Process::activity);
        if activity.is_some_and(|activity| activity.sleeps)
            && let Some(beginning) = self.beginning.take()
        {
            beginning.end();
        }
    }

    /// A child that is gone may have answered first: reads what is left of it, without waiting.
    async fn hear_out(&mut self) {
        if let Some(bridge) = &mut self.bridge {
            bridge.drain();
        }
        while self.machine.listens()
            && let Some(bridge) = &mut self.bridge
        {
            let turn = bridge.next_leftover();
            let last = !matches!(turn, Turn::Received(_));
            let event = self.heard(turn);
            self.handle(event).await;
            if last {
                break;
            }
        }
    }

    fn heard(&self, turn: Turn) -> Event {
        match turn {
            Turn::Received(Received::Hello(_)) => Event::Greeted,
            Turn::Received(Received::Console(console)) => {
                Event::Console { level: console.level, text: console.text, dropped: console.dropped }
            }
            Turn::Received(Received::Request(request)) => Event::Asked { ask: request.ask, over_budget: false },
            Turn::Received(Received::OverBudget(request)) => Event::Asked { ask: request.ask, over_budget: true },
            Turn::Received(Received::CallLimit) => Event::CallLimit,
            Turn::Received(Received::Answer(answer)) => Event::Answered(Answer::of_child(answer, &self.limits)),
            Turn::Violation(violation) | Turn::Torn(violation) => Event::Violation(Violation::to_string(&violation)),
            Turn::Closed => Event::BridgeClosed,
        }
    }

    /// Tells the machine, and does what it says until it says no more.
    async fn handle(&mut self, event: Event) {
        let mut actions = VecDeque::from(self.machine.handle(self.now(), event));
        while let Some(action) = actions.pop_front() {
            match action {
                Action::SendRun => actions.extend(self.send_run()),
                Action::Resolve { seq, ask } => {
                    self.desk.resolve(seq, ask);
                    while let Some((seq, outcome)) = self.desk.at_once() {
                        actions.extend(self.machine.handle(self.now(), event_of(seq, outcome)));
                    }
                }
                Action::Dispatch { seq, call } => self.desk.call(seq, call),
                Action::Reply { seq, result } => actions.extend(self.reply(seq, result)),
                Action::CloseBridge => self.close(),
                Action::Kill => {
                    self.close();
                    if let Some(process) = self.process.take() {
                        let ended = process.finish().await;
                        actions.extend(self.machine.handle(self.now(), Event::Reaped(ended)));
                    }
                }
                Action::Tell(event) => self.tell(event),
                Action::Finish => self.close(),
            }
        }
    }

    fn send_run(&mut self) -> Vec<Action> {
        let sent = self.bridge.as_mut().map(|bridge| bridge.send_run(&self.run));
        if let Some(Ok(())) = sent {
            Vec::new()
        } else {
            self.machine.handle(self.now(), Event::Broken("the body could not be put into a frame"))
        }
    }

    fn reply(&mut self, seq: u64, result: Result<JsonText, CallFailure>) -> Vec<Action> {
        // Closed by an action before this one: nobody listens any more.
        let Some(bridge) = &mut self.bridge else { return Vec::new() };
        let sent = RequestId::new(seq).map(|id| match result {
            Ok(value) => bridge.reply(id, Ok(&value)),
            Err(failure) => bridge.reply(id, Err(&wire_error(failure, &self.limits))),
        });
        if let Some(Ok(())) = sent {
            Vec::new()
        } else {
            self.machine.handle(self.now(), Event::Broken("an answer could not be put into a frame"))
        }
    }

    fn close(&mut self) {
        self.bridge = None;
        self.desk.clear();
    }

    fn tell(&self, event: RunEvent) {
        if let Some(events) = &self.events {
            // Nobody listening any more is no reason to stop.
            let _ = events.send(event);
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn deadline(&self) -> Option<Instant> {
        self.machine.deadline().map(|at| self.started + at)
    }
}

/// One timer for the whole run, moved only when the deadline moves.
struct Alarm {
    sleep: Pin<Box<Sleep>>,
}

impl Alarm {
    fn new() -> Self {
        Alarm { sleep: Box::pin(tokio::time::sleep_until(Instant::now())) }
    }

    async fn wait(&mut self, deadline: Option<Instant>) {
        let Some(deadline) = deadline else { return std::future::pending().await };
        // A timer is late where nobody has turned the runtime's clock meanwhile; this one is not.
        if Instant::now() >= deadline {
            return;
        }
        if self.sleep.deadline() != deadline {
            self.sleep.as_mut().reset(deadline);
        }
        // Once it is over it stays so: a deadline that is still the same is still over.
        self.sleep.as_mut().await;
    }
}

async fn cancelled(cancel: &mut watch::Receiver<bool>) {
    // An error means that the handle is gone, which is the other way to say it.
    let _ = cancel.wait_for(|cancelled| *cancelled).await;
}

async fn exit_of<P: Process>(process: Option<&mut P>) {
    match process {
        Some(process) => process.exited().await,
        None => std::future::pending().await,
    }
}

async fn turn_of(bridge: Option<&mut Bridge>) -> Turn {
    match bridge {
        Some(bridge) => bridge.turn().await,
        None => std::future::pending().await,
    }
}

fn event_of(seq: u64, outcome: Outcome) -> Event {
    match outcome {
        Outcome::Answer(result) => Event::Settled { seq, result },
        Outcome::Admitted(call) => Event::Admitted { seq, call },
        Outcome::Told(Told::Resolved { id, source }) => Event::Resolved { seq, id, source },
        Outcome::Told(Told::ApprovalStarted) => Event::ApprovalStarted { seq },
        Outcome::Told(Told::ApprovalEnded) => Event::ApprovalEnded { seq },
        Outcome::Told(Told::Step(taken)) => Event::Step { seq, taken },
    }
}

/// A failure as it goes to the child, with everything bounded that a backend may have made long.
pub(crate) fn wire_error(failure: CallFailure, limits: &RunLimits) -> WireError {
    let fits = |data: &Value, most: usize| {
        let text = within_depth(data, MAX_DEPTH - DATA_ENVELOPE_DEPTH).then(|| JsonText::of(data).ok()).flatten();
        text.filter(|text| text.bytes() <= most)
    };
    let data = match failure.code {
        _ if failure.data.is_null() => None,
        // The value of a call that was made: nobody can get it a second time. Where it cannot go, it says so.
        CallCode::InvalidResult => fits(&failure.data, DATA_BYTES.max(limits::size(limits.result_bytes())))
            .or_else(|| fits(&json!({"called": true, "result": null, "resultLeftOut": "it is too large or too deep"}), DATA_BYTES)),
        _ => fits(&failure.data, DATA_BYTES),
    };
    let tool_id = failure.tool().map(|id| cut::middle(id.to_owned(), NAME_BYTES).0);
    WireError {
        // Both lists are the contract's, word for word; a test compares them.
        code: WireCode::from_word(failure.code.as_str()).unwrap_or(WireCode::ToolError),
        message: cut::middle(failure.message, MESSAGE_BYTES).0,
        name: cut::middle(failure.name, NAME_BYTES).0,
        tool_id,
        data,
    }
}

#[cfg(test)]
mod tests;
