//! The life of one run, as a machine: events and the time go in, actions come out. No I/O, no clock, nothing async.
//!
//! ```text
//! Launching ──▶ Running ──▶ Answered ─┐
//!     │            │  └────▶ Leaving ─┼──▶ Ending ──▶ Ended
//!     │            └──────────────────┘                ▲
//!     └───────────────────────────────────────────────┘
//! ```
//!
//! - **Running**: the body has been sent, the clock runs.
//! - **Answered**: the body's answer is here; the child is given a moment to exit by itself.
//! - **Leaving**: the child has exited or closed its bridge without an answer so far; what it had written before that is still read.
//! - **Ending**: the verdict stands; the group is killed and reaped.
//!
//! The first reason for an end wins and is kept. Times are durations since the start of the run.

use std::time::Duration;

use codemode_protocol::{Ask, JsonText, Level, Limit, RunLimits};

use super::answer::Answer;
use super::console::Console;
use super::event::RunEvent;
use super::ledger::CallEntry;
use super::limits;
use super::report::{ErrorCode, Resources, RunError, RunReport};
use super::requests::{self, Requests};
use super::timing::{Timing, WallClock};
use super::verdict;
use crate::catalog::{CallFailure, CatalogSummary, Source};
use crate::gate::{Admitted, StepTaken};
use crate::launch::{Ended, ExitStatus, Isolation};

/// What happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// The child has said hello. Nothing follows from it: the body may be on its way already.
    Greeted,
    /// A confined child is there.
    Launched,
    /// There will be none.
    LaunchFailed(RunError),
    /// The body wrote to its console.
    Console { level: Level, text: String, dropped: u64 },
    /// The body asked for something; above its budget it is only told so.
    Asked { ask: Ask, over_budget: bool },
    /// It goes on asking although it was told so often.
    CallLimit,
    /// It is known which tool a request is about.
    Resolved { seq: u64, id: String, source: Source },
    /// Everything that can stop a call before dispatch has let it pass.
    Admitted { seq: u64, call: Admitted },
    /// A step of the gate is over.
    Step { seq: u64, taken: StepTaken },
    /// A request has its answer.
    Settled { seq: u64, result: Result<JsonText, CallFailure> },
    /// A call waits for a person from now on.
    ApprovalStarted { seq: u64 },
    /// It does not any more.
    ApprovalEnded { seq: u64 },
    /// Whether the child itself was seen to wait, just now. Said only while it is asked for ([`Machine::watches_child`]).
    ChildWaits(bool),
    /// The body's answer.
    Answered(Answer),
    /// The child broke the wire.
    Violation(String),
    /// No more bytes will come over the bridge.
    BridgeClosed,
    /// The process has ended and is not reaped.
    ChildExited,
    /// The process is reaped.
    Reaped(Ended),
    /// The time that [`Machine::deadline`] named has come, or may have.
    Clock,
    /// The caller does not want the run any more.
    Cancelled,
    /// We cannot go on; a bug of ours.
    Broken(&'static str),
}

/// What to do. Actions are done in the order in which they were given.
#[derive(Debug)]
pub(crate) enum Action {
    /// Send the body.
    SendRun,
    /// Find out about a request: search, describe, or what comes before the dispatch of a call.
    Resolve { seq: u64, ask: Ask },
    /// Ask the backend. From here on an effect may happen.
    Dispatch { seq: u64, call: Admitted },
    /// Answer the child.
    Reply { seq: u64, result: Result<JsonText, CallFailure> },
    /// Close the bridge, so that the child exits.
    CloseBridge,
    /// Close the bridge, drop every open request, kill what is left of the group, reap: [`Event::Reaped`].
    Kill,
    /// Tell whoever listens.
    Tell(RunEvent),
    /// Nothing will come after this.
    Finish,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Launching,
    Running,
    Answered { until: Duration },
    Leaving { exited: bool, closed: bool, until: Duration },
    Ending,
    Ended,
}

/// One run.
#[derive(Debug)]
pub(crate) struct Machine {
    limits: RunLimits,
    phase: Phase,
    verdict: Option<Answer>,
    /// A break of the wire found in what a dead child left behind. Its death is the first reason; this only explains a clean exit.
    late_violation: Option<String>,
    requests: Requests,
    console: Console,
    /// Whether somebody listens to events.
    watched: bool,
    /// What log entries told so far have cost; no more than the console keeps is told, so that events nobody takes stay bounded.
    told_log_bytes: usize,
    clock: Option<WallClock>,
    /// Whether the child was seen to wait, and nothing has gone to it since.
    child_waits: bool,
    timing: Timing,
    body_start: Option<Duration>,
    peak_rss_bytes: u64,
    actions: Vec<Action>,
}

