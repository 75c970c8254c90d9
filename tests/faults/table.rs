//! What the table is made of.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use codemode::RunReport;

use crate::witness::Place;

/// What can go wrong at a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// Nothing comes any more.
    Stop,
    /// It is gone: killed, crashed, panicked.
    Die,
    /// It stalls, and then goes on as if nothing had been.
    Late,
    /// It says the same once more.
    Twice,
    /// It says what is no word of this conversation.
    Garbage,
    /// It says the right thing, a byte or a piece at a time.
    Slowly,
    /// It says more than anybody reads.
    Flood,
    /// It closes the direction in which it speaks, and stays.
    Mute,
    /// It closes the direction in which it listens, and stays.
    Deaf,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Fault; 9] =
        [Fault::Stop, Fault::Die, Fault::Late, Fault::Twice, Fault::Garbage, Fault::Slowly, Fault::Flood, Fault::Mute, Fault::Deaf];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Stop => "stop",
            Fault::Die => "die",
            Fault::Late => "late",
            Fault::Twice => "twice",
            Fault::Garbage => "garbage",
            Fault::Slowly => "slowly",
            Fault::Flood => "flood",
            Fault::Mute => "mute",
            Fault::Deaf => "deaf",
        }
    }
}

/// What has to come of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// `ok`, or the class of the report's error; several with `|` where the order of two events is the kernel's business.
    pub verdict: &'static str,
    /// The ledger: a state for each request, an error's code after a colon.
    pub calls: &'static str,
    /// Console entries that must have been kept.
    pub logs: usize,
    /// How long the whole run may take.
    pub within: Duration,
}

/// What is planned for a cell.
#[derive(Clone, Copy, Debug)]
pub enum Plan {
    /// It is run, and this has to come of it.
    Expect(Expected),
    /// It makes no sense, for this reason.
    NoSense(&'static str),
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plan::Expect(expected) if expected.calls.is_empty() => f.write_str(expected.verdict),
            Plan::Expect(expected) => write!(f, "{}; {}", expected.verdict, expected.calls),
            Plan::NoSense(why) => write!(f, "n/a: {why}"),
        }
    }
}

/// A run that ends like this, within so many milliseconds.
pub fn ends(verdict: &'static str, calls: &'static str, within_ms: u64) -> Plan {
    Plan::Expect(Expected { verdict, calls, logs: 0, within: Duration::from_millis(within_ms) })
}

impl Plan {
    /// The same with so many console entries kept.
    pub fn with_logs(mut self, count: usize) -> Plan {
        if let Plan::Expect(expected) = &mut self {
            expected.logs = count;
        }
        self
    }
}

/// Somebody the supervisor depends on.
#[async_trait]
pub trait Party: Send + Sync {
    /// One word.
    fn name(&self) -> &'static str;
    /// Who that is, and who stands in for it here.
    fn what(&self) -> &'static str;
    /// The steps of its conversation, in order: a word, and what it is.
    fn steps(&self) -> &'static [(&'static str, &'static str)];
    /// What has to come of a fault at a step.
    fn plan(&self, step: &'static str, fault: Fault) -> Plan;
    /// Does what only the first run costs.
    async fn warm_up(&self, _place: &Place) {}
    /// Lets it happen; gives the report of the run in which it did.
    async fn run(&self, step: &'static str, fault: Fault, place: &Place) -> RunReport;
    /// Whether processes may come and go between cells: those of a supervisor that lives on.
    fn keeps_processes(&self) -> bool {
        false
    }
}

/// One cell.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    pub party: &'static str,
    pub step: &'static str,
    pub fault: Fault,
    pub plan: Plan,
}

impl Cell {
    /// Its name.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.party, self.step, self.fault.name())
    }

    /// What has to come of it; nothing when it makes no sense.
    pub fn expected(&self) -> Option<Expected> {
        match self.plan {
            Plan::Expect(expected) => Some(expected),
            Plan::NoSense(_) => None,
        }
    }
}

/// Every cell of a party.
pub fn cells(party: &dyn Party) -> Vec<Cell> {
    let of = |step: &'static str| Fault::ALL.map(|fault| Cell { party: party.name(), step, fault, plan: party.plan(step, fault) });
    party.steps().iter().flat_map(|(step, _)| of(step)).collect()
}

impl Expected {
    /// What of a report is not as it has to be.
    pub fn faults(&self, report: &RunReport, took: Duration) -> Vec<String> {
        let mut faults = Vec::new();
        let verdict = report.error.as_ref().map_or("ok", |error| error.code.as_str());
        if !self.verdict.split('|').any(|one| one == verdict) {
            faults.push(format!("{verdict} in place of {}: {:?}", self.verdict, report.error));
        }
        if report.ok != report.error.is_none() {
            faults.push("a report that is good and has an error".to_owned());
        }
        let calls = ledger(report);
        if !self.calls.split('|').any(|one| one == calls) {
            faults.push(format!("calls {calls:?} in place of {:?}: {:?}", self.calls, report.calls));
        }
        if let Some(open) = report.calls.iter().find(|call| !call.state.is_final()) {
            faults.push(format!("a request without an end: {open:?}"));
        }
        if report.calls.iter().zip(1..).any(|(call, seq)| call.seq != seq) {
            faults.push("a ledger out of order".to_owned());
        }
        if report.logs.len() < self.logs {
            faults.push(format!("{} console entries, {} were written", report.logs.len(), self.logs));
        }
        if let Some(error) = &report.error
            && error.message.is_empty()
        {
            faults.push("an error without a word".to_owned());
        }
        if took > self.within {
            faults.push(format!("took {took:?}, at most {:?}", self.within));
        }
        faults
    }
}

/// The ledger in the words of the table.
fn ledger(report: &RunReport) -> String {
    let one = |call: &codemode::CallEntry| match call.code {
        Some(code) => format!("{}:{}", call.state.as_str(), code.as_str()),
        None => call.state.as_str().to_owned(),
    };
    report.calls.iter().map(one).collect::<Vec<_>>().join(" ")
}
