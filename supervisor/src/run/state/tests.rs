//! The machine is held to its promises on any order of events: it ends, it ends once, the first reason wins, every request has one final state.

mod model;

use proptest::prelude::*;
use serde_json::json;

use super::property::{self, Op, ask_call, ended, machine, ms, returned, settled};
use super::*;
use crate::catalog::CallCode;
use crate::launch::ExitStatus;
use crate::run::ledger::CallState;

fn running() -> Machine {
    let mut machine = machine();
    assert!(matches!(machine.handle(ms(1), Event::Launched)[..], [Action::SendRun]));
    machine
}

fn code(machine: Machine) -> Option<ErrorCode> {
    machine.into_report(None).error.map(|error| error.code)
}

#[test]
fn an_answer_stands_whatever_the_child_does_after_it() {
    let mut machine = running();
    let actions = machine.handle(ms(5), returned());
    assert!(matches!(actions[..], [Action::Tell(RunEvent::Concluded { error: None, .. }), Action::CloseBridge]), "{actions:?}");
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
    for (status, verdict) in [
        (ExitStatus::Signaled(31), ErrorCode::IsolationViolation),
        // The kernel's memory killer asks nobody whether a frame is finished.
        (ExitStatus::Signaled(9), ErrorCode::ChildCrashed),
        (ExitStatus::Exited(0), ErrorCode::ProtocolViolation),
    ] {
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
    assert!(matches!(actions[..], [Action::Tell(RunEvent::Concluded { .. }), Action::Kill]), "{actions:?}");
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
    assert!(!machine.watches_child());
    machine.handle(ms(181), settled(2, true));
    assert!(machine.watches_child());
    assert_eq!(machine.deadline(), Some(ms(1001)), "the answer may have woken the child");
    machine.handle(ms(201), Event::ChildWaits(true));
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
fn a_child_that_computes_beside_an_approval_pays_with_its_own_time() {
    let mut machine = running();
    machine.handle(ms(1), ask_call());
    machine.handle(ms(1), Event::ApprovalStarted { seq: 1 });
    assert_eq!(machine.deadline(), Some(ms(1001)), "nobody has looked");
    machine.handle(ms(101), Event::ChildWaits(true));
    assert_eq!(machine.deadline(), Some(ms(5000)));
    machine.handle(ms(501), Event::ChildWaits(false));
    assert_eq!(machine.deadline(), Some(ms(1401)), "400 ms were waiting");
    machine.handle(ms(601), Event::ChildWaits(true));
    machine.handle(ms(701), ask_call());
    assert_eq!(machine.deadline(), Some(ms(1501)), "who asks was awake");
    let actions = machine.handle(ms(1501), Event::Clock);
    assert!(actions.iter().any(|action| matches!(action, Action::Kill)));
}

#[test]
fn nobody_waits_for_an_approval_beyond_the_ceiling() {
    let mut machine = running();
    machine.handle(ms(1), ask_call());
    machine.handle(ms(2), Event::ApprovalStarted { seq: 1 });
    let actions = machine.handle(ms(5000), Event::Clock);
    let [Action::Tell(RunEvent::CallEnded(_)), Action::Tell(RunEvent::Concluded { .. }), Action::Kill] = actions[..] else {
        panic!("{actions:?}");
    };
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
        4 => any::<bool>().prop_map(Op::ChildWaits),
        1 => any::<bool>().prop_map(Op::Answered),
        1 => Just(Op::Violation),
        1 => Just(Op::BridgeClosed),
        1 => Just(Op::ChildExited),
        2 => prop_oneof![Just(0), Just(9), Just(24), Just(31)].prop_map(Op::Reaped),
        3 => Just(Op::Clock),
        1 => Just(Op::Cancelled),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_order_of_events_ends_once_for_its_first_reason(ops in prop::collection::vec((op(), 0u64..120), 0..80)) {
        property::ends_once_for_its_first_reason(&ops);
    }

    #[test]
    fn any_bytes_are_an_order_of_events(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        property::of_bytes(&bytes);
    }
}
