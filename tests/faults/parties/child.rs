//! The child: a program with the wire in its hands.

use async_trait::async_trait;
use codemode_tests::fault::Fault;
use codemode_tests::rig::{self, demo, request};
use codemode_tests::script::{Script, Step, answer, call, console, framed, hello, hex};
use serde_json::{Value, json};

use crate::table::{Party, Plan, Seen, ends};
use crate::witness::Place;

/// The limit of a run whose child may stall.
const WALL_MS: u64 = 500;
/// A stall, within the limit.
const STALL_MS: u64 = 150;

/// The child of a run.
pub struct Child;

#[async_trait]
impl Party for Child {
    fn name(&self) -> &'static str {
        "child"
    }

    fn what(&self) -> &'static str {
        "The process that has the body; here a program that speaks the wire by a script, with no jail around it."
    }

    fn steps(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("start", "before it has said anything"),
            ("hello", "its first frame"),
            ("body", "it has read the run, and writes to the console"),
            ("mid-frame", "half of a frame is written"),
            ("call", "a call is open at the backend, another one is answered"),
            ("answer", "the frame with the body's value"),
            ("answered", "after that frame"),
        ]
    }

    fn plan(&self, step: &'static str, fault: Fault) -> Plan {
        use Fault::{Deaf, Die, Flood, Garbage, Late, Mute, Slowly, Stop, Twice};
        const GRACE: u64 = 1_500;
        let calls = if step == "call" { "unknown ok" } else { "" };
        let logs = usize::from(!matches!(step, "start" | "hello"));
        let plan = match (step, fault) {
            ("start", Twice) => Plan::NoSense("it has said nothing yet"),
            ("start", Slowly) => Plan::NoSense("its first frame is the step after this"),
            ("answered", Slowly) => Plan::NoSense("nothing more is to be said"),
            // Whatever it does then, it has answered.
            // What comes with the answer in one piece is a violation; what comes after it is not looked at any more.
            ("answer", Twice) | ("answered", Twice | Garbage | Flood) => ends("ok|protocol_violation", "", GRACE),
            ("answered", _) => ends("ok", "", GRACE),
            (_, Late | Slowly) => ends("ok", if step == "call" { "ok ok" } else { "" }, 3_000),
            (_, Stop) => ends("timeout", calls, WALL_MS + GRACE),
            (_, Die) => ends("child_crashed", calls, GRACE),
            // A body may write the same as often as it likes.
            ("body", Twice) => ends("ok", "", GRACE),
            (_, Twice | Garbage) => ends("protocol_violation", calls, GRACE),
            ("start" | "hello" | "mid-frame", Flood) => ends("protocol_violation", calls, GRACE),
            (_, Flood) => ends("output_limit", calls, 4_000),
            (_, Mute) => ends("protocol_violation", calls, GRACE),
            // It cannot be told anything, and may answer all the same.
            (_, Deaf) => ends("timeout", calls, WALL_MS + GRACE),
        };
        plan.with_logs(logs)
    }

    async fn run(&self, step: &'static str, fault: Fault, _place: &Place) -> Seen {
        let script = script(step, fault).write();
        let path = script.path().display().to_string();
        let supervisor = rig::stand_in(env!("CARGO_BIN_EXE_scripted_child"), &[&path]);
        let wall = if matches!(fault, Fault::Stop | Fault::Late | Fault::Deaf) { WALL_MS } else { 5_000 };
        supervisor.run(request("return 1", wall), demo()).await.into()
    }
}

/// A conversation around one step of it.
struct Around {
    before: Script,
    /// What is said at the step.
    word: Option<Value>,
    /// What a flood is made of.
    flood: Value,
    after: fn(Script) -> Script,
}

