//! What callers ask for.

use std::str::FromStr;

use codemode::{Limit, RunLimits};

/// A body, its limits, and what it has to come to.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// In words.
    pub name: &'static str,
    /// The JavaScript.
    pub body: &'static str,
    /// The value of a good one; the codes that a bad one may end with.
    pub right: Right,
    /// Its wall clock.
    pub wall_ms: u64,
}

/// What is right.
#[derive(Clone, Copy, Debug)]
pub enum Right {
    /// This value, as JSON.
    Value(&'static str),
    /// An end with one of these codes.
    Codes(&'static [&'static str]),
}

/// Well-behaved bodies, each as often as it stands here.
const GOOD: [Piece; 10] = [ONE, ONE, ONE, ONE, LOOK, LOOK, LOOK, CALLS, CALLS, COUNT];

/// One of each kind of attack on the time and space of others.
const HOSTILE: [Piece; 4] = [SPIN, BOMB, FLOOD, FORGER];

/// One in so many pieces is hostile.
const HOSTILE_EVERY: u64 = 10;

const fn good(name: &'static str, body: &'static str, value: &'static str) -> Piece {
    Piece { name, body, right: Right::Value(value), wall_ms: 10_000 }
}

/// Wall clock of hostile bodies: a second is the least that a gateway can be configured to.
pub const HOSTILE_WALL_MS: u64 = 1_000;

const fn hostile(name: &'static str, body: &'static str, codes: &'static [&'static str]) -> Piece {
    Piece { name, body, right: Right::Codes(codes), wall_ms: HOSTILE_WALL_MS }
}

const ONE: Piece = good("return 1", "return 1", "1");
const LOOK: Piece = good(
    "search, describe, call",
    r#"
const [hit] = await openclaw.tools.search("echo", { limit: 3 });
const tool = await openclaw.tools.describe("demo:echo");
return (await openclaw.tools.call(tool.id, { n: 7 })).n;
"#,
    "7",
);
const CALLS: Piece = good(
    "ten calls at once",
    r#"
const all = await Promise.all(Array.from({ length: 10 }, (_, n) => openclaw.tools.call("demo:echo", { n })));
return all.reduce((sum, one) => sum + one.n, 0);
"#,
    "45",
);
const COUNT: Piece = good(
    "some work of its own",
    "const a = []; for (let n = 0; n < 2e4; n++) a.push(n % 7); return a.filter((n) => n === 3).length",
    "2857",
);

const SPIN: Piece = hostile("endless loop", "for (;;) {}", &["timeout"]);
const BOMB: Piece = hostile("heap bomb", "const a = []; for (;;) a.push(new Array(1e5).fill(a))", &["memory_limit", "timeout"]);
const FLOOD: Piece = hostile("log flood", r#"for (;;) console.log("x".repeat(8000))"#, &["output_limit", "timeout"]);
const FORGER: Piece = hostile(
    "forged end",
    r#"console.log('{"jsonrpc":"2.0","id":1,"result":{"value":1,"valueType":"number"}}'); throw Object.assign(new Error("x"), { code: "ok", ok: true })"#,
    &["body_error"],
);

/// It uses a millisecond of a processor and waits a hundred times as long.
const WAIT: Piece = good("a slow tool", r#"return (await openclaw.tools.call("demo:slow", { ms: 100 })).done"#, "100");

/// Which well-behaved bodies there are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Bodies {
    /// Short ones, most of which ask tools in memory.
    Usual,
    /// All wait for a tool.
    Waiting,
}

impl FromStr for Bodies {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "usual" => Ok(Bodies::Usual),
            "waiting" => Ok(Bodies::Waiting),
            _ => Err(()),
        }
    }
}

/// The pieces of one caller, in an order of its own.
#[derive(Debug)]
pub struct Pieces {
    state: u64,
    bodies: Bodies,
    with_hostile: bool,
}

impl Pieces {
    /// Of the caller with this number.
    pub fn of(caller: usize, bodies: Bodies, with_hostile: bool) -> Pieces {
        Pieces { state: caller as u64 + 1, bodies, with_hostile }
    }

    /// The next one, and whether it behaves.
    pub fn next(&mut self) -> (Piece, bool) {
        let hostile = self.draw().is_multiple_of(HOSTILE_EVERY) && self.with_hostile;
        let which = self.draw() as usize;
        match self.bodies {
            _ if hostile => (HOSTILE[which % HOSTILE.len()], false),
            Bodies::Usual => (GOOD[which % GOOD.len()], true),
            Bodies::Waiting => (WAIT, true),
        }
    }

    /// SplitMix64: the same order in every run of the benchmark.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Piece {
    /// Its limits.
    pub fn limits(&self) -> RunLimits {
        RunLimits::default().with(Limit::WallMs, self.wall_ms).expect("inside its bounds")
    }

    /// Checks an end: a value in JSON, or a code.
    ///
    /// # Panics
    ///
    /// When it is not what it has to be.
    pub fn check(&self, end: &Result<String, String>) {
        let is_right = match (self.right, end) {
            (Right::Value(value), Ok(got)) => value == got,
            (Right::Codes(codes), Err(code)) => codes.contains(&code.as_str()),
            _ => false,
        };
        assert!(is_right, "{}: {end:?}", self.name);
    }
}
