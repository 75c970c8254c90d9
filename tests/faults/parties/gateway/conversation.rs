//! A gateway that does what it should up to a step, and fails there.

use std::net::Shutdown;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use codemode::RunReport;
use serde_json::{Value, json};

use super::noted;
use super::wire::{Link, answer, framed, right, tool};
use crate::table::Seen;
use codemode_tests::fault::Fault;

/// Runs that one connection may have here.
pub const RUNS_AT_MOST: usize = 8;
/// Runs that a flood starts.
const RUNS_OF_A_FLOOD: usize = 64;
/// The limit of a run whose gateway stops, and of that its person's.
const WALL_MS: u64 = 900;
const APPROVAL_MS: u64 = 300;
/// Both limits of every other run.
const LONG_MS: u64 = 20_000;
/// A stall, within both.
const STALL: Duration = Duration::from_millis(150);
/// Between two bytes.
const PIECE: Duration = Duration::from_micros(200);
/// More than any limit on a text, and still a frame.
const FLOOD: usize = 12 << 20;
/// Rows of a flood: as many as an answer may have.
const ROWS: usize = 50;

/// Where it happens: a server that goes on.
#[derive(Clone, Debug)]
pub struct Scene {
    pub socket: PathBuf,
    pub log: PathBuf,
}

impl Scene {
    /// One cell.
    pub fn happen(&self, step: &'static str, fault: Fault) -> Result<Seen, String> {
        let run = format!("{step}/{}", fault.name());
        let other_run = format!("beside {run}");
        let mut other = Link::greeted(&self.socket)?;
        let waits = other.request("run.start", &start(&other_run, "return (await openclaw.tools.search('x')).length", step, false));
        other.say(&waits)?;
        other.is_answered()?;
        let open = other.next(|message| message["method"] == "catalog.search")?;

        let mut conversation = Conversation { link: Link::open(&self.socket)?, run, step, fault, report: None, seen: None };
        let connection = conversation.held(self)?;
        let Conversation { link, run, report, seen, .. } = conversation;
        drop(link);
        let mut seen = seen.map_or_else(|| noted::of(&self.log, &run), Ok)?;
        seen.connection = connection;
        if let Some(report) = report {
            let told = Seen::from(serde_json::from_value::<RunReport>(report).map_err(|error| format!("a report that is none: {error}"))?);
            if (&told.verdict, &told.calls, told.logs) != (&seen.verdict, &seen.calls, seen.logs) {
                seen.faults.push(format!("the gateway was told of another run: {told:?}"));
            }
            seen.faults.extend(told.faults);
        }

        other.say(&answer(&open, &json!([])))?;
        let report = other.report_of(&other_run)?;
        if report["value"] != 0 {
            seen.faults.push(format!("the run of the other connection: {report}"));
        }
        Ok(seen)
    }
}

/// The params of a `run.start`.
fn start(run: &str, body: &str, step: &str, stops: bool) -> Value {
    let (person, hook) = (step == "approval.request", step == "hook.beforeToolCall");
    let approvals = if person { json!({"*": "ask"}) } else { json!({}) };
    let (wall_ms, approval_ms) = if stops { (WALL_MS, APPROVAL_MS) } else { (LONG_MS, LONG_MS) };
    let limits = json!({"wallMs": wall_ms, "approvalMs": approval_ms});
    json!({"run": run, "body": body, "catalog": "gateway", "limits": limits, "approvals": approvals, "wants": {"approvals": person, "hooks": hook}})
}

/// What a run does at a step. Behind it comes another question, so that no run is over while something still goes wrong.
fn body(step: &str) -> String {
    let ask = match step {
        "catalog.describe" => "describe('client:test:t')",
        "catalog.call" | "approval.request" | "hook.beforeToolCall" => "call('client:test:t', {})",
        _ => "search('x')",
    };
    format!(
        "console.log('kept'); const was = await openclaw.tools.{ask}.catch(e => e.code); await openclaw.tools.search('after'); return typeof was"
    )
}

/// A sound answer that is more than anybody reads.
fn too_much(step: &str) -> Value {
    let text = || "x".repeat(FLOOD);
    match step {
        "catalog.search" => (0..ROWS).map(|row| tool(&format!("t{row}"), &"x".repeat(FLOOD / ROWS))).collect(),
        "catalog.describe" => {
            let mut tool = tool("t", "t");
            tool["parameters"]["description"] = text().into();
            tool
        }
        "approval.request" => json!({"answer": "refused", "reason": text()}),
        "hook.beforeToolCall" => json!({"decision": "block", "reason": text()}),
        _ => text().into(),
    }
}

struct Conversation {
    link: Link,
    run: String,
    step: &'static str,
    fault: Fault,
    /// As the gateway was told.
    report: Option<Value>,
    /// What came of it, where the run has another end later.
    seen: Option<Seen>,
}

