//! The bodies and what is expected of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use codemode::catalog::FileCatalog;
use codemode::{ErrorCode, RunReport, Supervisor};
use codemode_tests::listeners::CANARY_TEXT;
use codemode_tests::{host, rig};
use serde::Deserialize;
use tokio::sync::Semaphore;

/// The tools that the bodies call.
const TOOLS: &str = r#"[
    { "name": "noop", "description": "Does nothing.", "parameters": { "type": "object" }, "reply": { "value": null } },
    { "name": "echo", "description": "Gives its arguments.", "parameters": { "type": "object" }, "reply": { "echo": true } },
    { "name": "slow", "description": "Waits.", "parameters": { "type": "object" }, "reply": { "value": { "done": { "$arg": "ms" } }, "delayMs": "ms" } },
]"#;

/// Bodies at once: as many as there are processors, and as many again that wait.
const AT_ONCE: usize = 4;
/// Most of them are over in a tenth of it; those that never end by themselves cost all of it.
const WALL_MS: u64 = 2_000;
const SLACK_MS: u128 = 300;

/// Which realm a body is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mode {
    /// As a model would send it.
    Guest,
    /// With the realm walls lost.
    Main,
}

/// One attack body.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its file's stem.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Which realm it is for.
    pub mode: Mode,
    /// Where it is.
    pub path: PathBuf,
}

impl Body {
    /// The number at the head of its name, which tells its group.
    pub fn number(&self) -> u32 {
        self.id[..3].parse().expect("a name begins with a number")
    }
}

/// What is expected of a body.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Expected {
    /// How it may end: `ok` or a code. Empty: `ok`, in the main realm `isolation_violation` too.
    pub ends: Vec<String>,
    /// What its value, logs or message holds when it ran. Empty: `CONTAINED:` and its id, unless a verdict says that it ran.
    pub says: String,
    /// An `ESCAPED` text that is none, whole. `why` tells who claims it.
    pub allows: String,
    /// Its wall clock, when not the usual one.
    pub wall_ms: u64,
    /// Lines of Node, `root` or `user`, on which its control cannot succeed, or `all`.
    pub no_control_on: Vec<String>,
    /// The reason for each of these.
    pub why: String,
}

/// Every body of a mode.
pub fn bodies(mode: Mode) -> Vec<Body> {
    let folder = host::repository().join("tests/escape/bodies");
    let entries = fs::read_dir(folder).expect("the folder of the bodies");
    let mut bodies: Vec<Body> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "js"))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("a readable body");
            let id = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let line = text.lines().find(|line| line.starts_with("// mode: "));
            let mode = match line.map(|line| &line["// mode: ".len()..]) {
                Some(line) if line.starts_with("guest") => Mode::Guest,
                Some(line) if line.starts_with("main") => Mode::Main,
                _ => panic!("{id} has no mode"),
            };
            Body { id, text, mode, path }
        })
        .filter(|body| body.mode == mode)
        .collect();
    bodies.sort_by(|one, two| one.id.cmp(&two.id));
    bodies
}

/// The expectations that are written down.
///
/// # Panics
///
/// When one is about no body or gives no reason.
pub fn expectations() -> BTreeMap<String, Expected> {
    let text = include_str!("expected.json");
    let all: BTreeMap<String, Expected> = serde_json::from_str(text).expect("expectations");
    let ids: Vec<String> = [Mode::Guest, Mode::Main].into_iter().flat_map(bodies).map(|body| body.id).collect();
    for (id, expected) in &all {
        assert!(ids.contains(id), "no body {id}");
        assert!(!expected.why.is_empty(), "{id}: no reason");
    }
    all
}

/// The catalog of the bodies.
pub fn tools() -> Arc<FileCatalog> {
    rig::catalog(TOOLS)
}

/// Runs bodies, several at once, and gives what is wrong with them.
pub async fn faults(supervisor: &Supervisor, bodies: Vec<Body>) -> Vec<String> {
    let expectations = expectations();
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let catalog = tools();
    let runs: Vec<_> = bodies
        .into_iter()
        .map(|body| {
            let expected = expectations.get(&body.id).cloned().unwrap_or_default();
            let (supervisor, turns, catalog) = (supervisor.clone(), turns.clone(), catalog.clone());
            tokio::spawn(async move {
                let _turn = turns.acquire().await.expect("never closed");
                let wall = if expected.wall_ms > 0 { expected.wall_ms } else { WALL_MS };
                let report = supervisor.run(rig::request(&body.text, wall), catalog).await;
                judge(&body, &expected, &report, u128::from(wall))
            })
        })
        .collect();
    let mut faults = Vec::new();
    for run in runs {
        faults.extend(run.await.expect("a run gives a report"));
    }
    faults
}

fn judge(body: &Body, expected: &Expected, report: &RunReport, wall: u128) -> Vec<String> {
    let whole = serde_json::to_string(report).expect("a report is JSON");
    let shown: String = whole.chars().take(600).collect();
    let mut faults = Vec::new();
    let mut fault = |what: &str| faults.push(format!("{}: {what}: {shown}", body.id));

    let allowed = if expected.allows.is_empty() { whole.clone() } else { whole.replace(&expected.allows, "") };
    if allowed.contains("ESCAPED:") {
        fault("it says that it got out");
    }
    if whole.contains(CANARY_TEXT) {
        fault("it has the canary");
    }
    let code = rig::code(report).map_or("ok", ErrorCode::as_str);
    let ends = |end: &str| expected.ends.iter().any(|word| word == end);
    let by_default = expected.ends.is_empty() && (code == "ok" || (body.mode == Mode::Main && code == "isolation_violation"));
    if !ends(code) && !by_default {
        fault("it did not end as expected");
    }
    // It must have run at all. A verdict on what it did says so; otherwise it has to say it itself.
    let verdict = !matches!(code, "ok" | "body_error" | "syntax_error" | "invalid_body");
    let says = if expected.says.is_empty() { format!("CONTAINED:{}", body.id) } else { expected.says.clone() };
    if !verdict && !whole.contains(&says) {
        fault("it does not show that it ran");
    }
    if matches!(code, "isolation_unavailable" | "node_unavailable" | "internal_error" | "cancelled") {
        fault("that is no verdict on a body");
    }
    if report.timing.body.as_millis() > wall + SLACK_MS {
        fault("it took too long");
    }
    faults
}
