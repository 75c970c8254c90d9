//! Cells: one attack, one configuration, one way of starting children.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use codemode::catalog::{CallContext, CallFailure, Catalog, CatalogSummary, FileCatalog, SearchQuery, Tool};
use codemode::launch::{Given, LaunchConfig, LauncherChoice, LauncherKind, Outcome, Probes, Trial, Wall, WallSet};
use codemode::{ErrorCode, RunReport, Supervisor};
use codemode_tests::rig;
use serde_json::Value;

use crate::rows::{Attack, Claimed, Control, Means};
use crate::scene::{Scene, Seen};
use crate::{corpus, native, plain, wire};

/// Most bodies are over in a tenth of it.
const WALL_MS: u64 = 1_500;
/// What a run may take beyond its clock before somebody calls it overtime.
const SLACK: Duration = Duration::from_millis(1_000);
/// What a program without any limit may take on a busy machine.
const PLAIN: Duration = Duration::from_secs(10);
/// How long after an attack its witnesses are asked.
const ARRIVES: Duration = Duration::from_millis(40);

/// What stands around an attack.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Around {
    /// Nothing: the control.
    Nothing,
    /// One wall.
    One(Claimed),
    /// Every wall.
    All,
}

impl Around {
    /// The walls of a child.
    pub fn walls(self) -> WallSet {
        match self {
            Around::Nothing | Around::One(Claimed::Supervisor) => WallSet::NONE,
            Around::One(Claimed::Wall(index)) => WallSet::NONE.with(Wall::ALL[index]),
            Around::All => WallSet::ALL,
        }
    }
}

/// What came of a cell.
#[derive(Clone, Debug)]
pub enum Came {
    /// The witness noticed, and what.
    Through(String),
    /// It did not; how the attempt ended.
    Held(String),
    /// The attack did not take place.
    NoTrial(String),
}

impl Came {
    /// What there is to say of it.
    pub fn words(&self) -> &str {
        match self {
            Came::Through(words) | Came::Held(words) | Came::NoTrial(words) => words,
        }
    }
}

/// The tools that attacks call, and what they were called with.
#[derive(Debug)]
pub struct Backend {
    tools: Arc<FileCatalog>,
    heard: Mutex<Vec<String>>,
}

const TOOLS: &str = r#"[
    { "name": "noop", "description": "Does nothing.", "parameters": { "type": "object" }, "reply": { "value": null } },
    { "name": "echo", "description": "Gives its arguments.", "parameters": { "type": "object" }, "reply": { "echo": true } },
    { "name": "slow", "description": "Waits.", "parameters": { "type": "object" }, "reply": { "value": { "done": { "$arg": "ms" } }, "delayMs": "ms" } },
    { "name": "only", "description": "Wants a number.",
      "parameters": { "type": "object", "properties": { "n": { "type": "number" } }, "required": ["n"], "additionalProperties": false },
      "reply": { "value": "done" } },
]"#;

impl Backend {
    /// With nothing heard yet.
    pub fn new() -> Arc<Backend> {
        Arc::new(Backend { tools: rig::catalog(TOOLS), heard: Mutex::new(Vec::new()) })
    }

    /// What was called, a line each.
    pub fn heard(&self) -> String {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).join("\n")
    }

    /// Takes note.
    pub fn note(&self, line: String) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

#[async_trait::async_trait]
impl Catalog for Backend {
    fn summary(&self) -> CatalogSummary {
        self.tools.summary()
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Arc<Tool>>, CallFailure> {
        self.tools.search(query).await
    }

    async fn describe(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        self.tools.describe(id).await
    }

    async fn call(&self, tool: &Arc<Tool>, args: Value, context: &CallContext) -> Result<Value, CallFailure> {
        self.note(format!("{} {args}", tool.name));
        self.tools.call(tool, args, context).await
    }
}

/// What all children of some cells have in common.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Setting {
    /// The way they are started.
    pub template: bool,
    walls: [bool; 11],
    main_realm: bool,
    planted: u8,
}

impl Setting {
    /// The setting of a cell that starts children, if it does.
    pub fn of(row: &Attack, around: Around, launcher: LauncherKind) -> Option<Setting> {
        let mut walls = around.walls();
        let (main_realm, planted) = match &row.means {
            Means::Main(_) if around == Around::Nothing && row.control == Control::Plain => return None,
            Means::Main(_) => (true, 0),
            Means::Lost(_) => (false, 2),
            Means::Guest(_) | Means::GuestFile(_) if around == Around::Nothing && row.control != Control::Child => return None,
            Means::Guest(_) | Means::GuestFile(_) => (false, 1),
            Means::Pair(_) if around == Around::Nothing => return None,
            Means::Pair(text) => (text.contains("require("), 0),
            Means::Act(_) | Means::Calls(_) | Means::Wire(_) => return None,
        };
        if main_realm {
            walls = walls.without(Wall::GuestRealm).without(Wall::BarrenMainRealm);
        } else if planted == 2 {
            walls = walls.without(Wall::GuestRealm);
        }
        let walls = std::array::from_fn(|index| walls.has(Wall::ALL[index]));
        Some(Setting { template: launcher == LauncherKind::Template, walls, main_realm, planted })
    }

