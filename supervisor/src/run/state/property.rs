//! What the machine promises on any order of events, written once: for the property test, the fuzz target and the replay of its corpus.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use codemode_protocol::ValueType;
use serde_json::json;

use super::*;
use crate::catalog::{CallCode, Tool};
use crate::gate::{Step, StepOutcome};
use crate::launch::{ExitStatus, LastWords};
use crate::run::ledger::CallState;

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn machine() -> Machine {
    let limits = RunLimits::default().with(Limit::WallMs, 1_000).and_then(|limits| limits.with(Limit::CeilingMs, 5_000));
    let limits = limits.expect("inside the bounds");
    Machine::new(limits, CatalogSummary::default(), true)
}

pub(crate) fn ask_call() -> Event {
    Event::Asked { ask: Ask::Call { id: "demo:echo".into(), args: JsonText::parse("{}").expect("JSON") }, over_budget: false }
}

pub(crate) fn checked(seq: u64) -> Event {
    let tool = Arc::new(Tool::new(Source::Client, "demo", "echo", "", json!({"type": "object"})));
    Event::Admitted { seq, call: Admitted::unasked(tool, json!({}), 2) }
}

pub(crate) fn stepped() -> StepTaken {
    StepTaken { step: Step::Policy, outcome: StepOutcome::Passed, code: None, by: vec![], duration: ms(1), shown: None }
}

pub(crate) fn settled(seq: u64, ok: bool) -> Event {
    let result = if ok { Ok(JsonText::null()) } else { Err(CallFailure::new(CallCode::ToolError, "", "boom")) };
    Event::Settled { seq, result }
}

pub(crate) fn returned() -> Event {
    Event::Answered(Answer { value: JsonText::parse("1").expect("JSON"), value_type: ValueType::Number, error: None })
}

pub(crate) fn ended(status: ExitStatus) -> Event {
    let words = Some(LastWords::OffList(41));
    Event::Reaped(Ended { status, last_words: words, stderr_tail: String::new(), cpu: ms(3), peak_rss_bytes: 7 })
}

/// Drives a machine to its end by what must come anyway: deadlines, and the reaping that was asked for.
pub(crate) fn run_out(machine: &mut Machine, mut now: Duration, mut see: impl FnMut(Vec<Action>)) {
    for _ in 0..4 {
        if machine.is_over() {
            return;
        }
        match machine.deadline() {
            Some(deadline) => {
                now = now.max(deadline);
                see(machine.handle(now, Event::Clock));
            }
            None => see(machine.handle(now, ended(ExitStatus::Signaled(9)))),
        }
    }
    assert!(machine.is_over(), "{machine:?}");
}

/// An event in short.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    Launched,
    LaunchFailed,
    Console(usize),
    Ask(u8, bool),
    CallLimit,
    Resolved(u64),
    Checked(u64),
    Stepped(u64),
    Settled(u64, bool),
    Approval(u64, bool),
    ChildWaits(bool),
    Answered(bool),
    Violation,
    BridgeClosed,
    ChildExited,
    Reaped(i32),
    Clock,
    Cancelled,
}

/// Three bytes an event: which, its particulars, and the milliseconds before it.
pub(crate) fn of_bytes(bytes: &[u8]) {
    let ops: Vec<(Op, u64)> =
        bytes.chunks_exact(3).take(MOST_EVENTS).map(|three| (op_of(three[0], three[1]), u64::from(three[2]))).collect();
    ends_once_for_its_first_reason(&ops);
}

/// Events of one input: more take long and say no more.
const MOST_EVENTS: usize = 400;

