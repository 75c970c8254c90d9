//! Every order of events up to a depth, none left out: what `property` looks at on random walks is looked at on all short ones.
//!
//! The checker explores breadth first, so that a broken promise is shown by a shortest walk. Walks that lead to the same state are followed once.

use std::hash::{Hash, Hasher};
use std::panic::catch_unwind;

use stateright::{Checker, Model, Property};

use super::super::property::{Op, Walk, ms};

/// Events of a walk: enough for two calls to be asked for, sent and answered in every order around every end. 30,000 states, a matter of seconds.
const DEPTH: usize = 6;
/// The same where `CODEMODE_LONG` asks for more: 165,000 states, a minute.
const LONG_DEPTH: usize = 7;
/// Requests of a walk: two can meet each other in every order.
const REQUESTS: u64 = 2;

/// An event and the time before it.
type Step = (Op, u64);

/// The walk so far. Two walks are the same state when machine and promises are.
#[derive(Clone, Debug)]
struct Walked {
    steps: Vec<Step>,
    state: String,
}

impl Walked {
    fn of(steps: Vec<Step>) -> Walked {
        let mut walk = Walk::new();
        steps.iter().for_each(|(op, after)| walk.step(op, ms(*after)));
        Walked { steps, state: format!("{walk:?}") }
    }

    /// Whether this and all that comes by itself afterwards keeps what was promised.
    fn keeps_its_promises(&self) -> bool {
        catch_unwind(|| {
            let mut walk = Walk::new();
            self.steps.iter().for_each(|(op, after)| walk.step(op, ms(*after)));
            walk.finish();
        })
        .is_ok()
    }
}

impl PartialEq for Walked {
    fn eq(&self, other: &Walked) -> bool {
        self.state == other.state
    }
}

impl Hash for Walked {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.state.hash(hasher);
    }
}

struct Runs {
    depth: usize,
}

impl Model for Runs {
    type State = Walked;
    type Action = Step;

    fn init_states(&self) -> Vec<Walked> {
        vec![Walked::of(Vec::new())]
    }

    fn actions(&self, state: &Walked, actions: &mut Vec<Step>) {
        let asked = state.steps.iter().filter(|(op, _)| matches!(op, Op::Ask(..))).count() as u64;
        let at_once = [Op::Launched, Op::LaunchFailed, Op::CallLimit, Op::Violation, Op::BridgeClosed, Op::ChildExited, Op::Cancelled];
        actions.extend(at_once.map(|op| (op, 0)));
        actions.extend([true, false].map(|yes| (Op::ChildWaits(yes), 0)));
        actions.extend([true, false].map(|good| (Op::Answered(good), 0)));
        actions.extend([0, 9, 31].map(|status| (Op::Reaped(status), 0)));
        // The grace, the wall clock, the ceiling.
        actions.extend([100, 1_000, 5_000].map(|after| (Op::Clock, after)));
        if asked < REQUESTS {
            actions.extend([0, 2].map(|which| (Op::Ask(which, false), 0)));
        }
        for seq in 1..=asked {
            actions.extend([true, false].map(|good| (Op::Settled(seq, good), 0)));
            actions.extend([true, false].map(|starts| (Op::Approval(seq, starts), 0)));
            actions.extend([Op::Resolved(seq), Op::Checked(seq), Op::Stepped(seq)].map(|op| (op, 0)));
        }
    }

    fn next_state(&self, last: &Walked, step: Step) -> Option<Walked> {
        let next = Walked::of(last.steps.iter().cloned().chain([step]).collect());
        (next.state != last.state).then_some(next)
    }

    fn within_boundary(&self, state: &Walked) -> bool {
        state.steps.len() <= self.depth
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("it ends, once, for its first reason, and every request has its one true state", |_, walked: &Walked| {
                walked.keeps_its_promises()
            }),
            // The walks do reach what they are about.
            Property::sometimes("a call is in the air when the child dies", |_, walked: &Walked| walked.state.contains("Unknown")),
            Property::sometimes("an answer stands", |_, walked: &Walked| walked.state.contains("phase: Answered")),
            Property::sometimes("the clock stands while a person thinks", |_, walked: &Walked| {
                walked.state.contains("running_since: None")
            }),
        ]
    }
}

#[test]
fn every_short_order_of_events_ends_once_for_its_first_reason() {
    let depth = if std::env::var_os("CODEMODE_LONG").is_some() { LONG_DEPTH } else { DEPTH };
    let checker = Runs { depth }.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    let states = checker.unique_state_count();
    println!("{states} states, every order of at most {depth} events");
    assert!(states > 10_000, "only {states} states: the walks lead nowhere");
}
