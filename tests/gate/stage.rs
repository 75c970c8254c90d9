//! Hooks, approvers and listeners that keep account, and the two ways to make a call.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use codemode::catalog::{CallCode, CallFailure, Catalog, FileCatalog};
use codemode::gate::{
    ApprovalAnswer, ApprovalRequest, ApprovalRule, Approvals, Approver, BeforeToolCall, Gate, Glob, HookDecision, HookFault, Listener,
    Passage, PendingCall, Step, StepTaken, Told,
};
use codemode::{CallEntry, JsonText, RunEvent, RunReport, RunRequest, Supervisor};
use codemode_tests::rig;
use serde_json::Value;

/// What a hook does with each call.
#[derive(Clone, Debug)]
pub enum Does {
    Allow,
    Rewrite(Value),
    Block,
    Fail,
    Panic,
    Stall,
}

/// A hook that remembers the arguments it saw, and which call they were of.
#[derive(Debug)]
pub struct Hook {
    name: String,
    does: Does,
    pub saw: Mutex<Vec<(u64, Value)>>,
}

impl Hook {
    pub fn new(name: &str, does: Does) -> Arc<Hook> {
        Arc::new(Hook { name: name.to_owned(), does, saw: Mutex::default() })
    }

    pub fn saw(&self) -> Vec<Value> {
        self.saw.lock().unwrap().iter().map(|(_, args)| args.clone()).collect()
    }
}

#[async_trait]
impl BeforeToolCall for Hook {
    fn name(&self) -> &str {
        &self.name
    }

    fn limit(&self) -> Duration {
        Duration::from_millis(200)
    }

    async fn before_tool_call(&self, call: PendingCall<'_>) -> Result<HookDecision, HookFault> {
        self.saw.lock().unwrap().push((call.context.seq, call.args.clone()));
        match &self.does {
            Does::Allow => Ok(HookDecision::Allow),
            Does::Rewrite(args) => Ok(HookDecision::Rewrite(args.clone())),
            Does::Block => Ok(HookDecision::Block { reason: "not today".into() }),
            Does::Fail => Err(HookFault::Other("no record of this user".into())),
            Does::Panic => panic!("a hook of a test"),
            Does::Stall => std::future::pending().await,
        }
    }
}

/// How a person answers.
#[derive(Clone, Debug)]
pub enum Person {
    Grants,
    Refuses,
    Is(Duration),
    Sleeps,
    Breaks,
}

/// An approver that remembers what it was asked, and how often two questions were open at once.
#[derive(Debug)]
pub struct Desk {
    person: Person,
    pub asked: Mutex<Vec<ApprovalRequest>>,
    open: Mutex<usize>,
    pub most_open: Mutex<usize>,
    pub withdrawn: Mutex<usize>,
}

impl Desk {
    pub fn new(person: Person) -> Arc<Desk> {
        Arc::new(Desk { person, asked: Mutex::default(), open: Mutex::default(), most_open: Mutex::default(), withdrawn: Mutex::default() })
    }

    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().iter().map(|request| (*request.args).clone()).collect()
    }
}

struct Open<'a>(&'a Desk, bool);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        *self.0.open.lock().unwrap() -= 1;
        if !self.1 {
            *self.0.withdrawn.lock().unwrap() += 1;
        }
    }
}

#[async_trait]
impl Approver for Desk {
    async fn ask(&self, question: &ApprovalRequest) -> ApprovalAnswer {
        self.asked.lock().unwrap().push(question.clone());
        {
            let mut open = self.open.lock().unwrap();
            *open += 1;
            let mut most = self.most_open.lock().unwrap();
            *most = (*most).max(*open);
        }
        let mut open = Open(self, false);
        let answer = match self.person {
            Person::Grants => ApprovalAnswer::Granted,
            Person::Refuses => ApprovalAnswer::Refused { reason: Some("too risky".into()) },
            Person::Is(slow) => {
                tokio::time::sleep(slow).await;
                ApprovalAnswer::Granted
            }
            Person::Sleeps => std::future::pending().await,
            Person::Breaks => {
                open.1 = true;
                panic!("an approver of a test")
            }
        };
        open.1 = true;
        answer
    }
}

