//! The machine is held to its promises on any order of events: it ends, it ends once, the first reason wins, every request has one final state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use codemode_protocol::ValueType;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::catalog::{CallCode, Tool};
use crate::gate::{Step, StepOutcome};
use crate::launch::{ExitStatus, LastWords};
use crate::run::ledger::CallState;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn machine() -> Machine {
    let limits = RunLimits::default().with(Limit::WallMs, 1_000).and_then(|limits| limits.with(Limit::CeilingMs, 5_000)).unwrap();
    Machine::new(limits, CatalogSummary::default(), true)
}

fn running() -> Machine {
    let mut machine = machine();
    assert!(matches!(machine.handle(ms(1), Event::Launched)[..], [Action::SendRun]));
    machine
}

fn ask_call() -> Event {
    Event::Asked { ask: Ask::Call { id: "demo:echo".into(), args: JsonText::parse("{}").unwrap() }, over_budget: false }
}

fn checked(seq: u64) -> Event {
    let tool = Arc::new(Tool::new(Source::Client, "demo", "echo", "", json!({"type": "object"})));
    Event::Admitted { seq, call: Admitted::unasked(tool, json!({}), 2) }
}

fn stepped() -> StepTaken {
    StepTaken { step: Step::Policy, outcome: StepOutcome::Passed, code: None, by: vec![], duration: ms(1), shown: None }
}

fn settled(seq: u64, ok: bool) -> Event {
    let result = if ok { Ok(JsonText::null()) } else { Err(CallFailure::new(CallCode::ToolError, "", "boom")) };
    Event::Settled { seq, result }
}

fn returned() -> Event {
    Event::Answered(Answer { value: JsonText::parse("1").unwrap(), value_type: ValueType::Number, error: None })
}

fn ended(status: ExitStatus) -> Event {
    let words = Some(LastWords::OffList(41));
    Event::Reaped(Ended { status, last_words: words, stderr_tail: String::new(), cpu: ms(3), peak_rss_bytes: 7 })
}

fn code(machine: Machine) -> Option<ErrorCode> {
    machine.into_report(None).error.map(|error| error.code)
}

