//! What the table is made of.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use codemode::RunReport;
use codemode_tests::fault::Fault;

use crate::witness::Place;

/// What has to come of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// `ok`, or the class of the report's error, or [`NO_RUN`]; several with `|` where the order of two events is the kernel's business.
    pub verdict: &'static str,
    /// The ledger: a state for each request, an error's code after a colon.
    pub calls: &'static str,
    /// Console entries that must have been kept.
    pub logs: usize,
    /// What becomes of the connection, where the party has one that may outlive the run.
    pub connection: &'static str,
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
        let expected = match self {
            Plan::Expect(expected) => expected,
            Plan::NoSense(why) => return write!(f, "n/a: {why}"),
        };
        f.write_str(expected.verdict)?;
        if !expected.calls.is_empty() {
            write!(f, "; {}", expected.calls)?;
        }
        if !expected.connection.is_empty() {
            write!(f, "; *{}*", expected.connection)?;
        }
        Ok(())
    }
}

/// A run that ends like this, within so many milliseconds.
pub fn ends(verdict: &'static str, calls: &'static str, within_ms: u64) -> Plan {
    Plan::Expect(Expected { verdict, calls, logs: 0, connection: "", within: Duration::from_millis(within_ms) })
}

impl Plan {
    /// The same with so many console entries kept.
    pub fn with_logs(mut self, count: usize) -> Plan {
        if let Plan::Expect(expected) = &mut self {
            expected.logs = count;
        }
        self
    }

    /// The same with this to become of the connection.
    pub fn with_connection(mut self, what: &'static str) -> Plan {
        if let Plan::Expect(expected) = &mut self {
            expected.connection = what;
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
    /// Lets it happen; gives what came of the run in which it did.
    async fn run(&self, step: &'static str, fault: Fault, place: &Place) -> Seen;
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

/// The verdict where no run came to be.
pub const NO_RUN: &str = "no run";

/// What came of a cell, in the words of the table.
#[derive(Debug, Default)]
pub struct Seen {
    /// `ok`, the class of the error, or [`NO_RUN`].
    pub verdict: String,
    /// The ledger: a state for each request, an error's code after a colon.
    pub calls: String,
    /// Console entries that were kept.
    pub logs: usize,
    /// What became of the connection.
    pub connection: &'static str,
    /// What must not be, whatever was expected.
    pub faults: Vec<String>,
}

impl From<RunReport> for Seen {
    fn from(report: RunReport) -> Seen {
        let mut faults = Vec::new();
        if report.ok != report.error.is_none() {
            faults.push("a report that is good and has an error".to_owned());
        }
        if let Some(open) = report.calls.iter().find(|call| !call.state.is_final()) {
            faults.push(format!("a request without an end: {open:?}"));
        }
        if report.calls.iter().zip(1..).any(|(call, seq)| call.seq != seq) {
            faults.push("a ledger out of order".to_owned());
        }
        if let Some(error) = &report.error
            && error.message.is_empty()
        {
            faults.push("an error without a word".to_owned());
        }
        let verdict = report.error.as_ref().map_or("ok", |error| error.code.as_str()).to_owned();
        let calls = report.calls.iter().map(|call| state(call.state.as_str(), call.code.map(|code| code.as_str())));
        Seen { verdict, calls: calls.collect::<Vec<_>>().join(" "), logs: report.logs.len(), connection: "", faults }
    }
}

/// An entry of a ledger.
pub fn state(state: &str, code: Option<&str>) -> String {
    code.map_or_else(|| state.to_owned(), |code| format!("{state}:{code}"))
}

impl Expected {
    /// What is not as it has to be.
    pub fn faults(&self, seen: &Seen, took: Duration) -> Vec<String> {
        let mut faults = seen.faults.clone();
        for (what, wanted, came) in
            [("", self.verdict, &*seen.verdict), ("calls ", self.calls, &*seen.calls), ("connection ", self.connection, seen.connection)]
        {
            if !wanted.split('|').any(|one| one == came) {
                faults.push(format!("{what}{came:?} in place of {wanted:?}: {seen:?}"));
            }
        }
        if seen.logs < self.logs {
            faults.push(format!("{} console entries, {} were written", seen.logs, self.logs));
        }
        if took > self.within {
            faults.push(format!("took {took:?}, at most {:?}", self.within));
        }
        faults
    }
}