/// Keeps what the gate tells.
#[derive(Debug, Default)]
pub struct Diary(pub Mutex<Vec<(u64, Told)>>);

impl Listener for Diary {
    fn hear(&self, seq: u64, told: Told) {
        self.0.lock().unwrap().push((seq, told));
    }
}

impl Diary {
    pub fn steps(&self) -> Vec<StepTaken> {
        let all = self.0.lock().unwrap();
        all.iter().filter_map(|(_, told)| if let Told::Step(taken) = told { Some(taken.clone()) } else { None }).collect()
    }
}

pub fn asking(glob: &str) -> Approvals {
    Approvals::new([(Glob::new(glob), ApprovalRule::Ask)])
}

/// One call by the structured way: a passage of its own, no child.
pub async fn structured(gate: Gate, catalog: Arc<dyn Catalog>, id: &str, args: Value) -> (Result<Value, CallFailure>, Arc<Diary>) {
    let diary = Arc::new(Diary::default());
    let passage = Passage::new(Arc::new(gate), catalog, "by-hand".into())
        .with_approval_limit(Duration::from_millis(300))
        .with_listener(Arc::clone(&diary) as _);
    let result = passage.pass(1, id, &JsonText::of(&args).unwrap()).await;
    (result, diary)
}

/// A run, with everything that it told.
pub struct Ran {
    pub report: RunReport,
    pub events: Vec<RunEvent>,
}

impl Ran {
    /// The steps of the call with this number.
    pub fn steps(&self, seq: u64) -> Vec<StepTaken> {
        let of_it = |event: &RunEvent| match event {
            RunEvent::Gate { seq: one, taken } if *one == seq => Some(taken.clone()),
            _ => None,
        };
        self.events.iter().filter_map(of_it).collect()
    }

    pub fn names(&self, seq: u64) -> Vec<Step> {
        self.steps(seq).iter().map(|taken| taken.step).collect()
    }

    /// The only call.
    pub fn call(&self) -> &CallEntry {
        assert_eq!(self.report.calls.len(), 1, "{:?}", self.report);
        &self.report.calls[0]
    }

    pub fn value(&self) -> Value {
        assert!(self.report.ok, "{:?}", self.report);
        rig::json(&self.report)
    }
}

/// Runs a body in a child behind this gate, with 300 ms for an approval.
pub async fn body(gate: Gate, catalog: Arc<dyn Catalog>, body: &str) -> Ran {
    let limits = rig::limits(&[(codemode::Limit::ApprovalMs, 300)]);
    body_of(&rig::supervisor(), RunRequest::new(body).with_limits(limits).with_gate(Arc::new(gate)), catalog).await
}

pub async fn body_of(supervisor: &Supervisor, request: RunRequest, catalog: Arc<dyn Catalog>) -> Ran {
    let mut run = supervisor.start(request, catalog);
    let mut events = Vec::new();
    while let Some(event) = run.event().await {
        events.push(event);
    }
    Ran { report: run.report().await, events }
}

/// `[code, message]` of the one call that fails.
pub fn failing(id: &str) -> String {
    format!("return await openclaw.tools.call({id:?}, {{ a: 1 }}).then(() => null, e => [e.code, e.message])")
}

pub fn demo() -> Arc<FileCatalog> {
    rig::demo()
}

/// Sees that a call was refused with this code, that its message says this, and that the backend heard nothing of it.
pub fn refused(result: &Result<Value, CallFailure>, catalog: &FileCatalog, code: CallCode, words: &str) {
    let failure = result.as_ref().unwrap_err();
    assert_eq!(failure.code, code, "{}", failure.message);
    assert!(failure.message.contains(words), "{words:?} in {}", failure.message);
    assert_eq!(catalog.dispatch_count(), 0, "the backend was asked");
}

/// A hook's program: a shell script in a folder of its own.
pub fn script(folder: &Path, name: &str, lines: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let file = folder.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    file
}