/// An honest child up to the step, and the fault there.
fn script(step: &str, fault: Fault) -> Script {
    let kept = console("kept");
    // As long as an entry may be, so that a flood is soon above the limit and not the clock.
    let flood = console(&"f".repeat(8 << 10));
    let around = |before: Script, word: Option<Value>, flood: Value, after| Around { before, word, flood, after }.script(fault);
    let begun = || Script::greeted().send(&console("kept"));
    match step {
        "start" => around(Script::new(), None, kept, |script| after_hello(script.send(&hello()))),
        "hello" => around(Script::new(), Some(hello()), hello(), after_hello),
        "body" => around(begun(), Some(kept.clone()), flood, to_the_end),
        "mid-frame" => half(begun(), &framed(&kept.to_string()), fault),
        "call" => open_call(begun(), fault),
        "answer" => around(begun(), Some(answer(1)), flood, |script| script.step(Step::ReadToEnd)),
        "answered" => around(begun().send(&answer(1)), Some(answer(1)), flood, |script| script.step(Step::ReadToEnd)),
        other => unreachable!("no step {other}"),
    }
}

fn after_hello(script: Script) -> Script {
    to_the_end(script.step(Step::Read).send(&console("kept")))
}

fn to_the_end(script: Script) -> Script {
    script.send(&answer(1)).step(Step::ReadToEnd)
}

fn half(begun: Script, frame: &[u8], fault: Fault) -> Script {
    let (half, other) = frame.split_at(frame.len() / 2);
    match fault {
        Fault::Late => to_the_end(begun.bytes(half).step(Step::Pause(STALL_MS)).bytes(other)),
        Fault::Slowly => to_the_end(begun.pieces(half, 1).pieces(other, 1)),
        Fault::Twice => begun.bytes(half).bytes(frame).bytes(frame).step(Step::Sleep),
        Fault::Garbage => begun.bytes(half).bytes(&vec![0xff; frame.len()]).step(Step::Sleep),
        // A frame that never ends.
        Fault::Flood => begun.bytes(&u32::MAX.to_be_bytes()).step(Step::WriteForEver { hex: hex(&[b'a'; 65_536]) }),
        Fault::Stop | Fault::Die | Fault::Mute | Fault::Deaf => {
            let none = Around { before: begun.bytes(half), word: None, flood: Value::Null, after: to_the_end };
            none.script(fault)
        }
    }
}

fn open_call(begun: Script, fault: Fault) -> Script {
    let slow = |ms: u64| call(1, "demo:slow", &json!({ "ms": ms }));
    let echo = call(2, "demo:echo", &json!({"n": 1}));
    let answered = |script: Script| script.step(Step::Read).send(&answer(1)).step(Step::ReadToEnd);
    match fault {
        Fault::Late => answered(begun.send(&slow(1)).step(Step::Pause(STALL_MS)).send(&echo).step(Step::Read)),
        Fault::Slowly => {
            let slowly = begun.pieces(&framed(&slow(1).to_string()), 1);
            answered(slowly.pieces(&framed(&echo.to_string()), 1).step(Step::Read))
        }
        _ => {
            // The second is answered: then the first is at the backend, too.
            let open = begun.send(&slow(60_000)).send(&echo).step(Step::Read);
            Around { before: open, word: Some(echo), flood: console(&"f".repeat(8 << 10)), after: |script| script }.script(fault)
        }
    }
}

impl Around {
    fn script(self, fault: Fault) -> Script {
        let Around { before, word, flood, after } = self;
        let say = |script: Script, piece| match &word {
            Some(word) => script.pieces(&framed(&word.to_string()), piece),
            None => script,
        };
        match fault {
            Fault::Stop => before.step(Step::Sleep),
            Fault::Die => before.step(Step::Raise(9)),
            Fault::Late => after(say(before.step(Step::Pause(STALL_MS)), 0)),
            Fault::Twice => after(say(say(before, 0), 0)),
            Fault::Garbage => before.bytes(&[0; 64]).step(Step::Sleep),
            Fault::Slowly => after(say(before, 1)),
            Fault::Flood => before.step(Step::WriteForEver { hex: hex(&framed(&flood.to_string()).repeat(8)) }),
            Fault::Mute => before.step(Step::ShutWrite).step(Step::Sleep),
            Fault::Deaf => before.step(Step::ShutRead).step(Step::Sleep),
        }
    }
}
