//! Supervisors, catalogs and runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use codemode::catalog::{Catalog, FileCatalog};
use codemode::launch::{LaunchConfig, LaunchError, LauncherChoice, LauncherKind, Spawn, Wall, WallSet};
use codemode::{ErrorCode, Limit, RunHandle, RunLimits, RunReport, RunRequest, Supervisor};
use tokio::runtime::{Builder, Runtime};

use crate::census::Census;
use crate::host;

/// The way of starting children that `CODEMODE_LAUNCHER` names.
///
/// # Panics
///
/// When it names none.
pub fn way() -> LauncherKind {
    let way = std::env::var("CODEMODE_LAUNCHER").unwrap_or_else(|_| "spawn".to_owned());
    match way.as_str() {
        "spawn" => LauncherKind::Spawn,
        "template" => LauncherKind::Template,
        _ => panic!("CODEMODE_LAUNCHER={way}: spawn or template"),
    }
}

/// Makes a supervisor that starts its children that way. The one place that knows how.
///
/// # Errors
///
/// When it cannot be made.
pub fn build(config: LaunchConfig) -> Result<Supervisor, LaunchError> {
    let choice = match way() {
        LauncherKind::Spawn => LauncherChoice::Spawn,
        LauncherKind::Template => LauncherChoice::Template,
    };
    Supervisor::builder().launch(config).launcher_choice(choice).build()
}

/// The same, where it has to work.
///
/// # Panics
///
/// When it cannot be made.
pub fn supervisor_of(config: LaunchConfig) -> Supervisor {
    build(config).unwrap_or_else(|error| panic!("children can be started on this host: {error}"))
}

/// A supervisor with every wall.
pub fn supervisor() -> Supervisor {
    supervisor_of(LaunchConfig::default())
}

/// A configuration that differs from the default in what `change` does.
pub fn config(change: impl FnOnce(&mut LaunchConfig)) -> LaunchConfig {
    let mut config = LaunchConfig::default();
    change(&mut config);
    config
}

/// A supervisor whose bodies run in the main realm, with `process` and `require`, behind `walls`.
pub fn lost_realm(walls: WallSet) -> Supervisor {
    supervisor_of(config(|config| {
        config.danger.main_realm = true;
        config.danger.walls = walls.without(Wall::GuestRealm).without(Wall::BarrenMainRealm);
    }))
}

/// A supervisor whose children are this program, without any jail, its bridge on descriptors 0 and 1. It is started the spawn way: there is
/// nothing in it that could be forked.
///
/// # Panics
///
/// When it cannot be made.
pub fn stand_in(program: impl Into<PathBuf>, arguments: &[&str]) -> Supervisor {
    let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
    let config = config(|config| config.danger.stand_in = Some((program.into(), arguments)));
    let launcher = Spawn::new(config).expect("a stand-in needs no Node");
    Supervisor::builder().launcher(Arc::new(launcher)).build().expect("a launcher is given")
}

/// The demo catalog, with a ledger of its own.
pub fn demo() -> Arc<FileCatalog> {
    open(&host::repository().join("examples/demo.json"))
}

/// The catalog of a file.
///
/// # Panics
///
/// When the file is no catalog.
pub fn open(path: &Path) -> Arc<FileCatalog> {
    Arc::new(FileCatalog::open(path).unwrap_or_else(|error| panic!("{error}")))
}

/// A catalog of this text.
///
/// # Panics
///
/// When the text is no catalog.
pub fn catalog(text: &str) -> Arc<FileCatalog> {
    Arc::new(FileCatalog::from_str(text, "tests").unwrap_or_else(|error| panic!("{error}")))
}

/// The default limits with other ones.
///
/// # Panics
///
/// When a value is outside its bounds.
pub fn limits(of: &[(Limit, u64)]) -> RunLimits {
    of.iter().fold(RunLimits::default(), |limits, (limit, value)| limits.with(*limit, *value).expect("inside its bounds"))
}

/// A body at this many milliseconds.
pub fn request(body: &str, wall_ms: u64) -> RunRequest {
    RunRequest::new(body).with_limits(limits(&[(Limit::WallMs, wall_ms)]))
}

/// Runs a body with the demo catalog at the default limits.
pub async fn run(supervisor: &Supervisor, body: &str) -> RunReport {
    supervisor.run(RunRequest::new(body), demo()).await
}

/// Starts a body with the demo catalog at the default limits.
pub fn start(supervisor: &Supervisor, body: &str) -> RunHandle {
    supervisor.start(RunRequest::new(body), demo())
}

/// Runs a body of which a value is expected, and gives it.
///
/// # Panics
///
/// When the run gives none.
pub async fn value(supervisor: &Supervisor, body: &str, catalog: Arc<dyn Catalog>) -> serde_json::Value {
    let report = supervisor.run(RunRequest::new(body), catalog).await;
    assert!(report.ok, "{body}\n{report:?}");
    json(&report)
}

/// The value of a report.
///
/// # Panics
///
/// When it is not JSON.
pub fn json(report: &RunReport) -> serde_json::Value {
    serde_json::from_str(report.value.text()).expect("a value is JSON")
}

/// The class of a report's error.
pub fn code(report: &RunReport) -> Option<ErrorCode> {
    report.error.as_ref().map(|error| error.code)
}

/// The message of a report's error.
pub fn message(report: &RunReport) -> &str {
    report.error.as_ref().map_or("", |error| error.message.as_str())
}

/// A supervisor under watch, from before it was made until after it is gone.
#[derive(Debug)]
pub struct Watched {
    empty: Census,
    warm: Census,
    /// It.
    pub supervisor: Supervisor,
}

impl Watched {
    /// With every wall, after one run: what only the first costs is not counted.
    pub async fn new() -> Watched {
        let empty = Census::take();
        let supervisor = supervisor();
        let report = run(&supervisor, "return 1").await;
        assert!(report.ok, "{report:?}");
        Watched { empty, warm: Census::take(), supervisor }
    }

    /// How much resident memory has been added since the first run.
    pub fn grown_by(&self) -> u64 {
        self.warm.grown_by()
    }

    /// Sees that no process and no descriptor is left: of a run, when each has its own Node, and in any case of the supervisor.
    ///
    /// # Panics
    ///
    /// When something is.
    pub async fn leaves_nothing(self, what: &str) {
        if way() == LauncherKind::Spawn {
            let left = Census::take().children;
            let more: Vec<_> = left.difference(&self.empty.children).collect();
            assert!(more.is_empty(), "{what}: {more:?} when the report is there");
        }
        drop(self.supervisor);
        self.empty.settles(what).await;
    }
}

static TURN: RwLock<()> = RwLock::new(());

/// Runs a test that only looks at its own runs; others go on beside it.
pub fn together<T>(test: impl Future<Output = T>) -> T {
    let _turn = TURN.read().unwrap_or_else(PoisonError::into_inner);
    runtime().block_on(test)
}

/// Runs a test that counts what the whole process holds; none of the others runs meanwhile.
///
/// The turn is taken before there is a runtime and given back after it is gone: a runtime holds descriptors, too.
pub fn alone<T>(test: impl Future<Output = T>) -> T {
    let _turn = TURN.write().unwrap_or_else(PoisonError::into_inner);
    runtime().block_on(test)
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime can be made")
}