    /// A supervisor with this setting.
    pub fn supervisor(self, node: &std::path::Path) -> Supervisor {
        let set = Wall::ALL.into_iter().zip(self.walls).filter(|(_, has)| *has).fold(WallSet::NONE, |set, (wall, _)| set.with(wall));
        let config: LaunchConfig = rig::config(|config| {
            config.node = Some(PathBuf::from(node));
            config.danger.walls = set;
            config.danger.main_realm = self.main_realm;
            config.danger.trial = (self.planted > 0).then(|| Trial { lost: self.planted == 2, ..Trial::default() });
        });
        let choice = if self.template { LauncherChoice::Template } else { LauncherChoice::Spawn };
        Supervisor::builder().launch(config).launcher_choice(choice).build().expect("children can be started on this host")
    }
}

/// Where cells are tried.
#[derive(Debug)]
pub struct Place {
    /// The Node.
    pub node: PathBuf,
    /// Starts probes.
    pub probes: Probes,
    /// Supervisors by their setting; those of other settings than the one at work are dropped.
    pub supervisors: Mutex<BTreeMap<Setting, Supervisor>>,
}

impl Place {
    fn supervisor(&self, setting: Setting) -> Supervisor {
        let mut supervisors = self.supervisors.lock().unwrap_or_else(PoisonError::into_inner);
        supervisors.entry(setting).or_insert_with(|| setting.supervisor(&self.node)).clone()
    }
}

/// Tries one cell.
///
/// # Panics
///
/// When the host does not let the scene be set.
pub async fn attempt(place: &Place, row: &Attack, around: Around, launcher: LauncherKind) -> Came {
    let text = corpus::text(row);
    let mut scene = Scene::set(&text).expect("this host has sockets and files");
    let text = scene.fill(&text);
    let wall_ms = row.wall_ms.unwrap_or(WALL_MS);
    let mut clock = Duration::from_millis(wall_ms) + SLACK;
    if around == Around::Nothing && row.witness != "overtime" {
        // A host without a clock; only this test has one.
        clock = clock.max(PLAIN);
    }
    let (seen, how) = match (&row.means, Setting::of(row, around, launcher)) {
        (Means::Act(_) | Means::Calls(_), _) => {
            let (given, outcome) = native::attempt(&place.probes, &row.means, &text, around).await;
            let seen = Seen { done: outcome == Outcome::Succeeded, ..Seen::default() };
            let how = match outcome {
                Outcome::NotBuilt(why) | Outcome::Lost(why) => return Came::NoTrial(why),
                Outcome::Succeeded => "done".to_owned(),
                Outcome::Refused(errno) => format!("{:?}", nix::errno::Errno::from_raw(errno)),
                Outcome::Ended(signal, call) => native::ended(signal, call),
            };
            let _: Given = given;
            (seen, how)
        }
        (Means::Wire(_), _) => match wire::attempt(&text, around, clock).await {
            Ok(tried) => tried,
            Err(why) => return Came::NoTrial(why),
        },
        (Means::Pair(_) | Means::Main(_), None) => (plain::one_after_the_other(&place.node, &text, clock).await, "plain".to_owned()),
        (_, None) => (plain::in_a_context(&place.node, &text, row.control == Control::Careless, clock).await, "plain".to_owned()),
        (_, Some(setting)) => {
            let supervisor = place.supervisor(setting);
            let backend = Backend::new();
            let mut report = None;
            for body in text.split("\n---\n") {
                report = Some(supervisor.run(rig::request(body, wall_ms), Arc::clone(&backend) as Arc<dyn Catalog>).await);
            }
            let report = report.expect("a text has a part");
            if let Some(why) = no_trial(&report) {
                return Came::NoTrial(why);
            }
            (seen(&report, &backend, clock), how(&report))
        }
    };
    // What is on its way arrives: a connection, the end of a process that was signalled.
    tokio::time::sleep(ARRIVES).await;
    match scene.noticed(&row.witness, &seen) {
        Some(what) => Came::Through(what),
        None => {
            Came::Held(if around == Around::Nothing { format!("{how}: {}", seen.told.chars().take(300).collect::<String>()) } else { how })
        }
    }
}

/// A run that says nothing about walls.
fn no_trial(report: &RunReport) -> Option<String> {
    let error = report.error.as_ref()?;
    let none = matches!(
        error.code,
        ErrorCode::IsolationUnavailable
            | ErrorCode::NodeUnavailable
            | ErrorCode::InternalError
            | ErrorCode::Cancelled
            | ErrorCode::InvalidBody
    );
    // A body that is refused for its `import` was tried: the refusal is part of the wall.
    let unread = error.code == ErrorCode::SyntaxError && !error.message.contains("import");
    (none || unread).then(|| format!("{}: {}", error.code.as_str(), error.message))
}

/// What a report shows.
pub fn seen(report: &RunReport, backend: &Backend, clock: Duration) -> Seen {
    Seen {
        told: serde_json::to_string(report).expect("a report is JSON"),
        value: report.value.text().to_owned(),
        backend: backend.heard(),
        overtime: report.timing.body > clock,
        peak: report.resources.peak_rss_bytes,
        done: false,
    }
}

fn how(report: &RunReport) -> String {
    let code = report.error.as_ref().map_or("ok", |error| error.code.as_str());
    format!("{code} after {} ms", report.timing.body.as_millis())
}
