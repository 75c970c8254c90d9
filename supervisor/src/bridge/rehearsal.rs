//! Whole conversations of a known course, as bytes: what a fork of a template hears before a body is near.

use codemode_protocol::{FrameLimit, Run, RunLimits, Seed, SupervisorSession, frame};

use crate::launch::{LaunchOrder, Rehearsal};

/// Goes once through everything a usual body goes through: the parser, each request, values both ways, the console, an error with its stack. The answers to its
/// requests are in [`REPLIES`], in the order in which it asks.
const DRY: &str = r#"
const [hit] = await openclaw.tools.search("something to do", { limit: 1 });
const tool = await openclaw.tools.describe(hit.id);
const done = await Promise.all([1, 2].map((n) => openclaw.tools.call(tool.id, { n, list: [n, "text"] })));
console.log("done", done, new Map([[1, { two: 2.5 }]]));
try { undefined.property } catch (error) { console.error(error) }
const text = done.map((one, at) => `${at}: ${one.text.slice(1)}`).join("\n").replace(/t(ex)/g, "$1");
return { text, random: Math.random(), sorted: [3, 1, 2].sort((a, b) => a - b), when: new Date(0), json: JSON.stringify(tool) };
"#;

const REPLIES: [&str; 4] = [
    r#"[{"id":"client:app:do","source":"client","sourceName":"app","name":"do","description":"Does something.","input":"unknown"}]"#,
    r#"{"id":"client:app:do","source":"client","sourceName":"app","name":"do","description":"Does something.","input":"unknown","parameters":{"type":"object","properties":{"n":{"type":"integer"}}},"signature":"(args: { n?: number }) => Promise<unknown>"}"#,
    r#"{"text":"first text","more":[1,2,{"three":null}]}"#,
    r#"{"text":"second text","more":[]}"#,
];

/// What most runs do at least: a call, its value, a line of log. It touches the pages that they will write, and few more: each is copied.
const FORK_DRY: &str = r#"
const done = await openclaw.tools.call("client:app:do", { n: 1 });
console.log("done");
return done.text;
"#;

const FORK_REPLIES: [&str; 1] = [REPLIES[2]];

/// What has to work in a fork: collection of garbage in all spaces, Intl, promises, random numbers of its own, an end by itself.
const SELF_TEST: &str = r#"
const keep = [];
for (let i = 0; i < 60000; i++) keep[i % 500] = { i, text: String(i).repeat(3), list: [i, i + 1] };
const sum = (await Promise.all(keep.map(async (one) => one.list[1] - one.i))).reduce((a, b) => a + b, 0);
const shown = new Intl.NumberFormat("en-US").format(1234.5) + new Date(0).toLocaleDateString("en-US", { timeZone: "UTC" });
if (sum !== 500 || shown !== "1,234.51/1/1970") throw new Error(`${sum} ${shown}`);
return [Math.random(), Math.random(), "self-test passed"];
"#;

const PASSED: &[u8] = br#""self-test passed"],"valueType":"array"}}"#;

/// The rehearsal for forks whose runs usually have `limits`.
pub(crate) fn rehearsal(limits: &RunLimits, usual: LaunchOrder, hard_memory: u64) -> Rehearsal {
    let conversation = |body: &str, replies: &[&str]| {
        let replies = replies.iter().zip(1..).filter_map(|(reply, id)| reply_frame(id, reply, limits.frame_limit()));
        [run_frame(limits, body, 0)].into_iter().chain(replies).flatten().collect()
    };
    let (dry, fork_dry) = (conversation(DRY, &REPLIES), conversation(FORK_DRY, &FORK_REPLIES));
    // The seeds stand here in the open, so they must differ: two forks are told apart by what they make of them.
    let self_tests = [1, 2].map(|seed| run_frame(limits, SELF_TEST, seed)).to_vec();
    Rehearsal { usual, hard_memory, dry, fork_dry, self_tests, passed: PASSED.to_vec() }
}

fn run_frame(limits: &RunLimits, body: &str, seed: u8) -> Vec<u8> {
    let run = Run { body: body.to_owned(), seed: Seed::new([seed; 16]), limits: limits.wire() };
    // Far below every limit. An empty rehearsal would only make the first run of a fork slower.
    SupervisorSession::new(limits).run(&run).unwrap_or_default()
}

fn reply_frame(id: u64, value: &str, limit: FrameLimit) -> Option<Vec<u8>> {
    frame::encode(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{value}}}"#).as_bytes(), limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_rehearsal_is_missing() {
        let limits = RunLimits::default();
        let made = rehearsal(&limits, LaunchOrder { memory_bytes: 1, cpu_seconds: 1 }, 1);
        for (conversation, replies) in [(&made.dry, REPLIES.len()), (&made.fork_dry, FORK_REPLIES.len())] {
            let mut decoder = codemode_protocol::Decoder::new(limits.frame_limit());
            decoder.push(conversation);
            let mut frames = 0;
            while let Some(frame) = decoder.next().expect("frames") {
                codemode_protocol::ToChild::parse(frame.text()).expect("legal messages");
                frames += 1;
            }
            assert_eq!(frames, 1 + replies);
        }
        assert!(made.self_tests.iter().all(|frames| !frames.is_empty()));
        assert_ne!(made.self_tests[0], made.self_tests[1]);
    }
}
