//! Any policy, any hooks, any rules: what is true of every call.

use std::sync::Arc;

use codemode::catalog::{CallCode, Catalog, FileCatalog};
use codemode::gate::{ApprovalRule, Approvals, Gate, Glob, Passage, Policy, Step, StepOutcome, StepTaken, Told};
use codemode::{CallState, JsonText, RunRequest};
use codemode_tests::rig;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::stage::{Desk, Diary, Does, Hook, Person, body_of};

/// The rules of one case, and the calls that are made under them.
#[derive(Clone, Debug)]
struct Case {
    deny: Vec<String>,
    hooks: Vec<Does>,
    rules: Vec<(String, ApprovalRule)>,
    person: Option<Person>,
    calls: Vec<(String, Value)>,
}

fn glob() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["demo:echo", "demo:count", "demo:e*", "demo:*o*", "other:*", "demo:boom"]).prop_map(str::to_owned)
}

fn hook() -> impl Strategy<Value = Does> {
    prop_oneof![
        5 => Just(Does::Allow),
        3 => (0..5i32).prop_map(|n| Does::Rewrite(json!({"n": n, "by": "hook"}))),
        1 => Just(Does::Rewrite(json!({"fields": "no object"}))),
        1 => Just(Does::Rewrite(json!([1]))),
        1 => Just(Does::Block),
        1 => Just(Does::Fail),
        1 => Just(Does::Panic),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let rule = prop_oneof![2 => Just(ApprovalRule::Ask), 1 => Just(ApprovalRule::Allow), 1 => Just(ApprovalRule::Deny)];
    let person =
        prop_oneof![1 => Just(None), 4 => Just(Some(Person::Grants)), 1 => Just(Some(Person::Refuses)), 1 => Just(Some(Person::Breaks))];
    let id = prop::sample::select(vec!["demo:echo", "echo", "demo:count", "demo:boom", "demo:edit", "demo:iserr", "nobody"]);
    let args =
        prop_oneof![Just(json!({})), (0..5i32).prop_map(|n| json!({"n": n})), Just(json!({"fields": "{\"a\": 1}"})), Just(json!([]))];
    let calls = prop::collection::vec((id.prop_map(str::to_owned), args), 1..6);
    (prop::collection::vec(glob(), 0..2), prop::collection::vec(hook(), 0..3), prop::collection::vec((glob(), rule), 0..3), person, calls)
        .prop_map(|(deny, hooks, rules, person, calls)| Case { deny, hooks, rules, person, calls })
}

impl Case {
    fn gate(&self) -> (Gate, Option<Arc<Desk>>) {
        let policy = Policy { allow: None, deny: self.deny.iter().map(|glob| Glob::new(glob)).collect() };
        let rules = self.rules.iter().map(|(glob, rule)| (Glob::new(glob), *rule));
        let mut gate = Gate::new().with_policy(Arc::new(policy)).with_approvals(Approvals::new(rules));
        for (number, does) in self.hooks.iter().enumerate() {
            gate = gate.with_hook(Hook::new(&format!("hook{number}"), does.clone()));
        }
        let desk = self.person.clone().map(Desk::new);
        if let Some(desk) = &desk {
            gate = gate.with_approver(Arc::clone(desk) as _);
        }
        (gate, desk)
    }

    fn permits(&self, id: &str) -> bool {
        !self.deny.iter().any(|glob| Glob::new(glob).matches(id))
    }
}

/// What must be true of the steps of one call, given how it ended and which arguments reached the backend.
fn judge(
    case: &Case,
    steps: &[StepTaken],
    code: Option<CallCode>,
    reached: Option<&Value>,
    asked: Option<&Value>,
) -> Result<(), TestCaseError> {
    let names: Vec<Step> = steps.iter().map(|taken| taken.step).collect();
    prop_assert!(Step::ALL.starts_with(&names), "each once, in order: {names:?}");
    let (last, before) = steps.split_last().ok_or_else(|| TestCaseError::fail("no step at all"))?;
    prop_assert!(before.iter().all(|taken| taken.outcome != StepOutcome::Stopped));
    prop_assert_eq!(last.outcome == StepOutcome::Stopped, code.is_some(), "{:?}", last);
    prop_assert_eq!(last.code, code);
    // Dispatched exactly when every step before the call let it pass.
    prop_assert_eq!(reached.is_some(), names.contains(&Step::Call), "{:?}", names);
    let shown = |step: Step| steps.iter().find(|taken| taken.step == step).and_then(|taken| taken.shown.as_ref());
    if let Some(reached) = reached {
        let rewritten = case.hooks.iter().rev().find_map(|does| if let Does::Rewrite(args) = does { Some(args) } else { None });
        if let Some(rewritten) = rewritten {
            prop_assert_eq!(reached, rewritten);
        }
        if code.is_none() {
            prop_assert_eq!(shown(Step::Call), Some(reached), "the log has what the backend got");
        }
        if let Some(asked) = asked {
            prop_assert_eq!(asked, reached, "what was approved is what went");
            prop_assert_eq!(shown(Step::Approval), Some(asked));
        }
    }
    Ok(())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn nothing_is_dispatched_unless_every_step_passed_and_everybody_sees_the_same_arguments() {
    // How many calls went through, and how many each step stopped.
    let tally = std::cell::RefCell::new((0, [0; Step::ALL.len()]));
    let mut runner = TestRunner::new(Config { cases: 600, failure_persistence: None, ..Config::default() });
    let runtime = runtime();
    runner
        .run(&case(), |case| {
            runtime.block_on(async {
                for (id, args) in &case.calls {
                    let (gate, desk) = case.gate();
                    let catalog = rig::demo();
                    let diary = Arc::new(Diary::default());
                    let passage = Passage::new(Arc::new(gate), Arc::clone(&catalog) as Arc<dyn Catalog>, "run".into())
                        .with_listener(Arc::clone(&diary) as _);
                    let result = passage.pass(1, id, &JsonText::of(args).unwrap()).await;
                    let reached = catalog.dispatched();
                    prop_assert!(reached.len() <= 1);
                    let reached = reached.first().map(|dispatch| dispatch.args.clone().unwrap());
                    let asked = desk.map(|desk| desk.asked()).unwrap_or_default();
                    prop_assert!(asked.len() <= 1);
                    let steps = diary.steps();
                    judge(&case, &steps, result.as_ref().err().map(|failure| failure.code), reached.as_ref(), asked.first())?;
                    let resolved = diary.0.lock().unwrap().iter().find_map(|(_, told)| match told {
                        Told::Resolved { id, .. } => Some(id.clone()),
                        _ => None,
                    });
                    prop_assert!(resolved.is_none_or(|id| case.permits(&id)), "a denied tool was told of");
                    match steps.last() {
                        Some(last) if result.is_err() => tally.borrow_mut().1[last.step as usize] += 1,
                        _ => tally.borrow_mut().0 += 1,
                    }
                }
                Ok(())
            })
        })
        .unwrap();
    // The cases are about something: calls went, and each step before the value stopped some.
    let (went, stopped) = tally.into_inner();
    assert!(went > 100 && stopped[..5].iter().all(|count| *count > 20), "{went} {stopped:?}");
}

/// The same in a child: one final state for each call, and the ledger's word for it.
#[test]
fn each_call_of_a_body_has_one_final_state_that_says_how_far_it_came() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let cases = {
            let mut runner = TestRunner::deterministic();
            (0..40).map(|_| case().new_tree(&mut runner).unwrap().current()).collect::<Vec<_>>()
        };
        let mut seen = std::collections::HashSet::new();
        for case in cases {
            let (gate, _) = case.gate();
            let catalog: Arc<FileCatalog> = rig::demo();
            let calls: Vec<String> = case
                .calls
                .iter()
                .filter(|(_, args)| args.is_object())
                .map(|(id, args)| format!("openclaw.tools.call({id:?}, {args})"))
                .collect();
            let script = format!("return (await Promise.allSettled([{}])).map(one => one.reason?.code ?? null)", calls.join(", "));
            let ran = body_of(&supervisor, RunRequest::new(script).with_gate(Arc::new(gate)), Arc::clone(&catalog) as _).await;
            let codes = ran.value();
            for (index, call) in ran.report.calls.iter().enumerate() {
                let steps = ran.steps(call.seq);
                let sent = steps.iter().any(|taken| taken.step == Step::Call);
                let reached = catalog.dispatched().iter().filter(|dispatch| dispatch.seq == call.seq).count();
                assert_eq!(reached, usize::from(sent), "{case:?} {call:?}");
                let denied = matches!(steps.last(), Some(last) if matches!(last.step, Step::Hooks | Step::Approval) || last.code == Some(CallCode::Denied));
                let state = match (call.code, sent) {
                    (None, _) => CallState::Ok,
                    (Some(_), true) => CallState::Error,
                    (Some(_), false) if denied => CallState::Denied,
                    (Some(_), false) => CallState::Refused,
                };
                assert_eq!(call.state, state, "{case:?} {call:?}");
                assert_eq!(codes[index], json!(call.code.map(CallCode::as_str)), "the body hears what the ledger says");
                let ended = ran
                    .events
                    .iter()
                    .filter(|event| matches!(event, codemode::RunEvent::CallEnded(entry) if entry.seq == call.seq))
                    .count();
                assert_eq!(ended, 1);
                seen.insert(state);
            }
        }
        assert_eq!(seen.len(), 4, "{seen:?}");
    });
}