/// Drives a machine to its end by what must come anyway: deadlines, and the reaping that was asked for.
fn run_out(machine: &mut Machine, mut now: Duration, mut see: impl FnMut(Vec<Action>)) {
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

#[test]
fn an_answer_stands_whatever_the_child_does_after_it() {
    let mut machine = running();
    let actions = machine.handle(ms(5), returned());
    assert!(matches!(actions[..], [Action::CloseBridge]), "{actions:?}");
    machine.handle(ms(6), Event::ChildExited);
    machine.handle(ms(7), ended(ExitStatus::Signaled(31)));
    let report = machine.into_report(None);
    assert!(report.ok);
    assert_eq!((report.timing.body, report.timing.total, report.resources.peak_rss_bytes), (ms(4), ms(7), 7));
}

#[test]
fn an_answer_found_after_the_exit_still_counts() {
    let mut machine = running();
    machine.handle(ms(5), Event::ChildExited);
    machine.handle(ms(5), returned());
    machine.handle(ms(6), ended(ExitStatus::Exited(0)));
    assert_eq!(code(machine), None);
}

#[test]
fn a_dead_childs_call_is_never_dispatched() {
    let mut machine = running();
    machine.handle(ms(5), Event::ChildExited);
    let actions = machine.handle(ms(5), ask_call());
    assert!(actions.iter().all(|action| matches!(action, Action::Tell(_))), "{actions:?}");
    machine.handle(ms(5), Event::BridgeClosed);
    machine.handle(ms(6), ended(ExitStatus::Signaled(31)));
    let report = machine.into_report(None);
    assert_eq!(report.calls[0].state, CallState::Cancelled);
    assert_eq!(report.error.unwrap().code, ErrorCode::IsolationViolation);
}

#[test]
fn half_a_frame_of_a_dead_child_does_not_hide_why_it_died() {
    for (status, verdict) in
        [(ExitStatus::Signaled(31), ErrorCode::IsolationViolation), (ExitStatus::Exited(0), ErrorCode::ProtocolViolation)]
    {
        let mut machine = running();
        machine.handle(ms(5), Event::ChildExited);
        machine.handle(ms(5), Event::Violation("half a frame".into()));
        machine.handle(ms(6), ended(status));
        assert_eq!(code(machine), Some(verdict));
    }
}

#[test]
fn a_child_that_closes_its_bridge_and_lives_on_has_broken_the_wire() {
    let mut machine = running();
    machine.handle(ms(5), Event::BridgeClosed);
    assert!(machine.handle(ms(50), Event::Clock).is_empty());
    let actions = machine.handle(ms(105), Event::Clock);
    assert!(matches!(actions[..], [Action::Kill]), "{actions:?}");
    machine.handle(ms(106), ended(ExitStatus::Signaled(9)));
    assert_eq!(code(machine), Some(ErrorCode::ProtocolViolation));
}

#[test]
fn the_clock_stands_still_only_while_approvals_alone_are_open() {
    let mut machine = running();
    machine.handle(ms(1), ask_call());
    machine.handle(ms(2), ask_call());
    machine.handle(ms(101), Event::ApprovalStarted { seq: 1 });
    assert_eq!(machine.deadline(), Some(ms(1001)), "another call is open");
    machine.handle(ms(201), settled(2, true));
    assert_eq!(machine.deadline(), Some(ms(5000)), "only the ceiling is left");
    machine.handle(ms(3000), Event::Clock);
    machine.handle(ms(3201), Event::ApprovalEnded { seq: 1 });
    assert_eq!(machine.deadline(), Some(ms(4001)));
    machine.handle(ms(4001), Event::Clock);
    machine.handle(ms(4002), ended(ExitStatus::Signaled(9)));
    let report = machine.into_report(None);
    assert_eq!(report.error.unwrap().code, ErrorCode::Timeout);
    assert_eq!((report.timing.approval, report.timing.tool), (ms(3100), ms(4000)));
}

#[test]
fn nobody_waits_for_an_approval_beyond_the_ceiling() {
    let mut machine = running();
    machine.handle(ms(1), ask_call());
    machine.handle(ms(2), Event::ApprovalStarted { seq: 1 });
    let actions = machine.handle(ms(5000), Event::Clock);
    assert!(matches!(actions[..], [Action::Tell(RunEvent::CallEnded(_)), Action::Kill]), "{actions:?}");
}

#[test]
fn arguments_above_the_limit_are_refused_and_the_run_goes_on() {
    let mut machine = running();
    let args = JsonText::of(&json!({"x": "y".repeat(1024 * 1024)})).unwrap();
    let ask = Ask::Call { id: "t".into(), args };
    let actions = machine.handle(ms(2), Event::Asked { ask, over_budget: false });
    assert!(
        actions.iter().any(|action| matches!(action, Action::Reply { seq: 1, result: Err(failure) } if failure.code == CallCode::TooLarge))
    );
    machine.handle(ms(3), returned());
    machine.handle(ms(4), Event::ChildExited);
    machine.handle(ms(5), ended(ExitStatus::Exited(0)));
    let report = machine.into_report(None);
    assert!(report.ok);
    assert_eq!((report.calls[0].state, report.calls[0].code), (CallState::Refused, Some(CallCode::TooLarge)));
}

#[test]
fn events_hold_no_more_of_the_console_than_the_report() {
    let mut machine = running();
    let mut told = 0;
    for _ in 0..1000 {
        let actions = machine.handle(ms(2), Event::Console { level: Level::Log, text: "x".repeat(1000), dropped: 0 });
        told += actions.len();
    }
    assert_eq!(told, 66, "64 KiB and the entry that passed it");
}

#[derive(Clone, Debug)]
enum Op {
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
    Answered(bool),
    Violation,
    BridgeClosed,
    ChildExited,
    Reaped(i32),
    Clock,
    Cancelled,
}

fn op() -> impl Strategy<Value = Op> {
    let seq = 1u64..8;
    prop_oneof![
        4 => Just(Op::Launched),
        1 => Just(Op::LaunchFailed),
        4 => (0usize..5_000_000).prop_map(Op::Console),
        12 => (0u8..4, prop::bool::weighted(0.1)).prop_map(|(kind, over)| Op::Ask(kind, over)),
        1 => Just(Op::CallLimit),
        6 => seq.clone().prop_map(Op::Resolved),
        8 => seq.clone().prop_map(Op::Checked),
        4 => seq.clone().prop_map(Op::Stepped),
        8 => (seq.clone(), any::<bool>()).prop_map(|(seq, ok)| Op::Settled(seq, ok)),
        6 => (seq, any::<bool>()).prop_map(|(seq, on)| Op::Approval(seq, on)),
        1 => any::<bool>().prop_map(Op::Answered),
        1 => Just(Op::Violation),
        1 => Just(Op::BridgeClosed),
        1 => Just(Op::ChildExited),
        2 => prop_oneof![Just(0), Just(9), Just(24), Just(31)].prop_map(Op::Reaped),
        3 => Just(Op::Clock),
        1 => Just(Op::Cancelled),
    ]
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_order_of_events_ends_once_for_its_first_reason(ops in prop::collection::vec((op(), 0u64..120), 0..80)) {
        let mut machine = machine();
        let mut seen = Seen::default();
        let mut now = Duration::ZERO;
        let mut reason = None;
        for (op, step) in &ops {
            now += ms(*step);
            if machine.verdict.is_none() {
                reason = first_reason(&machine, now, op);
            }
            let actions = machine.handle(now, event(op));
            seen.see(actions);
            if let Phase::Running = machine.phase {
                // Never without an end in sight.
                prop_assert!(machine.deadline().is_some_and(|at| at <= ms(5_000)));
            }
        }
        run_out(&mut machine, now, |actions| seen.see(actions));
        prop_assert_eq!(seen.finishes, 1);
        prop_assert_eq!(seen.kills, usize::from(seen.launched));
        let report = machine.into_report(None);
        let code = report.error.as_ref().map(|error| error.code);
        prop_assert_ne!(code, Some(ErrorCode::InternalError));
        prop_assert_eq!(report.ok, code.is_none());
        if let Some(reason) = reason {
            prop_assert_eq!(code, reason);
        }
        prop_assert_eq!(report.calls.len(), seen.queued.len());
        for call in &report.calls {
            prop_assert!(call.state.is_final());
            prop_assert_eq!(seen.ended.get(&call.seq), Some(&call.state));
            match call.state {
                CallState::Unknown => prop_assert!(seen.dispatched.contains(&call.seq) && !seen.replied.contains(&call.seq)),
                CallState::Cancelled | CallState::Refused | CallState::Denied => prop_assert!(!seen.dispatched.contains(&call.seq)),
                _ => {}
            }
        }
    }
}