fn op_of(which: u8, how: u8) -> Op {
    let seq = u64::from(how >> 1) % 8;
    let odd = how % 2 == 1;
    match which % 18 {
        0 => Op::Launched,
        1 => Op::LaunchFailed,
        2 => Op::Console(usize::from(how) << 15),
        3..=5 => Op::Ask(which % 3, odd),
        6 => Op::CallLimit,
        7 => Op::Resolved(seq),
        8 => Op::Checked(seq),
        9 => Op::Stepped(seq),
        10 => Op::Settled(seq, odd),
        // No request has the number 0.
        11 if seq == 0 => Op::ChildWaits(odd),
        11 => Op::Approval(seq, odd),
        12 => Op::Answered(odd),
        13 => Op::Violation,
        14 => Op::BridgeClosed,
        15 => Op::ChildExited,
        16 => Op::Reaped([0, 9, 24, 31][usize::from(how) % 4]),
        _ if odd => Op::Clock,
        _ => Op::Cancelled,
    }
}

/// Whatever happens in whatever order: the run ends, once, for the first reason; each request has one final state, and it is the true one.
pub(crate) fn ends_once_for_its_first_reason(ops: &[(Op, u64)]) {
    let mut walk = Walk::new();
    ops.iter().for_each(|(op, step)| walk.step(op, ms(*step)));
    walk.finish();
}

/// A run on its way through events, and what it has promised so far.
#[derive(Debug)]
pub(crate) struct Walk {
    machine: Machine,
    seen: Seen,
    now: Duration,
    /// The first reason for an end, when one can be told before the exit status is known.
    reason: Option<Option<ErrorCode>>,
}

impl Walk {
    pub(crate) fn new() -> Walk {
        Walk { machine: machine(), seen: Seen::default(), now: Duration::ZERO, reason: None }
    }

    /// This happens, so long after what was before.
    pub(crate) fn step(&mut self, op: &Op, after: Duration) {
        self.now += after;
        if self.machine.verdict.is_none() {
            self.reason = first_reason(&self.machine, self.now, op);
        }
        let actions = self.machine.handle(self.now, event(op));
        self.seen.see(actions);
        if let Phase::Running = self.machine.phase {
            // Never without an end in sight.
            assert!(self.machine.deadline().is_some_and(|at| at <= ms(5_000)));
        }
    }

    /// Nothing happens any more but what must come by itself; then everything that was promised is looked at.
    pub(crate) fn finish(self) {
        let Walk { mut machine, mut seen, now, reason } = self;
        run_out(&mut machine, now, |actions| seen.see(actions));
        assert_eq!(seen.finishes, 1);
        assert_eq!(seen.kills, usize::from(seen.launched));
        let report = machine.into_report(None);
        let code = report.error.as_ref().map(|error| error.code);
        assert_ne!(code, Some(ErrorCode::InternalError));
        assert_eq!(report.ok, code.is_none());
        assert_eq!(seen.concluded, Some((report.value.text().to_owned(), code)), "told as it is reported");
        if let Some(reason) = reason {
            assert_eq!(code, reason);
        }
        assert_eq!(report.calls.len(), seen.queued.len());
        for call in &report.calls {
            assert!(call.state.is_final());
            assert_eq!(seen.ended.get(&call.seq), Some(&call.state));
            match call.state {
                CallState::Unknown => assert!(seen.dispatched.contains(&call.seq) && !seen.replied.contains(&call.seq)),
                CallState::Cancelled | CallState::Refused | CallState::Denied => assert!(!seen.dispatched.contains(&call.seq)),
                _ => {}
            }
        }
    }
}

fn event(op: &Op) -> Event {
    match *op {
        Op::Launched => Event::Launched,
        Op::LaunchFailed => Event::LaunchFailed(RunError::new(ErrorCode::NodeUnavailable, "")),
        Op::Console(dropped) => Event::Console { level: Level::Warn, text: "w".into(), dropped: dropped as u64 },
        Op::Ask(0, over_budget) => Event::Asked { ask: Ask::Search { query: "q".into(), limit: None }, over_budget },
        Op::Ask(1, over_budget) => Event::Asked { ask: Ask::Describe { id: "t".into() }, over_budget },
        Op::Ask(_, over_budget) => match ask_call() {
            Event::Asked { ask, .. } => Event::Asked { ask, over_budget },
            other => other,
        },
        Op::CallLimit => Event::CallLimit,
        Op::Resolved(seq) => Event::Resolved { seq, id: "client:demo:echo".into(), source: Source::Client },
        Op::Checked(seq) => checked(seq),
        Op::Stepped(seq) => Event::Step { seq, taken: stepped() },
        Op::Settled(seq, ok) => settled(seq, ok),
        Op::Approval(seq, true) => Event::ApprovalStarted { seq },
        Op::Approval(seq, false) => Event::ApprovalEnded { seq },
        Op::ChildWaits(waits) => Event::ChildWaits(waits),
        Op::Answered(true) => returned(),
        Op::Answered(false) => Event::Answered(Answer::failed(RunError::new(ErrorCode::BodyError, ""))),
        Op::Violation => Event::Violation("x".into()),
        Op::BridgeClosed => Event::BridgeClosed,
        Op::ChildExited => Event::ChildExited,
        Op::Reaped(0) => ended(ExitStatus::Exited(0)),
        Op::Reaped(signal) => ended(ExitStatus::Signaled(signal)),
        Op::Clock => Event::Clock,
        Op::Cancelled => Event::Cancelled,
    }
}