impl Machine {
    pub(crate) fn new(limits: RunLimits, catalog: CatalogSummary, watched: bool) -> Self {
        Machine {
            console: Console::new(limits::console(&limits)),
            limits,
            phase: Phase::Launching,
            verdict: None,
            late_violation: None,
            requests: Requests::new(catalog),
            watched,
            told_log_bytes: 0,
            clock: None,
            child_waits: false,
            timing: Timing::default(),
            body_start: None,
            peak_rss_bytes: 0,
            actions: Vec::new(),
        }
    }

    /// Whether frames of the child are still of interest.
    pub(crate) fn listens(&self) -> bool {
        matches!(self.phase, Phase::Running | Phase::Leaving { .. })
    }

    /// Whether it matters now if the child waits or computes: see [`Event::ChildWaits`].
    pub(crate) fn watches_child(&self) -> bool {
        self.phase == Phase::Running && self.requests.only_approvals_open()
    }

    /// Whether [`Action::Finish`] has been given.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// When [`Event::Clock`] is due. `None`: the next event comes by itself.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        match self.phase {
            Phase::Launching => Some(limits::ceiling(&self.limits)),
            Phase::Running => Some(
                self.clock
                    .as_ref()
                    .and_then(WallClock::deadline)
                    .map_or(limits::ceiling(&self.limits), |at| at.min(limits::ceiling(&self.limits))),
            ),
            Phase::Answered { until } | Phase::Leaving { until, .. } => Some(until),
            Phase::Ending | Phase::Ended => None,
        }
    }

    /// Takes what happened at `now` and gives what to do about it.
    pub(crate) fn handle(&mut self, now: Duration, event: Event) -> Vec<Action> {
        match self.phase {
            Phase::Launching => self.while_launching(now, event),
            Phase::Running => self.while_running(now, event),
            Phase::Answered { until } => self.while_answered(now, &event, until),
            Phase::Leaving { .. } => self.while_leaving(now, event),
            Phase::Ending => self.while_ending(now, event),
            Phase::Ended => {}
        }
        std::mem::take(&mut self.actions)
    }

    fn while_launching(&mut self, now: Duration, event: Event) {
        let error = match event {
            Event::Launched => {
                self.timing.launch = now;
                self.body_start = Some(now);
                self.clock = Some(WallClock::start(limits::wall(&self.limits), now));
                self.phase = Phase::Running;
                self.actions.push(Action::SendRun);
                return;
            }
            Event::LaunchFailed(error) => error,
            Event::Cancelled => cancelled(),
            Event::Clock if now >= limits::ceiling(&self.limits) => self.over_ceiling(),
            _ => return,
        };
        self.timing.launch = now;
        self.conclude(now, Answer::failed(error));
        self.finish(now);
    }

    fn while_running(&mut self, now: Duration, event: Event) {
        match event {
            Event::Console { level, text, dropped } => self.log(now, level, text, dropped),
            Event::Asked { ask, over_budget } => self.asked(now, ask, over_budget),
            Event::CallLimit => self.fail(now, self.too_many_requests()),
            Event::Resolved { seq, id, source } => self.requests.resolve(seq, &id, source),
            // The clock first: the check may have taken long, and nothing leaves after the deadline.
            Event::Admitted { seq, call } => {
                self.check_clock(now);
                if matches!(self.phase, Phase::Running) {
                    self.dispatch(seq, call);
                }
            }
            Event::Step { seq, taken } => self.step(seq, taken),
            Event::Settled { seq, result } => self.settle(now, seq, result),
            Event::ApprovalStarted { seq } => self.approval(now, seq, true),
            Event::ApprovalEnded { seq } => self.approval(now, seq, false),
            Event::ChildWaits(waits) => {
                self.child_waits = waits;
                self.adjust_clock(now);
            }
            Event::Answered(answer) => {
                self.conclude(now, answer);
                self.phase = Phase::Answered { until: now + limits::grace(&self.limits) };
                self.actions.push(Action::CloseBridge);
            }
            Event::Violation(what) => self.fail(now, violation(&what)),
            Event::BridgeClosed => self.phase = Phase::Leaving { exited: false, closed: true, until: now + limits::grace(&self.limits) },
            Event::ChildExited => self.phase = Phase::Leaving { exited: true, closed: false, until: now + limits::grace(&self.limits) },
            Event::Clock => self.check_clock(now),
            Event::Cancelled => self.fail(now, cancelled()),
            Event::Broken(what) => self.fail(now, RunError::internal(what)),
            Event::Greeted | Event::Launched | Event::LaunchFailed(_) | Event::Reaped(_) => {}
        }
    }

    fn while_answered(&mut self, now: Duration, event: &Event, until: Duration) {
        let over = match event {
            Event::ChildExited | Event::Cancelled => true,
            Event::Clock => now >= until,
            _ => false,
        };
        if over {
            self.end();
        }
    }

    fn while_leaving(&mut self, now: Duration, event: Event) {
        let Phase::Leaving { exited, closed, until } = &mut self.phase else { return };
        match event {
            Event::ChildExited => *exited = true,
            Event::BridgeClosed => *closed = true,
            Event::Console { level, text, dropped } => return self.log(now, level, text, dropped),
            // A dead child's wish has nobody to answer to: it is listed and never dispatched.
            Event::Asked { ask, .. } => {
                self.open(now, &ask);
                return;
            }
            Event::Resolved { seq, id, source } => return self.requests.resolve(seq, &id, source),
            Event::Step { seq, taken } => return self.step(seq, taken),
            Event::Settled { seq, result } => return self.settle(now, seq, result),
            Event::ApprovalStarted { seq } => return self.approval(now, seq, true),
            Event::ApprovalEnded { seq } => return self.approval(now, seq, false),
            Event::Answered(answer) => {
                self.conclude(now, answer);
                return self.end();
            }
            Event::Violation(what) => {
                self.late_violation = Some(what);
                *closed = true;
            }
            Event::Clock if now >= *until => {
                if !*exited {
                    return self.fail(now, violation("it closed its bridge before it had answered, and went on"));
                }
                *closed = true;
            }
            _ => return,
        }
        if *exited && *closed {
            self.close_calls(now);
            self.end();
        }
    }

    fn while_ending(&mut self, now: Duration, event: Event) {
        let Event::Reaped(ended) = event else { return };
        self.timing.child_cpu = ended.cpu;
        self.peak_rss_bytes = ended.peak_rss_bytes;
        let error = verdict::of_end(&ended, &self.limits);
        let error = match self.late_violation.take() {
            Some(what) if error.code == ErrorCode::ChildCrashed && matches!(ended.status, ExitStatus::Exited(_)) => violation(&what),
            _ => error,
        };
        self.conclude(now, Answer::failed(error));
        self.finish(now);
    }

    fn log(&mut self, now: Duration, level: Level, text: String, dropped: u64) {
        let pushed = self.console.push(level, text, dropped);
        if self.watched
            && self.told_log_bytes < limits::console(&self.limits).run_bytes
            && let Some(entry) = self.console.latest()
        {
            self.told_log_bytes += entry.cost();
            self.actions.push(Action::Tell(RunEvent::Log(entry.clone())));
        }
        if let Err(flood) = pushed {
            let limit = limits::console(&self.limits).flood_bytes;
            let message = format!(
                "the body wrote {} bytes to its console, the limit is {limit}\nlet it write less, or return what matters",
                flood.written
            );
            self.fail(now, RunError::new(ErrorCode::OutputLimit, message));
        }
    }

    fn asked(&mut self, now: Duration, ask: Ask, over_budget: bool) {
        // Who asks was not waiting.
        self.child_waits = false;
        let seq = self.open(now, &ask);
        match requests::refusal(&ask, over_budget, &self.limits) {
            Some(failure) => self.settle(now, seq, Err(failure)),
            None => self.actions.push(Action::Resolve { seq, ask }),
        }
        self.adjust_clock(now);
    }

    fn open(&mut self, now: Duration, ask: &Ask) -> u64 {
        let seq = self.requests.open(now, ask);
        self.tell_of(seq, |entry| RunEvent::CallQueued { seq, method: entry.method, id: entry.id.clone() });
        seq
    }

    fn dispatch(&mut self, seq: u64, call: Admitted) {
        if self.requests.send(seq, &call) {
            self.tell_of(seq, |entry| RunEvent::CallSent { seq, id: entry.id.clone().unwrap_or_default() });
            self.actions.push(Action::Dispatch { seq, call });
        }
    }

    /// Tells of a step of a request that has no final state: after that nothing is told of it.
    fn step(&mut self, seq: u64, taken: StepTaken) {
        if self.requests.entry(seq).is_some_and(|entry| !entry.state.is_final()) {
            self.tell_of(seq, |_| RunEvent::Gate { seq, taken });
        }
    }

    fn settle(&mut self, now: Duration, seq: u64, result: Result<JsonText, CallFailure>) {
        if self.requests.settle(seq, &result, now) {
            self.tell_of(seq, |entry| RunEvent::CallEnded(entry.clone()));
            // Who has left, or is about to, hears nothing any more.
            if self.phase == Phase::Running {
                self.actions.push(Action::Reply { seq, result });
                self.child_waits = false;
            }
        }
        self.adjust_clock(now);
    }

    fn approval(&mut self, now: Duration, seq: u64, waiting: bool) {
        if self.requests.approval(now, seq, waiting) {
            self.actions.push(Action::Tell(if waiting { RunEvent::ApprovalStarted { seq } } else { RunEvent::ApprovalEnded { seq } }));
        }
        self.adjust_clock(now);
    }

    /// The clock stands still exactly while approvals are open, nothing else is, and the child itself was seen to wait: a body that computes beside an
    /// approval pays for it with its own time.
    fn adjust_clock(&mut self, now: Duration) {
        let stands = self.requests.only_approvals_open() && self.child_waits;
        if let Some(clock) = &mut self.clock {
            if stands { clock.pause(now) } else { clock.resume(now) }
        }
    }

    fn check_clock(&mut self, now: Duration) {
        if now >= limits::ceiling(&self.limits) {
            self.fail(now, self.over_ceiling());
        } else if self.clock.as_ref().and_then(WallClock::deadline).is_some_and(|at| now >= at) {
            let ms = limits::wall(&self.limits).as_millis();
            let most = Limit::WallMs.cap();
            let message = format!("the body took longer than {ms} ms\nlet it do less, or raise the time limit (at most {most} ms)");
            self.fail(now, RunError::new(ErrorCode::Timeout, message));
        }
    }

    fn too_many_requests(&self) -> RunError {
        let limit = self.limits.requests();
        let message = format!("the body made over {limit} requests and went on although each further one was refused\nlet it make fewer");
        RunError::new(ErrorCode::CallLimit, message)
    }

    fn over_ceiling(&self) -> RunError {
        let s = limits::ceiling(&self.limits).as_secs();
        RunError::new(
            ErrorCode::Timeout,
            format!("the run took longer than {s} s, approvals included\nanswer approvals sooner, or let the body do less"),
        )
    }

    fn fail(&mut self, now: Duration, error: RunError) {
        self.conclude(now, Answer::failed(error));
        self.end();
    }

    /// Keeps the first verdict, and gives every open request its final state: both are true from this moment on, whatever still happens.
    fn conclude(&mut self, now: Duration, answer: Answer) {
        if self.verdict.is_some() {
            return;
        }
        let told = self.watched.then(|| RunEvent::of_answer(&answer));
        self.verdict = Some(answer);
        self.close_calls(now);
        self.actions.extend(told.map(Action::Tell));
    }

    fn close_calls(&mut self, now: Duration) {
        if let Some(start) = self.body_start.take() {
            self.timing.body = now.saturating_sub(start);
        }
        for seq in self.requests.close(now) {
            self.tell_of(seq, |entry| RunEvent::CallEnded(entry.clone()));
        }
    }

    fn end(&mut self) {
        self.phase = Phase::Ending;
        self.actions.push(Action::Kill);
    }

    fn finish(&mut self, now: Duration) {
        self.phase = Phase::Ended;
        self.timing.total = now;
        let code = self.verdict.as_ref().and_then(|answer| answer.error.as_ref()).map(|error| error.code);
        self.actions.push(Action::Tell(RunEvent::Ended { code }));
        self.actions.push(Action::Finish);
    }

    fn tell_of(&mut self, seq: u64, event: impl FnOnce(&CallEntry) -> RunEvent) {
        if self.watched {
            let event = self.requests.entry(seq).map(event);
            self.actions.extend(event.map(Action::Tell));
        }
    }

    /// The report of a run that is over. Of one that is not, it says that this is a bug.
    pub(crate) fn into_report(self, isolation: Option<Isolation>) -> RunReport {
        let answer = self.verdict.unwrap_or_else(|| Answer::failed(RunError::internal("a run was reported before it had ended")));
        let (logs, logs_dropped) = self.console.into_parts();
        let (calls, telemetry, times) = self.requests.into_parts();
        RunReport {
            ok: answer.error.is_none(),
            value: answer.value,
            value_type: answer.value_type,
            logs,
            logs_dropped,
            error: answer.error,
            calls,
            telemetry,
            timing: Timing { tool: times.calls, approval: times.approvals, ..self.timing },
            resources: Resources { peak_rss_bytes: self.peak_rss_bytes, limits: self.limits },
            isolation,
        }
    }
}

pub(super) fn cancelled() -> RunError {
    RunError::new(ErrorCode::Cancelled, "the caller cancelled the run\nstart it again if that was not meant")
}

fn violation(what: &str) -> RunError {
    RunError::new(
        ErrorCode::ProtocolViolation,
        format!("the child broke the wire: {what}\ntreat the body, and whoever steered its author, as an attack"),
    )
}

#[cfg(any(test, feature = "danger"))]
pub(crate) mod property;
#[cfg(test)]
mod tests;
