//! The pieces of work that are measured.

use codemode::launch::LauncherKind;
use codemode::{Limit, RunLimits, RunRequest};

/// One piece of work.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Work {
    Waiting,
    OnDemand,
    ThreeRequests,
    Sequential,
    Parallel,
    Megabyte,
    Spawn,
    /// A Node without anything of ours.
    Plain,
}

const THREE_REQUESTS: &str = r#"
const [hit] = await openclaw.tools.search("create a new issue in a repository", { limit: 5 });
const tool = await openclaw.tools.describe(hit.id);
const args = {};
for (const name of tool.parameters.required ?? []) {
    const schema = tool.parameters.properties[name];
    args[name] = schema.enum ? schema.enum[0] : { number: 1, integer: 1, boolean: true, array: [], object: {} }[[schema.type].flat()[0]] ?? "text";
}
await openclaw.tools.call(tool.id, args);
return 1;
"#;

const SEQUENTIAL: &str = r#"
let sum = 0;
for (let n = 0; n < 100; n++) sum += (await openclaw.tools.call("demo:echo", { n })).n;
return sum;
"#;

const PARALLEL: &str = r#"
const all = await Promise.all(Array.from({ length: 100 }, (_, n) => openclaw.tools.call("demo:echo", { n })));
return all.reduce((sum, one) => sum + one.n, 0);
"#;

const MEGABYTE: &str = r#"return (await openclaw.tools.call("demo:big", { n: 1048576 })).length"#;

/// Memory of a run that is not the usual one: no waiting fork is armed for it.
const UNUSUAL_BYTES: u64 = 120 << 20;

impl Work {
    /// In the order of a round.
    pub const ALL: [Work; 8] =
        [Work::Waiting, Work::Plain, Work::OnDemand, Work::ThreeRequests, Work::Spawn, Work::Sequential, Work::Parallel, Work::Megabyte];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Work::Waiting => "return 1, waiting fork",
            Work::OnDemand => "return 1, forked on demand",
            Work::ThreeRequests => "1 search + 1 describe + 1 call, 2,834 tools",
            Work::Sequential => "100 calls one after another",
            Work::Parallel => "100 calls at once",
            Work::Megabyte => "1 MB reply through a call",
            Work::Spawn => "return 1, spawn way",
            Work::Plain => "node -e 0, nothing of ours",
        }
    }

    /// What the median should be at most, in milliseconds.
    pub fn target(self, node_major: u32) -> Option<f64> {
        match self {
            Work::Waiting if node_major == 20 => Some(0.35),
            Work::Waiting => Some(0.2),
            Work::OnDemand => Some(1.5),
            Work::ThreeRequests => Some(0.5),
            Work::Sequential => Some(2.5),
            Work::Parallel => Some(2.0),
            Work::Megabyte => Some(5.0),
            Work::Spawn | Work::Plain => None,
        }
    }

    /// The way its run is to be started.
    pub fn way(self) -> LauncherKind {
        if self == Work::Spawn { LauncherKind::Spawn } else { LauncherKind::Template }
    }

    /// What the supervisor is asked, and the value it has to give.
    pub fn request(self) -> (RunRequest, &'static str) {
        let (body, value) = match self {
            Work::ThreeRequests => (THREE_REQUESTS, "1"),
            Work::Sequential => (SEQUENTIAL, "4950"),
            Work::Parallel => (PARALLEL, "4950"),
            Work::Megabyte => (MEGABYTE, "1048576"),
            Work::Waiting | Work::OnDemand | Work::Spawn | Work::Plain => ("return 1", "1"),
        };
        let request = RunRequest::new(body);
        if self != Work::OnDemand {
            return (request, value);
        }
        let limits = RunLimits::default().with(Limit::MemoryBytes, UNUSUAL_BYTES).expect("inside its bounds");
        (request.with_limits(limits), value)
    }
}