impl Conversation {
    /// Holds it, and gives what becomes of the connection.
    fn held(&mut self, scene: &Scene) -> Result<&'static str, String> {
        let question = self.up_to_the_step()?;
        let word = match (&question, self.step) {
            (Some(question), step) => answer(question, &right(step)),
            (None, "hello") => self.link.hello(),
            (None, "run.start") => self.start_frame(),
            (None, _) => self.link.request("run.cancel", &json!({ "run": self.run })),
        };
        match self.fault {
            Fault::Stop => self.stops(&word, scene),
            Fault::Die => {
                // To go before it has started anything is to go idle.
                if self.step == "run.start" {
                    self.link.say(&word)?;
                }
                // Whoever held it lets its end of the connection fall.
                Ok("closed")
            }
            Fault::Late => {
                thread::sleep(STALL);
                self.link.say(&word)?;
                self.goes_on()
            }
            Fault::Slowly => {
                for byte in &word {
                    self.link.say(&[*byte])?;
                    thread::sleep(PIECE);
                }
                self.goes_on()
            }
            Fault::Twice => {
                self.link.say(&word)?;
                match self.step {
                    "hello" | "idle" => self.link.is_answered()?,
                    _ => drop(self.link.asks("catalog.search")?),
                }
                self.link.say(&word)?;
                self.let_go()
            }
            Fault::Garbage => {
                self.link.say(&framed("no word"))?;
                self.let_go()
            }
            Fault::Flood => match question {
                Some(question) => {
                    self.link.say(&answer(&question, &too_much(self.step)))?;
                    self.goes_on()
                }
                None if self.step == "run.start" => self.many(&word),
                None => {
                    self.link.say_if_heard(&u32::MAX.to_be_bytes());
                    self.link.say_if_heard(&vec![b' '; FLOOD]);
                    self.let_go()
                }
            },
            Fault::Mute => {
                self.link.shut(Shutdown::Write)?;
                self.let_go()
            }
            Fault::Deaf => {
                self.link.shut(Shutdown::Read)?;
                self.link.say(&word)?;
                self.link.is_left()?;
                Ok("closed")
            }
        }
    }

    fn start_frame(&mut self) -> Vec<u8> {
        let asked = !matches!(self.step, "hello" | "run.start" | "idle");
        self.link.request("run.start", &start(&self.run, &body(self.step), self.step, asked && self.fault == Fault::Stop))
    }

    /// All before the step; the question that is open there.
    fn up_to_the_step(&mut self) -> Result<Option<Value>, String> {
        if self.step == "hello" {
            return Ok(None);
        }
        let hello = self.link.hello();
        self.link.say(&hello)?;
        self.link.is_answered()?;
        if self.step == "run.start" {
            return Ok(None);
        }
        self.starts()?;
        if self.step == "idle" {
            self.report = Some(self.link.report_of(&self.run)?);
            return Ok(None);
        }
        self.link.asks(self.step).map(Some)
    }

    fn starts(&mut self) -> Result<(), String> {
        let frame = self.start_frame();
        self.link.say(&frame)?;
        self.link.is_answered()
    }

    /// The step is over, well or not: the rest of the run, and another one.
    fn goes_on(&mut self) -> Result<&'static str, String> {
        match self.step {
            "hello" => {
                self.link.is_answered()?;
                self.starts()?;
            }
            "run.start" | "idle" => self.link.is_answered()?,
            _ => {}
        }
        if self.report.is_none() {
            self.report = Some(self.link.report_of(&self.run)?);
        }
        self.stays()
    }

    /// Half of its word is there, and nothing comes. When that has had its end, the other half does: then the connection is as before.
    fn stops(&mut self, word: &[u8], scene: &Scene) -> Result<&'static str, String> {
        let (half, other) = word.split_at(word.len() / 2);
        self.link.say(half)?;
        if self.step == "hello" {
            return self.let_go();
        }
        if self.step == "run.start" {
            self.seen = Some(noted::of(&scene.log, &self.run)?);
            self.link.say(other)?;
            self.link.is_answered()?;
            self.link.report_of(&self.run)?;
            return self.stays();
        }
        if self.report.is_none() {
            let run = self.run.clone();
            let finished = self.link.next(|message| message["method"] == "run.finished" && message["params"]["run"] == run)?;
            self.report = Some(finished["params"]["report"].clone());
        }
        self.link.say(other)?;
        self.stays()
    }

    fn stays(&mut self) -> Result<&'static str, String> {
        let run = format!("after {}", self.run);
        self.link.runs_well(&run).map(|()| "stays")
    }

    /// More runs than there may be: the first ones are taken and end well, the others are refused.
    fn many(&mut self, first: &[u8]) -> Result<&'static str, String> {
        let (mut frames, from) = (first.to_vec(), self.link.latest());
        for number in 1..RUNS_OF_A_FLOOD {
            let run = format!("{} {number}", self.run);
            frames.extend(self.link.request("run.start", &start(&run, &body(self.step), self.step, false)));
        }
        self.link.say(&frames)?;
        let mut taken = 0;
        for id in from..=self.link.latest() {
            let answer = self.link.answer_to(id)?;
            match answer["error"]["data"]["code"].as_str() {
                None => taken += 1,
                Some("busy") => {}
                Some(_) => return Err(format!("a run of the flood: {answer}")),
            }
        }
        if taken != RUNS_AT_MOST {
            return Err(format!("{taken} runs of the flood were taken, {RUNS_AT_MOST} may be there"));
        }
        self.report = Some(self.link.report_of(&self.run)?);
        for number in 1..RUNS_AT_MOST {
            let report = self.link.report_of(&format!("{} {number}", self.run))?;
            if report["ok"] != true {
                return Err(format!("a run of the flood: {report}"));
            }
        }
        self.stays()
    }

    /// The other end closes.
    fn let_go(&mut self) -> Result<&'static str, String> {
        match self.link.end()?.as_deref() {
            None => Ok("closed"),
            Some("protocol_violation") => Ok("protocol_violation"),
            Some("hello_timeout") => Ok("hello_timeout"),
            Some(other) => Err(format!("goodbye {other}")),
        }
    }
}