/// What actions have promised so far.
#[derive(Debug, Default)]
struct Seen {
    launched: bool,
    kills: usize,
    finishes: usize,
    closed: bool,
    concluded: Option<(String, Option<ErrorCode>)>,
    queued: BTreeSet<u64>,
    dispatched: BTreeSet<u64>,
    replied: BTreeSet<u64>,
    ended: BTreeMap<u64, CallState>,
}

impl Seen {
    fn see(&mut self, actions: Vec<Action>) {
        for action in actions {
            assert_eq!(self.finishes, 0, "nothing comes after the end: {action:?}");
            match action {
                Action::SendRun => assert!(!std::mem::replace(&mut self.launched, true)),
                Action::Resolve { seq, .. } => assert!(!self.closed && self.queued.contains(&seq)),
                Action::Dispatch { seq, .. } => assert!(!self.closed && self.dispatched.insert(seq), "dispatched twice: {seq}"),
                Action::Reply { seq, .. } => assert!(!self.closed && self.replied.insert(seq), "answered twice: {seq}"),
                Action::CloseBridge => self.closed = true,
                Action::Kill => {
                    self.closed = true;
                    self.kills += 1;
                }
                Action::Tell(RunEvent::CallQueued { seq, .. }) => assert!(self.queued.insert(seq)),
                Action::Tell(RunEvent::Gate { seq, .. }) => {
                    assert!(self.queued.contains(&seq) && !self.ended.contains_key(&seq), "told of {seq} after its end");
                }
                Action::Tell(RunEvent::CallEnded(entry)) => assert_eq!(self.ended.insert(entry.seq, entry.state), None, "one final state"),
                Action::Tell(RunEvent::Concluded { value, error, .. }) => {
                    let told = (value.text().to_owned(), error.map(|error| error.code));
                    assert_eq!(self.concluded.replace(told), None, "concluded twice");
                }
                Action::Tell(_) => {}
                Action::Finish => self.finishes += 1,
            }
        }
    }
}

/// The first reason for an end, told by the simplest rules that can tell it; `None` when only the exit status can.
fn first_reason(machine: &Machine, now: Duration, op: &Op) -> Option<Option<ErrorCode>> {
    let due = machine.deadline().is_some_and(|at| now >= at);
    match (machine.phase, op) {
        (Phase::Launching, Op::LaunchFailed) => Some(Some(ErrorCode::NodeUnavailable)),
        (Phase::Launching | Phase::Running, Op::Cancelled) => Some(Some(ErrorCode::Cancelled)),
        (Phase::Launching | Phase::Running, Op::Clock) if due => Some(Some(ErrorCode::Timeout)),
        (Phase::Running, Op::Violation) => Some(Some(ErrorCode::ProtocolViolation)),
        (Phase::Running, Op::CallLimit) => Some(Some(ErrorCode::CallLimit)),
        (Phase::Running | Phase::Leaving { .. }, Op::Answered(true)) => Some(None),
        (Phase::Running | Phase::Leaving { .. }, Op::Answered(false)) => Some(Some(ErrorCode::BodyError)),
        _ => None,
    }
}
